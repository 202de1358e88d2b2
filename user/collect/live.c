#include "collect/collect.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "collect/calibrate.h"
#include "collect/connects.h"
#include "collect/counters.h"
#include "collect/drops.h"
#include "collect/evidence.h"
#include "collect/funcs.h"
#include "collect/instruments.h"
#include "collect/ksyms.h"
#include "collect/lost.h"
#include "collect/packets.h"
#include "collect/reasons.h"
#include "collect/sampler.h"
#include "collect/self.h"
#include "ovltrace.skel.h"

#define HZ_LEAST   97	    /* fewer samples than this a second say nothing within an interval */
#define HZ_UNKNOWN 197	    /* while nobody knows what one costs */
#define AGAIN_NS   10000000 /* for one more try to measure it */
#define AGAIN_MAX  10

struct ovl_collect {
	const struct ovl_facts *facts; /* the caller's, as long as this is open */
	struct ovl_counters *counters;
	struct ovl_reasons *reasons;
	struct ovl_ksyms *ksyms;
	struct ovl_instruments in;
	bool bpf; /* in is open */
	struct ovl_sampler *sampler;
	struct ovl_drops *drops;
	struct ovl_connects *connects;
	struct ovl_evidence_reader *evidence;
	struct ovl_packets packets;
	struct ovl_funcs *funcs; /* NULL: nobody asked for them */
	struct ovl_calibration calibration;
	bool last;	    /* the interval that runs is the last one */
	bool recalibrated;  /* costs were measured again under load */
	unsigned int again; /* tries left to measure what was unknown at the start */
	struct ovl_self self;
	uint64_t *runs[OVL_PROG_COUNT]; /* by possible CPU, at the last reading */
	uint64_t *scratch;
	struct ovl_lost_seen lost;
};

static int alloc_counts(struct ovl_collect *c, struct ovl_err *err)
{
	size_t cpus = (size_t)libbpf_num_possible_cpus();
	bool ok = true;

	for (int p = 0; p < OVL_PROG_COUNT; p++) {
		c->runs[p] = calloc(cpus, sizeof(*c->runs[p]));
		ok = ok && c->runs[p];
	}
	c->scratch = calloc(cpus, sizeof(*c->scratch));
	if (ok && c->scratch && !ovl_self_init(&c->self, (uint32_t)cpus))
		return 0;
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the collector");
}

/*
 * A timer interrupt costs 2 µs on one machine and 50 µs in a virtual one: the rate has to follow.
 */
static uint32_t affordable_hz(const struct ovl_collect_spec *spec, const struct ovl_facts *facts)
{
	double hz = spec->sample_hz;

	if (spec->sample_budget_ratio > 0 && facts->sample_cost_ns)
		hz = spec->sample_budget_ratio * 1e9 / (double)facts->sample_cost_ns;
	else if (spec->sample_budget_ratio > 0)
		hz = HZ_UNKNOWN;
	if (hz < HZ_LEAST)
		hz = HZ_LEAST;
	/* odd, so as not to run in step with the kernel's own tick */
	return hz < spec->sample_hz ? (uint32_t)hz | 1u : spec->sample_hz;
}

/* The sampler needs symbols to make sense of its stacks; without them the rest still works. */
static int open_sampler(struct ovl_collect *c, uint32_t hz, struct ovl_facts *facts,
			struct ovl_err *err)
{
	static const char lost[] = "where CPU time goes: stages, waterfall and verdict";
	int rc = -1;

	if (!hz || !c->in.loaded[OVL_PROG_SAMPLER])
		return 0;
	if (!c->ksyms) {
		ovl_instruments_missing(facts, "/proc/kallsyms", err->text, lost);
		return -1;
	}
	c->sampler = ovl_sampler_open(&c->in, c->ksyms, err);
	if (c->sampler)
		rc = ovl_sampler_start(c->sampler, hz, err);
	if (rc) {
		ovl_instruments_missing(facts, "perf_event", err->text, lost);
		ovl_sampler_close(c->sampler);
		c->sampler = NULL;
		return rc;
	}
	facts->sample_hz = hz;
	return 0;
}

