/* The receiving engine gets a connection back from a helper that always has something to do. */
#include "peer_kit.h"

#include "load/crew.h"

#define TURNS  400
#define FLOODS 32
/* A turn waits twice, each time for one batch that is served and one more; and one for the rest. */
#define BATCHES 5
#define BATCH	(FLOODS * 256ull * 1024) /* a connection's buffer holds less */

static _Atomic bool stop;

/* Half of the connections each: none of them is ever empty for long. */
static void *flood(void *arg)
{
	static const char block[65536];
	const int(*pair)[2] = arg;

	while (!atomic_load(&stop))
		for (int i = 0; i < FLOODS / 2; i++)
			if (send(pair[i][1], block, sizeof(block), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
				continue;
	return NULL;
}

static uint64_t carried(const struct ovl_crew_job busy[FLOODS])
{
	uint64_t sum = 0;

	for (int i = 0; i < FLOODS; i++)
		sum += atomic_load(&busy[i].bytes);
	return sum;
}

int main(void)
{
	struct ovl_crew *crew = ovl_crew_new(2);
	static struct ovl_crew_job busy[FLOODS], other;
	uint64_t most = 0, bytes = 0;
	int pair[FLOODS][2], quiet[2], failed = 0, late = 0;
	pthread_t thread[2];

	if (!crew || socketpair(AF_UNIX, SOCK_STREAM, 0, quiet))
		abort();
	ovl_crew_begin(crew);
	is_int(ovl_crew_grow(crew, 2), 2, "a helper");
	for (int i = 0; i < FLOODS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]))
			abort();
		busy[i].fd = pair[i][0];
		failed += ovl_crew_give(crew, 1, &busy[i]) != 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, flood, pair + i * FLOODS / 2);
	other.fd = quiet[0];
	sleep_ms(50);
	for (int i = 0; i < TURNS; i++) {
		const uint64_t before = carried(busy);

		failed += ovl_crew_give(crew, 1, &other) != 0;
		ovl_crew_take(crew, &other);
		bytes = carried(busy) - before;
		late += bytes > BATCHES * BATCH;
		most = bytes > most ? bytes : most;
	}
	is_int(failed, 0, "others come and go");
	/* this thread may have lost its CPU before it said what it wants */
	ok(late <= TURNS / 100, "within %d batches, but for %d of %d: %llu KiB at most", BATCHES,
	   late, TURNS, (unsigned long long)most >> 10);
	bytes = carried(busy);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < FLOODS; i++) {
		ovl_crew_take(crew, &busy[i]);
		failed += atomic_load(&busy[i].over);
		close(pair[i][0]);
		close(pair[i][1]);
	}
	ok(bytes > 0 && !failed, "what floods has carried all the time");
	ovl_crew_free(crew);
	close(quiet[0]);
	close(quiet[1]);
	return tap_done();
}
