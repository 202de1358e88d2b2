#include "model/diag.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/acc.h"

#define COST_SMALL 0.05	 /* a warning that costs less is only worth a note */
#define SOME_RATIO 0.001 /* lost of all packets: worth a warning */
#define MOST_RATIO 0.2	 /* it stops what it hits */
#define HANDFUL	   10	 /* packets that may be anybody's: a scan, a stray broadcast */

static bool is_tunnel(const struct ovl_link *link)
{
	static const char *const kinds[] = {"vxlan", "tun", "geneve", "wireguard", "ipip",
					    "gre",   "sit", "gretap", "ip6gre",	   "ip6tnl"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(link->kind, kinds[i]))
			return true;
	return false;
}

/* The tunnel of the path and what carries it: the interface's own, else the first one found. */
static void find_path(struct ovl_diag *d)
{
	d->iface = ovl_facts_iface(d->facts);
	d->iface_at = d->iface ? d->facts->iface : -1;
	d->underlay_at = -1;
	if (!d->iface)
		return;
	d->tunnel = is_tunnel(d->iface);
	if (d->tunnel && d->iface->lower >= 0) {
		d->underlay_at = d->iface->lower;
		d->underlay = &d->facts->links.v[d->underlay_at];
	}
}

bool ovl_diag_stands(const struct ovl_flow_sum *s)
{
	return s->stuck && s->stuck * 2 >= s->intervals && s->f.timeouts && s->f.unacked_segs;
}

static void sum_up(struct ovl_diag *d)
{
	const struct ovl_traffic *t = &d->m->traffic;

	d->rate_bps = t->valid ? fmax(t->rx_bps, t->tx_bps) : NAN;
	d->receives = -1;
	if (t->valid && t->rx_bytes / 2 > t->tx_bytes)
		d->receives = 1;
	else if (t->valid && t->tx_bytes / 2 > t->rx_bytes)
		d->receives = 0;
	d->busy_ratio = NAN;
	ovl_vec_each(cpu, &d->m->cpu.per_cpu)
		d->busy_ratio = fmax(d->busy_ratio, cpu->busy_ratio);
	ovl_vec_each(stage, &d->m->cpu.stages)
		d->path_ns += ovl_acc_path_stage(stage->stage) ? (double)stage->ns : 0;
	ovl_vec_each(a, &d->m->attempts) {
		if (!ovl_facts_on_path(d->facts, a->ns))
			continue;
		d->tried += a->tried;
		d->answered += a->answered;
		d->unanswered += a->unanswered;
	}
	ovl_vec_each(f, &d->m->flows) {
		d->acked_bytes += f->f.acked_bytes;
		d->sent_segs += f->f.sent_segs;
		d->retrans_segs += f->f.retrans_segs;
		d->stuck += ovl_diag_stands(f);
	}
	d->waits = d->unanswered || d->stuck;
}

void ovl_diag_init(struct ovl_diag *d, const struct ovl_model *m, const struct ovl_facts *facts,
		   ovl_findings *out)
{
	*d = (struct ovl_diag){.m = m, .facts = facts, .out = out};
	d->seconds = (double)m->duration_ns / 1e9;
	find_path(d);
	sum_up(d);
}

static bool in_ns(uint32_t want, uint32_t ns)
{
	return want == OVL_ANY_NS ? ns != OVL_NS_MACHINE : want == ns;
}

double ovl_diag_counter(const struct ovl_diag *d, uint32_t ns, const char *group, const char *name)
{
	double sum = 0;

	ovl_vec_each(c, &d->m->counters)
		if (in_ns(ns, c->ns) && !strcmp(c->name, name) && !strcmp(c->group, group))
			sum += (double)c->delta;
	return sum;
}

const struct ovl_reading *ovl_diag_reading(const struct ovl_diag *d, uint32_t ns, const char *kind,
					   const char *object, const char *name)
{
	ovl_vec_each(r, &d->m->readings)
		if (in_ns(ns, r->ns) && !strcmp(r->name, name) && !strcmp(r->kind, kind) &&
		    (!object || !strcmp(r->object, object)))
			return r;
	return NULL;
}

