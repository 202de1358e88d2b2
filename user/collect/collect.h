/*
 * Collecting: the only floor that knows libbpf, /proc and rtnetlink of the watched node, and the
 * only one that reads recordings. Facts first, then one sample per interval.
 */
#ifndef OVL_COLLECT_COLLECT_H
#define OVL_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "model/facts.h"
#include "model/func.h"
#include "model/sample.h"

/** When packets are counted at the devices of the path. */
struct ovl_packets_spec {
	bool deep;	     /* all the time */
	uint64_t window_ns;  /* else in windows of this length */
	double budget_ratio; /* of a CPU, that windows may cost */
};

/** What to watch. */
struct ovl_collect_spec {
	uint32_t sample_hz;    /* 0: no sampler */
	bool no_bpf;	       /* counters only (a kernel or user without BPF) */
	uint64_t calibrate_ns; /* at most this long is spent on calibration; 0: none */
	/*
	 * The sampler's rate is lowered until rate × measured cost of a sample is within this share
	 * of a
	 * CPU (never below 97 Hz, and at most 197 Hz where that cost could not be measured);
	 * facts->sample_hz says what came of it. 0: sample_hz as it is.
	 */
	double sample_budget_ratio;
	struct ovl_packets_spec packets; /* all zero: packets are not counted */
	/*
	 * Calls of kernel functions are counted all the time where packets.deep says so, or a tier
	 * other than auto and tracepoint. With packets.deep, payload copies are counted by
	 * tracepoints where functions cannot be probed.
	 */
	enum ovl_tier tier;
};

struct ovl_collect;

/**
 * Load and attach the instruments for the namespaces in facts->ns (entered by the fds in ns_fd,
 * same order; both must stay until this is closed). Fills facts->{sample_hz, *_cost_ns,
 * progs_attached, missing, libbpf_version}.
 * Instruments that the kernel refuses are listed in facts->missing; only when none is left does
 * this fail
 * (OVL_EXIT_RIGHTS with the capability named, or OVL_EXIT_KERNEL).
 */
struct ovl_collect *ovl_collect_open(const struct ovl_collect_spec *spec, struct ovl_facts *facts,
				     const int *ns_fd, struct ovl_err *err);
/** Tell the sampler whom a task works for (enum ovl_task_class of bpf/abi.h). */
int ovl_collect_class(struct ovl_collect *c, pid_t tid, int task_class);
/**
 * With windows: open none for now (hold), or go on, so that the few there are fall where they
 * count.
 */
void ovl_collect_hold(struct ovl_collect *c, bool hold);
/**
 * The next interval to end is the run's last: what is read less often than every interval is read
 * then, so that it covers the whole run.
 */
void ovl_collect_last(struct ovl_collect *c);
/** Begin an interval now: reads all counters, discards samples since the last call. */
int ovl_collect_begin(struct ovl_collect *c, struct ovl_err *err);
/**
 * End the interval now and fill *s (phase, pair and load are the caller's to fill). Also begins the
 * next interval, so that back-to-back intervals lose nothing.
 */
int ovl_collect_end(struct ovl_collect *c, const struct ovl_facts *facts, struct ovl_sample *s,
		    struct ovl_err *err);
/**
 * Refresh facts->*_cost_ns: the costs are measured again under the real load in the first second of
 * the first interval that ovl_collect_end ends; what an interrupt costs, if it could not be
 * measured at the start, by the following calls of ovl_collect_end (10 ms each). Cheap; call it
 * after each ovl_collect_end, or before the report.
 */
void ovl_collect_costs(struct ovl_collect *c, struct ovl_facts *facts);
/** Follow what has changed on the machine between intervals: modules that were loaded. Cheap. */
void ovl_collect_refresh(struct ovl_collect *c, struct ovl_facts *facts);
void ovl_collect_close(struct ovl_collect *c);

/* collect/target.c: find the interface and its path */

/** Where the interface was found; one entry for every match. */
struct ovl_target {
	/* namespaces of the path, same order as facts->ns; ns_fd[0]: the interface's; -1: unused */
	int ns_fd[16];
	uint32_t n_ns;
	char said[OVL_TEXT_MAX]; /* one sentence when the choice needs saying, else "" */
};

/**
 * Find `iface` in `netns` (NAME, PATH or PID; NULL: current, then named ones, then those of running
 * processes) and fill facts->{ns, links, iface, vxlan}: the interface with features, its underlay
 * device, its bridge or master and the pods' veth pairs that hang on it (their namespaces too).
 * -ENODEV with OVL_EXIT_INPUT: not found; names similar interfaces that exist; or several found:
 * lists them. `prefer` (may be NULL) decides among several: it gets the candidates' namespace names
 * and returns the index to take, or -1.
 */
int ovl_target_find(const char *iface, const char *netns,
		    int (*prefer)(const char *const *names, uint32_t n), struct ovl_facts *facts,
		    struct ovl_target *target, struct ovl_err *err);
/**
 * Add all devices of one more namespace (a twin's, a lab's) to the facts. Takes over ns_fd on
 * success.
 */
int ovl_target_add_ns(struct ovl_target *target, struct ovl_facts *facts, const char *name,
		      int ns_fd, struct ovl_err *err);
void ovl_target_close(struct ovl_target *target);
/** Fill the host part of the facts: kernel, arch, cpus, nodename, tool and libbpf versions. */
void ovl_target_host(struct ovl_facts *facts);

/*
 * collect/doctor.c: what this kernel, this process and this interface allow; each check by doing it
 */

enum ovl_check_state { OVL_CHECK_OK = 0, OVL_CHECK_MISSING, OVL_CHECK_SKIPPED };
struct ovl_check {
	char key[32];
	enum ovl_check_state state;
	char text[OVL_TEXT_MAX]; /* what was done and what came of it */
	char lost[OVL_TEXT_MAX]; /* what ovltrace cannot do without it; "" when ok */
};
typedef OVL_VEC(struct ovl_check) ovl_checks;
/** Run every check. 0, or -ENOMEM. Needs no right itself: what is refused is reported. */
int ovl_doctor_run(const char *iface, ovl_checks *out);

#endif
