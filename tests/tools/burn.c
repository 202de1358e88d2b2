/*
 * A cost of known size, for tests: a BPF program at a device's tc hook that burns time with each
 * packet and lets it pass. The kernel's own statistics say how often it ran and for how long.
 * Usage: burn NETNS DEVICE ingress|egress LOOPS
 * Prints "burning", then a line "RUNS NS" for each line read, until its input ends.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOPS_MAX 200000 /* the verifier walks every one of them */

static int fail(const char *what, int rc)
{
	fprintf(stderr, "burn: %s: %s\n", what, strerror(rc < 0 ? -rc : rc));
	return 1;
}

/* Read the clock so many times, then let the packet go on. */
static int load(int loops)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_6, .imm = loops},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
		{.code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = BPF_REG_6, .imm = 1},
		{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_6, .off = -3},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_ACT_UNSPEC},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "burn", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), NULL);
}

static int enter(const char *netns)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		return -errno;
	close(fd);
	return 0;
}

static int attach(int prog, const char *device, bool ingress)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(device),
		    .attach_point = ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog);
	int rc = hook.ifindex ? bpf_tc_hook_create(&hook) : -ENODEV;

	if (rc && rc != -EEXIST)
		return rc;
	return bpf_tc_attach(&hook, &opts);
}

static void detach(const char *device)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(device),
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	bpf_tc_hook_destroy(&hook);
}

int main(int argc, char **argv)
{
	int loops = argc == 5 ? atoi(argv[4]) : 0, prog, stats, rc;
	bool ingress = argc == 5 && !strcmp(argv[3], "ingress");
	char line[64];

	if (loops < 1 || loops > LOOPS_MAX || (!ingress && strcmp(argv[3], "egress") != 0)) {
		fprintf(stderr, "usage: burn NETNS DEVICE ingress|egress LOOPS (1 to %d)\n",
			LOOPS_MAX);
		return 2;
	}
	prog = load(loops);
	if (prog < 0)
		return fail("cannot load the program", prog);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		return fail("cannot count what it costs", stats);
	rc = enter(argv[1]);
	if (rc)
		return fail(argv[1], rc);
	rc = attach(prog, argv[2], ingress);
	if (rc)
		return fail(argv[2], rc);
	puts("burning");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		struct bpf_prog_info info = {0};
		unsigned int len = sizeof(info);

		rc = bpf_obj_get_info_by_fd(prog, &info, &len);
		if (rc)
			break;
		printf("%llu %llu\n", (unsigned long long)info.run_cnt,
		       (unsigned long long)info.run_time_ns);
		fflush(stdout);
	}
	detach(argv[2]);
	return rc ? fail("its statistics", rc) : 0;
}
