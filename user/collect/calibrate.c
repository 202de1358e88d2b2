#include "collect/calibrate.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "collect/sampler.h"
#include "ovltrace.skel.h"

#define FAST_HZ		  10000 /* of the sampler while it is calibrated */
#define GAPS_MAX	  4096
#define PAIRS_MAX	  64
#define BLOCK_SENDS	  100
#define RUNS_ENOUGH	  50 /* below, a mean is not worth replacing another */
#define INTERRUPTS_ENOUGH 20
#define PAIRS_ENOUGH	  5

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t median(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
	return v[n / 2];
}

static struct ovl_calibrate_runs runs_of(const struct ovl_instruments *in, int prog)
{
	const struct bpf_program *p = prog == OVL_PROG_SAMPLER ? in->skel->progs.ovl_sampler
				      : prog == OVL_PROG_DROPS ? in->skel->progs.ovl_drop
							       : in->skel->progs.ovl_retransmit;
	struct bpf_prog_info info = {0};
	__u32 n = sizeof(info);

	if (!in->loaded[prog] || bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &n))
		return (struct ovl_calibrate_runs){0};
	return (struct ovl_calibrate_runs){info.run_time_ns, info.run_cnt};
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
 * Spin and watch the clock: each sampling interrupt is a gap between two readings. The event counts
 * this thread only, so the n largest gaps are the n interrupts (and a few longer ones of others, which
 * the median ignores).
 */
static void gaps(struct ovl_calibration *c, const struct ovl_instruments *in, uint64_t for_ns)
{
	struct ovl_calibrate_runs before = runs_of(in, OVL_PROG_SAMPLER), after;
	int64_t *gap = calloc(GAPS_MAX, sizeof(*gap));
	uint64_t last, now, end, patience, quiet = UINT64_MAX, body;
	size_t n = 0, interrupts;

	if (!gap)
		return;
	last = ovl_clock_ns();
	end = last + for_ns;
	patience = last + 3 * for_ns;
	for (;;) {
		now = ovl_clock_ns();
		if (now - last < quiet && now > last)
			quiet = now - last;
		/* an interrupt is far longer than two readings of the clock */
		if (n < GAPS_MAX && quiet != UINT64_MAX && now - last > 6 * quiet)
			gap[n++] = (int64_t)(now - last);
		last = now;
		/* on a crowded CPU this thread may hardly have run so far */
		if (now >= end && (n >= 2 * INTERRUPTS_ENOUGH || now >= patience))
			break;
	}
	after = runs_of(in, OVL_PROG_SAMPLER);
	interrupts = (size_t)(after.n - before.n);
	if (interrupts >= INTERRUPTS_ENOUGH && n >= interrupts) {
		qsort(gap, n, sizeof(*gap), ascending);
		body = (after.ns - before.ns) / (after.n - before.n);
		c->interrupt_ns = at_least((uint64_t)gap[n - 1 - interrupts / 2], quiet + body);
	}
	free(gap);
}

static struct bpf_link *attach_fast(const struct ovl_instruments *in)
{
	int fd = ovl_sampler_event(ovl_sampler_hardware(), FAST_HZ, 0, -1);
	struct bpf_link *link;

	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(in->skel->progs.ovl_sampler, fd);
	if (!link)
		close(fd);
	return link;
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

/* The sampler's body on stacks of the network path, sending and receiving, as under load; 0: unknown. */
static uint64_t deep_body(const struct ovl_instruments *in, int fd, uint64_t for_ns)
{
	struct ovl_calibrate_runs before = runs_of(in, OVL_PROG_SAMPLER);
	uint64_t end = ovl_clock_ns() + for_ns, patience = end + 2 * for_ns, body = 0, now;

	if (fd < 0)
		return 0;
	do {
		send_block(fd);
		now = ovl_clock_ns();
		if (now >= end)
			body = mean_since(in, OVL_PROG_SAMPLER, &before, INTERRUPTS_ENOUGH);
	} while (now < end || (!body && now < patience));
	return body;
}

/* Blocks with and without the drop program, alternating, so that drift hits both alike. */
static void drop_pairs(struct ovl_calibration *c, const struct ovl_instruments *in, int fd,
		       uint64_t for_ns)
{
	struct ovl_calibrate_runs before = runs_of(in, OVL_PROG_DROPS), after;
	uint64_t end = ovl_clock_ns() + for_ns, patience = end + 2 * for_ns;
	int64_t diff[PAIRS_MAX], per_block;
	size_t n = 0;

	while (n < PAIRS_MAX && ovl_clock_ns() < (n < PAIRS_ENOUGH ? patience : end)) {
		struct bpf_link *link;
		int64_t off = (int64_t)send_block(fd);

		link = bpf_program__attach(in->skel->progs.ovl_drop);
		if (!link)
			return;
		diff[n++] = (int64_t)send_block(fd) - off;
		bpf_link__destroy(link);
	}
	after = runs_of(in, OVL_PROG_DROPS);
	if (n < PAIRS_ENOUGH || after.n < before.n + n)
		return;
	per_block = median(diff, n);
	c->body_ns[OVL_PROG_DROPS] = (after.ns - before.ns) / (after.n - before.n);
	/* a difference below the body is noise: what surrounds it then costs nothing that can be seen */
	c->dispatch_ns =
		at_least((uint64_t)(per_block > 0 ? per_block : 0) * n / (after.n - before.n),
			 c->body_ns[OVL_PROG_DROPS]);
}

void ovl_calibrate_run(struct ovl_calibration *c, struct ovl_instruments *in, uint64_t budget_ns)
{
	struct bpf_link *fast;
	int fd;

	*c = (struct ovl_calibration){.stats_fd = -1};
	if (!budget_ns)
		return;
	ovl_calibrate_watch(c, in);
	if (c->stats_fd < 0)
		return; /* without the statistics nothing tells how often a program ran */
	fd = private_socket();
	fast = in->loaded[OVL_PROG_SAMPLER] ? attach_fast(in) : NULL;
	if (fast) {
		gaps(c, in, budget_ns / 4);
		c->body_ns[OVL_PROG_SAMPLER] = deep_body(in, fd, budget_ns / 4);
		bpf_link__destroy(fast);
	}
	if (fd >= 0 && in->loaded[OVL_PROG_DROPS])
		drop_pairs(c, in, fd, budget_ns / 2);
	if (fd >= 0)
		close(fd);
	close(c->stats_fd);
	c->stats_fd = -1;
}

void ovl_calibrate_watch(struct ovl_calibration *c, const struct ovl_instruments *in)
{
	if (c->stats_fd < 0)
		c->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	for (int p = 0; p < OVL_PROG_COUNT; p++)
		c->since[p] = runs_of(in, p);
}

void ovl_calibrate_unwatch(struct ovl_calibration *c, const struct ovl_instruments *in)
{
	if (c->stats_fd < 0)
		return;
	for (int p = 0; p < OVL_PROG_COUNT; p++) {
		uint64_t body = mean_since(in, p, &c->since[p], RUNS_ENOUGH);

		if (body)
			c->body_ns[p] = body;
	}
	close(c->stats_fd);
	c->stats_fd = -1;
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
