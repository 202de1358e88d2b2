/* Offload feature bits of devices, one by one and by ethtool's names. */
#ifndef OVL_COLLECT_FEATURES_H
#define OVL_COLLECT_FEATURES_H

#include "model/facts.h"

/**
 * Fill link->features with every feature bit the kernel knows and whether it is active on the
 * device (ETHTOOL_GFEATURES; never ethtool's summary words, which stand for several bits). The
 * device is looked up by name in ns_fd. 0 or -errno, features then empty.
 */
int ovl_features_read(int ns_fd, struct ovl_link *link);

#endif
