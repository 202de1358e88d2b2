/*
 * Labs and the twin: network namespaces that stand in for clusters. Built by rtnetlink alone.
 *
 * A topology is built the same way twice: as a *lab* (named namespaces, stays until `lab down`) or
 * as a *twin* (unnamed namespaces held only by this process: they vanish with it, even by kill -9).
 * Nothing outside the namespaces made here is changed.
 */
#ifndef OVL_LAB_LAB_H
#define OVL_LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define OVL_LAB_PREFIX	  "ovl-"	      /* of every named namespace of a lab */
#define OVL_LAB_STATE_DIR "/run/ovltrace/lab" /* one file per lab that is (or was being) made */
#define OVL_LAB_ENDS_MAX  8

enum ovl_lab_offloads {
	OVL_LAB_OFFLOADS_CLOUD = 0, /* default: TSO for plain TCP, no tunnel segmentation */
	OVL_LAB_OFFLOADS_ALL,	    /* everything veth offers */
	OVL_LAB_OFFLOADS_NOGSO,	    /* no TSO at all on the underlay */
};

/** What to build. Zero-initialised plus `topology` is the default flannel-like lab. */
struct ovl_lab_spec {
	const char *topology; /* "flannel-vxlan" */
	enum ovl_lab_offloads offloads;
	uint32_t underlay_mtu;	 /* 0: 1500 */
	uint32_t overlay_mtu;	 /* 0: underlay_mtu − 50 */
	uint32_t vni;		 /* 0: 1 */
	uint16_t port;		 /* 0: 8472 */
	const char *tunnel_name; /* NULL: "flannel.1" */
	/* RPS of side a's and side b's devices; both 0: chosen, see base/cpus.h */
	int cpu_sender, cpu_receiver;
	uint32_t max_streams; /* bound on frames in flight is shared by these; 0: 1 */
	/*
	 * Offload feature names (ethtool -k) to switch off on the underlay pair. NULL: as
	 * `offloads` says; a list, an empty one too, replaces the profile. Names this kernel lacks
	 * count as off.
	 */
	const char *const *features_off;
	size_t n_features_off;
	const char *const *tunnel_features_off; /* the same for the tunnel device */
	size_t n_tunnel_features_off;
};

/** One endpoint of a built lab. */
struct ovl_lab_end {
	char name[16];	/* "node1", "pod1", "node2", "pod2" */
	char netns[64]; /* "ovl-flannel-vxlan-node1", or "twin:a-node" */
	int netns_fd;	/* open; owned by the lab */
	char addr[46];	/* where its TCP server can be reached from its peers */
	char side;	/* 'a': sender's host, 'b': receiver's host */
	bool node;	/* true: the host of its side; false: a pod */
};

struct ovl_lab {
	bool twin;
	char topology[32];
	uint32_t n_ends;
	struct ovl_lab_end ends[OVL_LAB_ENDS_MAX];
	char tunnel_name[16];
	int cpu_sender, cpu_receiver;
	/* bound on wire frames in flight, all streams (below 0.8 × netdev_max_backlog) */
	uint32_t max_frames;
};

/** Build a named lab. -EEXIST if it is up (err says how to remove it). Undoes a half-made one. */
int ovl_lab_up(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err);
/** Build the same topology in unnamed namespaces that only this process holds. */
int ovl_lab_twin(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err);
/** Open a lab that is up, by its topology's name. -ENOENT if there is none. */
int ovl_lab_open(const char *topology, struct ovl_lab *lab, struct ovl_err *err);
/**
 * Open the lab that owns a named namespace ("ovl-flannel-vxlan-node1").
 * 0, or -ENOENT with err untouched if that namespace belongs to no lab.
 */
int ovl_lab_open_by_netns(const char *netns, struct ovl_lab *lab, struct ovl_err *err);
/** Close the handles (of a twin: this is what removes it). */
void ovl_lab_close(struct ovl_lab *lab);
/**
 * Remove a lab, or what a broken `up` left of it; topology NULL: all labs. Names what is still
 * used.
 */
int ovl_lab_down(const char *topology, struct ovl_buf *out, struct ovl_err *err);
/** One line per lab that is up: topology, namespaces, how to use and remove it. */
int ovl_lab_list(struct ovl_buf *out, struct ovl_err *err);
/** Run argv in an endpoint's namespace, replacing this process; returns only on failure. */
int ovl_lab_exec(const char *topology, const char *end, char *const argv[], struct ovl_err *err);
/** Endpoint by name, NULL if there is none. */
const struct ovl_lab_end *ovl_lab_end(const struct ovl_lab *lab, const char *name);
/** Names of the topologies, NULL-terminated. */
const char *const *ovl_lab_topologies(void);

#endif