double ovl_diag_growth(const struct ovl_diag *d, uint32_t ns, const char *kind, const char *name)
{
	double sum = 0;

	ovl_vec_each(r, &d->m->readings)
		if (in_ns(ns, r->ns) && !strcmp(r->name, name) && !strcmp(r->kind, kind))
			sum += (double)r->delta;
	return sum;
}

double ovl_diag_setting(const struct ovl_diag *d, uint32_t ns, const char *kind, const char *object,
			const char *name)
{
	const struct ovl_reading *r = ovl_diag_reading(d, ns, kind, object, name);

	return r ? (double)r->value : NAN;
}

uint64_t ovl_diag_drops(const struct ovl_diag *d, const char *reason, const char *symbol,
			const char *iface, const struct ovl_drop **at)
{
	uint64_t pkts = 0, most = 0;

	if (at)
		*at = NULL;
	ovl_vec_each(drop, &d->m->drops) {
		if (strcmp(drop->reason, reason) != 0 ||
		    (drop->benign && strcmp(reason, "OTHERHOST") != 0) ||
		    !ovl_str_starts(drop->symbol, symbol) ||
		    (*iface && strcmp(drop->iface, iface) != 0) ||
		    !ovl_facts_on_path(d->facts, drop->ns))
			continue;
		pkts += drop->pkts;
		if (at && drop->pkts > most) {
			most = drop->pkts;
			*at = drop;
		}
	}
	return pkts;
}

int ovl_diag_feature(const struct ovl_link *link, const char *name)
{
	ovl_vec_each(f, &link->features)
		if (!strcmp(f->name, name))
			return f->on;
	return -1;
}

const struct ovl_device *ovl_diag_device(const struct ovl_diag *d, int link)
{
	if (link < 0 || (size_t)link >= d->m->devices.n || !d->m->devices.v[link].valid)
		return NULL;
	return &d->m->devices.v[link];
}

uint64_t ovl_diag_got(const struct ovl_diag *d, int link)
{
	const struct ovl_device *dev = ovl_diag_device(d, link);

	return dev ? dev->rx.pkts : 0;
}

uint64_t ovl_diag_sent(const struct ovl_diag *d, int link)
{
	const struct ovl_device *dev = ovl_diag_device(d, link);

	return dev ? dev->tx.pkts : 0;
}

double ovl_diag_received(const struct ovl_diag *d, uint32_t ns)
{
	return fmax(0, ovl_diag_counter(d, ns, "Ip", "InReceives"));
}

double ovl_diag_mean_bytes(const struct ovl_device_counts *c)
{
	return c->pkts ? (double)c->bytes / (double)c->pkts : 0;
}

double ovl_diag_stage(const struct ovl_diag *d, enum ovl_stage stage)
{
	if (!d->m->cpu.valid)
		return NAN;
	ovl_vec_each(t, &d->m->cpu.stages)
		if (t->stage == stage)
			return d->path_ns > 0 ? (double)t->ns / d->path_ns : 0;
	return 0;
}

int ovl_diag_link(const struct ovl_diag *d, uint32_t ns, const char *name)
{
	for (size_t i = 0; i < d->facts->links.n; i++)
		if (d->facts->links.v[i].ns == ns && !strcmp(d->facts->links.v[i].name, name))
			return (int)i;
	return -1;
}

struct ovl_finding *ovl_diag_find(struct ovl_diag *d, enum ovl_rule rule, double confidence,
				  uint32_t ns, const char *iface)
{
	struct ovl_finding *f = ovl_vec_push(d->out);

	if (!f) {
		d->failed = true;
		f = &d->spare;
	}
	*f = (struct ovl_finding){
		.rule = rule,
		.level = ovl_rule_info(rule)->level,
		.confidence_ratio = confidence,
		.ns = ns,
		.cost_low_ratio = NAN,
		.cost_high_ratio = NAN,
	};
	ovl_str_copy(f->iface, sizeof(f->iface), iface);
	return f;
}

