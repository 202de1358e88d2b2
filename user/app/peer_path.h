/* With --peer: between which sockets the load runs, and where its underlay reference is. */
#ifndef OVL_APP_PEER_PATH_H
#define OVL_APP_PEER_PATH_H

#include "app/options.h"
#include "base/err.h"
#include "collect/collect.h"
#include "load/load.h"

/**
 * Fill the load's paths: the overlay to --peer (from --from's namespace, kept open in *from_fd,
 * else from the node), the underlay to --baseline HOST, or with auto to the peer's VTEP if an
 * `ovltrace peer` answers there (if not, that is said on *said and the underlay is estimated).
 */
int ovl_peer_path(const struct ovl_options *o, const struct ovl_target *target,
		  struct ovl_load_spec *load, int *from_fd, char *said, struct ovl_err *err);

#endif
