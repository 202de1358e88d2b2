#include "view/touches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "model/copies.h"

#define SITES_SHOWN 16
#define FUNCS_SHOWN 16

static const char needs_probes[] = "kernel functions were not all probed: fentry or kprobe "
				   "(--deep) count it where the kernel allows";

static const char *basis(const struct ovl_copy_site *site)
{
	return site->tier == OVL_TIER_AUTO ? "arithmetic" : ovl_tier_name(site->tier);
}

static void put_site(ovl_json list, const struct ovl_facts *f, const struct ovl_copy_site *site)
{
	const struct ovl_func_info *info = ovl_func_info(site->func);
	ovl_json one = ovl_json_element(list);

	ovl_json_text(one, "key", info->key);
	ovl_json_netns(one, f, site->ns);
	ovl_json_text(one, "side", info->side);
	ovl_json_text(one, "kind", ovl_touch_name(info->touch));
	if (site->calls == UINT64_MAX)
		ovl_json_null(one, "calls");
	else
		ovl_json_u64(one, "calls", site->calls);
	ovl_json_u64(one, "bytes", site->bytes);
	ovl_json_number(one, "per_pkt", site->per_pkt);
	ovl_json_number(one, "of_payload_ratio", site->of_payload_ratio);
	ovl_json_text(one, "basis", basis(site));
}

static void put_copies(ovl_json o, const struct ovl_facts *f, const struct ovl_copies *c)
{
	ovl_json copies, list;

	if (!c->valid) {
		ovl_json_null(o, "copies");
		return;
	}
	copies = ovl_json_object(o, "copies");
	ovl_json_number(copies, "per_pkt", c->per_pkt);
	ovl_json_i64(copies, "floor", c->floor);
	ovl_json_number(copies, "payload_bytes", c->payload_bytes);
	ovl_json_text(copies, "payload_basis", f->load.valid ? "measured" : "estimated");
	ovl_json_u64(copies, "pkts", c->pkts);
	list = ovl_json_array(copies, "sites");
	ovl_vec_each(site, &c->sites)
		put_site(list, f, site);
	list = ovl_json_array(copies, "unknown");
	for (int touch = OVL_TOUCH_PAYLOAD; touch < OVL_TOUCH_COUNT; touch++) {
		ovl_json one = c->unknown[touch] ? ovl_json_element(list) : NULL;

		if (!one)
			continue;
		ovl_json_text(one, "kind", ovl_touch_name((enum ovl_touch)touch));
		ovl_json_text(one, "reason", needs_probes);
	}
}

static void put_func(ovl_json list, const struct ovl_facts *f, const struct ovl_func_delta *d)
{
	const struct ovl_func_info *info = ovl_func_info(d->func);
	const enum ovl_tier tier = ovl_copies_tier(f, d->func);
	ovl_json one = ovl_json_element(list);

	ovl_json_text(one, "key", info->key);
	ovl_json_text_or_null(one, "symbol", info->symbol);
	ovl_json_text(one, "tier", ovl_tier_name(tier));
	ovl_json_text_or_null(one, "iface", d->iface);
	ovl_json_netns(one, f, d->ns);
	ovl_json_text(one, "side", info->side);
	ovl_json_u64(one, "calls", d->calls);
	ovl_json_u64(one, "bytes", d->bytes);
	ovl_json_u64(one, "segs", d->segs);
	ovl_json_u64(one, "timed", d->timed);
	ovl_json_number(one, "incl_ns", d->timed ? (double)d->incl_ns : NAN);
	/* nested kprobes cost more than many functions: what is left is not the function's time */
	ovl_json_number(one, "excl_ns",
			d->timed && tier == OVL_TIER_FENTRY ? (double)d->excl_ns : NAN);
}

void ovl_touches_json(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	ovl_json list;

	put_copies(o, f, &m->copies);
	if (!m->copies.counted) {
		ovl_json_null(o, "functions");
		return;
	}
	list = ovl_json_array(o, "functions");
	ovl_vec_each(d, &m->copies.funcs)
		put_func(list, f, d);
}

static const char *ns_name(const struct ovl_facts *f, uint32_t ns)
{
	return ovl_facts_on_path(f, ns) ? ovl_facts_ns(f, ns) : "-";
}

static void plain_site(struct ovl_buf *b, const struct ovl_facts *f,
		       const struct ovl_copy_site *site)
{
	const struct ovl_func_info *info = ovl_func_info(site->func);
	const struct ovl_unit plain = {1, "", 2};
	const double bytes = (double)site->bytes;
	char size[OVL_UNITS_MAX], pkt[OVL_UNITS_MAX], ratio[OVL_UNITS_MAX];

	ovl_buf_printf(b, "  %-15.15s%-8s%-22.22s%10s%9s%9s  %s\n", info->key,
		       ovl_touch_name(info->touch), ns_name(f, site->ns),
		       ovl_units_text(size, bytes, ovl_units_count(bytes), true),
		       ovl_units_number(pkt, site->per_pkt, plain, true),
		       ovl_units_number(ratio, site->of_payload_ratio, plain, true),
		       site->tier == OVL_TIER_AUTO ? "A" : "M");
}

