#include "collect/drops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "ovltrace.skel.h"

#define BATCH 64

struct ovl_drops {
	struct ovl_instruments *in;
	const struct ovl_reasons *reasons;
	const struct ovl_ksyms *ksyms; /* may be NULL: places are addresses then */
	struct ovl_drop_value *values; /* BATCH × possible CPUs */
	uint64_t *counts;	       /* possible CPUs */
	OVL_VEC(uint64_t) netns;       /* inodes of the path's namespaces */
	uint64_t retransmits;	       /* sum at the last reading */
};

static int know(const struct ovl_instruments *in, uint64_t netns, uint64_t ifindex, uint32_t flags)
{
	struct ovl_device_key key = {.netns = netns, .ifindex = ifindex};

	return bpf_map_update_elem(bpf_map__fd(in->skel->maps.devices), &key, &flags, BPF_ANY);
}

static int know_all(struct ovl_drops *d, const struct ovl_facts *facts)
{
	int fd = bpf_map__fd(d->in->skel->maps.retransmits), rc = 0;

	for (size_t i = 0; i < facts->ns.n && !rc; i++) {
		uint64_t *inode = ovl_vec_push(&d->netns);

		if (!inode)
			return -ENOMEM;
		*inode = facts->ns.v[i].inode;
		rc = know(d->in, *inode, 0, OVL_DEVICE_KNOWN);
		if (!rc)
			rc = bpf_map_update_elem(fd, inode, d->counts, BPF_ANY);
	}
	ovl_vec_each(link, &facts->links) {
		uint32_t flags = OVL_DEVICE_KNOWN;

		if (!strcmp(link->kind, "tun"))
			flags |= OVL_DEVICE_TUN;
		if (!rc && link->ns < facts->ns.n)
			rc = know(d->in, facts->ns.v[link->ns].inode, (uint64_t)link->ifindex,
				  flags);
	}
	return rc;
}

struct ovl_drops *ovl_drops_open(struct ovl_instruments *in, const struct ovl_reasons *reasons,
				 const struct ovl_ksyms *ksyms, const struct ovl_facts *facts,
				 struct ovl_err *err)
{
	struct ovl_drops *d = calloc(1, sizeof(*d));
	size_t cpus = (size_t)in->cpus_possible;
	int rc = -ENOMEM;

	if (d) {
		d->in = in;
		d->reasons = reasons;
		d->ksyms = ksyms;
		d->values = calloc(BATCH * cpus, sizeof(*d->values));
		d->counts = calloc(cpus, sizeof(*d->counts));
		if (d->values && d->counts)
			rc = know_all(d, facts);
		if (!rc)
			return d;
	}
	ovl_drops_close(d);
	ovl_err_set(err, OVL_EXIT_FAILED, rc,
		    "cannot tell the drop program about %zu devices in %zu namespaces: %s",
		    facts->links.n, facts->ns.n, strerror(-rc));
	return NULL;
}

void ovl_drops_close(struct ovl_drops *d)
{
	if (!d)
		return;
	free(d->values);
	free(d->counts);
	ovl_vec_fini(&d->netns);
	free(d);
}

/* Namespace and device by the numbers the program checked against the same facts. */
static void place(const struct ovl_facts *facts, const struct ovl_drop_key *key,
		  struct ovl_drop *drop)
{
	drop->ns = OVL_NS_MACHINE;
	drop->iface[0] = '\0';
	for (size_t i = 0; i < facts->ns.n; i++)
		if (facts->ns.v[i].inode == key->netns)
			drop->ns = (uint32_t)i;
	ovl_vec_each(link, &facts->links) {
		if (key->ifindex && link->ns == drop->ns && link->ifindex == (int)key->ifindex)
			ovl_str_copy(drop->iface, sizeof(drop->iface), link->name);
	}
}

