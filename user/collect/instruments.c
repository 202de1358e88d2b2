#include "collect/instruments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "ovltrace.skel.h"

#define CAP_BIT_SYS_ADMIN 21
#define CAP_BIT_PERFMON	  38
#define CAP_BIT_BPF	  39

#define PIDNS_INITIAL	0xeffffffcu /* PROC_PID_INIT_INO of the kernel */
#define SAMPLES_PER_CPU 1024	    /* distinct situations of one CPU in an interval */
#define SAMPLES_MOST	262144

/* By enum ovl_prog. */
static const struct {
	const char *hook, *lost;
} progs[OVL_PROG_COUNT] = {
	[OVL_PROG_SAMPLER] = {"perf_event", "where CPU time goes: stages, waterfall and verdict"},
	[OVL_PROG_DROPS] = {"tp_btf/kfree_skb", "drops by reason, place and device"},
	[OVL_PROG_RETRANSMIT] = {"tp_btf/tcp_retransmit_skb", "TCP retransmissions by namespace"},
	[OVL_PROG_CONNECT] = {"tp_btf/inet_sock_set_state", "connections that nobody answers"},
};

/*
 * libbpf hands its complaints to one function for the whole process, without a context of the
 * caller's: hence the only variable of this floor. It keeps the last one, for the error's sentence.
 */
static char last_complaint[160];

__attribute__((format(printf, 2, 0))) static int keep_complaint(enum libbpf_print_level level,
								const char *fmt, va_list ap)
{
	char text[512];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(text, sizeof(text), fmt, ap);
	/*
	 * a verifier log is many lines: what is worth a sentence is the first complaint, in one
	 * line
	 */
	if (last_complaint[0] || strstr(text, "BEGIN PROG LOAD LOG"))
		return 0;
	text[strcspn(text, "\n")] = '\0';
	ovl_str_copy(last_complaint, sizeof(last_complaint),
		     ovl_str_starts(text, "libbpf: ") ? text + 8 : text);
	return 0;
}

static struct bpf_program *program(struct ovltrace_bpf *skel, int prog)
{
	switch (prog) {
	case OVL_PROG_SAMPLER: return skel->progs.ovl_sampler;
	case OVL_PROG_DROPS: return skel->progs.ovl_drop;
	case OVL_PROG_CONNECT: return skel->progs.ovl_connect;
	default: return skel->progs.ovl_retransmit;
	}
}

static struct bpf_link **link_of(struct ovltrace_bpf *skel, int prog)
{
	switch (prog) {
	case OVL_PROG_DROPS: return &skel->links.ovl_drop;
	case OVL_PROG_CONNECT: return &skel->links.ovl_connect;
	default: return &skel->links.ovl_retransmit;
	}
}

bool ovl_instruments_tracepoint(const struct btf *btf, const char *name)
{
	char type[OVL_NAME_MAX];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

void ovl_instruments_missing(struct ovl_facts *facts, const char *hook, const char *reason,
			     const char *lost)
{
	struct ovl_missing *m = ovl_vec_push(&facts->missing);

	if (!m)
		return;
	ovl_str_copy(m->hook, sizeof(m->hook), hook);
	ovl_str_copy(m->reason, sizeof(m->reason), reason);
	ovl_str_copy(m->lost, sizeof(m->lost), lost);
}

static uint64_t effective_caps(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	fclose(f);
	return caps;
}

/* What a refusal means to the user, and the exit code it leads to. */
static enum ovl_exit explain(int rc, char *text, size_t n)
{
	uint64_t caps = effective_caps();
	bool bpf = caps & (1ull << CAP_BIT_BPF | 1ull << CAP_BIT_SYS_ADMIN);
	bool perfmon = caps & (1ull << CAP_BIT_PERFMON | 1ull << CAP_BIT_SYS_ADMIN);

	if (rc != -EPERM && rc != -EACCES) {
		snprintf(text, n, "%s%s%s", strerror(-rc), last_complaint[0] ? ": " : "",
			 last_complaint);
		return OVL_EXIT_KERNEL;
	}
	if (bpf && perfmon) {
		snprintf(text, n,
			 "the kernel refuses it although CAP_BPF and CAP_PERFMON are held "
			 "(lockdown, or a container's seccomp filter)");
		return OVL_EXIT_RIGHTS;
	}
	snprintf(text, n, "%s%s%s: run as root, or grant it", bpf ? "" : "CAP_BPF",
		 bpf || perfmon ? "" : " and ",
		 perfmon ? " is needed"
		 : bpf	 ? "CAP_PERFMON is needed"
			 : "CAP_PERFMON are needed");
	return OVL_EXIT_RIGHTS;
}

/* In a container, thread ids are those of its own PID namespace: BPF has to count as /proc does. */
static void set_pidns(struct ovltrace_bpf *skel)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == PIDNS_INITIAL)
		return;
	/* as the kernel writes a device number, which is not how stat encodes it */
	skel->rodata->ovl_pidns_dev = (__u64)major(st.st_dev) << 20 | minor(st.st_dev);
	skel->rodata->ovl_pidns_ino = st.st_ino;
}

