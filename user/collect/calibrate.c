#include "collect/calibrate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "collect/sampler.h"
#include "ovltrace.skel.h"

#define FAST_HZ		  4000 /* of the sampler while it is calibrated */
#define BODIES_MAX	  200
#define PAIRS_MAX	  6  /* each patches the kernel's text, twice */
#define BLOCK_SENDS	  32 /* of one timing: short, so that most are not interrupted */
#define BLOCKS_MAX	  64 /* timings of one half of a pair */
#define BLOCKS_LEAST	  5
#define RUNS_ENOUGH	  50 /* below, a mean is not worth replacing another */
#define INTERRUPTS_ENOUGH 8
#define WATCH_MS	  1000

/* r0 = 0; exit */
static const struct bpf_insn nothing[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	{.code = BPF_JMP | BPF_EXIT},
};

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t quantile(int64_t *v, size_t n, double share)
{
	qsort(v, n, sizeof(*v), ascending);
	return v[(size_t)((double)n * share)];
}

static struct ovl_calibrate_runs runs_of_fd(int prog_fd)
{
	struct bpf_prog_info info = {0};
	__u32 n = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &n))
		return (struct ovl_calibrate_runs){0};
	return (struct ovl_calibrate_runs){info.run_time_ns, info.run_cnt};
}

static struct ovl_calibrate_runs runs_of(const struct ovl_instruments *in, int prog)
{
	const struct bpf_program *p = prog == OVL_PROG_SAMPLER	 ? in->skel->progs.ovl_sampler
				      : prog == OVL_PROG_DROPS	 ? in->skel->progs.ovl_drop
				      : prog == OVL_PROG_CONNECT ? in->skel->progs.ovl_connect
								 : in->skel->progs.ovl_retransmit;

	if (!in->loaded[prog])
		return (struct ovl_calibrate_runs){0};
	return runs_of_fd(bpf_program__fd(p));
}

static uint64_t mean_since(const struct ovl_instruments *in, int prog,
			   const struct ovl_calibrate_runs *since, uint64_t enough)
{
	struct ovl_calibrate_runs now = runs_of(in, prog);

	if (now.n < since->n + enough)
		return 0;
	return (now.ns - since->ns) / (now.n - since->n);
}

/*
 * Spin and watch the clock: a sampling interrupt is a gap between two readings. The kernel's run
 * count tells such gaps from those of other interrupts and of other tasks, so that a busy machine
 * only makes it take longer.
 */
static void watch_gaps(struct ovl_calibration *c, int prog_fd, uint64_t for_ns, uint64_t at_most_ns)
{
	struct ovl_calibrate_runs before = runs_of_fd(prog_fd), after;
	uint64_t quiet = UINT64_MAX, start = ovl_clock_ns(), last = start;

	while (c->n_gaps < OVL_CALIBRATE_GAPS) {
		uint64_t now = ovl_clock_ns(), gap = now - last;

		if (now - start >= (c->n_gaps < INTERRUPTS_ENOUGH ? at_most_ns : for_ns))
			break;
		last = now;
		if (gap && gap < quiet)
			quiet = gap;
		/* an interrupt is far longer than two readings of the clock */
		if (quiet == UINT64_MAX || gap <= 6 * quiet)
			continue;
		after = runs_of_fd(prog_fd);
		if (after.n == before.n + 1)
			c->gap_ns[c->n_gaps++] =
				(int64_t)at_least(gap, quiet + after.ns - before.ns);
		before = after;
		last = ovl_clock_ns();
	}
}

/* Attach the program to an event of this thread alone. The event's fd, or -errno. */
static int attach_fast(int prog_fd)
{
	int fd = ovl_sampler_event(FAST_HZ, 0, -1), rc;

	/* the kernel lowers its limit where interrupts turn out to be slow */
	if (fd == -EINVAL)
		fd = ovl_sampler_event(FAST_HZ / 4, 0, -1);
	if (fd < 0)
		return fd;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* With an empty program, which keeps the sampler's own maps clean. The statistics must be on. */
static void interrupts(struct ovl_calibration *c, uint64_t for_ns, uint64_t at_most_ns)
{
	int prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "ovl_calibrate", "GPL", nothing,
				 sizeof(nothing) / sizeof(*nothing), NULL);
	int event = prog < 0 ? prog : attach_fast(prog);

	if (event >= 0) {
		watch_gaps(c, prog, for_ns, at_most_ns);
		close(event);
	}
	if (prog >= 0)
		close(prog);
	/* other work makes some of them longer, nothing makes them shorter */
	if (c->n_gaps >= INTERRUPTS_ENOUGH)
		c->interrupt_ns = (uint64_t)quantile(c->gap_ns, c->n_gaps, 0.25);
}

