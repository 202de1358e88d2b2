/* The two ends that a relay joins, opened and bound, and what their failures mean. */
#ifndef OVL_LAB_RELAY_ENDS_H
#define OVL_LAB_RELAY_ENDS_H

#include "base/err.h"
#include "lab/relay.h"
#include "lab/relay_route.h"

struct ovl_relay_ends {
	const char *tun_name;
	int tun, sock;
	struct ovl_relay_table table;
	struct ovl_relay_counts *counts;
};

/** Open the tun device, bind the socket, make the routes. -errno with err set. */
int ovl_relay_ends_open(struct ovl_relay_ends *ends, const struct ovl_relay_spec *spec,
			struct ovl_relay_counts *counts, struct ovl_err *err);
/** Close what is open, having asked the socket what it dropped. */
void ovl_relay_ends_close(struct ovl_relay_ends *ends);

/**
 * Check one packet, count its hop. False if it must not go on; then it has been counted.
 */
bool ovl_relay_ends_check(struct ovl_relay_ends *ends, uint8_t *data, size_t n,
			  struct ovl_relay_packet *p);
/** Where a packet from the tun device goes, NULL (counted) if nowhere. */
const struct ovl_relay_addr *ovl_relay_ends_route(struct ovl_relay_ends *ends,
						  const struct ovl_relay_packet *p);

/**
 * Meaning of a failed read or receive: 0 there is nothing now, 1 try again later in this round,
 * -errno with err set: it will never work again. rc is errno.
 */
int ovl_relay_ends_tun_fault(struct ovl_relay_ends *ends, int rc, struct ovl_err *err);
int ovl_relay_ends_recv_fault(struct ovl_relay_ends *ends, int rc, struct ovl_err *err);
/**
 * Send once, again if a signal or a late ICMP error for an earlier datagram came in between.
 * 0 or -errno; does not count losses.
 */
int ovl_relay_ends_send(struct ovl_relay_ends *ends, const struct msghdr *msg);
/**
 * Write one packet. 0, also if the kernel refuses it (counted); -errno with err set if it will
 * never work again.
 */
int ovl_relay_ends_write(struct ovl_relay_ends *ends, const struct iovec *iov, size_t n_iov,
			 struct ovl_err *err);

#endif
