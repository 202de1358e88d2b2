#include "model/gather.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define FNV_BASIS 2166136261u
#define FNV_PRIME 16777619u
#define NOT_FOUND SIZE_MAX

/* Fields of damaged records need not be terminated. */
#define same_text(a, b) (strncmp(a, b, sizeof(a)) == 0)
#define end_text(s)	((s)[sizeof(s) - 1] = '\0')

enum table { READINGS, FLOWS, ATTEMPTS };

static uint32_t hash_text(uint32_t hash, const char *s, size_t max)
{
	for (size_t i = 0; i < max && s[i]; i++)
		hash = (hash ^ (uint8_t)s[i]) * FNV_PRIME;
	return hash * FNV_PRIME;
}

void ovl_gather_fini(struct ovl_gather *g)
{
	for (int i = 0; i < 3; i++)
		ovl_vec_fini(&g->hashes[i]);
	ovl_vec_fini(&g->readings);
	ovl_vec_fini(&g->flows);
	ovl_vec_fini(&g->attempts);
}

static int remember(struct ovl_gather *g, enum table table, uint32_t hash)
{
	uint32_t *to = ovl_vec_push(&g->hashes[table]);

	if (!to)
		return -ENOMEM;
	*to = hash;
	return 0;
}

static bool same_reading(const struct ovl_reading *a, const struct ovl_reading *b)
{
	return a->ns == b->ns && same_text(a->name, b->name) && same_text(a->object, b->object) &&
	       same_text(a->kind, b->kind);
}

static int add_reading(struct ovl_gather *g, const struct ovl_reading *r)
{
	uint32_t hash = hash_text(FNV_BASIS ^ r->ns, r->object, sizeof(r->object));
	struct ovl_reading *to;

	hash = hash_text(hash, r->name, sizeof(r->name));
	for (size_t i = 0; i < g->readings.n; i++) {
		to = &g->readings.v[i];
		if (g->hashes[READINGS].v[i] != hash || !same_reading(to, r))
			continue;
		to->value = r->value;
		if (__builtin_add_overflow(to->delta, r->delta, &to->delta))
			to->delta = INT64_MAX;
		memcpy(to->text, r->text, sizeof(to->text));
		end_text(to->text);
		return 0;
	}
	if (g->readings.n >= OVL_GATHER_MAX) {
		g->overflow++;
		return 0;
	}
	to = ovl_vec_push(&g->readings);
	if (!to)
		return -ENOMEM;
	*to = *r;
	end_text(to->kind);
	end_text(to->object);
	end_text(to->name);
	end_text(to->text);
	return remember(g, READINGS, hash);
}

static void merge_flow(struct ovl_flow_sum *to, const struct ovl_flow *f, uint64_t length_ns)
{
	const struct ovl_flow old = to->f;

	to->f = *f;
	end_text(to->f.src);
	end_text(to->f.dst);
	to->f.acked_bytes += old.acked_bytes;
	to->f.received_bytes += old.received_bytes;
	to->f.sent_segs += old.sent_segs;
	to->f.retrans_segs += old.retrans_segs;
	to->f.dsack_segs += old.dsack_segs;
	to->f.busy_us += old.busy_us;
	to->f.rwnd_us += old.rwnd_us;
	to->f.sndbuf_us += old.sndbuf_us;
	to->f.timeouts = old.timeouts > f->timeouts ? old.timeouts : f->timeouts;
	if (!to->intervals || f->snd_wnd_bytes < to->least_wnd_bytes)
		to->least_wnd_bytes = f->snd_wnd_bytes;
	if (f->rtt_us > to->most_rtt_us)
		to->most_rtt_us = f->rtt_us;
	to->wall_ns += length_ns;
	to->intervals++;
	to->stuck += f->timeouts > 0 && f->unacked_segs > 0 && !f->acked_bytes;
	to->closed += f->probes > 0 || (f->unsent_bytes && f->snd_wnd_bytes < f->mss_bytes);
	to->app_limited += f->app_limited;
	to->hungry += !f->unsent_bytes && f->unacked_segs * 2 < f->cwnd_segs;
}

static int add_flow(struct ovl_gather *g, const struct ovl_flow *f, uint64_t length_ns)
{
	uint32_t hash = hash_text(hash_text(FNV_BASIS ^ f->ns, f->src, sizeof(f->src)), f->dst,
				  sizeof(f->dst));
	struct ovl_flow_sum *to;

	for (size_t i = 0; i < g->flows.n; i++) {
		to = &g->flows.v[i];
		if (g->hashes[FLOWS].v[i] != hash || to->f.ns != f->ns ||
		    !same_text(to->f.src, f->src) || !same_text(to->f.dst, f->dst))
			continue;
		merge_flow(to, f, length_ns);
		return 0;
	}
	if (g->flows.n >= OVL_GATHER_MAX) {
		g->overflow++;
		return 0;
	}
	to = ovl_vec_push(&g->flows);
	if (!to)
		return -ENOMEM;
	merge_flow(to, f, length_ns);
	return remember(g, FLOWS, hash);
}

static int add_attempt(struct ovl_gather *g, const struct ovl_attempt *a)
{
	uint32_t hash = hash_text(FNV_BASIS ^ a->ns ^ a->port << 8, a->dst, sizeof(a->dst));
	struct ovl_attempt *to;

	for (size_t i = 0; i < g->attempts.n; i++) {
		to = &g->attempts.v[i];
		if (g->hashes[ATTEMPTS].v[i] != hash || to->ns != a->ns || to->port != a->port ||
		    !same_text(to->dst, a->dst))
			continue;
		to->tried += a->tried;
		to->answered += a->answered;
		to->refused += a->refused;
		to->unanswered += a->unanswered;
		to->repeated_segs += a->repeated_segs;
		return 0;
	}
	if (g->attempts.n >= OVL_GATHER_MAX) {
		g->overflow++;
		return 0;
	}
	to = ovl_vec_push(&g->attempts);
	if (!to)
		return -ENOMEM;
	*to = *a;
	end_text(to->dst);
	return remember(g, ATTEMPTS, hash);
}

int ovl_gather_add(struct ovl_gather *g, const struct ovl_sample *sample, uint64_t length_ns)
{
	int rc = 0;

	/* a reading that was left out is made up for by the next: it covers the time since */
	g->unread_ns += length_ns;
	g->flows_valid |= sample->flows_valid;
	g->attempts_valid |= sample->attempts_valid;
	ovl_vec_each(r, &sample->readings)
		rc = rc ? rc : add_reading(g, r);
	ovl_vec_each(f, &sample->flows)
		rc = rc ? rc : add_flow(g, f, g->unread_ns);
	if (sample->flows_valid)
		g->unread_ns = 0;
	ovl_vec_each(a, &sample->attempts)
		rc = rc ? rc : add_attempt(g, a);
	return rc;
}
