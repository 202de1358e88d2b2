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
	if (to->servers > 1)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--peer %s: it has %u endpoints, and which one answers is not "
				   "known beforehand: start `ovltrace peer` in each (`ovltrace lab "
				   "exec %s %s -- ovltrace peer`), then give --peer %s",
				   o->peer, to->servers, lab->topology, lab->ends[to->server].name,
				   to->addr);
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

static void fill(const struct ovl_lab *lab, const struct ovl_lab_pair *pair,
		 struct ovl_load_path_spec *path)
{
	const struct ovl_lab_end *to = &lab->ends[pair->to], *server = &lab->ends[to->server];

	path->used = true;
	path->client_netns_fd = lab->ends[pair->from].netns_fd;
	path->server_netns_fd = server->netns_fd;
	ovl_str_copy(path->addr, sizeof(path->addr), to->addr);
	/* what is only an address is served elsewhere, at the one port that is translated */
	if (server != to)
		ovl_str_copy(path->listen, sizeof(path->listen), server->addr);
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
	char reference[64] = "";

	if (under->used && lab->ends[under->from].place == lab->ends[under->to].place)
		snprintf(reference, sizeof(reference), ", loopback of %s as the reference",
			 lab->ends[under->from].name);
	else if (under->used)
		snprintf(reference, sizeof(reference), ", %s to %s as its underlay",
			 lab->ends[under->from].name, lab->ends[under->to].name);
	snprintf(text, n, "lab %s: %s to %s over %s%s; sender on CPU %d, receiver on CPU %d",
		 lab->topology, lab->ends[over->from].name, lab->ends[over->to].name, iface,
		 reference, load->cpu_sender, load->cpu_receiver);
}