/* What cannot be probed is said; what was asked for by name and is not possible is an error. */
static int open_funcs(struct ovl_collect *c, const struct ovl_collect_spec *spec,
		      struct ovl_facts *facts, struct ovl_err *err)
{
	bool named = spec->tier == OVL_TIER_FENTRY || spec->tier == OVL_TIER_KPROBE;

	if (!spec->packets.deep && !named)
		return 0;
	c->funcs = ovl_funcs_open(spec->tier, bpf_map__fd(c->in.skel->maps.devices), facts, err);
	return c->funcs ? 0 : -ENOTSUP;
}

static int open_bpf(struct ovl_collect *c, const struct ovl_collect_spec *spec,
		    struct ovl_facts *facts, struct ovl_err *err)
{
	struct ovl_err why = OVL_ERR_INIT;
	int rc;

	c->reasons = ovl_reasons_open(err);
	if (!c->reasons)
		return -ENOTSUP;
	c->again = spec->calibrate_ns ? AGAIN_MAX : 0;
	rc = ovl_instruments_open(&c->in, c->reasons, spec->sample_hz > 0, facts, err);
	if (rc)
		return rc;
	c->bpf = true;
	ovl_calibrate_run(&c->calibration, &c->in, spec->calibrate_ns);
	ovl_calibrate_facts(&c->calibration, facts);
	c->ksyms = ovl_ksyms_open(NULL, &why);
	if (!c->ksyms)
		ovl_instruments_missing(facts, "/proc/kallsyms", why.text,
					"names of the functions that drop packets");
	c->drops = ovl_drops_open(&c->in, c->reasons, c->ksyms, facts, err);
	c->connects = ovl_connects_open(&c->in);
	if (!c->drops || !c->connects)
		return -ENOMEM;
	ovl_instruments_attach(&c->in, facts);
	if ((spec->packets.deep || spec->packets.window_ns) &&
	    ovl_packets_open(&c->packets, &spec->packets, facts, err))
		return -ENOMEM;
	if (open_funcs(c, spec, facts, err))
		return -ENOTSUP;
	rc = open_sampler(c, affordable_hz(spec, facts), facts, &why);
	if (facts->progs_attached || c->sampler)
		return 0;
	*err = why;
	return rc ? rc
		  : ovl_err_set(err, OVL_EXIT_KERNEL, -ENOTSUP,
				"no instrument could be attached: `ovltrace doctor` says why");
}

struct ovl_collect *ovl_collect_open(const struct ovl_collect_spec *spec, struct ovl_facts *facts,
				     const int *ns_fd, struct ovl_err *err)
{
	struct ovl_collect *c = calloc(1, sizeof(*c));

	if (!c) {
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the collector");
		return NULL;
	}
	c->facts = facts;
	c->calibration.stats_fd = c->calibration.wake_fd = -1;
	facts->sample_hz = 0;
	facts->progs_attached = 0;
	facts->sample_cost_ns = facts->drop_cost_ns = facts->retransmit_cost_ns = 0;
	facts->func_cost_ns = 0;
	/* "v1.1" → "1.1" */
	ovl_str_copy(facts->libbpf_version, sizeof(facts->libbpf_version),
		     libbpf_version_string() + 1);
	if (alloc_counts(c, err))
		goto failed;
	if (!spec->no_bpf && open_bpf(c, spec, facts, err))
		goto failed;
	c->counters = ovl_counters_open(facts, ns_fd, err);
	c->evidence = ovl_evidence_open(facts, ns_fd);
	if (c->counters && !c->evidence)
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM,
			    "no memory to read connections and settings, or no way back from a "
			    "network namespace");
	if (!c->counters || !c->evidence)
		goto failed;
	return c;
