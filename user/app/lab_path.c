#include "app/lab_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

bool ovl_lab_path_named(const struct ovl_options *o, const struct ovl_lab *lab)
{
	return o->peer && ovl_lab_end(lab, o->peer);
}

static uint8_t index_of(const struct ovl_lab *lab, const struct ovl_lab_end *end)
{
	return (uint8_t)(end - lab->ends);
}

/* --from and --peer as ends of the lab. */
static int choose(const struct ovl_options *o, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_lab_pair *pair = &lab->load[OVL_LAB_LOAD_OVERLAY];
	struct ovl_lab_pair *under = &lab->load[OVL_LAB_LOAD_UNDERLAY];
	const struct ovl_lab_end *to = ovl_lab_end(lab, o->peer);
	const struct ovl_lab_end *from =
		o->from ? ovl_lab_end(lab, o->from) : &lab->ends[pair->from];

	if (!from || from->place == OVL_LAB_NOWHERE)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"--from %s: lab %s has no such place to send from; `ovltrace lab "
			"list` names its ends",
			o->from, lab->topology);
	if (!*to->addr)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--peer %s: this end of lab %s has no address", o->peer,
				   lab->topology);
	if (to->place == OVL_LAB_NOWHERE && o->port && o->port != OVL_LAB_SERVED_PORT)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--peer %s --port %u: only port %d of it leads to %s; leave out "
				   "--port",
				   o->peer, o->port, OVL_LAB_SERVED_PORT,
				   lab->ends[to->server].name);
	*pair = (struct ovl_lab_pair){true, index_of(lab, from), index_of(lab, to)};
	/* what carries it, if that is a link between hosts: the same two hosts' */
	if (under->used && under->from != under->to && from->host != to->host)
		*under = (struct ovl_lab_pair){true, from->host, to->host};
	return 0;
}

/*
 * What is only an address is served elsewhere, at the one port that is translated: by one place,
 * or by the pods from `server` on that are not on the lab's first node.
 */
static void fill_behind(const struct ovl_lab *lab, const struct ovl_lab_end *to,
			struct ovl_load_path_spec *path)
{
	const uint8_t first = lab->ends[lab->iface_end].host;

	path->n_behind = 0;
	for (uint32_t i = to->server; i < lab->n_ends && path->n_behind < to->servers; i++) {
		const struct ovl_lab_end *end = &lab->ends[i];
		struct ovl_load_behind *behind = &path->behind[path->n_behind];

		if (i != to->server && (end->node || end->place != i || end->host == first))
			continue;
		behind->netns_fd = end->netns_fd;
		ovl_str_copy(behind->addr, sizeof(behind->addr), end->addr);
		path->n_behind++;
	}
}

static void fill(const struct ovl_lab *lab, const struct ovl_lab_pair *pair,
		 struct ovl_load_path_spec *path)
{
	const struct ovl_lab_end *to = &lab->ends[pair->to], *server = &lab->ends[to->server];

	path->used = true;
	path->client_netns_fd = lab->ends[pair->from].netns_fd;
	path->server_netns_fd = server->netns_fd;
	ovl_str_copy(path->addr, sizeof(path->addr), to->addr);
	if (server != to)
		fill_behind(lab, to, path);
}

/* -R: the other end connects and sends. What is only an address cannot. */
static int turn_round(struct ovl_lab *lab, struct ovl_err *err)
{
	for (int i = 0; i < OVL_LAB_LOADS; i++) {
		struct ovl_lab_pair *pair = &lab->load[i];

		if (pair->used && lab->ends[pair->to].place == OVL_LAB_NOWHERE)
			return ovl_err_set(
				err, OVL_EXIT_USAGE, -EINVAL,
				"-R: %s of lab %s is an address (%s) and cannot send; name "
				"the ends the other way round, or leave out -R",
				lab->ends[pair->to].name, lab->topology, lab->ends[pair->to].addr);
		*pair = (struct ovl_lab_pair){pair->used, pair->to, pair->from};
	}
	return 0;
}

int ovl_lab_path(const struct ovl_options *o, struct ovl_lab *lab, struct ovl_load_spec *load,
		 struct ovl_err *err)
{
	const struct ovl_lab_pair *under = &lab->load[OVL_LAB_LOAD_UNDERLAY];
	const bool off = o->baseline && !strcmp(o->baseline, "off");

	if (o->baseline && !off && strcmp(o->baseline, "auto") != 0)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"--baseline %s needs --peer HOST: a lab or twin brings its own underlay "
			"(auto or off)",
			o->baseline);
	if (o->peer) {
		int rc = choose(o, lab, err);

		if (rc)
			return rc;
	}
	if (o->reverse) {
		int rc = turn_round(lab, err);

		if (rc)
			return rc;
	}
	fill(lab, &lab->load[OVL_LAB_LOAD_OVERLAY], &load->path[OVL_LOAD_OVERLAY]);
	if (under->used && !off)
		fill(lab, under, &load->path[OVL_LOAD_UNDERLAY]);
	/* each node's packets are steered to its own CPU, whoever sends */
	load->cpu_sender = o->reverse ? lab->cpu_receiver : lab->cpu_sender;
	load->cpu_receiver = o->reverse ? lab->cpu_sender : lab->cpu_receiver;
	/* the routes of a lab bound one stream, those of a twin as many as it was made for */
	load->max_frames = o->window_bytes || lab->twin || o->streams == 1 ? 0 : lab->max_frames;
	return 0;
}

void ovl_lab_path_say(const struct ovl_lab *lab, const char *iface,
		      const struct ovl_load_spec *load, char *text, size_t n)
{
	const struct ovl_lab_pair *over = &lab->load[OVL_LAB_LOAD_OVERLAY];
	const struct ovl_lab_pair *under = &lab->load[OVL_LAB_LOAD_UNDERLAY];
	char reference[64] = "", share[64] = "";

	if (under->used && lab->ends[under->from].place == lab->ends[under->to].place)
		snprintf(reference, sizeof(reference), ", loopback of %s as the reference",
			 lab->ends[under->from].name);
	else if (under->used)
		snprintf(reference, sizeof(reference), ", %s to %s as its underlay",
			 lab->ends[under->from].name, lab->ends[under->to].name);
	if (lab->ends[over->to].servers > 1)
		snprintf(share, sizeof(share), " (each connection to one of its %u endpoints)",
			 lab->ends[over->to].servers);
	snprintf(text, n, "lab %s: %s to %s%s over %s%s; sender on CPU %d, receiver on CPU %d",
		 lab->topology, lab->ends[over->from].name, lab->ends[over->to].name, share, iface,
		 reference, load->cpu_sender, load->cpu_receiver);
}