/* A thread of its own, so that no other one ever finds itself in the wrong namespace. */
static void *socket_thread(void *arg)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int *fd = arg;

	if (unshare(CLONE_NEWNET))
		return NULL;
	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd >= 0 && ioctl(*fd, SIOCSIFFLAGS, &lo)) {
		close(*fd);
		*fd = -1;
	}
	return NULL;
}

/* A UDP socket in a network namespace that lives as long as it, with lo up. -1: not possible. */
static int private_socket(void)
{
	pthread_t thread;
	int fd = -1;

	if (pthread_create(&thread, NULL, socket_thread, &fd))
		return -1;
	pthread_join(thread, NULL);
	return fd;
}

/* Each datagram to a closed port is one drop. Time for the block. */
static uint64_t send_block(int fd)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	uint64_t start = ovl_clock_ns();
	char byte = 0;

	for (int i = 0; i < BLOCK_SENDS; i++)
		sendto(fd, &byte, 1, 0, (struct sockaddr *)&to, sizeof(to));
	return ovl_clock_ns() - start;
}

/*
 * The sampler's body on stacks of the network path, sending and receiving, as under load; 0:
 * unknown.
 */
static uint64_t deep_body(const struct ovl_instruments *in, int fd, uint64_t deadline_ts_ns)
{
	struct ovl_calibrate_runs before = runs_of(in, OVL_PROG_SAMPLER);
	int event = attach_fast(bpf_program__fd(in->skel->progs.ovl_sampler));

	if (event < 0)
		return 0;
	do
		send_block(fd);
	while (ovl_clock_ns() < deadline_ts_ns &&
	       runs_of(in, OVL_PROG_SAMPLER).n < before.n + BODIES_MAX);
	close(event);
	return mean_since(in, OVL_PROG_SAMPLER, &before, INTERRUPTS_ENOUGH);
}

/*
 * Median time of a block; *sent grows by the datagrams. What others' work interrupts is left out
 * so.
 */
static int64_t send_blocks(int fd, uint64_t for_ns, uint64_t *sent)
{
	const uint64_t end = ovl_clock_ns() + for_ns;
	int64_t took[BLOCKS_MAX];
	size_t n = 0;

	do
		took[n++] = (int64_t)send_block(fd);
	while (n < BLOCKS_LEAST || (n < BLOCKS_MAX && ovl_clock_ns() < end));
	*sent += n * BLOCK_SENDS;
	return quantile(took, n, 0.5);
}

/* Sending with and without the drop program, alternating, so that drift hits both alike. */
static void drop_pairs(struct ovl_calibration *c, const struct ovl_instruments *in, int fd,
		       uint64_t deadline_ts_ns)
{
	struct ovl_calibrate_runs before = runs_of(in, OVL_PROG_DROPS), after;
	uint64_t start = ovl_clock_ns(), now = start, sent = 0, unseen = 0, per_drop;
	const uint64_t half_ns = at_least(deadline_ts_ns, start) / (2 * PAIRS_MAX + 2);
	int64_t diff[PAIRS_MAX], per_block;
	size_t n = 0;

	/* one in any case, then as long as one more of the mean length so far will fit */
	while (n < PAIRS_MAX && (!n || now + (now - start) / n <= deadline_ts_ns)) {
		int64_t off = send_blocks(fd, half_ns, &unseen);
		struct bpf_link *link = bpf_program__attach(in->skel->progs.ovl_drop);

		if (!link)
			return;
		diff[n++] = send_blocks(fd, half_ns, &sent) - off;
		bpf_link__destroy(link);
		now = ovl_clock_ns();
	}
	after = runs_of(in, OVL_PROG_DROPS);
	if (after.n < before.n + sent)
		return;
	per_block = quantile(diff, n, 0.5);
	c->body_ns[OVL_PROG_DROPS] = (after.ns - before.ns) / (after.n - before.n);
	per_drop = (uint64_t)(per_block > 0 ? per_block : 0) / BLOCK_SENDS * sent /
		   (after.n - before.n);
	/*
	 * a difference below the body is noise: what surrounds it then costs nothing that can be
	 * seen
	 */
	c->dispatch_ns = at_least(per_drop, c->body_ns[OVL_PROG_DROPS]);
}

