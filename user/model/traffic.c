#include "model/traffic.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/state.h"

#define HEADERS_IP	 52 /* bytes: IPv4 and TCP with timestamps */
#define HEADERS_ETHERNET 14

static bool is_port(const struct ovl_facts *facts, const struct ovl_link *link)
{
	const struct ovl_link *iface = ovl_facts_iface(facts);

	return iface && link != iface && link->master == facts->iface &&
	       !strcmp(iface->kind, "bridge");
}

bool ovl_traffic_by_ports(const struct ovl_facts *facts)
{
	ovl_vec_each(link, &facts->links)
		if (is_port(facts, link))
			return true;
	return false;
}

static bool is_sane(const struct ovl_link_delta *d)
{
	const uint64_t counts[] = {d->rx_bytes, d->rx_pkts, d->rx_dropped, d->rx_errors,
				   d->tx_bytes, d->tx_pkts, d->tx_dropped, d->tx_errors};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i] >= OVL_COUNT_MAX)
			return false;
	return true;
}

static void device_add(struct ovl_device *device, const struct ovl_link_delta *d)
{
	device->valid = true;
	device->rx.bytes += d->rx_bytes;
	device->rx.pkts += d->rx_pkts;
	device->rx.drops += d->rx_dropped;
	device->rx.errors += d->rx_errors;
	device->tx.bytes += d->tx_bytes;
	device->tx.pkts += d->tx_pkts;
	device->tx.drops += d->tx_dropped;
	device->tx.errors += d->tx_errors;
}

/* Headers of a packet as this device counts it: some begin with the (inner) IP header. */
static uint32_t headers_of(const struct ovl_link *link)
{
	static const char *const kinds[] = {"vxlan", "tun", "geneve", "wireguard",
					    "ipip",  "sit", "gre",    "loopback"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(ovl_facts_kind(link), kinds[i]))
			return HEADERS_IP;
	return HEADERS_IP + HEADERS_ETHERNET;
}

/* The traffic of one interval. */
struct interval {
	bool seen;
	uint64_t rx_bytes, tx_bytes, through_bytes;
};

/* One of the devices that the traffic is made of. */
static void carry(struct ovl_traffic_acc *acc, struct interval *now, const struct ovl_link *link,
		  const struct ovl_link_delta *d)
{
	now->seen = true;
	now->rx_bytes += d->rx_bytes;
	now->tx_bytes += d->tx_bytes;
	acc->rx_pkts += d->rx_pkts;
	acc->tx_pkts += d->tx_pkts;
	acc->rx_header_bytes += d->rx_pkts * headers_of(link);
	acc->tx_header_bytes += d->tx_pkts * headers_of(link);
}

/* One device's part in the interface's traffic. */
static void take(struct ovl_traffic_acc *acc, struct interval *now, const struct ovl_facts *facts,
		 const struct ovl_link_delta *d, bool by_ports)
{
	const struct ovl_link *link = &facts->links.v[d->link];

	if (by_ports && is_port(facts, link)) {
		carry(acc, now, link, d);
		now->through_bytes += d->rx_bytes;
	} else if (link == ovl_facts_iface(facts) && by_ports) {
		/* what the host sends into the bridge enters by no port */
		now->through_bytes += d->tx_bytes;
	} else if (link == ovl_facts_iface(facts)) {
		bool twice = !strcmp(ovl_facts_kind(link), "loopback");

		carry(acc, now, link, d);
		now->through_bytes += d->tx_bytes + (twice ? 0 : d->rx_bytes);
	}
}

int ovl_traffic_add(struct ovl_model_state *state, const struct ovl_facts *facts,
		    const struct ovl_sample *sample, uint64_t main_ns)
{
	const bool by_ports = ovl_traffic_by_ports(facts);
	struct ovl_traffic_acc *acc = &state->traffic;
	struct interval now = {0};

	while (state->devices.n < facts->links.n)
		if (!ovl_vec_push(&state->devices))
			return -ENOMEM;
	ovl_vec_each(d, &sample->links) {
		if (d->link >= facts->links.n || !is_sane(d)) {
			state->damaged++;
			continue;
		}
		if (d->gone)
			continue;
		device_add(&state->devices.v[d->link], d);
		take(acc, &now, facts, d, by_ports);
	}
	acc->seen |= now.seen;
	acc->rx_bytes += now.rx_bytes;
	acc->tx_bytes += now.tx_bytes;
	/* while the underlay has its turn the interface rests: its rate is the overlay's */
	if (!now.seen || !main_ns)
		return 0;
	acc->main_rx_bytes += now.rx_bytes;
	acc->main_tx_bytes += now.tx_bytes;
	acc->last_rx_bps = (double)now.rx_bytes * 8e9 / (double)main_ns;
	acc->last_tx_bps = (double)now.tx_bytes * 8e9 / (double)main_ns;
	acc->last_through_bps = (double)now.through_bytes * 8e9 / (double)main_ns;
	return 0;
}

void ovl_traffic_build(const struct ovl_model_state *state, struct ovl_traffic *out)
{
	const struct ovl_traffic_acc *acc = &state->traffic;
	double ns = (double)state->main_ns;

	*out = (struct ovl_traffic){
		.valid = acc->seen,
		.rx_bytes = acc->rx_bytes,
		.rx_pkts = acc->rx_pkts,
		.tx_bytes = acc->tx_bytes,
		.tx_pkts = acc->tx_pkts,
		.rx_bps = acc->seen && ns > 0 ? (double)acc->main_rx_bytes * 8e9 / ns : NAN,
		.tx_bps = acc->seen && ns > 0 ? (double)acc->main_tx_bytes * 8e9 / ns : NAN,
		.last_rx_bps = acc->last_rx_bps,
		.last_tx_bps = acc->last_tx_bps,
	};
}

int ovl_traffic_devices(const struct ovl_model_state *state, const struct ovl_facts *facts,
			struct ovl_model *out)
{
	ovl_vec_clear(&out->devices);
	for (size_t i = 0; i < facts->links.n; i++) {
		struct ovl_device *made = ovl_vec_push(&out->devices);

		if (!made)
			return -ENOMEM;
		if (i < state->devices.n)
			*made = state->devices.v[i];
	}
	return 0;
}

double ovl_traffic_payload_bytes(const struct ovl_model_state *state)
{
	const struct ovl_traffic_acc *acc = &state->traffic;
	bool rx = acc->rx_bytes > acc->tx_bytes;
	double bytes = (double)(rx ? acc->rx_bytes : acc->tx_bytes);
	double headers = (double)(rx ? acc->rx_header_bytes : acc->tx_header_bytes);

	return acc->seen && headers < bytes / 2 ? bytes - headers : NAN;
}

int ovl_traffic_receives(const struct ovl_model_state *state)
{
	const struct ovl_traffic_acc *acc = &state->traffic;

	if (acc->rx_bytes / 2 <= acc->tx_bytes && acc->tx_bytes / 2 <= acc->rx_bytes)
		return -1;
	return acc->rx_bytes > acc->tx_bytes;
}
