#include "model/diff_path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define SIGMAS 3

/* Do the two runs share a namespace by name? Labs and twins made anew may not. */
static bool share_names(const struct ovl_facts *a, const struct ovl_facts *b)
{
	ovl_vec_each(x, &a->ns)
		ovl_vec_each(y, &b->ns)
			if (!strcmp(x->name, y->name))
				return true;
	return false;
}

static const struct ovl_link *find_link(const struct ovl_facts *in, const struct ovl_facts *of,
					const struct ovl_link *link)
{
	const bool names = share_names(in, of);

	ovl_vec_each(l, &in->links)
		if (!strcmp(l->name, link->name) &&
		    (!names || !strcmp(ovl_facts_ns(in, l->ns), ovl_facts_ns(of, link->ns))))
			return l;
	return NULL;
}

/* One difference of a device; the values are the caller's to fill. */
static struct ovl_diff_device *push(struct ovl_diff *out, const struct ovl_facts *f,
				    const struct ovl_link *link)
{
	struct ovl_diff_device *d = ovl_vec_push(&out->devices);

	if (!d)
		return NULL;
	ovl_str_copy(d->netns, sizeof(d->netns), ovl_facts_ns(f, link->ns));
	ovl_str_copy(d->iface, sizeof(d->iface), link->name);
	return d;
}

static int differ(struct ovl_diff *out, const struct ovl_diff_side *at, const struct ovl_link *link,
		  const char *what, const char *a, const char *b)
{
	struct ovl_diff_device *d;

	if (!strcmp(a, b))
		return 0;
	d = push(out, at->facts, link);
	if (!d)
		return -ENOMEM;
	ovl_str_copy(d->what, sizeof(d->what), what);
	ovl_str_copy(d->a, sizeof(d->a), a);
	ovl_str_copy(d->b, sizeof(d->b), b);
	return 0;
}

static const struct ovl_feature *find_feature(const struct ovl_link *link, const char *name)
{
	ovl_vec_each(x, &link->features)
		if (!strcmp(x->name, name))
			return x;
	return NULL;
}

/* Bits that only one of two kernels knows are no change of the device. */
static int features(struct ovl_diff *out, const struct ovl_diff_side *at, const struct ovl_link *la,
		    const struct ovl_link *lb)
{
	ovl_vec_each(x, &la->features) {
		const struct ovl_feature *y = find_feature(lb, x->name);
		char what[48];

		snprintf(what, sizeof(what), "feature %.39s", x->name);
		if (y && differ(out, at, la, what, x->on ? "on" : "off", y->on ? "on" : "off"))
			return -ENOMEM;
	}
	return 0;
}

static int properties(struct ovl_diff *out, const struct ovl_diff_side *at,
		      const struct ovl_link *la, const struct ovl_link *lb)
{
	char a[16], b[16];
	int rc;

	snprintf(a, sizeof(a), "%u", la->mtu);
	snprintf(b, sizeof(b), "%u", lb->mtu);
	rc = differ(out, at, la, "kind", ovl_facts_kind(la), ovl_facts_kind(lb));
	if (!rc)
		rc = differ(out, at, la, "mtu", a, b);
	if (!rc)
		rc = differ(out, at, la, "state", la->up ? "up" : "down", lb->up ? "up" : "down");
	return rc ? rc : features(out, at, la, lb);
}

static int tunnel(struct ovl_diff *out, const struct ovl_diff_side *at,
		  const struct ovl_diff_side *b)
{
	const struct ovl_vxlan *va = &at->facts->vxlan, *vb = &b->facts->vxlan;
	const struct ovl_link *iface = ovl_facts_iface(at->facts);
	char x[16], y[16];
	int rc;

	if (!iface || !va->valid || !vb->valid)
		return 0;
	snprintf(x, sizeof(x), "%u", va->vni);
	snprintf(y, sizeof(y), "%u", vb->vni);
	rc = differ(out, at, iface, "vni", x, y);
	snprintf(x, sizeof(x), "%u", va->port);
	snprintf(y, sizeof(y), "%u", vb->port);
	if (!rc)
		rc = differ(out, at, iface, "udp port", x, y);
	if (!rc)
		rc = differ(out, at, iface, "local address", va->local, vb->local);
	return rc ? rc : differ(out, at, iface, "underlay device", va->dev, vb->dev);
}

