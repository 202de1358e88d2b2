/* Where packets are cut and merged, and which feature bits decide that. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define PKTS_PS	     500   /* packets a second: below, nothing is to be gained */
#define BULK_BPS     100e6 /* the same for bytes */
#define MERGED_BYTES 3000  /* a mean packet above is aggregated */
#define FULL_RATIO   0.5   /* of the MTU: a mean packet above is of bulk data */
#define BUSY_RATIO   0.6   /* a CPU less busy than this does not limit */

static bool is_bulk(const struct ovl_diag *d, const struct ovl_device_counts *c)
{
	return (double)c->pkts >= PKTS_PS * d->seconds &&
	       (double)c->bytes * 8 >= BULK_BPS * d->seconds;
}

/* Packets as large as the wire's, and full of data. */
static bool is_wire_size(const struct ovl_link *link, const struct ovl_device_counts *c)
{
	const double mean = ovl_diag_mean_bytes(c);

	return mean >= FULL_RATIO * link->mtu && mean <= link->mtu + 64.0;
}

static double cost_of(const struct ovl_diag *d, double share)
{
	return d->busy_ratio >= BUSY_RATIO ? fmax(0.1, share) : 0.02;
}

static void rule_scatter_gather(struct ovl_diag *d)
{
	for (size_t i = 0; i < d->facts->links.n; i++) {
		const struct ovl_link *link = &d->facts->links.v[i];
		const struct ovl_device *dev = ovl_diag_device(d, (int)i);
		struct ovl_finding *f;
		char in[96];

		if (ovl_diag_feature(link, "tx-scatter-gather") != 0 || !dev ||
		    (double)dev->tx.bytes * 8 < BULK_BPS * d->seconds ||
		    !strcmp(link->kind, "tun") || !strcmp(ovl_facts_kind(link), "loopback"))
			continue;
		f = ovl_diag_find(d, OVL_RULE_SCATTER_GATHER_OFF, 0.9, link->ns, link->name);
		ovl_diag_title(
			f,
			"%s has no scatter-gather: every packet is first copied into one piece, "
			"and it cannot take large packets",
			link->name);
		ovl_diag_evidence(f, "tx-scatter-gather", 0, "", "ethtool -k");
		ovl_diag_evidence(f, "packet_bytes", ovl_diag_mean_bytes(&dev->tx), "bytes",
				  "rtnetlink");
		ovl_diag_evidence(f, "cut_in_software", ovl_diag_stage(d, OVL_STAGE_GSO), "ratio",
				  "sampler");
		ovl_diag_fix(f, "%sethtool -K %s sg on tso on gso on",
			     ovl_diag_in(d, link->ns, in, sizeof(in)), link->name);
		ovl_diag_risk(f, "none, unless it was switched off around a driver's fault");
		ovl_diag_verify(f, "ethtool -k %s: tx-scatter-gather: on", link->name);
		ovl_diag_cost(f, cost_of(d, 0.25), fmax(0.3, ovl_diag_stage(d, OVL_STAGE_GSO)));
	}
}

/* The bit that keeps this device from taking large packets; NULL: none. */
static const char *bit_off(const struct ovl_link *link)
{
	static const char *const bits[] = {"tx-generic-segmentation", "tx-tcp-segmentation",
					   "tx-checksum-ip-generic"};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (ovl_diag_feature(link, bits[i]) == 0)
			return bits[i];
	return NULL;
}

/*
 * The device nearest to the sender that lets only small packets through: pods first, then the
 * tunnel, then what carries it.
 */
static void rule_tx(struct ovl_diag *d)
{
	const struct ovl_link *first = NULL;
	const struct ovl_device *dev;
	struct ovl_finding *f;
	const char *bit;
	char in[96];

	for (size_t i = 0; i < d->facts->links.n; i++) {
		const struct ovl_link *link = &d->facts->links.v[i];
		bool pod = d->iface && link->ns != d->iface->ns;

		dev = ovl_diag_device(d, (int)i);
		if (!dev || !is_bulk(d, &dev->tx) || !is_wire_size(link, &dev->tx) ||
		    !strcmp(link->kind, "tun") || !bit_off(link) ||
		    !strcmp(ovl_facts_kind(link), "loopback"))
			continue;
		/* a router's or receiver's port passes on what it got */
		if (d->receives == 1 && link != d->iface && !pod)
			continue;
		if (!first || pod)
			first = link;
	}
	if (!first)
		return;
	bit = bit_off(first);
	dev = ovl_diag_device(d, (int)(first - d->facts->links.v));
	f = ovl_diag_find(d, OVL_RULE_TX_OFFLOADS_OFF, 0.9, first->ns, first->name);
	ovl_diag_title(f,
		       "%s of %s is off: packets have %.0f bytes from here on, and every later hop "
		       "works for each of them",
		       bit, first->name, ovl_diag_mean_bytes(&dev->tx));
	ovl_diag_evidence(f, bit, 0, "", "ethtool -k");
	ovl_diag_evidence(f, "packet_bytes", ovl_diag_mean_bytes(&dev->tx), "bytes", "rtnetlink");
	ovl_diag_evidence(f, "checksum_share", ovl_diag_stage(d, OVL_STAGE_CHECKSUM), "ratio",
			  "sampler");
	ovl_diag_fix(f, "%sethtool -K %s tx on sg on tso on gso on",
		     ovl_diag_in(d, first->ns, in, sizeof(in)), first->name);
	ovl_diag_risk(f,
		      "if it was a work-around for wrong checksums of tunnelled packets, they may "
		      "come back: watch UdpInCsumErrors of the peer");
	ovl_diag_verify(f, "mean packet of %s is tens of kilobytes", first->name);
	ovl_diag_cost(f, cost_of(d, 0.25), cost_of(d, 0.5));
}

