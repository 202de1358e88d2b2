/*
 * The instruments on the running kernel, in a network namespace of this process's own. needs: root
 */
#include "collect/collect.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../bpf/abi.h"
#include "base/clock.h"
#include "base/str.h"
#include "model/stage.h"
#include "tap.h"

#define HZ     997
#define K      137
#define IDS    16
#define CPU_NS 700000000ull

struct spinner {
	_Atomic pid_t tid;
	_Atomic bool go, done;
	uint64_t cpu_ns;
};

static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void *spin(void *arg)
{
	struct spinner *s = arg;
	uint64_t start;

	s->tid = (pid_t)syscall(SYS_gettid);
	while (!s->go)
		usleep(500);
	start = thread_ns();
	/* user mode only: reading the clock each round would be a system call */
	while (s->cpu_ns < CPU_NS) {
		for (volatile int i = 0; i < 3000000; i++)
			;
		s->cpu_ns = thread_ns() - start;
	}
	s->done = true;
	return NULL;
}

static bool private_netns(struct ovl_facts *facts, int *ns_fd)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	struct ovl_link *link;
	struct ovl_ns *ns;
	struct stat st;
	int fd;

	if (unshare(CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		return false;
	close(fd);
	*ns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*ns_fd < 0 || fstat(*ns_fd, &st))
		return false;
	ns = ovl_vec_push(&facts->ns);
	link = ovl_vec_push(&facts->links);
	if (!ns || !link)
		return false;
	ns->inode = st.st_ino;
	ovl_str_copy(ns->name, sizeof(ns->name), "test");
	link->ifindex = 1;
	link->lower = link->master = -1;
	ovl_str_copy(link->name, sizeof(link->name), "lo");
	return true;
}

/* Ids of the BPF programs this process holds, from the fdinfo of its file descriptors. */
static int own_programs(uint32_t *ids)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	struct dirent *e;
	int n = 0;

	while (dir && (e = readdir(dir))) {
		char path[300], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (n < IDS && sscanf(line, "prog_id: %u", &ids[n]) == 1)
				n++;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return n;
}

static bool gone(uint32_t id)
{
	/* the kernel frees programs after a grace period */
	for (int i = 0; i < 2000; i++) {
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			return true;
		close(fd);
		usleep(10000);
	}
	return false;
}

static void send_to_closed_port(int n)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < n; i++)
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
}