failed:
	ovl_collect_close(c);
	return NULL;
}

int ovl_collect_class(struct ovl_collect *c, pid_t tid, int task_class)
{
	uint32_t key = (uint32_t)tid, value = (uint32_t)task_class;
	int rc;

	if (task_class < 0 || task_class >= OVL_TASK_CLASSES)
		return -EINVAL;
	if (c->bpf) {
		rc = bpf_map_update_elem(bpf_map__fd(c->in.skel->maps.classes), &key, &value,
					 BPF_ANY);
		if (rc)
			return rc;
	}
	/*
	 * threads of other processes are never found in /proc/self/task: marking them is harmless
	 */
	return ovl_self_mark(&c->self, tid,
			     task_class != OVL_TASK_SELF && task_class != OVL_TASK_OTHER);
}

void ovl_collect_last(struct ovl_collect *c)
{
	c->last = true;
}

void ovl_collect_hold(struct ovl_collect *c, bool hold)
{
	ovl_window_hold(&c->packets.window, hold);
}

/* From here on programs write to the other maps. */
static uint32_t flip(struct ovl_collect *c)
{
	uint32_t bits = 0;

	if (c->bpf) {
		bits = c->sampler ? ovl_sampler_flips(c->sampler) : OVL_ACTIVE_EVENTS;
		ovl_instruments_flip(&c->in, bits);
		if (c->funcs)
			ovl_funcs_flip(c->funcs);
	}
	return bits;
}

static void read_runs(struct ovl_collect *c, struct ovl_sample *s)
{
	int fd = bpf_map__fd(c->in.skel->maps.runs);

	for (uint32_t p = 0; p < OVL_PROG_COUNT; p++) {
		if (ovl_instruments_per_cpu(&c->in, fd, p, c->scratch))
			continue;
		if (s)
			ovl_vec_each(d, &s->self) {
				if (d->cpu < (uint32_t)c->in.cpus_possible)
					d->runs[p] = c->scratch[d->cpu] - c->runs[p][d->cpu];
			}
		memcpy(c->runs[p], c->scratch, (size_t)c->in.cpus_possible * sizeof(uint64_t));
	}
}

/* Read what belongs to the interval that ended with the last flip; s NULL: only forget it. */
static int drain(struct ovl_collect *c, uint32_t flipped, const struct ovl_facts *facts,
		 struct ovl_sample *s, struct ovl_err *err)
{
	int rc = 0;

	if (!c->bpf)
		return 0;
	ovl_lost_drain(&c->lost, bpf_map__fd(c->in.skel->maps.lost), (size_t)c->in.cpus_possible,
		       c->scratch, s);
	read_runs(c, s);
	if (c->sampler)
		rc = ovl_sampler_drain(c->sampler, flipped, s, err);
	if (!rc && c->drops)
		rc = ovl_drops_drain(c->drops, facts, s, err);
	if (!rc && ovl_packets_drain(&c->packets, s))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the packets");
	if (!rc && c->funcs)
		rc = ovl_funcs_drain(c->funcs, facts, s, err);
	return rc;
}

/* s NULL: only remember what there is. */
static int read_evidence(struct ovl_collect *c, const struct ovl_facts *facts, struct ovl_sample *s,
			 struct ovl_err *err)
{
	int rc = ovl_evidence_read(c->evidence, facts, s, c->last);

	if (!rc && c->bpf)
		rc = ovl_connects_read(c->connects, facts, s);
	if (rc == -ENOTRECOVERABLE)
		return ovl_err_set(err, OVL_EXIT_RIGHTS, rc,
				   "the way back from a network namespace was refused, so nothing "
				   "more can be read: run with CAP_SYS_ADMIN to the end");
	return rc ? ovl_err_set(err, OVL_EXIT_FAILED, rc,
				"cannot read connections and settings: %s", strerror(-rc))
		  : 0;
}

