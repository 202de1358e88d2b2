#include "lab/build.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lab/device.h"
#include "lab/fault.h"
#include "lab/namespace.h"
#include "lab/program.h"
#include "lab/reach.h"
#include "lab/spec.h"
#include "lab/tune.h"

/* Which namespace each end gets, by name: a lab's are seen by everybody, a twin's by nobody. */
static void name_places(const struct ovl_plan *plan, const char *topology, struct ovl_lab *lab)
{
	for (uint32_t i = 0; i < lab->n_ends; i++) {
		struct ovl_lab_end *end = &lab->ends[i];
		const struct ovl_lab_end *place;

		if (end->place == OVL_LAB_NOWHERE)
			continue;
		place = &plan->ends[end->place];
		if (lab->twin)
			snprintf(end->netns, sizeof(end->netns), "twin:%c-%s", place->side,
				 place->node ? "node" : "pod");
		else
			snprintf(end->netns, sizeof(end->netns), OVL_LAB_PREFIX "%s-%s", topology,
				 place->name);
	}
}

static void fill_lab(struct ovl_build *b)
{
	const struct ovl_plan *plan = b->plan;
	struct ovl_lab *lab = b->lab;

	memset(lab, 0, sizeof(*lab));
	lab->twin = !b->named;
	ovl_str_copy(lab->topology, sizeof(lab->topology), b->topo->name);
	ovl_str_copy(lab->iface, sizeof(lab->iface), plan->iface);
	lab->iface_end = plan->iface_end;
	lab->cpu_sender = b->spec.cpu_sender;
	lab->cpu_receiver = b->spec.cpu_receiver;
	lab->max_frames = ovl_tune_max_frames();
	lab->n_ends = plan->n_ends;
	memcpy(lab->ends, plan->ends, sizeof(lab->ends));
	memcpy(lab->load, plan->load, sizeof(lab->load));
	name_places(plan, b->topo->name, lab);
}

int ovl_build_init(struct ovl_build *b, const struct ovl_lab_spec *spec, bool named,
		   struct ovl_lab *lab, struct ovl_err *err)
{
	int rc;

	memset(b, 0, sizeof(*b));
	b->spec = *spec;
	b->lab = lab;
	b->named = named;
	b->topo = ovl_topo_find(spec->topology);
	if (!b->topo)
		return ovl_topo_unknown(spec->topology, err);
	rc = ovl_spec_complete(&b->spec, b->topo, err);
	if (!rc)
		rc = ovl_tune_cpus(&b->spec.cpu_sender, &b->spec.cpu_receiver, err);
	if (rc < 0)
		return rc;
	b->plan = malloc(sizeof(*b->plan));
	if (!b->plan)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ovl_plan_init(b->plan, &b->spec, ovl_spec_encap_bytes(&b->spec, b->topo));
	b->topo->plan(b->plan);
	fill_lab(b);
	if (!b->plan->full)
		return 0;
	ovl_build_fini(b);
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
			   "cannot build %s of this size: fewer nodes or pods", b->topo->name);
}

void ovl_build_fini(struct ovl_build *b)
{
	if (b->plan)
		ovl_plan_fini(b->plan);
	free(b->plan);
	b->plan = NULL;
}

static int make_place(struct ovl_site *s, uint8_t i)
{
	struct ovl_lab_end *end = &s->b->lab->ends[i];
	int rc;

	end->netns_fd = ovl_namespace_new();
	if (end->netns_fd < 0) {
		rc = end->netns_fd;
		return ovl_err_set(s->err, ovl_fault_exit(rc), rc,
				   "cannot make network namespace %s: %s%s", end->netns,
				   strerror(-rc), ovl_fault_hint(rc));
	}
	if (s->b->named) {
		rc = ovl_namespace_name(end->netns, s->err);
		if (rc < 0)
			return rc;
	}
	s->b->n_made = i + 1u;
	rc = ovl_netlink_open(&s->nl[i]);
	if (rc < 0)
		return ovl_err_set(s->err, OVL_EXIT_FAILED, rc,
				   "cannot open an rtnetlink socket in %s: %s", end->netns,
				   strerror(-rc));
	rc = ovl_tune_sysctls(end->node, s->b->spec.ipv6 != OVL_LAB_IPV6_NONE, s->err);
	if (rc < 0)
		return rc;
	rc = ovl_netlink_dev_up(&s->nl[i], if_nametoindex("lo"));
	return rc < 0 ? ovl_site_refused(s, i, rc, "bring up", "lo") : 0;
}

