/*
 * Streams on several threads, in this process and towards a peer: all of them work, are named, are
 * counted, start together, and both ends agree in the end.
 */
#include "peer_kit.h"

#include <math.h>
#include <sys/syscall.h>

#include "load/agree.h"
#include "load/thread.h"

#define STREAMS 6

static struct ovl_load_spec local_spec(uint32_t threads)
{
	struct ovl_load_spec spec = {.streams = STREAMS, .threads = threads};

	spec.cpu_sender = spec.cpu_receiver = -1;
	for (int i = 0; i < OVL_LOAD_PATHS; i++) {
		spec.path[i] = (struct ovl_load_path_spec){
			.used = true, .client_netns_fd = -1, .server_netns_fd = -1};
		strcpy(spec.path[i].addr, "127.0.0.1");
	}
	return spec;
}

/* The CPU time of a thread of this process, /proc/PID/task/TID/schedstat. */
static uint64_t cpu_ns(pid_t tid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)tid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	return ns;
}

static uint64_t cpu_sum(const pid_t *tids, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += cpu_ns(tids[i]);
	return sum;
}

/* Are all of them threads of this process, different, and none the caller's? */
static bool are_threads(const pid_t *tids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/task/%d", (int)tids[i]);
		if (tids[i] == gettid() || access(path, F_OK))
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (tids[k] == tids[i])
				return false;
	}
	return true;
}

/* Wait until all connections of the overlay have carried something. */
static bool all_carry(struct ovl_load *load)
{
	uint64_t end = ovl_clock_ns() + PATIENCE_MS * 1000000ull;
	uint32_t n;

	do {
		sleep_ms(5);
		n = 0;
		for (uint32_t i = 0; i < STREAMS; i++) {
			struct ovl_load_stream one;

			n += !ovl_load_stream(load, OVL_LOAD_OVERLAY, i, 0, &one) && one.bytes > 0;
		}
	} while (n < STREAMS && ovl_clock_ns() < end);
	return n == STREAMS;
}

static bool all_silent(struct ovl_load *load)
{
	for (uint32_t i = 0; i < STREAMS; i++) {
		struct ovl_load_stream one;

		if (ovl_load_stream(load, OVL_LOAD_OVERLAY, i, 0, &one) || one.bytes)
			return false;
	}
	return true;
}

static void test_local(uint32_t threads)
{
	const struct ovl_load_spec spec = local_spec(threads);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load = ovl_load_start(&spec, &err);
	struct ovl_load_agreement both = {0};
	struct ovl_load_counts counts;
	pid_t tids[2 * OVL_LOAD_STREAMS_MAX];
	uint64_t least, most;
	uint32_t tx, rx;

	ok(load != NULL, "%u streams on %u threads a side (%s)", STREAMS, threads, err.text);
	if (!load)
		return;
	tx = ovl_load_tids(load, true, tids, OVL_LOAD_STREAMS_MAX);
	rx = ovl_load_tids(load, false, tids + tx, OVL_LOAD_STREAMS_MAX);
	is_int(tx, threads, "the sending threads are there before anything is sent");
	is_int(rx, threads, "so are the receiving ones");
	ok(are_threads(tids, tx + rx), "all different, of this process, none the caller's");
	is_int(ovl_load_tids(load, true, tids, 1), 1, "no more ids than asked for");
	ok(all_silent(load), "no stream starts before the others");
	tx = ovl_load_tids(load, true, tids, OVL_LOAD_STREAMS_MAX);
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	ok(all_carry(load), "then all of them carry");
	sleep_ms(200);
	for (uint32_t i = 0; i < tx + rx; i++)
		if (!cpu_ns(tids[i]))
			printf("# thread %d has done nothing\n", (int)tids[i]);
	least = cpu_sum(tids, tx);
	is_int(ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err), 0, "read");
	most = cpu_sum(tids, tx);
	/* schedstat is brought up to date at each tick: 10 ms at most */
	ok(counts.sender_cpu_ns + 10000000 * tx >= least &&
		   counts.sender_cpu_ns <= most + 10000000 * tx,
	   "the sender's CPU time is that of all its threads: %llu, %llu to %llu",
	   (unsigned long long)counts.sender_cpu_ns, (unsigned long long)least,
	   (unsigned long long)most);
	ok(counts.receiver_cpu_ns > 0, "the receiver's is known");
	ok(counts.sender_switches.known && counts.receiver_switches.known &&
		   counts.receiver_switches.voluntary > 0,
	   "so are the context switches: %llu + %llu, %llu + %llu",
	   (unsigned long long)counts.sender_switches.voluntary,
	   (unsigned long long)counts.sender_switches.involuntary,
	   (unsigned long long)counts.receiver_switches.voluntary,
	   (unsigned long long)counts.receiver_switches.involuntary);
	is_int(ovl_load_finish(load, &err), 0, "it ends");
	ok(ovl_load_agreement(load, OVL_LOAD_OVERLAY, &both) && both.acked_bytes > 0,
	   "both ends say what was carried");
	is_int(both.received_bytes, both.acked_bytes, "and agree");
	ok(ovl_load_agreement(load, OVL_LOAD_UNDERLAY, &both) && !both.acked_bytes,
	   "on the other path that it was nothing");
	ovl_load_stop(load);
}