static void plain_copies(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_copies *c)
{
	const struct ovl_unit plain = {1, "", 2};
	char s[OVL_UNITS_MAX];
	size_t shown = 0;

	ovl_buf_printf(b, "\nCOPIES  of each payload byte %s; needed %d\n",
		       ovl_units_number(s, c->per_pkt, plain, true), c->floor);
	if (!c->sites.n)
		ovl_buf_puts(b, "  None was seen.\n");
	else
		ovl_buf_printf(b, "  %-15s%-8s%-22s%10s%9s%9s\n", "", "kind", "netns", "bytes",
			       "per pkt", "of payl.");
	ovl_vec_each(site, &c->sites)
		if (shown++ < SITES_SHOWN)
			plain_site(b, f, site);
	if (shown > SITES_SHOWN)
		ovl_buf_printf(b, "  and %zu more\n", shown - SITES_SHOWN);
	if (c->sites.n)
		ovl_buf_printf(b, "  of payl.: bytes / payload bytes%s. M counted, A arithmetic.\n",
			       f->load.valid ? "" : " (estimated from the interface's counters)");
	for (int touch = OVL_TOUCH_PAYLOAD; touch < OVL_TOUCH_COUNT; touch++)
		if (c->unknown[touch])
			ovl_buf_printf(b,
				       "  not (all) known: %s; --deep, where functions may be "
				       "probed\n",
				       touch == OVL_TOUCH_PAYLOAD  ? "copies within the kernel"
				       : touch == OVL_TOUCH_HEADER ? "copies of headers"
								   : "passes for checksums");
}

/* Largest own time first (inclusive where that is all there is), then most calls. */
static int by_time(const void *a, const void *b)
{
	const struct ovl_func_delta *x = *(struct ovl_func_delta *const *)a;
	const struct ovl_func_delta *y = *(struct ovl_func_delta *const *)b;

	if (x->excl_ns != y->excl_ns)
		return x->excl_ns < y->excl_ns ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void plain_func(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_func_delta *d)
{
	const bool own = ovl_copies_tier(f, d->func) == OVL_TIER_FENTRY;
	const double n = (double)d->calls, timed = d->timed ? (double)d->timed : NAN;
	const double incl = (double)d->incl_ns / timed;
	const double excl = own ? (double)d->excl_ns / timed : NAN;
	char calls[OVL_UNITS_MAX], a[OVL_UNITS_MAX], c[OVL_UNITS_MAX];

	ovl_buf_printf(b, "  %-16.16s%-16.16s%-18.18s%8s%11s%11s\n", ovl_func_info(d->func)->key,
		       *d->iface ? d->iface : "-", ns_name(f, d->ns),
		       ovl_units_text(calls, n, ovl_units_count(n), true),
		       ovl_units_text(a, excl, ovl_units_time(excl, true), true),
		       ovl_units_text(c, incl, ovl_units_time(incl, true), true));
}

static void plain_funcs(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_copies *c)
{
	const struct ovl_func_delta **sorted = calloc(c->funcs.n + 1, sizeof(*sorted));
	size_t n = 0;

	if (!sorted) {
		b->failed = true;
		return;
	}
	ovl_vec_each(d, &c->funcs)
		if (ovl_facts_on_path(f, d->ns))
			sorted[n++] = d;
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_time);
	else
		ovl_buf_puts(b, "\nKERNEL FUNCTIONS  None of those probed was called.\n");
	if (n)
		ovl_buf_printf(b, "\nKERNEL FUNCTIONS, mean time of a call\n  %-50s%8s%11s%11s\n",
			       "", "calls", "own", "with called");
	for (size_t i = 0; i < n && i < FUNCS_SHOWN; i++)
		plain_func(b, f, sorted[i]);
	if (n > FUNCS_SHOWN)
		ovl_buf_printf(b, "  and %zu more\n", n - FUNCS_SHOWN);
	free(sorted);
}

static bool probed(const struct ovl_facts *f)
{
	ovl_vec_each(probe, &f->funcs)
		if (probe->tier == OVL_TIER_FENTRY || probe->tier == OVL_TIER_KPROBE)
			return true;
	return false;
}

void ovl_touches_plain(struct ovl_buf *b, const struct ovl_facts *f, const struct ovl_model *m)
{
	if (m->copies.valid)
		plain_copies(b, f, &m->copies);
	if (m->copies.counted && probed(f))
		plain_funcs(b, f, &m->copies);
}
