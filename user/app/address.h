/* Addresses as users write them. */
#ifndef OVL_APP_ADDRESS_H
#define OVL_APP_ADDRESS_H

#include <stdint.h>

#include "base/err.h"

/**
 * HOST, HOST:PORT, [V6]:PORT or a bare IPv6 address, to a numeric address and, if one is given,
 * *port. `option` names it in the sentence. Asks the resolver for names. 0, or -errno with *err.
 */
int ovl_address_resolve(const char *option, const char *word, char addr[64], uint16_t *port,
			struct ovl_err *err);

#endif