static void test_peer(struct peer *p)
{
	struct ovl_load_spec spec = remote_spec(p->port, STREAMS, true);
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_agreement both = {0};
	struct ovl_load_counts counts = {0};
	struct ovl_load *load;
	int served = p->served;

	spec.threads = 3;
	load = ovl_load_start(&spec, &err);
	ok(load != NULL, "%u streams to a peer (%s)", STREAMS, err.text);
	if (!load)
		return;
	is_int(ovl_load_tids(load, true, (pid_t[8]){0}, 8), 3, "on three threads here");
	is_int(ovl_load_tids(load, false, (pid_t[8]){0}, 8), 0, "none of the receiver's");
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	ok(all_carry(load), "all of them carry");
	/* two reports: the first was made before anything came */
	sleep_ms(250);
	is_int(ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err), 0, "read");
	ok(counts.receiver_switches.known && counts.receiver_switches.voluntary > 0,
	   "the peer tells its context switches: %llu + %llu",
	   (unsigned long long)counts.receiver_switches.voluntary,
	   (unsigned long long)counts.receiver_switches.involuntary);
	is_int(ovl_load_finish(load, &err), 0, "it ends");
	ok(ovl_load_agreement(load, OVL_LOAD_OVERLAY, &both), "the peer has counted all");
	is_int(both.received_bytes, both.acked_bytes, "what was acknowledged");
	ovl_load_stop(load);
	for (int i = 0; i < PATIENCE_MS / 10 && p->served == served; i++)
		sleep_ms(10);
	is_int(p->served, served + 1, "the peer has served one session");
	is_int(p->last.bytes, both.received_bytes, "with the bytes of all its threads");
	ok(p->last.complete && p->last.streams == STREAMS, "of all streams");
}

static void disagree(uint64_t acked, uint64_t received, const char *word)
{
	const struct ovl_load_agreement both = {.acked_bytes = acked, .received_bytes = received};
	char text[256] = "";
	bool said = ovl_load_disagree(&both, text, sizeof(text));

	if (word)
		ok(said && strstr(text, word), "%s", text);
	else
		ok(!said && !*text, "%llu and %llu agree", (unsigned long long)acked,
		   (unsigned long long)received);
}

static void test_disagree(void)
{
	disagree(0, 0, NULL);
	disagree(1000, 1000, NULL);
	disagree(1000, 990, NULL);
	disagree(990, 1000, NULL);
	disagree(1000, 989, "disagree by 1.1 %: TCP saw 1000 bytes acknowledged");
	disagree(500, 1000, "disagree by 50.0 %");
	disagree(1000, 0, "disagree by 100.0 %");
	disagree(UINT64_MAX, UINT64_MAX / 2, "50.0 %");
}

/* Ends that leave out different starts, or of which one counts what it wrote. */
static void test_compare(void)
{
	struct ovl_load_agreement both = {.acked_bytes = 1000, .received_bytes = 500};
	struct ovl_load_spec spec = {0};
	char text[256];

	is_int(ovl_agree_compare(false, &spec), OVL_LOAD_COMPARE_SAME, "nothing omitted");
	is_int(ovl_agree_compare(true, &spec), OVL_LOAD_COMPARE_NEVER, "half a second, here alone");
	spec.reverse = true;
	is_int(ovl_agree_compare(false, &spec), OVL_LOAD_COMPARE_MOST, "reverse: what is written");
	is_int(ovl_agree_compare(true, &spec), OVL_LOAD_COMPARE_NEVER, "and half a second");
	spec.omit_s = 1;
	is_int(ovl_agree_compare(true, &spec), OVL_LOAD_COMPARE_NEVER,
	       "written before the omitted start was over, arrived after it");
	spec.reverse = false;
	is_int(ovl_agree_compare(true, &spec), OVL_LOAD_COMPARE_SAME, "a second at both ends");
	is_int(ovl_agree_compare(false, &spec), OVL_LOAD_COMPARE_NEVER, "ended within it");

	ok(ovl_load_disagree(&both, text, sizeof(text)), "half of what was acknowledged");
	both.compare = OVL_LOAD_COMPARE_NEVER;
	ok(!ovl_load_disagree(&both, text, sizeof(text)), "means nothing of different starts");
	both.compare = OVL_LOAD_COMPARE_MOST;
	ok(!ovl_load_disagree(&both, text, sizeof(text)), "nor of what was written");
	both.received_bytes = 2000;
	ok(ovl_load_disagree(&both, text, sizeof(text)) && strstr(text, "2000 came"),
	   "but more than that cannot be: %s", text);
}

static void test_number(void)
{
	struct ovl_load_spec spec = local_spec(0);
	struct ovl_load *load;
	uint32_t n, share = ovl_thread_cpus() > 1 ? ovl_thread_cpus() / 2 : 1;

	share = share < STREAMS ? share : STREAMS;
	load = ovl_load_start(&spec, NULL);
	n = load ? ovl_load_tids(load, true, (pid_t[STREAMS]){0}, STREAMS) : 0;
	is_int(n, share, "by default as many threads as there are CPUs for a side");
	ovl_load_stop(load);
	spec.threads = 100;
	load = ovl_load_start(&spec, NULL);
	n = load ? ovl_load_tids(load, true, (pid_t[100]){0}, 100) : 0;
	is_int(n, STREAMS, "never more than streams");
	ovl_load_stop(load);
}

int main(void)
{
	struct peer p = {0};

	test_local(1);
	test_local(2);
	test_local(4);
	test_number();
	peer_start(&p);
	test_peer(&p);
	test_peer(&p);
	peer_stop(&p);
	is_int(p.rc, 0, "the peer ends when it is told to");
	test_disagree();
	test_compare();
	return tap_done();
}