/* The CPU is part of the key, so the maps must grow with the machine. */
static void size_samples(struct ovltrace_bpf *skel)
{
	__u32 most = SAMPLES_PER_CPU * (__u32)libbpf_num_possible_cpus();

	most = most < OVL_SAMPLE_ENTRIES ? OVL_SAMPLE_ENTRIES
	       : most > SAMPLES_MOST	 ? SAMPLES_MOST
					 : most;
	bpf_map__set_max_entries(skel->maps.samples_a, most);
	bpf_map__set_max_entries(skel->maps.samples_b, most);
}

static struct ovltrace_bpf *try_load(const struct ovl_reasons *reasons, const bool *want, int *rc)
{
	struct ovltrace_bpf *skel = ovltrace_bpf__open();

	if (!skel) {
		*rc = -errno;
		return NULL;
	}
	for (int p = 0; p < OVL_PROG_COUNT; p++)
		bpf_program__set_autoload(program(skel, p), want[p]);
	if (!want[OVL_PROG_SAMPLER]) {
		/* 16 MiB of kernel memory each */
		bpf_map__set_autocreate(skel->maps.stacks_a, false);
		bpf_map__set_autocreate(skel->maps.stacks_b, false);
	}
	skel->rodata->ovl_self_tgid = (__u32)getpid();
	set_pidns(skel);
	size_samples(skel);
	skel->rodata->ovl_kfree_skb_args = ovl_reasons_kfree_skb_args(reasons);
	skel->rodata->ovl_retransmit_args = ovl_reasons_retransmit_args(reasons);
	*rc = ovltrace_bpf__load(skel);
	if (!*rc)
		return skel;
	ovltrace_bpf__destroy(skel);
	return NULL;
}

/* One program's refusal fails the whole load: find out which are accepted alone. */
static int find_refused(const struct ovl_reasons *reasons, bool *want, struct ovl_facts *facts,
			struct ovl_err *err)
{
	int first = 0;

	for (int p = 0; p < OVL_PROG_COUNT; p++) {
		bool alone[OVL_PROG_COUNT] = {false};
		char why[OVL_TEXT_MAX];
		struct ovltrace_bpf *skel;
		enum ovl_exit exit;
		int rc;

		if (!want[p])
			continue;
		alone[p] = true;
		last_complaint[0] = '\0';
		skel = try_load(reasons, alone, &rc);
		if (skel) {
			ovltrace_bpf__destroy(skel);
			continue;
		}
		exit = explain(rc, why, sizeof(why));
		ovl_instruments_missing(facts, progs[p].hook, why, progs[p].lost);
		if (!first)
			first = ovl_err_set(err, exit, rc, "cannot load the BPF program for %s: %s",
					    progs[p].hook, why);
		want[p] = false;
	}
	return first;
}

static bool any(const bool *want)
{
	for (int p = 0; p < OVL_PROG_COUNT; p++)
		if (want[p])
			return true;
	return false;
}