static void name(const struct ovl_drops *d, const struct ovl_drop_key *key, struct ovl_drop *drop)
{
	int symbol = d->ksyms ? ovl_ksyms_find(d->ksyms, key->location) : -1;
	struct ovl_symbol_class class;
	char number[16];
	int by_reason;

	ovl_str_copy(drop->reason, sizeof(drop->reason),
		     ovl_reasons_name(d->reasons, key->reason, number, sizeof(number)));
	drop->stage = OVL_STAGE_UNCLASSIFIED;
	if (symbol < 0) {
		snprintf(drop->symbol, sizeof(drop->symbol), "0x%llx",
			 (unsigned long long)key->location);
		return;
	}
	ovl_str_copy(drop->symbol, sizeof(drop->symbol), ovl_ksyms_name(d->ksyms, symbol));
	ovl_classify_symbol(drop->symbol, &class);
	by_reason = ovl_reasons_stage(drop->reason, drop->symbol);
	if (by_reason >= 0)
		drop->stage = (uint8_t)by_reason;
	else if (class.strong != OVL_CLASS_NONE)
		drop->stage = class.strong;
	else if (class.weak != OVL_CLASS_NONE)
		drop->stage = class.weak;
}

/* Keys differ in protocol and address within a function; the sample's rows do not. */
static int add(struct ovl_sample *sample, const struct ovl_drop *drop)
{
	struct ovl_drop *fresh;

	ovl_vec_each(have, &sample->drops) {
		if (have->ns == drop->ns && have->benign == drop->benign &&
		    !strcmp(have->reason, drop->reason) && !strcmp(have->symbol, drop->symbol) &&
		    !strcmp(have->iface, drop->iface)) {
			have->pkts += drop->pkts;
			have->segs += drop->segs;
			return 0;
		}
	}
	fresh = ovl_vec_push(&sample->drops);
	if (!fresh)
		return -ENOMEM;
	*fresh = *drop;
	return 0;
}

static int take(const struct ovl_drops *d, const struct ovl_facts *facts,
		const struct ovl_drop_key *key, const struct ovl_drop_value *per_cpu,
		struct ovl_sample *sample)
{
	struct ovl_drop drop = {0};

	for (int cpu = 0; cpu < d->in->cpus_possible; cpu++) {
		drop.pkts += per_cpu[cpu].pkts;
		drop.segs += per_cpu[cpu].segs;
	}
	if (!drop.pkts)
		return 0;
	place(facts, key, &drop);
	name(d, key, &drop);
	drop.benign = ovl_reasons_benign(drop.reason, drop.symbol, key->protocol, drop.pkts);
	return add(sample, &drop);
}

static int drain_drops(struct ovl_drops *d, const struct ovl_facts *facts,
		       struct ovl_sample *sample, struct ovl_err *err)
{
	/* active was flipped: the map to read is the other one */
	const struct bpf_map *map = d->in->active & OVL_ACTIVE_EVENTS ? d->in->skel->maps.drops_a
								      : d->in->skel->maps.drops_b;
	struct ovl_drop_key keys[BATCH];
	uint32_t n, at, *from = NULL;
	int rc = 0, end = 0;

	while (!end && !rc) {
		n = BATCH;
		end = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), from, &at, keys, d->values,
						      &n, NULL);
		if (end && end != -ENOENT)
			return ovl_err_set(err, OVL_EXIT_FAILED, end, "cannot read the drops: %s",
					   strerror(-end));
		from = &at;
		for (uint32_t i = 0; sample && i < n && !rc; i++)
			rc = take(d, facts, &keys[i],
				  d->values + (size_t)i * (size_t)d->in->cpus_possible, sample);
	}
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "no memory for the drops");
	return 0;
}

static void drain_retransmits(struct ovl_drops *d, struct ovl_sample *sample)
{
	int fd = bpf_map__fd(d->in->skel->maps.retransmits);
	uint64_t sum = 0;

	ovl_vec_each(inode, &d->netns) {
		if (bpf_map_lookup_elem(fd, inode, d->counts))
			continue;
		for (int cpu = 0; cpu < d->in->cpus_possible; cpu++)
			sum += d->counts[cpu];
	}
	if (sample) {
		sample->retransmits = sum - d->retransmits;
		sample->retransmits_valid = true;
	}
	d->retransmits = sum;
}

int ovl_drops_drain(struct ovl_drops *d, const struct ovl_facts *facts, struct ovl_sample *sample,
		    struct ovl_err *err)
{
	if (d->in->loaded[OVL_PROG_RETRANSMIT])
		drain_retransmits(d, sample);
	if (!d->in->loaded[OVL_PROG_DROPS])
		return 0;
	return drain_drops(d, facts, sample, err);
}
