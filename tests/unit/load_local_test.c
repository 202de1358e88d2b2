/* The load within one process over loopback: what is counted is what was sent, pausing pauses. */
#include "peer_kit.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* What must come to pass has this long to do so, however busy the machine is. */
#define PATIENCE_NS 20000000000ull

static struct ovl_load_spec loopback_spec(uint32_t streams)
{
	struct ovl_load_spec spec = {.streams = streams, .cpu_sender = -1, .cpu_receiver = -1};

	for (int i = 0; i < OVL_LOAD_PATHS; i++) {
		spec.path[i] = (struct ovl_load_path_spec){
			.used = true, .client_netns_fd = -1, .server_netns_fd = -1};
		strcpy(spec.path[i].addr, "127.0.0.1");
	}
	return spec;
}

/* Is this thread waiting for something? One that was woken is not, even if it has no CPU yet. */
static bool asleep(pid_t tid)
{
	char path[64], line[256] = "";
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	at = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return at && at[1] && at[2] == 'S';
}

/* Wait until the sender has nothing to do: it has seen then that no path is selected. */
static void wait_asleep(struct ovl_load *load)
{
	uint64_t end = ovl_clock_ns() + PATIENCE_NS;
	pid_t tid = 0;

	ovl_load_tids(load, true, &tid, 1);
	while (!asleep(tid) && ovl_clock_ns() < end)
		sleep_ms(1);
}

/* Read until there are more than `than` bytes and a round-trip time; the last reading's result. */
static int read_past(struct ovl_load *load, enum ovl_load_which which, uint64_t than,
		     struct ovl_load_counts *counts, struct ovl_err *err)
{
	uint64_t end = ovl_clock_ns() + PATIENCE_NS;
	int rc;

	while (!(rc = ovl_load_read(load, which, counts, err)) &&
	       (counts->bytes <= than || !counts->rtt_n) && ovl_clock_ns() < end)
		sleep_ms(150);
	return rc;
}

/* Read until nothing moves any more. */
static struct ovl_load_counts drained(struct ovl_load *load, enum ovl_load_which which)
{
	uint64_t end = ovl_clock_ns() + PATIENCE_NS;
	struct ovl_load_counts a, b;

	ovl_load_read(load, which, &b, NULL);
	do {
		a = b;
		sleep_ms(20);
		ovl_load_read(load, which, &b, NULL);
	} while ((a.bytes != b.bytes || a.acked_bytes != b.acked_bytes ||
		  b.bytes != b.acked_bytes) &&
		 ovl_clock_ns() < end);
	return b;
}

static void test_counts(uint32_t streams)
{
	const struct ovl_load_spec spec = loopback_spec(streams);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load = ovl_load_start(&spec, &err);
	struct ovl_load_counts under, over, later;
	uint64_t t;

	ok(load != NULL, "%u streams start (%s)", streams, err.text);
	if (!load)
		return;
	sleep_ms(50);
	ovl_load_read(load, OVL_LOAD_OVERLAY, &over, NULL);
	is_int(over.bytes, 0, "nothing is sent before a path is selected");
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	sleep_ms(350);
	is_int(read_past(load, OVL_LOAD_OVERLAY, 1000000, &over, &err), 0, "the overlay is read");
	ok(over.bytes > 1000000, "bytes flow (%llu)", (unsigned long long)over.bytes);
	ok(over.rtt_n >= 1 && over.rtt_us[0] > 0, "%u round-trip times", over.rtt_n);
	ok(over.busy_us > 0 && over.cwnd_segs > 0 && over.mss_bytes > 0, "TCP_INFO is there");
	ok(over.sender_cpu_ns > 0 && over.receiver_cpu_ns > 0, "CPU time of both threads");
	ovl_load_select(load, OVL_LOAD_UNDERLAY);
	/* the sender may not have a CPU at once: what it sends there shows that it has noticed */
	read_past(load, OVL_LOAD_UNDERLAY, 0, &under, NULL);
	over = drained(load, OVL_LOAD_OVERLAY);
	is_int(over.bytes, over.acked_bytes, "received is what was sent");
	sleep_ms(150);
	ovl_load_read(load, OVL_LOAD_OVERLAY, &later, NULL);
	is_int(later.bytes, over.bytes, "the paused path sends nothing more");
	is_int(later.rtt_n, 0, "and has no new round-trip times");
	read_past(load, OVL_LOAD_UNDERLAY, 1000000, &under, NULL);
	ok(under.bytes > 1000000, "the other one does");
	ovl_load_select(load, OVL_LOAD_PATHS);
	wait_asleep(load);
	under = drained(load, OVL_LOAD_UNDERLAY);
	is_int(under.bytes, under.acked_bytes, "both paused: received is what was sent");
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	read_past(load, OVL_LOAD_OVERLAY, over.bytes, &later, NULL);
	ok(later.bytes > over.bytes, "it goes on after a pause");
	t = ovl_clock_ns();
	ovl_load_stop(load);
	t = ovl_clock_ns() - t;
	/* it does not wait until buffers are empty or a peer is given up: 15 s */
	ok(t < 1000000000ull, "stop under load takes less than a second (%llu ms)",
	   (unsigned long long)t / 1000000);
}

