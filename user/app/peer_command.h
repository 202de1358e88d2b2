/* `ovltrace peer`: the far end of loads. */
#ifndef OVL_APP_PEER_COMMAND_H
#define OVL_APP_PEER_COMMAND_H

#include "app/options.h"
#include "base/err.h"

/** `ovltrace peer …` */
int ovl_cmd_peer(const struct ovl_options *o, struct ovl_err *err);

#endif