static int make_places(struct ovl_site *s)
{
	struct ovl_lab *lab = s->b->lab;
	int rc = 0;

	for (uint8_t i = 0; !rc && i < lab->n_ends; i++) {
		if (lab->ends[i].place == i)
			rc = make_place(s, i);
	}
	for (uint8_t i = 0; !rc && i < lab->n_ends; i++) {
		if (lab->ends[i].place != i && lab->ends[i].place != OVL_LAB_NOWHERE)
			lab->ends[i].netns_fd = lab->ends[lab->ends[i].place].netns_fd;
	}
	return rc;
}

/* Steering and rules: once every device of a place exists. */
static int finish_places(struct ovl_site *s)
{
	struct ovl_lab *lab = s->b->lab;
	int rc = 0;

	for (uint8_t i = 0; !rc && i < lab->n_ends; i++) {
		const struct ovl_buf *rules = &s->b->plan->nft[i];

		if (lab->ends[i].place != i)
			continue;
		rc = ovl_site_enter(s, i);
		if (!rc && s->b->plan->steered)
			rc = ovl_tune_rps(lab->ends[i].side == 'a' ? lab->cpu_sender
								   : lab->cpu_receiver,
					  s->err);
		if (!rc && rules->n)
			rc = ovl_program_nft(ovl_buf_str((struct ovl_buf *)rules), s->b->mark,
					     lab->ends[i].netns, s->err);
	}
	return rc;
}

static int start_daemons(struct ovl_site *s)
{
	const struct ovl_plan *plan = s->b->plan;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < plan->n_daemons; i++) {
		const struct ovl_plan_daemon *d = &plan->daemons[i];

		rc = ovl_site_enter(s, d->end);
		if (!rc)
			rc = ovl_program_start(d, s->b->mark, s->b->lab->ends[d->end].netns,
					       s->err);
	}
	return rc;
}

static int build_all(struct ovl_site *s)
{
	const struct ovl_plan *plan = s->b->plan;
	int rc = make_places(s);

	if (!rc)
		rc = ovl_site_devices(s);
	if (!rc)
		rc = finish_places(s);
	if (!rc)
		rc = start_daemons(s);
	for (uint32_t i = 0; !rc && i < plan->n_paths; i++)
		rc = ovl_reach_check(s->b->lab, plan->paths[i].from, plan->paths[i].to, s->err);
	return rc;
}

static void *builder(void *arg)
{
	struct ovl_site *s = arg;

	s->rc = build_all(s);
	for (size_t i = 0; i < s->b->lab->n_ends; i++)
		ovl_netlink_close(&s->nl[i]);
	return NULL;
}

int ovl_build_run(struct ovl_build *b, struct ovl_err *err)
{
	struct ovl_site s = {.b = b, .err = err};
	pthread_t thread;
	int rc;

	if (!b->named && b->plan->n_daemons)
		return ovl_err_set(err, OVL_EXIT_INPUT, -EOPNOTSUPP,
				   "topology %s needs daemons, which a twin has none of",
				   b->topo->name);
	rc = pthread_create(&thread, NULL, builder, &s);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, -rc, "cannot start a thread: %s",
				   strerror(rc));
	pthread_join(thread, NULL);
	return s.rc;
}
