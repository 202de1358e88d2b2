#include "lab/relay_route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

int ovl_relay_route_addr(const char *text, uint16_t port, struct ovl_relay_addr *addr,
			 struct ovl_err *err)
{
	*addr = (struct ovl_relay_addr){.len = 0};
	if (inet_pton(AF_INET, text, &addr->in4.sin_addr) == 1) {
		addr->in4.sin_family = AF_INET;
		addr->in4.sin_port = htons(port);
		addr->len = sizeof(addr->in4);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &addr->in6.sin6_addr) == 1) {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_port = htons(port);
		addr->len = sizeof(addr->in6);
		return 0;
	}
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
			   "relay: \"%s\" is no IPv4 or IPv6 address, give one in numbers", text);
}

/* Do the first len_bits of two addresses agree? */
static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned int len_bits)
{
	unsigned int whole = len_bits / 8, rest = len_bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

static bool bits_beyond(const uint8_t *prefix, unsigned int len_bits, unsigned int max_bits)
{
	for (unsigned int bit = len_bits; bit < max_bits; bit++) {
		if (prefix[bit / 8] >> (7 - bit % 8) & 1)
			return true;
	}
	return false;
}

static bool parse_subnet(const char *text, struct ovl_relay_hop *hop)
{
	const char *slash = strchr(text, '/');
	char addr[INET6_ADDRSTRLEN];
	unsigned long long len_bits;
	unsigned int max_bits;

	if (!slash || (size_t)(slash - text) >= sizeof(addr))
		return false;
	memcpy(addr, text, (size_t)(slash - text));
	addr[slash - text] = '\0';
	if (inet_pton(AF_INET, addr, hop->prefix) == 1)
		hop->version = 4;
	else if (inet_pton(AF_INET6, addr, hop->prefix) == 1)
		hop->version = 6;
	else
		return false;
	max_bits = hop->version == 4 ? 32 : 128;
	if (!ovl_str_u64(slash + 1, 0, max_bits, &len_bits))
		return false;
	hop->len_bits = (uint8_t)len_bits;
	return !bits_beyond(hop->prefix, hop->len_bits, max_bits);
}

static int parse_route(const struct ovl_relay_route *route, uint16_t port,
		       const struct ovl_relay_addr *local, struct ovl_relay_hop *hop,
		       struct ovl_err *err)
{
	int rc;

	if (!parse_subnet(route->subnet, hop))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "relay: \"%s\" is no subnet such as 10.244.2.0/24 (no bits set "
				   "beyond its length)",
				   route->subnet);
	rc = ovl_relay_route_addr(route->remote, port, &hop->remote, err);
	if (rc)
		return rc;
	if (hop->remote.sa.sa_family != local->sa.sa_family)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "relay: the remote %s of %s is not of the local address's "
				   "family, give both as IPv4 or both as IPv6",
				   route->remote, route->subnet);
	return 0;
}

int ovl_relay_route_init(struct ovl_relay_table *table, const struct ovl_relay_spec *spec,
			 const struct ovl_relay_addr *local, struct ovl_err *err)
{
	int rc = 0;

	*table = (struct ovl_relay_table){.n = spec->n_routes};
	table->hops = calloc(spec->n_routes ? spec->n_routes : 1, sizeof(*table->hops));
	if (!table->hops)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "relay: no memory for %zu routes",
				   spec->n_routes);
	for (size_t i = 0; i < spec->n_routes && !rc; i++)
		rc = parse_route(&spec->routes[i], spec->port, local, &table->hops[i], err);
	if (rc)
		ovl_relay_route_fini(table);
	return rc;
}

void ovl_relay_route_fini(struct ovl_relay_table *table)
{
	free(table->hops);
	*table = (struct ovl_relay_table){.n = 0};
}

const struct ovl_relay_addr *ovl_relay_route_find(const struct ovl_relay_table *table,
						  const struct ovl_relay_packet *p)
{
	const uint8_t *dst = ovl_relay_wire_dst(p);
	const struct ovl_relay_hop *best = NULL;

	for (size_t i = 0; i < table->n; i++) {
		const struct ovl_relay_hop *hop = &table->hops[i];

		if (hop->version == p->version && same_prefix(dst, hop->prefix, hop->len_bits) &&
		    (!best || hop->len_bits > best->len_bits))
			best = hop;
	}
	return best ? &best->remote : NULL;
}
