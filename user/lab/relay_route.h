/* The routes of a relay: which daemon has the subnet of an inner address. */
#ifndef OVL_LAB_RELAY_ROUTE_H
#define OVL_LAB_RELAY_ROUTE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/err.h"
#include "lab/relay.h"
#include "lab/relay_wire.h"

/** An address and port of either family. */
struct ovl_relay_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	};
	socklen_t len;
};

struct ovl_relay_hop {
	uint8_t version;  /* 4 or 6 */
	uint8_t len_bits; /* of the prefix */
	uint8_t prefix[16];
	struct ovl_relay_addr remote;
};

struct ovl_relay_table {
	struct ovl_relay_hop *hops;
	size_t n;
};

/** Parse a numeric address. -EINVAL with err set. Pure. */
int ovl_relay_route_addr(const char *text, uint16_t port, struct ovl_relay_addr *addr,
			 struct ovl_err *err);
/**
 * Make the table of a spec whose local address has been parsed. -EINVAL with err set for what is no
 * subnet (bits beyond its length included), no address, or a remote of another family.
 */
int ovl_relay_route_init(struct ovl_relay_table *table, const struct ovl_relay_spec *spec,
			 const struct ovl_relay_addr *local, struct ovl_err *err);
void ovl_relay_route_fini(struct ovl_relay_table *table);
/** Longest match for the destination of a packet, NULL if there is none. Pure. */
const struct ovl_relay_addr *ovl_relay_route_find(const struct ovl_relay_table *table,
						  const struct ovl_relay_packet *p);

#endif