void ovl_diag_evidence(struct ovl_finding *f, const char *key, double value, const char *unit,
		       const char *source)
{
	struct ovl_finding_evidence *e;

	if (!isfinite(value) || f->n_evidence >= OVL_FINDING_EVIDENCE)
		return;
	e = &f->evidence[f->n_evidence++];
	ovl_str_copy(e->key, sizeof(e->key), key);
	e->value = value;
	ovl_str_copy(e->unit, sizeof(e->unit), unit);
	ovl_str_copy(e->source, sizeof(e->source), source);
}

void ovl_diag_cost(struct ovl_finding *f, double low_ratio, double high_ratio)
{
	f->cost_low_ratio = fmin(0.99, fmax(0, low_ratio));
	f->cost_high_ratio = fmin(0.99, fmax(f->cost_low_ratio, high_ratio));
	if (f->level == OVL_LEVEL_WARNING && f->cost_high_ratio < COST_SMALL)
		f->level = OVL_LEVEL_INFO;
}

bool ovl_diag_is_host(const char *end, const char *addr)
{
	const size_t n = strlen(addr);

	end += *end == '[';
	return !strncmp(end, addr, n) && (end[n] == ':' || end[n] == ']');
}

static const struct ovl_reading *programs_at(const struct ovl_diag *d, uint32_t ns,
					     const char *iface, uint32_t *n)
{
	const size_t len = strlen(iface);
	const struct ovl_reading *one = NULL;

	*n = 0;
	ovl_vec_each(r, &d->m->readings) {
		if (!in_ns(ns, r->ns) || strcmp(r->kind, "bpf") != 0 ||
		    strcmp(r->name, "id") != 0 ||
		    (len && (strncmp(r->object, iface, len) != 0 || r->object[len] != ' ')))
			continue;
		++*n;
		one = r;
	}
	return *n == 1 ? one : NULL;
}

const struct ovl_reading *ovl_diag_program(const struct ovl_diag *d, uint32_t ns, const char *iface,
					   uint32_t *n)
{
	const struct ovl_reading *one = programs_at(d, ns, iface, n);

	return *n || !*iface ? one : programs_at(d, ns, "", n);
}

static void at_most(struct ovl_finding *f, enum ovl_level level)
{
	f->level = f->level < level ? f->level : level;
}

void ovl_diag_weigh(const struct ovl_diag *d, struct ovl_finding *f, double lost, double all)
{
	if (!(all > 0)) {
		if (!d->waits)
			at_most(f, OVL_LEVEL_INFO);
		return;
	}
	if (lost < SOME_RATIO * all)
		at_most(f, OVL_LEVEL_INFO);
	else if (lost < MOST_RATIO * all || (lost < HANDFUL && !d->waits))
		at_most(f, OVL_LEVEL_WARNING);
}

void ovl_diag_explains(struct ovl_diag *d, const struct ovl_finding *f, uint32_t symptoms)
{
	if (f->level > OVL_LEVEL_INFO || ovl_rule_info(f->rule)->level == OVL_LEVEL_INFO)
		d->explained |= symptoms;
}

const char *ovl_diag_in(const struct ovl_diag *d, uint32_t ns, char *text, size_t n)
{
	const char *name = ovl_facts_ns(d->facts, ns);
	struct ovl_buf b = {0};

	/* namespaces without a name in /run/netns cannot be entered by it */
	if (ns < d->facts->ns.n && !ovl_str_starts(name, "net:[") && !ovl_str_starts(name, "twin:"))
		ovl_buf_printf(&b, "ip netns exec %s ", name);
	ovl_str_copy(text, n, ovl_buf_str(&b));
	ovl_buf_fini(&b);
	return text;
}