static void rule_tunnel_segmentation(struct ovl_diag *d)
{
	const struct ovl_device *in = ovl_diag_device(d, d->iface_at);
	const struct ovl_device *out = ovl_diag_device(d, d->underlay_at);
	double gso = ovl_diag_stage(d, OVL_STAGE_GSO);
	struct ovl_finding *f;
	char cmd[96];

	if (!d->tunnel || !d->underlay || !in || !out || !is_bulk(d, &out->tx) ||
	    ovl_diag_feature(d->underlay, "tx-udp_tnl-segmentation") != 0 ||
	    ovl_diag_mean_bytes(&in->tx) < MERGED_BYTES || !is_wire_size(d->underlay, &out->tx))
		return;
	f = ovl_diag_find(d, OVL_RULE_NO_TUNNEL_SEGMENTATION_OFFLOAD, 0.9, d->underlay->ns,
			  d->underlay->name);
	ovl_diag_title(
		f,
		"%s cannot cut tunnelled packets: the kernel cuts each one (%.0f bytes into %s, "
		"%.0f out of %s) after encapsulation",
		d->underlay->name, ovl_diag_mean_bytes(&in->tx), d->iface->name,
		ovl_diag_mean_bytes(&out->tx), d->underlay->name);
	ovl_diag_evidence(f, "tx-udp_tnl-segmentation", 0, "", "ethtool -k");
	ovl_diag_evidence(f, "packet_bytes_into_tunnel", ovl_diag_mean_bytes(&in->tx), "bytes",
			  "rtnetlink");
	ovl_diag_evidence(f, "packet_bytes_on_wire", ovl_diag_mean_bytes(&out->tx), "bytes",
			  "rtnetlink");
	ovl_diag_evidence(f, "cut_in_software", gso, "ratio", "sampler");
	ovl_diag_fix(f,
		     "%sethtool -K %s tx-udp_tnl-segmentation on tx-udp_tnl-csum-segmentation on "
		     "(where the NIC can)",
		     ovl_diag_in(d, d->underlay->ns, cmd, sizeof(cmd)), d->underlay->name);
	ovl_diag_fix(f, "a NIC that can, or no tunnel (flannel: host-gw)");
	ovl_diag_risk(f, "some NICs spoil tunnelled packets: watch UdpInCsumErrors of the peer");
	ovl_diag_verify(f, "mean packet of %s is tens of kilobytes", d->underlay->name);
	ovl_diag_cost(f, cost_of(d, 0.1), fmax(cost_of(d, 0.3), isfinite(gso) ? gso : 0));
}

/* Mean packet where the pods get them: a veth's far end, else the bridge's ports. */
static const struct ovl_link *last_hop(const struct ovl_diag *d, double *mean)
{
	const struct ovl_link *last = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < d->facts->links.n; i++) {
		const struct ovl_link *link = &d->facts->links.v[i];
		const struct ovl_device *dev = ovl_diag_device(d, (int)i);

		if (!dev || !d->iface || link->ns == d->iface->ns || !is_bulk(d, &dev->rx) ||
		    dev->rx.bytes < most)
			continue;
		most = dev->rx.bytes;
		last = link;
		*mean = ovl_diag_mean_bytes(&dev->rx);
	}
	return last;
}

static void rule_gro(struct ovl_diag *d)
{
	const struct ovl_device *in = ovl_diag_device(d, d->iface_at);
	int under = d->underlay ? ovl_diag_feature(d->underlay, "rx-gro") : -1;
	int own = d->iface ? ovl_diag_feature(d->iface, "rx-gro") : -1;
	const struct ovl_link *last, *off;
	struct ovl_finding *f;
	double mean = 0;
	char cmd[96];

	if (d->receives != 1 || !d->iface || !in || (under != 0 && own != 0))
		return;
	last = last_hop(d, &mean);
	if (!last) {
		last = d->iface;
		mean = ovl_diag_mean_bytes(&in->rx);
		if (!is_bulk(d, &in->rx))
			return;
	}
	if (mean > last->mtu + 64.0 || mean < FULL_RATIO * last->mtu)
		return;
	off = under == 0 ? d->underlay : d->iface;
	f = ovl_diag_find(d, OVL_RULE_GRO_OFF, 0.9, off->ns, off->name);
	ovl_diag_title(
		f,
		"packets are not merged on receipt: generic-receive-offload of %s is off, and "
		"%s gets packets of %.0f bytes",
		off->name, last->name, mean);
	ovl_diag_evidence(f, "rx-gro_underlay", under < 0 ? NAN : under, "", "ethtool -k");
	ovl_diag_evidence(f, "rx-gro_tunnel", own < 0 ? NAN : own, "", "ethtool -k");
	ovl_diag_evidence(f, "packet_bytes", mean, "bytes", "rtnetlink");
	if (under == 0)
		ovl_diag_fix(f, "%sethtool -K %s gro on",
			     ovl_diag_in(d, d->underlay->ns, cmd, sizeof(cmd)), d->underlay->name);
	if (own == 0)
		ovl_diag_fix(f, "%sethtool -K %s gro on",
			     ovl_diag_in(d, d->iface->ns, cmd, sizeof(cmd)), d->iface->name);
	ovl_diag_risk(f, "a little delay for small packets");
	ovl_diag_verify(f, "mean packet at %s is tens of kilobytes", last->name);
	ovl_diag_cost(f, cost_of(d, 0.15), cost_of(d, 0.4));
}

void ovl_rule_offload(struct ovl_diag *d)
{
	rule_scatter_gather(d);
	rule_tx(d);
	rule_tunnel_segmentation(d);
	rule_gro(d);
}