static void test_about(void)
{
	struct ovl_load_spec spec = loopback_spec(1);
	struct ovl_load *load;
	pid_t tid = 0;

	strcpy(spec.congestion, "reno");
	spec.path[OVL_LOAD_UNDERLAY].used = false;
	spec.cpu_sender = sched_getcpu();
	load = ovl_load_start(&spec, NULL);
	ok(load != NULL, "one path alone, pinned, reno");
	if (!load)
		return;
	is_str(ovl_load_congestion(load), "reno", "the congestion control that was asked for");
	is_int(ovl_load_tids(load, true, &tid, 1), 1, "one sending thread");
	ok(tid > 0 && tid != gettid(), "of its own");
	is_int(ovl_load_tids(load, false, &tid, 1), 1, "one receiving thread");
	is_int(ovl_load_read(load, OVL_LOAD_UNDERLAY, &(struct ovl_load_counts){0}, NULL), -EINVAL,
	       "a path that is not used cannot be read");
	ovl_load_stop(load);
}

static void refused_as(const struct ovl_load_spec *spec, enum ovl_exit exit, const char *word)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load = ovl_load_start(spec, &err);

	ok(!load && err.exit == exit && strstr(err.text, word), "%s", err.text);
	ovl_load_stop(load);
}

static void test_bad_spec(void)
{
	struct ovl_load_spec spec = loopback_spec(1);

	strcpy(spec.congestion, "nosuch");
	refused_as(&spec, OVL_EXIT_USAGE, "available: ");
	spec = loopback_spec(129);
	refused_as(&spec, OVL_EXIT_USAGE, "128");
	spec = loopback_spec(1);
	spec.mss_bytes = 40;
	refused_as(&spec, OVL_EXIT_USAGE, "segment size");
	spec = loopback_spec(1);
	spec.cpu_sender = 1000;
	refused_as(&spec, OVL_EXIT_FAILED, "CPU 1000");
	spec = loopback_spec(1);
	spec.cpu_receiver = 5000;
	refused_as(&spec, OVL_EXIT_FAILED, "CPU 5000");
	spec = loopback_spec(1);
	strcpy(spec.path[0].addr, "203.0.113.7");
	refused_as(&spec, OVL_EXIT_FAILED, "no interface");
	spec = loopback_spec(1);
	strcpy(spec.path[1].addr, "pod.example");
	refused_as(&spec, OVL_EXIT_USAGE, "numeric");
	spec = loopback_spec(1);
	spec.path[0].used = spec.path[1].used = false;
	refused_as(&spec, OVL_EXIT_USAGE, "no path");
	spec = loopback_spec(1);
	spec.path[0].client_netns_fd = STDIN_FILENO;
	refused_as(&spec, geteuid() ? OVL_EXIT_RIGHTS : OVL_EXIT_FAILED, "network namespace");
}

static void test_netns(void)
{
	struct ovl_load_spec spec = loopback_spec(1);
	int ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct stat before, after;
	struct ovl_load *load;
	struct ovl_err err = OVL_ERR_INIT;

	if (geteuid()) {
		close(ns);
		tap_skip("entering a namespace needs root");
		return;
	}
	stat("/proc/thread-self/ns/net", &before);
	for (int i = 0; i < OVL_LOAD_PATHS; i++)
		spec.path[i].client_netns_fd = spec.path[i].server_netns_fd = ns;
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "threads enter the namespaces given (%s)", err.text);
	stat("/proc/thread-self/ns/net", &after);
	ok(before.st_ino == after.st_ino, "the caller stays in its own");
	ovl_load_stop(load);
	close(ns);
}

static void test_no_leak(void)
{
	const struct ovl_load_spec spec = loopback_spec(2);
	int first, last;

	first = dup(0);
	close(first);
	for (int i = 0; i < 10; i++) {
		struct ovl_load *load = ovl_load_start(&spec, NULL);

		if (load && i & 1)
			ovl_load_select(load, i & 2 ? OVL_LOAD_OVERLAY : OVL_LOAD_UNDERLAY);
		ovl_load_stop(load);
	}
	last = dup(0);
	close(last);
	is_int(last, first, "ten starts and stops leave no file open");
}

/* Two places behind one address: the second one is where the program is, not where the first is. */
static void *behind_main(void *arg)
{
	struct ovl_load_spec spec = loopback_spec(1);
	struct ovl_load_path_spec *path = &spec.path[OVL_LOAD_OVERLAY];
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load;
	int port_fd, home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int other =
		unshare(CLONE_NEWNET) ? -1 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)arg;
	if (other < 0 || setns(home, CLONE_NEWNET)) {
		tap_skip("needs rights: a network namespace");
		return NULL;
	}
	close(home);
	spec.path[OVL_LOAD_UNDERLAY].used = false;
	port_fd = hold_port(&spec.port);
	path->n_behind = 2;
	path->behind[0].netns_fd = other;
	strcpy(path->behind[0].addr, "0.0.0.0");
	path->behind[1].netns_fd = -1;
	strcpy(path->behind[1].addr, "127.0.0.1");
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "a place elsewhere, then one here (%s)", err.text);
	ovl_load_stop(load);
	close(port_fd);
	close(other);
	return NULL;
}

static void test_behind(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, behind_main, NULL);
	pthread_join(thread, NULL);
}

int main(void)
{
	test_counts(1);
	test_counts(4);
	test_about();
	test_bad_spec();
	test_netns();
	test_behind();
	test_no_leak();
	return tap_done();
}
