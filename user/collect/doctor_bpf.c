#include "collect/doctor_bpf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/clock.h"
#include "collect/doctor_say.h"
#include "collect/hooks.h"
#include "model/func.h"

#define PROBED	 "netif_receive_skb" /* exported: a function of its own in every kernel */
#define SPIN_NS	 50000000ull	     /* the sampler is waited for that long */
#define CHECK_HZ 997

/* r0 = 0; exit */
static const struct bpf_insn nothing[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	{.code = BPF_JMP | BPF_EXIT},
};

/* What a refusal most likely means: root is refused by the kernel, others by what they lack. */
static const char *rights(int rc)
{
	if ((rc != -EPERM && rc != -EACCES) || !geteuid())
		return "";
	return " (CAP_BPF and CAP_PERFMON, or root)";
}

static int load_nothing(enum bpf_prog_type type, enum bpf_attach_type attach, int btf_id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach,
		    .attach_btf_id = (__u32)btf_id);

	return bpf_prog_load(type, "ovl_doctor", "GPL", nothing, sizeof(nothing) / sizeof(*nothing),
			     &opts);
}

static int perf_open(struct perf_event_attr *attr, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int current_cpu(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : cpu;
}

static enum ovl_check_state check_btf(const char *iface, struct btf *btf, char *text)
{
	(void)iface;
	if (!btf)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "/sys/kernel/btf/vmlinux could not be read and parsed");
	return ovl_doctor_say(OVL_CHECK_OK, text, "/sys/kernel/btf/vmlinux has %u types",
			      btf__type_cnt(btf));
}

/* Load and attach an empty program to something that BTF describes. */
static enum ovl_check_state check_tracing(struct btf *btf, enum bpf_attach_type attach,
					  const char *what, const char *type, char *text)
{
	int id = btf ? btf__find_by_name_kind(btf, type,
					      attach == BPF_TRACE_RAW_TP ? BTF_KIND_TYPEDEF
									 : BTF_KIND_FUNC)
		     : -ENOENT;
	int prog, link, rc;

	if (!btf)
		return ovl_doctor_say(OVL_CHECK_SKIPPED, text, "%s needs BTF, which is missing",
				      what);
	if (id < 0)
		return ovl_doctor_say(OVL_CHECK_MISSING, text, "%s is unknown to this kernel's BTF",
				      type);
	prog = load_nothing(BPF_PROG_TYPE_TRACING, attach, id);
	if (prog < 0)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "%s: the kernel refused to load it: %s%s", what,
				      strerror(-prog), rights(prog));
	link = bpf_raw_tracepoint_open(NULL, prog);
	rc = link < 0 ? link : 0;
	if (link >= 0)
		close(link);
	close(prog);
	if (rc)
		return ovl_doctor_say(OVL_CHECK_MISSING, text, "%s: loaded, but not attached: %s",
				      what, strerror(-rc));
	return ovl_doctor_say(OVL_CHECK_OK, text, "%s: loaded, attached and detached", what);
}

static enum ovl_check_state check_tp_btf(const char *iface, struct btf *btf, char *text)
{
	(void)iface;
	return check_tracing(btf, BPF_TRACE_RAW_TP, "tp_btf/kfree_skb", "btf_trace_kfree_skb",
			     text);
}

static enum ovl_check_state check_fentry(const char *iface, struct btf *btf, char *text)
{
	(void)iface;
	return check_tracing(btf, BPF_TRACE_FENTRY, "fentry/" PROBED, PROBED, text);
}

/* Type number of a dynamic PMU, -1 if the kernel has none. */
static int pmu_type(const char *pmu)
{
	char path[128];
	int type = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f)
		fclose(f);
	return type;
}

static enum ovl_check_state check_kprobe(const char *iface, struct btf *btf, char *text)
{
	struct perf_event_attr attr = {.config1 = (__u64)(unsigned long)PROBED};
	int type = pmu_type("kprobe");
	int prog, event, rc;

	(void)iface;
	(void)btf;
	if (type < 0)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "kprobe/" PROBED ": this kernel has no kprobe events");
	prog = load_nothing(BPF_PROG_TYPE_KPROBE, 0, 0);
	if (prog < 0)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "kprobe/" PROBED ": the kernel refused to load it: %s%s",
				      strerror(-prog), rights(prog));
	attr.type = (__u32)type;
	event = perf_open(&attr, current_cpu());
	rc = event < 0 ? event : ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
	if (event >= 0)
		close(event);
	close(prog);
	if (rc)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "kprobe/" PROBED ": loaded, but not attached: %s",
				      strerror(-rc));
	return ovl_doctor_say(OVL_CHECK_OK, text,
			      "kprobe/" PROBED ": loaded, attached and detached");
}

/* A perf_event program that counts its runs in element 0 of a map. */
static int load_counting(int map)
{
	const struct bpf_insn insns[] = {
		/* *(u32 *)(fp - 4) = 0; r2 = fp - 4; r1 = map; r0 = map_lookup_elem(r1, r2) */
		{.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map},
		{.code = 0},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
		/* if (r0) lock *(u64 *)r0 += 1 */
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		 .dst_reg = BPF_REG_0,
		 .src_reg = BPF_REG_1,
		 .imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "ovl_doctor", "GPL", insns,
			     sizeof(insns) / sizeof(*insns), NULL);
}