void ovl_calibrate_run(struct ovl_calibration *c, struct ovl_instruments *in, uint64_t budget_ns)
{
	const uint64_t start = ovl_clock_ns(), end = start + budget_ns;
	int fd;

	*c = (struct ovl_calibration){.stats_fd = -1, .wake_fd = -1};
	if (!budget_ns)
		return;
	c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (c->stats_fd < 0)
		return; /* without the statistics nothing tells how often a program ran */
	fd = private_socket();
	if (in->loaded[OVL_PROG_SAMPLER]) {
		interrupts(c, budget_ns / 4, budget_ns * 2 / 5);
		if (fd >= 0)
			c->body_ns[OVL_PROG_SAMPLER] =
				deep_body(in, fd, ovl_clock_ns() + budget_ns / 6);
	}
	if (fd >= 0 && in->loaded[OVL_PROG_DROPS])
		drop_pairs(c, in, fd, end);
	if (fd >= 0)
		close(fd);
	close(c->stats_fd);
	c->stats_fd = -1;
}

void ovl_calibrate_again(struct ovl_calibration *c, uint64_t budget_ns)
{
	int stats_fd = c->interrupt_ns ? -1 : bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (stats_fd < 0)
		return;
	interrupts(c, budget_ns, budget_ns);
	close(stats_fd);
}

/* An interval may take minutes: the statistics, which slow every BPF program down, must not. */
static void *stop_watching(void *arg)
{
	struct ovl_calibration *c = arg;
	struct pollfd wake = {.fd = c->wake_fd, .events = POLLIN};

	poll(&wake, 1, WATCH_MS);
	close(c->stats_fd);
	return NULL;
}

void ovl_calibrate_watch(struct ovl_calibration *c, const struct ovl_instruments *in)
{
	if (c->stats_fd >= 0)
		return;
	c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	c->wake_fd = eventfd(0, EFD_CLOEXEC);
	for (int p = 0; p < OVL_PROG_COUNT; p++)
		c->since[p] = runs_of(in, p);
	if (c->stats_fd >= 0 && c->wake_fd >= 0 &&
	    !pthread_create(&c->watcher, NULL, stop_watching, c))
		return;
	if (c->stats_fd >= 0)
		close(c->stats_fd);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	c->stats_fd = c->wake_fd = -1;
}

void ovl_calibrate_unwatch(struct ovl_calibration *c, const struct ovl_instruments *in)
{
	if (c->wake_fd < 0)
		return;
	eventfd_write(c->wake_fd, 1);
	pthread_join(c->watcher, NULL);
	close(c->wake_fd);
	c->stats_fd = c->wake_fd = -1;
	for (int p = 0; p < OVL_PROG_COUNT; p++) {
		uint64_t body = mean_since(in, p, &c->since[p], RUNS_ENOUGH);

		if (body)
			c->body_ns[p] = body;
	}
}

void ovl_calibrate_facts(const struct ovl_calibration *c, struct ovl_facts *facts)
{
	uint64_t retransmit = c->body_ns[OVL_PROG_RETRANSMIT];

	if (c->interrupt_ns && c->body_ns[OVL_PROG_SAMPLER])
		facts->sample_cost_ns = c->interrupt_ns + c->body_ns[OVL_PROG_SAMPLER];
	if (!c->body_ns[OVL_PROG_DROPS])
		return;
	facts->drop_cost_ns = c->dispatch_ns + c->body_ns[OVL_PROG_DROPS];
	/*
	 * Retransmissions cannot be provoked in the time there is. Until some were seen, the drop
	 * program stands in: the same kind of hook, and it does all that this one does and more.
	 */
	facts->retransmit_cost_ns =
		c->dispatch_ns + (retransmit ? retransmit : c->body_ns[OVL_PROG_DROPS]);
}