/* Tcp RetransSegs of this namespace, from the line of numbers below the line of names. */
static uint64_t kernel_retransmits(void)
{
	FILE *f = fopen("/proc/thread-self/net/snmp", "re");
	unsigned long long n = 0;
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tcp: %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* A connection over lo whose receiver filters all data away: the sender tries again and again. */
static void provoke_retransmits(uint64_t enough)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = {.len = 1, .filter = &nothing};
	const struct linger reset = {.l_onoff = 1};
	int server = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), peer;
	socklen_t n = sizeof(addr);
	uint64_t until = ovl_clock_ns() + 30000000000ull;

	if (bind(server, (struct sockaddr *)&addr, sizeof(addr)) || listen(server, 1) ||
	    getsockname(server, (struct sockaddr *)&addr, &n) ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return;
	peer = accept(server, NULL, NULL);
	setsockopt(peer, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
	if (write(fd, "lost", 4) == 4)
		while (kernel_retransmits() < enough && ovl_clock_ns() < until)
			usleep(20000);
	/* the program runs right before or after the counter moves, unless the CPU is taken away */
	usleep(100000);
	/* no more of them while the counter is read: neither side has anything left to send */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
	close(peer);
	close(server);
}

static void test_retransmits(struct ovl_collect *c, const struct ovl_facts *facts)
{
	uint64_t before = kernel_retransmits(), counted;
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_sample s = {0};

	is_int(ovl_collect_begin(c, &err), 0, "an interval with retransmissions begins");
	provoke_retransmits(before + 3);
	counted = kernel_retransmits() - before;
	is_int(ovl_collect_end(c, facts, &s, &err), 0, "and ends");
	ok(counted >= 3, "the kernel counts %llu retransmissions", (unsigned long long)counted);
	is_int(s.retransmits, counted, "and so does the program");
	ovl_sample_fini(&s);
}

/* Samples of the load's thread ÷ hz ÷ its CPU time. */
static double sampled_ratio(const struct ovl_sample *s, uint64_t cpu_ns)
{
	uint64_t n = 0;
	double ratio;

	ovl_vec_each(h, &s->hits) {
		if (h->task_class == OVL_TASK_LOAD_TX && h->ctx != OVL_CTX_SOFTIRQ)
			n += h->count;
	}
	ratio = (double)n / HZ * 1e9 / (double)cpu_ns;
	printf("# %llu samples ÷ %d Hz against %.3f s of CPU time: %.3f\n", (unsigned long long)n,
	       HZ, (double)cpu_ns / 1e9, ratio);
	return ratio;
}

static void check_stages(const struct ovl_sample *s)
{
	uint64_t misplaced = 0;

	ovl_vec_each(h, &s->hits) {
		if (h->task_class == OVL_TASK_LOAD_TX && h->ctx == OVL_CTX_USER &&
		    h->stage != OVL_STAGE_APPLICATION)
			misplaced += h->count;
	}
	is_int(misplaced, 0, "the load's user mode is the application");
}

static void check_drops(const struct ovl_sample *s)
{
	uint64_t pkts = 0, segs = 0, elsewhere = 0;
	bool benign = false;

	ovl_vec_each(d, &s->drops) {
		if (d->ns != 0 || strcmp(d->reason, "NO_SOCKET")) {
			elsewhere += d->ns == 0 ? d->pkts : 0;
			continue;
		}
		printf("# %s %s %s: %llu\n", d->reason, d->symbol, d->iface,
		       (unsigned long long)d->pkts);
		if (!strcmp(d->iface, "lo")) {
			pkts += d->pkts;
			segs += d->segs;
		}
		benign |= d->benign;
	}
	is_int(pkts, K, "each datagram to a closed port is one NO_SOCKET drop on lo");
	is_int(segs, K, "of one segment each");
	ok(!benign, "which is a real drop");
	is_int(elsewhere, 0, "and nothing else was dropped in the namespace");
	ok(s->retransmits_valid, "retransmissions are counted");
	is_int(s->retransmits, 0, "there were none");
}

static void check_self(const struct ovl_sample *s, uint64_t spun_ns)
{
	uint64_t sum = 0, runs[OVL_PROG_COUNT] = {0};

	ovl_vec_each(d, &s->self) {
		sum += d->user_ns;
		for (int p = 0; p < OVL_PROG_COUNT; p++)
			runs[p] += d->runs[p];
	}
	is_int(sum, s->self_cpu_ns, "own CPU time is shared out completely");
	ok(s->self_cpu_ns > 0 && s->self_cpu_ns < spun_ns / 2,
	   "it is there, and without the load's thread");
	ok(runs[OVL_PROG_SAMPLER] > 100, "the sampler's runs are counted");
	ok(runs[OVL_PROG_DROPS] >= K, "so are the drop program's");
}

/* One interval in which a thread of the load spins and `drops` datagrams are lost; its CPU time. */
static uint64_t interval(struct ovl_collect *c, const struct ovl_facts *facts, int drops,
			 struct ovl_sample *s)
{
	struct spinner spinner = {0};
	struct ovl_err err = OVL_ERR_INIT;
	pthread_t thread;

	if (pthread_create(&thread, NULL, spin, &spinner)) {
		ok(false, "a thread to watch");
		return 1;
	}
	while (!spinner.tid)
		usleep(500);
	is_int(ovl_collect_class(c, spinner.tid, OVL_TASK_LOAD_TX), 0, "a task gets a class");
	send_to_closed_port(5);
	is_int(ovl_collect_begin(c, &err), 0, "an interval begins %s", err.text);
	spinner.go = true;
	send_to_closed_port(drops);
	while (!spinner.done)
		usleep(20000);
	is_int(ovl_collect_end(c, facts, s, &err), 0, "and ends %s", err.text);
	pthread_join(thread, NULL);
	return spinner.cpu_ns;
}

static void test_interval(struct ovl_collect *c, const struct ovl_facts *facts)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_sample s = {0};
	uint64_t cpu_ns;
	double ratio;

	cpu_ns = interval(c, facts, K, &s);
	ratio = sampled_ratio(&s, cpu_ns);
	check_stages(&s);
	check_drops(&s);
	check_self(&s, cpu_ns);
	/* back to back: what was read is not read again */
	is_int(ovl_collect_end(c, facts, &s, &err), 0, "the next one ends too %s", err.text);
	ok(s.drops.n == 0 || s.drops.v[0].ns != 0, "without the drops of the one before");
	/*
	 * The kernel skips a sample while a BPF map operation is under way on that CPU, be it one
	 * of a task that was preempted in it: on a machine that others use too, one interval may be
	 * bad.
	 */
	for (int again = 0; again < 3 && (ratio < 0.95 || ratio > 1.05); again++) {
		cpu_ns = interval(c, facts, 0, &s);
		ratio = sampled_ratio(&s, cpu_ns);
	}
	ok(ratio > 0.95 && ratio < 1.05,
	   "samples ÷ hz is the spinning thread's CPU time within 5 %%");
	ok(ovl_collect_class(c, 1, OVL_TASK_CLASSES) < 0, "an unknown task class is refused");
	ovl_sample_fini(&s);
}

