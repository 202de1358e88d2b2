#include "load/agree.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "load/sock.h"

#define SETTLE_NS      500000000ull
#define PAUSE_NS       2000000
#define DISAGREE_RATIO 0.01

static bool dead(struct ovl_sender *s)
{
	bool is;

	pthread_mutex_lock(&s->lock);
	is = s->dead;
	pthread_mutex_unlock(&s->lock);
	return is;
}

/* What a path's TCP saw acknowledged; false: some is still on its way. */
static bool all_acked(const struct ovl_sender *s, const struct ovl_client *client, uint64_t *bytes)
{
	bool all = true;

	*bytes = 0;
	for (uint32_t i = client->first; i < client->first + s->spec.streams; i++) {
		struct ovl_sock_info info;

		if (ovl_sock_info(s->stream[i].fd, &info))
			return false;
		*bytes += info.acked_bytes - s->stream[i].acked_base_bytes;
		all &= !info.unacked_segs && !info.unsent_bytes;
	}
	return all;
}

/* What its receiver has counted, by its last word. */
static uint64_t received(struct ovl_sender *s, const struct ovl_client *client,
			 const struct ovl_local *local)
{
	uint64_t bytes = 0;

	if (!s->spec.remote)
		return ovl_local_bytes(local, client->which);
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = client->first; i < client->first + s->spec.streams; i++) {
		const struct ovl_track *track = &s->stream[i].track;

		bytes += track->n ? track->point[track->n - 1].bytes : 0;
	}
	pthread_mutex_unlock(&s->lock);
	return bytes;
}

void ovl_agree_settle(struct ovl_sender *s, const struct ovl_local *local)
{
	const uint64_t until_ns = ovl_clock_ns() + SETTLE_NS;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int which = 0; which < OVL_LOAD_PATHS; which++) {
		const struct ovl_client *client = &s->client[which];
		struct ovl_load_agreement *both = &s->agreed[which];
		bool all;

		if (!s->spec.path[which].used || client->far != OVL_CLIENT_OWN || s->spec.reverse)
			continue;
		both->receiver_cpu_ratio = NAN;
		/* a receiver that got less has until the end to say more */
		while ((!(all = all_acked(s, client, &both->acked_bytes)) ||
			(both->received_bytes = received(s, client, local)) < both->acked_bytes) &&
		       ovl_clock_ns() < until_ns && !dead(s))
			nanosleep(&pause, NULL);
		s->agreed_valid[which] = all && !dead(s);
	}
}

enum ovl_load_compare ovl_agree_compare(bool marked, const struct ovl_load_spec *spec)
{
	/* ended before its omitted start had, or one that is no whole number of seconds */
	if (marked != (spec->omit_s > 0))
		return OVL_LOAD_COMPARE_NEVER;
	if (!spec->reverse)
		return OVL_LOAD_COMPARE_SAME;
	/* what was written and had not arrived when the omitted start was over is in no count */
	return marked ? OVL_LOAD_COMPARE_NEVER : OVL_LOAD_COMPARE_MOST;
}

bool ovl_load_disagree(const struct ovl_load_agreement *both, char *out, size_t size)
{
	const double acked = (double)both->acked_bytes, got = (double)both->received_bytes;
	const double most = fmax(acked, got), apart = fabs(acked - got);

	if (both->compare == OVL_LOAD_COMPARE_NEVER || !(apart > DISAGREE_RATIO * most))
		return false;
	if (both->compare == OVL_LOAD_COMPARE_MOST) {
		if (got < acked)
			return false;
		snprintf(out, size,
			 "sender and receiver disagree by %.1f %%: the far end sent %llu bytes, "
			 "%llu came; something between them (a proxy) may end the connections, "
			 "compare the addresses at both ends",
			 100 * apart / most, (unsigned long long)both->acked_bytes,
			 (unsigned long long)both->received_bytes);
		return true;
	}
	snprintf(out, size,
		 "sender and receiver disagree by %.1f %%: TCP saw %llu bytes acknowledged until "
		 "the last had arrived, the receiver counted %llu; something between them (a "
		 "proxy) may end the connections, compare the addresses at both ends",
		 100 * apart / most, (unsigned long long)both->acked_bytes,
		 (unsigned long long)both->received_bytes);
	return true;
}
