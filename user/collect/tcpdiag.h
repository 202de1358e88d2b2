/* TCP connections of one namespace and what their sockets know (sock_diag). */
#ifndef OVL_COLLECT_TCPDIAG_H
#define OVL_COLLECT_TCPDIAG_H

#include "model/sample.h"

struct ovl_tcpdiag;

/** A socket in ns_fd for namespace `ns` of the facts; NULL without one. */
struct ovl_tcpdiag *ovl_tcpdiag_open(int ns_fd, uint32_t ns);
void ovl_tcpdiag_close(struct ovl_tcpdiag *t);
/**
 * Read all connections and add the busiest, and those that stand still or are not answered, to
 * sample->flows with what changed since the last reading (NULL: only remember them). 0 or -errno.
 */
int ovl_tcpdiag_read(struct ovl_tcpdiag *t, struct ovl_sample *sample);

#endif
