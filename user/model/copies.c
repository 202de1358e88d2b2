#include "model/copies.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/state.h"
#include "model/traffic.h"

enum ovl_tier ovl_copies_tier(const struct ovl_facts *facts, uint32_t func)
{
	ovl_vec_each(probe, &facts->funcs)
		if (probe->func == func)
			return (enum ovl_tier)probe->tier;
	return OVL_TIER_AUTO;
}

static bool damaged(const struct ovl_func_delta *d)
{
	return d->func >= OVL_FUNC_COUNT || d->calls > OVL_COUNT_MAX || d->bytes > OVL_COUNT_MAX ||
	       d->segs > OVL_COUNT_MAX || d->timed > OVL_COUNT_MAX || d->incl_ns > OVL_COUNT_MAX ||
	       d->excl_ns > OVL_COUNT_MAX;
}

static int add_func(struct ovl_copies_acc *acc, const struct ovl_func_delta *d)
{
	struct ovl_func_delta *fresh;

	ovl_vec_each(have, &acc->funcs) {
		if (have->func != d->func || have->ns != d->ns || strcmp(have->iface, d->iface))
			continue;
		have->calls += d->calls;
		have->bytes += d->bytes;
		have->segs += d->segs;
		have->timed += d->timed;
		have->incl_ns += d->incl_ns;
		have->excl_ns += d->excl_ns;
		return 0;
	}
	if (acc->funcs.n >= OVL_COPIES_FUNCS)
		return 0;
	fresh = ovl_vec_push(&acc->funcs);
	if (!fresh)
		return -ENOMEM;
	*fresh = *d;
	return 0;
}

/* Packets of the interface; of a bridge those that entered by its ports; loopback counts twice. */
static uint64_t iface_pkts(const struct ovl_facts *facts, const struct ovl_sample *sample)
{
	const struct ovl_link *iface = ovl_facts_iface(facts);
	const bool ports = ovl_traffic_by_ports(facts);
	uint64_t pkts = 0;

	ovl_vec_each(d, &sample->links) {
		if (d->gone || d->link >= facts->links.n || d->rx_pkts > OVL_COUNT_MAX ||
		    d->tx_pkts > OVL_COUNT_MAX)
			continue;
		if (ports && facts->links.v[d->link].master == facts->iface)
			pkts += d->rx_pkts;
		else if (!ports && iface && (int)d->link == facts->iface)
			pkts += d->rx_pkts +
				(strcmp(ovl_facts_kind(iface), "loopback") ? d->tx_pkts : 0);
	}
	return pkts;
}

int ovl_copies_add(struct ovl_copies_acc *acc, const struct ovl_facts *facts,
		   const struct ovl_sample *sample)
{
	int rc = 0;

	acc->pkts += iface_pkts(facts, sample);
	if (!sample->funcs_valid)
		return 0;
	acc->seen = true;
	ovl_vec_each(d, &sample->funcs) {
		if (!damaged(d))
			rc = rc ? rc : add_func(acc, d);
	}
	return rc;
}

static int add_site(struct ovl_copies *out, uint32_t func, uint32_t ns, enum ovl_tier tier,
		    uint64_t calls, uint64_t bytes)
{
	struct ovl_copy_site *site;

	ovl_vec_each(have, &out->sites) {
		if (have->func == func && have->ns == ns) {
			have->calls += calls;
			have->bytes += bytes;
			return 0;
		}
	}
	site = ovl_vec_push(&out->sites);
	if (!site)
		return -ENOMEM;
	*site = (struct ovl_copy_site){.func = (uint8_t)func,
				       .tier = (uint8_t)tier,
				       .ns = ns,
				       .calls = calls,
				       .bytes = bytes};
	return 0;
}

static bool set_to(const struct ovl_facts *facts, const char *name, const char *value)
{
	ovl_vec_each(s, &facts->config)
		if (!strcmp(s->name, name))
			return !strcmp(s->value, value);
	return false;
}

/* Devices of one namespace are one site: what matters is where on the path it happens. */
static int counted_sites(const struct ovl_copies_acc *acc, const struct ovl_facts *facts,
			 struct ovl_copies *out)
{
	int rc = 0;

	ovl_vec_each(d, &acc->funcs) {
		const enum ovl_tier tier = ovl_copies_tier(facts, d->func);

		if (ovl_func_info(d->func)->touch == OVL_TOUCH_NONE ||
		    !ovl_facts_on_path(facts, d->ns) || rc)
			continue;
		/* the tracepoint does not tell a zero-copy send from another */
		if (d->func == OVL_FUNC_TCP_SEND && tier == OVL_TIER_TRACEPOINT &&
		    set_to(facts, "tx", "zerocopy"))
			continue;
		rc = add_site(out, d->func, d->ns, tier, d->calls, d->bytes);
	}
	return rc;
}

/* Each byte that a tun device counts was copied from or to the process behind it. */
static int tun_sites(const struct ovl_model_state *state, const struct ovl_facts *facts,
		     struct ovl_copies *out)
{
	int rc = 0;

