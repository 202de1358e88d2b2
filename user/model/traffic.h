/*
 * What the devices of a run counted, and what of it is the traffic of the interface looked at.
 *
 * Seen from the device: rx is what came out of it to the node, tx what the node gave to it.
 *
 * physical, bond, team   own counters: Ethernet frames on the wire (a bond's: its ports' sum).
 * vxlan, tun, geneve…    own counters: what is inside the tunnel, from the inner IP header on.
 * veth                   own counters. rx of one end is tx of the other: at a pod's end on the
 *                        node rx is what the pod sent.
 * vlan, macvlan, ipvlan  own counters. Packets between the macvlans of one device do not pass that
 *                        device, and it does not count them.
 * loopback               own counters, but each packet is in both rx and tx: never add them.
 * bridge                 its own counters only know what the host itself sends and receives by it;
 *                        frames between its ports are in none. So its traffic is its ports': rx is
 *                        what entered the bridge by them, tx what left by them. A frame that
 *                        crosses it is in both, one that is flooded is in tx once for each port.
 *                        The ports are those it had when the run began. Without any, nothing but
 *                        the host's own packets can pass: own counters.
 */
#ifndef OVL_MODEL_TRAFFIC_H
#define OVL_MODEL_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

struct ovl_model_state;

/** Sums of the interface's traffic. */
struct ovl_traffic_acc {
	bool seen; /* a device that the traffic is made of was read */
	uint64_t rx_bytes, rx_pkts, tx_bytes, tx_pkts;
	uint64_t rx_header_bytes, tx_header_bytes; /* of these, if all is TCP: a guess */
	uint64_t main_rx_bytes, main_tx_bytes;	   /* of the main phase */
	double last_rx_bps, last_tx_bps;	   /* of its last interval, NAN before the first */
	double last_through_bps; /* the same, each packet once where that is known */
};

/** Is this bridge the interface looked at, with its ports among the devices? */
bool ovl_traffic_by_ports(const struct ovl_facts *facts);
/**
 * Take the devices' counters of a sample in. main_ns: length of an interval of the main phase, 0:
 * of another phase, where the interface may rest. 0 or -ENOMEM; impossible records are counted.
 */
int ovl_traffic_add(struct ovl_model_state *state, const struct ovl_facts *facts,
		    const struct ovl_sample *sample, uint64_t main_ns);
void ovl_traffic_build(const struct ovl_model_state *state, struct ovl_traffic *out);
/** Fill out->devices (reused), one for each of facts->links. 0 or -ENOMEM. */
int ovl_traffic_devices(const struct ovl_model_state *state, const struct ovl_facts *facts,
			struct ovl_model *out);
/**
 * A guess at the payload carried: the larger direction less IPv4 and TCP headers (with timestamps:
 * 52 bytes, Ethernet 14) for each packet as counted. Where headers are half of it or more, the
 * packets are too small for that guess to be one: NAN.
 */
double ovl_traffic_payload_bytes(const struct ovl_model_state *state);
/**
 * Does this node receive (1) or send (0) most of it? -1: both ways carry alike, as where both ends
 * are on this node, or nothing is known.
 */
int ovl_traffic_receives(const struct ovl_model_state *state);

#endif