int ovl_collect_begin(struct ovl_collect *c, struct ovl_err *err)
{
	uint32_t flipped = flip(c);
	int rc = ovl_counters_begin(c->counters, err), window = ovl_packets_start(&c->packets);

	if (!rc && window)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, window, "cannot begin to count packets: %s",
				 strerror(-window));
	if (!rc)
		rc = drain(c, flipped, NULL, NULL, err);
	if (!rc)
		rc = read_evidence(c, c->facts, NULL, err);
	if (!rc && c->bpf && !c->recalibrated && c->calibration.stats_fd < 0)
		ovl_calibrate_watch(&c->calibration, &c->in);
	ovl_self_read(&c->self);
	return rc;
}

int ovl_collect_end(struct ovl_collect *c, const struct ovl_facts *facts, struct ovl_sample *s,
		    struct ovl_err *err)
{
	uint32_t flipped;
	int rc;

	ovl_sample_clear(s);
	flipped = flip(c);
	/* a program that read the switch just before the flip is done by the time these are read */
	rc = ovl_counters_end(c->counters, facts, s, err);
	if (rc)
		return rc;
	ovl_vec_each(clock, &s->cpus) {
		struct ovl_self_delta *d = ovl_vec_push(&s->self);

		if (!d)
			return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM,
					   "no memory for the sample");
		d->cpu = clock->cpu;
		d->user_ns = UINT64_MAX;
	}
	rc = drain(c, flipped, facts, s, err);
	if (!rc)
		rc = read_evidence(c, facts, s, err);
	if (rc)
		return rc;
	s->self_cpu_ns = ovl_self_read(&c->self);
	ovl_self_share(&c->self, s->self_cpu_ns, s);
	if (c->bpf && !c->recalibrated) {
		ovl_calibrate_unwatch(&c->calibration, &c->in);
		c->recalibrated = true;
	}
	if (c->sampler && !c->calibration.interrupt_ns && c->again) {
		c->again--;
		ovl_calibrate_again(&c->calibration, AGAIN_NS);
	}
	return 0;
}

void ovl_collect_costs(struct ovl_collect *c, struct ovl_facts *facts)
{
	uint64_t body;

	if (!c->bpf)
		return;
	ovl_calibrate_facts(&c->calibration, facts);
	ovl_packets_costs(&c->packets, c->calibration.dispatch_ns, facts->drop_cost_ns, facts);
	if (!c->funcs)
		return;
	/*
	 * A trampoline's dispatch is a tracepoint's. A kprobe's is not, and has not been measured:
	 * the own cost is unknown then.
	 */
	body = ovl_funcs_body_ns(c->funcs);
	ovl_vec_each(probe, &facts->funcs)
		body = probe->tier == OVL_TIER_KPROBE ? 0 : body;
	facts->func_cost_ns = body ? body + c->calibration.dispatch_ns : 0;
}

void ovl_collect_refresh(struct ovl_collect *c, struct ovl_facts *facts)
{
	if (c->funcs)
		ovl_funcs_poll(c->funcs, facts);
}

void ovl_collect_close(struct ovl_collect *c)
{
	if (!c)
		return;
	if (c->bpf)
		ovl_calibrate_unwatch(&c->calibration, &c->in);
	ovl_counters_close(c->counters);
	ovl_sampler_close(c->sampler);
	ovl_drops_close(c->drops);
	ovl_connects_close(c->connects);
	ovl_evidence_close(c->evidence);
	ovl_packets_close(&c->packets);
	ovl_funcs_close(c->funcs);
	if (c->bpf)
		ovl_instruments_close(&c->in);
	ovl_ksyms_close(c->ksyms);
	ovl_reasons_close(c->reasons);
	ovl_self_fini(&c->self);
	for (int p = 0; p < OVL_PROG_COUNT; p++)
		free(c->runs[p]);
	free(c->scratch);
	free(c);
}