	for (size_t i = 0; i < facts->links.n && i < state->devices.n && !rc; i++) {
		const struct ovl_link *link = &facts->links.v[i];
		const struct ovl_device *d = &state->devices.v[i];

		if (strcmp(link->kind, "tun") || !d->valid)
			continue;
		if (!ovl_copies_tier(facts, OVL_FUNC_TUN_WRITE))
			rc = add_site(out, OVL_FUNC_TUN_WRITE, link->ns, OVL_TIER_AUTO, d->rx.pkts,
				      d->rx.bytes);
		if (!rc && !ovl_copies_tier(facts, OVL_FUNC_TUN_READ))
			rc = add_site(out, OVL_FUNC_TUN_READ, link->ns, OVL_TIER_AUTO, d->tx.pkts,
				      d->tx.bytes);
	}
	return rc;
}

static bool has(const struct ovl_copies *c, const uint8_t *funcs, size_t n)
{
	ovl_vec_each(site, &c->sites)
		for (size_t i = 0; i < n; i++)
			if (site->func == funcs[i] && site->bytes)
				return true;
	return false;
}

/* What must be copied: once at each end of the payload that is in view. */
static int ends_in_view(const struct ovl_facts *facts, const struct ovl_copies *c)
{
	static const uint8_t in[] = {OVL_FUNC_TCP_SEND, OVL_FUNC_UDP_SEND, OVL_FUNC_UDP6_SEND};
	static const uint8_t out[] = {OVL_FUNC_COPY_OUT, OVL_FUNC_UDP_RECV, OVL_FUNC_UDP6_RECV};
	const char *peer = facts->load.peer_kind;

	if (facts->load.valid && (!strcmp(peer, "twin") || !strcmp(peer, "lab")))
		return 2;
	return has(c, in, sizeof(in)) + has(c, out, sizeof(out));
}

static int by_weight(const void *a, const void *b)
{
	const struct ovl_copy_site *x = a, *y = b;
	const int tx = (int)ovl_func_info(x->func)->touch, ty = (int)ovl_func_info(y->func)->touch;

	if (tx != ty)
		return tx - ty;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->func != y->func ? x->func - y->func : x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* A kind of touch is known when each function that does it in a loaded module is probed. */
static void find_unknown(const struct ovl_facts *facts, struct ovl_copies *out)
{
	for (int touch = OVL_TOUCH_PAYLOAD; touch < OVL_TOUCH_COUNT; touch++)
		out->unknown[touch] = !out->counted;
	for (uint32_t i = 0; out->counted && i < OVL_FUNC_COUNT; i++) {
		const struct ovl_func_info *info = ovl_func_info(i);

		if (!*info->module && ovl_copies_tier(facts, i) == OVL_TIER_AUTO)
			out->unknown[info->touch] = true;
	}
	ovl_vec_each(miss, &facts->missing) {
		for (uint32_t i = 0; i < OVL_FUNC_COUNT; i++)
			if (!strcmp(ovl_func_info(i)->symbol, miss->hook))
				out->unknown[ovl_func_info(i)->touch] = true;
	}
}

static void rate_sites(struct ovl_copies *out)
{
	const double pkts = out->pkts ? (double)out->pkts : NAN;
	double copied = 0;

	ovl_vec_each(site, &out->sites) {
		site->per_pkt = site->calls == UINT64_MAX ? NAN : (double)site->calls / pkts;
		site->of_payload_ratio = (double)site->bytes / out->payload_bytes;
		if (ovl_func_info(site->func)->touch == OVL_TOUCH_PAYLOAD)
			copied += site->of_payload_ratio;
	}
	out->per_pkt = out->counted && out->sites.n ? copied : NAN;
}

static int copy_funcs(const struct ovl_copies_acc *acc, struct ovl_copies *out)
{
	ovl_vec_each(d, &acc->funcs) {
		struct ovl_func_delta *made = ovl_vec_push(&out->funcs);

		if (!made)
			return -ENOMEM;
		*made = *d;
	}
	return 0;
}

int ovl_copies_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		     double payload_bytes, struct ovl_copies *out)
{
	const struct ovl_copies_acc *acc = &state->copies;
	int rc;

	ovl_vec_clear(&out->sites);
	ovl_vec_clear(&out->funcs);
	out->counted = acc->seen;
	out->pkts = acc->pkts;
	out->payload_bytes = payload_bytes > 0 ? payload_bytes : NAN;
	rc = copy_funcs(acc, out);
	rc = rc ? rc : counted_sites(acc, facts, out);
	/* devices' counters are of all phases: comparable only where there is one */
	if (!rc && !facts->load.valid)
		rc = tun_sites(state, facts, out);
	if (!rc && !out->counted && facts->load.valid && !isnan(out->payload_bytes) &&
	    !set_to(facts, "tx", "zerocopy"))
		rc = add_site(out, OVL_FUNC_TCP_SEND, OVL_NS_MACHINE, OVL_TIER_AUTO, UINT64_MAX,
			      (uint64_t)out->payload_bytes);
	if (!rc && !out->counted && facts->load.valid && !isnan(out->payload_bytes) &&
	    !set_to(facts, "rx", "trunc"))
		rc = add_site(out, OVL_FUNC_COPY_OUT, OVL_NS_MACHINE, OVL_TIER_AUTO, UINT64_MAX,
			      (uint64_t)out->payload_bytes);
	if (rc)
		return rc;
	out->valid = out->counted || out->sites.n;
	find_unknown(facts, out);
	rate_sites(out);
	out->floor = ends_in_view(facts, out);
	if (out->sites.n)
		qsort(out->sites.v, out->sites.n, sizeof(*out->sites.v), by_weight);
	return 0;
}

void ovl_copies_fini(struct ovl_copies *c)
{
	ovl_vec_fini(&c->sites);
	ovl_vec_fini(&c->funcs);
}