int ovl_diff_devices(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		     struct ovl_diff *out)
{
	int rc = tunnel(out, a, b);

	for (size_t i = 0; i < a->facts->links.n && !rc; i++) {
		const struct ovl_link *la = &a->facts->links.v[i];
		const struct ovl_link *lb = find_link(b->facts, a->facts, la);

		rc = lb ? properties(out, a, la, lb) : differ(out, a, la, "device", "there", "-");
	}
	for (size_t i = 0; i < b->facts->links.n && !rc; i++) {
		const struct ovl_link *lb = &b->facts->links.v[i];

		if (!find_link(a->facts, b->facts, lb))
			rc = differ(out, b, lb, "device", "-", "there");
	}
	return rc;
}

/* Rates by name while they are collected: counts of both runs. */
struct tally {
	struct ovl_diff_rate rate;
	double a, b; /* events */
};
typedef OVL_VEC(struct tally) tallies;

static int count(tallies *all, const char *netns, const char *name, double events, bool second)
{
	struct tally *t = NULL;

	ovl_vec_each(x, all)
		if (!strcmp(x->rate.name, name) && !strcmp(x->rate.netns, netns))
			t = x;
	if (!t) {
		t = ovl_vec_push(all);
		if (!t)
			return -ENOMEM;
		ovl_str_copy(t->rate.netns, sizeof(t->rate.netns), netns);
		ovl_str_copy(t->rate.name, sizeof(t->rate.name), name);
	}
	*(second ? &t->b : &t->a) += events;
	return 0;
}

static double seconds(const struct ovl_diff_side *side)
{
	return (double)side->model->duration_ns / 1e9;
}

static const char *ns_name(const struct ovl_diff_side *side, uint32_t ns, bool names)
{
	return names && ovl_facts_on_path(side->facts, ns) ? ovl_facts_ns(side->facts, ns) : "";
}

static int count_drops(tallies *all, const struct ovl_diff_side *side, bool names, bool second)
{
	ovl_vec_each(d, &side->model->drops) {
		struct ovl_diff_rate r;

		if (d->benign || !ovl_facts_on_path(side->facts, d->ns))
			continue;
		snprintf(r.name, sizeof(r.name), "%.48s at %.48s %.15s", d->reason,
			 *d->symbol ? d->symbol : "-", d->iface);
		if (count(all, ns_name(side, d->ns, names), r.name, (double)d->segs, second))
			return -ENOMEM;
	}
	return 0;
}

static int count_counters(tallies *all, const struct ovl_diff_side *side, bool names, bool second)
{
	ovl_vec_each(c, &side->model->counters) {
		struct ovl_diff_rate r;

		snprintf(r.name, sizeof(r.name), "%s.%s", c->group, c->name);
		if (count(all, ns_name(side, c->ns, names), r.name, (double)c->delta, second))
			return -ENOMEM;
	}
	return 0;
}

/* Counts differ by chance as Poisson's do; a change below a third of the larger says nothing. */
static bool stands_out(const struct tally *t, double sa, double sb)
{
	const double a = t->a / sa, b = t->b / sb;
	const double noise = SIGMAS * sqrt(fabs(t->a) / (sa * sa) + fabs(t->b) / (sb * sb));

	return fabs(a - b) > noise && fabs(a - b) > fmax(fabs(a), fabs(b)) / 3;
}

static int by_change(const void *a, const void *b)
{
	const struct ovl_diff_rate *x = a, *y = b;
	const double cx = fabs(x->b_ps - x->a_ps), cy = fabs(y->b_ps - y->a_ps);

	return (cx < cy) - (cx > cy);
}

int ovl_diff_rates(const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		   struct ovl_diff *out)
{
	const bool names = share_names(a->facts, b->facts);
	const double sa = seconds(a), sb = seconds(b);
	int rc = 0;

	for (int kind = 0; kind < 2 && !rc && sa > 0 && sb > 0; kind++) {
		tallies all = {0};

		for (int second = 0; second < 2 && !rc; second++)
			rc = (kind ? count_counters : count_drops)(&all, second ? b : a, names,
								   second);
		ovl_vec_each(t, &all) {
			struct ovl_diff_rate *r;

			if (rc || !stands_out(t, sa, sb))
				continue;
			r = kind ? ovl_vec_push(&out->counters) : ovl_vec_push(&out->drops);
			if (!r) {
				rc = -ENOMEM;
				continue;
			}
			*r = t->rate;
			r->a_ps = t->a / sa;
			r->b_ps = t->b / sb;
		}
		ovl_vec_fini(&all);
	}
	if (out->drops.n)
		qsort(out->drops.v, out->drops.n, sizeof(*out->drops.v), by_change);
	if (out->counters.n)
		qsort(out->counters.v, out->counters.n, sizeof(*out->counters.v), by_change);
	return rc;
}
