/*
 * The scene of a run: which interface, where its path lies, and between whom the load runs (the
 * interface's own lab, a private twin, or a peer). Made before anything is measured.
 */
#ifndef OVL_APP_SCENE_H
#define OVL_APP_SCENE_H

#include "app/options.h"
#include "base/err.h"
#include "collect/collect.h"
#include "lab/lab.h"
#include "load/load.h"
#include "model/facts.h"

struct ovl_scene {
	struct ovl_facts facts;
	struct ovl_target target;
	bool has_lab;
	struct ovl_lab lab; /* a lab that was up before, or the twin */
	bool has_load;
	struct ovl_load_spec load; /* points into lab and options */
	int from_fd;		   /* --from's namespace, -1: none */
	char said[OVL_TEXT_MAX];   /* what the user should know before it starts, "" : nothing */
};

/** Find the interface and set the scene for its load. Makes the twin, but no traffic. */
int ovl_scene_open(const struct ovl_options *options, struct ovl_scene *scene, struct ovl_err *err);
void ovl_scene_close(struct ovl_scene *scene);

#endif