/*
 * A machine too busy to calibrate: no more samples than are surely cheap, and the cost a little
 * later.
 */
static void test_late_cost(struct ovl_facts *facts, const int *ns_fd)
{
	const struct ovl_collect_spec spec = {
		.sample_hz = HZ, .calibrate_ns = 1, .sample_budget_ratio = 0.5};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_collect *c = ovl_collect_open(&spec, facts, ns_fd, &err);
	struct ovl_sample s = {0};
	int tries = 0;

	ok(c != NULL, "the instruments open without time to calibrate %s", err.text);
	if (!c)
		return;
	is_int(facts->sample_cost_ns, 0, "what a sample costs is unknown then, not guessed");
	is_int(facts->sample_hz, 197, "and the rate is a cautious one, however large the budget");
	is_int(ovl_collect_begin(c, &err), 0, "an interval begins %s", err.text);
	while (!facts->sample_cost_ns && tries < 200) {
		usleep(tries++ ? 50000 : 600000);
		if (ovl_collect_end(c, facts, &s, &err))
			break;
		ovl_collect_costs(c, facts);
	}
	printf("# after %d intervals: %llu ns\n", tries, (unsigned long long)facts->sample_cost_ns);
	ok(facts->sample_cost_ns > 0, "the cost is measured while running");
	ovl_collect_close(c);
	ovl_sample_fini(&s);
}

int main(void)
{
	const struct ovl_collect_spec spec = {.sample_hz = HZ, .calibrate_ns = 4000000000};
	struct ovl_facts facts = {.iface = -1};
	struct ovl_err err = OVL_ERR_INIT;
	uint32_t ids[IDS], left = 0;
	struct ovl_collect *c;
	int ns_fd[16], n;
	uint64_t start;

	if (geteuid() != 0) {
		tap_skip("needs root: BPF programs and a network namespace");
		return tap_done();
	}
	if (!private_netns(&facts, ns_fd)) {
		tap_skip("no network namespace can be made here: %s", strerror(errno));
		return tap_done();
	}
	start = ovl_clock_ns();
	c = ovl_collect_open(&spec, &facts, ns_fd, &err);
	printf("# open: %.3f s\n", (double)(ovl_clock_ns() - start) / 1e9);
	ok(c != NULL, "the instruments open %s", err.text);
	if (!c)
		return tap_done();
	is_int(facts.sample_hz, HZ, "the sampler runs");
	is_int(facts.progs_attached, 3, "drops, retransmissions and connections are attached");
	is_int(facts.missing.n, 0, "nothing is missing");
	ovl_vec_each(m, &facts.missing)
		printf("# %s: %s\n", m->hook, m->reason);
	printf("# costs: sample %llu drop %llu retransmit %llu ns\n",
	       (unsigned long long)facts.sample_cost_ns, (unsigned long long)facts.drop_cost_ns,
	       (unsigned long long)facts.retransmit_cost_ns);
	ok(facts.sample_cost_ns > 0 && facts.drop_cost_ns > 0 && facts.retransmit_cost_ns > 0,
	   "the costs are measured");
	n = own_programs(ids);
	ok(n >= 3, "%d references to own BPF programs while open", n);
	test_interval(c, &facts);
	test_retransmits(c, &facts);
	ovl_collect_costs(c, &facts);
	printf("# costs under load: sample %llu drop %llu ns\n",
	       (unsigned long long)facts.sample_cost_ns, (unsigned long long)facts.drop_cost_ns);
	ovl_collect_close(c);
	for (int i = 0; i < n; i++)
		left += !gone(ids[i]);
	is_int(left, 0, "no BPF program is left after closing");
	test_late_cost(&facts, ns_fd);
	close(ns_fd[0]);
	ovl_facts_fini(&facts);
	return tap_done();
}
