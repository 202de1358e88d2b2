/* ICMP errors that routers and far ends send to a node: who says what about its packets. */
#ifndef OVL_COLLECT_ICMPWATCH_H
#define OVL_COLLECT_ICMPWATCH_H

#include "collect/sheet.h"

struct ovl_icmpwatch;

/**
 * Watch ns_fd with a raw socket that gets copies of destination unreachable and time exceeded and
 * sends nothing (CAP_NET_RAW). NULL without one.
 */
struct ovl_icmpwatch *ovl_icmpwatch_open(int ns_fd);
void ovl_icmpwatch_close(struct ovl_icmpwatch *w);
/**
 * Put "icmp" readings by "TYPE/CODE from ADDRESS about udp PORT", of messages about UDP packets,
 * which are what tunnels send.
 */
void ovl_icmpwatch_read(struct ovl_icmpwatch *w, struct ovl_sheet *s);

#endif