/* Runs of the program within SPIN_NS of work on the CPU that the event watches. */
static __u64 spin(int map)
{
	const uint64_t until = ovl_clock_ns() + SPIN_NS;
	const __u32 key = 0;
	__u64 runs = 0;

	while (ovl_clock_ns() < until)
		;
	return bpf_map_lookup_elem(map, &key, &runs) ? 0 : runs;
}

static enum ovl_check_state check_sampler(const char *iface, struct btf *btf, char *text)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_freq = CHECK_HZ,
				       .freq = 1};
	int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ovl_doctor", 4, 8, 1, NULL);
	int prog = map < 0 ? map : load_counting(map);
	const int cpu = current_cpu();
	int event = prog < 0 ? prog : perf_open(&attr, cpu);
	int rc = event < 0 ? event : ioctl(event, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
	__u64 runs = rc ? 0 : spin(map);

	(void)iface;
	(void)btf;
	if (event >= 0)
		close(event);
	if (prog >= 0)
		close(prog);
	if (map >= 0)
		close(map);
	if (rc)
		return ovl_doctor_say(
			OVL_CHECK_MISSING, text, "%s: %s%s",
			map < 0	    ? "no BPF map could be made"
			: prog < 0  ? "the kernel refused to load a perf_event program"
			: event < 0 ? "no cpu-clock event could be opened on a CPU"
				    : "a program could not be attached to a cpu-clock event",
			strerror(-rc), rights(rc));
	if (!runs)
		return ovl_doctor_say(
			OVL_CHECK_MISSING, text,
			"a cpu-clock event at %d Hz on CPU %d did not fire in %d ms of work",
			CHECK_HZ, cpu, (int)(SPIN_NS / 1000000));
	return ovl_doctor_say(
		OVL_CHECK_OK, text,
		"a program on a %d Hz cpu-clock event on CPU %d ran %llu times in %d ms", CHECK_HZ,
		cpu, runs, (int)(SPIN_NS / 1000000));
}

static enum ovl_check_state check_cpu_events(const char *iface, struct btf *btf, char *text)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK};
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int event = perf_open(&attr, current_cpu());
	char paranoid[16] = "unknown";

	(void)iface;
	(void)btf;
	if (f && fgets(paranoid, sizeof(paranoid), f))
		paranoid[strcspn(paranoid, "\n")] = '\0';
	if (f)
		fclose(f);
	if (event < 0)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "an event for all tasks of a CPU was refused (%s); "
				      "kernel.perf_event_paranoid is %s: CAP_PERFMON is needed",
				      strerror(-event), paranoid);
	close(event);
	return ovl_doctor_say(OVL_CHECK_OK, text,
			      "an event for all tasks of a CPU was opened; "
			      "kernel.perf_event_paranoid is %s",
			      paranoid);
}

/* Which functions of the table this kernel has; those of modules not loaded are not missed. */
static enum ovl_check_state check_functions(const char *iface, struct btf *btf, char *text)
{
	struct ovl_hooks hooks = {0};
	const int rc = ovl_hooks_resolve(&hooks);
	unsigned known = 0, modules = 0, missing = 0;
	const char *first = "";

	(void)iface;
	(void)btf;
	for (uint32_t i = 0; !rc && i < OVL_FUNC_COUNT; i++) {
		const struct ovl_func_info *info = ovl_func_info(i);

		if (!*info->symbol)
			continue;
		if (hooks.type[i].id)
			known++;
		else if (*info->module)
			modules++;
		else if (!missing++)
			first = info->symbol;
	}
	ovl_hooks_fini(&hooks);
	if (rc)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "the kernel's functions could not be looked up: %s",
				      strerror(-rc));
	return ovl_doctor_say(missing ? OVL_CHECK_MISSING : OVL_CHECK_OK, text,
			      "functions to count that BTF knows: %u; of modules that are not "
			      "loaded: %u; unknown: %u%s%s",
			      known, modules, missing, missing ? ", first " : "", first);
}

static enum ovl_check_state check_bpf_stats(const char *iface, struct btf *btf, char *text)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	(void)iface;
	(void)btf;
	if (fd < 0)
		return ovl_doctor_say(
			OVL_CHECK_MISSING, text,
			"run-time statistics of BPF programs could not be switched on: %s",
			strerror(-fd));
	close(fd);
	return ovl_doctor_say(OVL_CHECK_OK, text,
			      "run-time statistics of BPF programs were switched on and off again");
}

const struct ovl_doctor_check *ovl_doctor_bpf_checks(size_t *n)
{
	static const struct ovl_doctor_check checks[] = {
		{"btf", "all BPF programs: they find kernel structures by it", check_btf},
		{"sampler", "where CPU time goes: stages, waterfall and verdict", check_sampler},
		{"cpu_events", "the sampler: it needs events for all tasks of each CPU",
		 check_cpu_events},
		{"tp_btf", "drops by reason and place, retransmissions", check_tp_btf},
		{"fentry", "exact function counts and times (tier fentry)", check_fentry},
		{"kprobe", "the same by kprobes where fentry is refused (tier kprobe)",
		 check_kprobe},
		{"functions", "counts and times of these kernel functions (see `list hooks`)",
		 check_functions},
		{"bpf_stats", "the calibration of what the own programs cost", check_bpf_stats},
	};

	*n = sizeof(checks) / sizeof(*checks);
	return checks;
}