/* A tracepoint that BTF does not know would make libbpf fail with a riddle: say it beforehand. */
static void check_tracepoints(const struct ovl_reasons *reasons, bool *want,
			      struct ovl_facts *facts)
{
	const uint32_t args[OVL_PROG_COUNT] = {
		[OVL_PROG_SAMPLER] = 1,
		[OVL_PROG_DROPS] = ovl_reasons_kfree_skb_args(reasons),
		[OVL_PROG_RETRANSMIT] = ovl_reasons_retransmit_args(reasons),
		[OVL_PROG_CONNECT] = 1, /* since 4.16 */
	};

	for (int p = 0; p < OVL_PROG_COUNT; p++) {
		/* before 5.17 kfree_skb had no reason: nothing to tell drops apart by */
		if (want[p] && args[p] < (p == OVL_PROG_DROPS ? 3u : 1u)) {
			ovl_instruments_missing(facts, progs[p].hook,
						"this kernel has no such tracepoint, or an older "
						"form of it",
						progs[p].lost);
			want[p] = false;
		}
	}
}

int ovl_instruments_open(struct ovl_instruments *in, const struct ovl_reasons *reasons,
			 bool want_sampler, struct ovl_facts *facts, struct ovl_err *err)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	bool want[OVL_PROG_COUNT];
	int rc;

	*in = (struct ovl_instruments){.cpus_possible = libbpf_num_possible_cpus()};
	libbpf_set_print(keep_complaint);
	/* not needed since 5.11, which counts BPF memory by cgroup: a refusal does not matter */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	for (int p = 0; p < OVL_PROG_COUNT; p++)
		want[p] = p != OVL_PROG_SAMPLER || want_sampler;
	check_tracepoints(reasons, want, facts);
	if (in->cpus_possible <= 0)
		return ovl_err_set(err, OVL_EXIT_KERNEL, -ENOENT,
				   "cannot read the number of CPUs from /sys/devices/system/cpu");
	last_complaint[0] = '\0';
	rc = -ENOENT;
	in->skel = any(want) ? try_load(reasons, want, &rc) : NULL;
	if (!in->skel && any(want)) {
		int why = find_refused(reasons, want, facts, err);

		rc = why ? why : rc;
		if (any(want))
			in->skel = try_load(reasons, want, &rc);
	} else if (!in->skel) {
		ovl_err_set(err, OVL_EXIT_KERNEL, rc,
			    "this kernel has none of the tracepoints "
			    "that ovltrace needs");
	}
	if (!in->skel)
		return rc ? rc : -ENOTSUP;
	memcpy(in->loaded, want, sizeof(want));
	return 0;
}

void ovl_instruments_attach(struct ovl_instruments *in, struct ovl_facts *facts)
{
	for (int p = OVL_PROG_DROPS; p < OVL_PROG_COUNT; p++) {
		char why[OVL_TEXT_MAX];
		struct bpf_link *link;

		if (!in->loaded[p])
			continue;
		last_complaint[0] = '\0';
		link = bpf_program__attach(program(in->skel, p));
		if (link) {
			*link_of(in->skel, p) = link;
			facts->progs_attached++;
			continue;
		}
		explain(-errno, why, sizeof(why));
		ovl_instruments_missing(facts, progs[p].hook, why, progs[p].lost);
		in->loaded[p] = false;
	}
}

void ovl_instruments_close(struct ovl_instruments *in)
{
	ovltrace_bpf__destroy(in->skel);
	in->skel = NULL;
}

void ovl_instruments_flip(struct ovl_instruments *in, uint32_t bits)
{
	in->active ^= bits;
	__atomic_store_n(&in->skel->bss->ovl_active, in->active, __ATOMIC_SEQ_CST);
}

int ovl_instruments_per_cpu(const struct ovl_instruments *in, int map_fd, uint32_t slot,
			    uint64_t *per_cpu)
{
	memset(per_cpu, 0, (size_t)in->cpus_possible * sizeof(*per_cpu));
	return bpf_map_lookup_elem(map_fd, &slot, per_cpu) ? -errno : 0;
}
