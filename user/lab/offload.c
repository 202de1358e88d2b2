#include "lab/offload.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

/*
 * Many cloud NICs segment plain TCP but not TCP inside a tunnel. "gso-partial" and "gso-list" would
 * bring the same back by another way.
 */
#define TUNNEL_SEGMENTATION \
	"tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation", "tx-gre-segmentation", \
		"tx-gre-csum-segmentation", "tx-ipxip4-segmentation", "tx-ipxip6-segmentation", \
		"tx-tunnel-remcsum-segmentation", "tx-gso-partial", "tx-gso-list"
#define TCP_SEGMENTATION \
	"tx-tcp-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", \
		"tx-tcp-accecn-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation"

static const char *const cloud_off[] = {TUNNEL_SEGMENTATION, NULL};
static const char *const nogso_off[] = {TUNNEL_SEGMENTATION, TCP_SEGMENTATION, NULL};
static const char *const all_off[] = {NULL};

const char *const *ovl_offload_profile(enum ovl_lab_offloads offloads)
{
	switch (offloads) {
	case OVL_LAB_OFFLOADS_CLOUD: return cloud_off;
	case OVL_LAB_OFFLOADS_NOGSO: return nogso_off;
	case OVL_LAB_OFFLOADS_ALL: break;
	}
	return all_off;
}

/* A device under the ethtool ioctl. */
struct port {
	int fd;
	const char *dev;
	uint32_t n; /* features this kernel knows */
	struct ethtool_gstrings *names;
	struct ethtool_gfeatures *state;
	struct ethtool_sfeatures *change;
};

static uint32_t blocks(const struct port *p)
{
	return (p->n + 31) / 32;
}

static int call(const struct port *p, void *command)
{
	struct ifreq ifr = {.ifr_data = command};

	ovl_str_copy(ifr.ifr_name, sizeof(ifr.ifr_name), p->dev);
	return ioctl(p->fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

/* How many features this kernel knows. */
static int count_names(struct port *p)
{
	struct ethtool_sset_info *info = calloc(1, sizeof(*info) + sizeof(info->data[0]));
	int rc;

	if (!info)
		return -ENOMEM;
	info->cmd = ETHTOOL_GSSET_INFO;
	info->sset_mask = 1ull << ETH_SS_FEATURES;
	rc = call(p, info);
	if (!rc && !info->sset_mask)
		rc = -EOPNOTSUPP;
	p->n = info->data[0];
	free(info);
	return rc;
}

static int read_names(struct port *p)
{
	int rc = count_names(p);

	if (rc < 0)
		return rc;
	p->names = calloc(1, sizeof(*p->names) + (size_t)p->n * ETH_GSTRING_LEN);
	p->state = calloc(1, sizeof(*p->state) + blocks(p) * sizeof(p->state->features[0]));
	p->change = calloc(1, sizeof(*p->change) + blocks(p) * sizeof(p->change->features[0]));
	if (!p->names || !p->state || !p->change)
		return -ENOMEM;
	p->names->cmd = ETHTOOL_GSTRINGS;
	p->names->string_set = ETH_SS_FEATURES;
	p->names->len = p->n;
	return call(p, p->names);
}

static int read_state(struct port *p)
{
	p->state->cmd = ETHTOOL_GFEATURES;
	p->state->size = blocks(p);
	return call(p, p->state);
}

/* Number of a feature by name, -1 if this kernel has none of that name. */
static int number_of(const struct port *p, const char *name)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const char *known = (const char *)p->names->data + (size_t)i * ETH_GSTRING_LEN;

		if (strncmp(known, name, ETH_GSTRING_LEN) == 0)
			return (int)i;
	}
	return -1;
}

/* Is this feature on, and one that a device can have off? */
static bool is_on(const struct port *p, int i)
{
	const struct ethtool_get_features_block *b = &p->state->features[i / 32];
	uint32_t bit = 1u << (i % 32);

	return (b->active & bit) && !(b->never_changed & bit);
}

static int switch_off(struct port *p, const char *const *names, size_t n)
{
	bool any = false;
	int rc = read_state(p);

	if (rc < 0)
		return rc;
	p->change->cmd = ETHTOOL_SFEATURES;
	p->change->size = blocks(p);
	for (size_t k = 0; k < n; k++) {
		int i = number_of(p, names[k]);

		if (i < 0 || !is_on(p, i))
			continue;
		/* `requested` stays 0: off. A bit the device cannot change would fail them all */
		if (p->state->features[i / 32].available & (1u << (i % 32))) {
			p->change->features[i / 32].valid |= 1u << (i % 32);
			any = true;
		}
	}
	if (any) {
		rc = call(p, p->change);
		if (rc < 0)
			return rc;
	}
	return read_state(p);
}

static int off(struct port *p, const char *const *names, size_t n, struct ovl_err *err)
{
	int rc = read_names(p);

	if (!rc)
		rc = switch_off(p, names, n);
	if (rc < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "cannot change the offload features of %s in the lab: %s",
				   p->dev, strerror(-rc));
	for (size_t k = 0; k < n; k++) {
		int i = number_of(p, names[k]);

		if (i >= 0 && is_on(p, i))
			return ovl_err_set(err, OVL_EXIT_KERNEL, -EIO,
					   "offload feature %s of %s in the lab stays on: this "
					   "kernel does not let it be switched off",
					   names[k], p->dev);
	}
	return 0;
}

int ovl_offload_off(const char *dev, const char *const *names, size_t n, struct ovl_err *err)
{
	struct port p = {.dev = dev};
	int rc;

	if (!n)
		return 0;
	p.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p.fd < 0) {
		rc = -errno;
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot open a socket in the lab: %s",
				   strerror(-rc));
	}
	rc = off(&p, names, n, err);
	free(p.names);
	free(p.state);
	free(p.change);
	close(p.fd);
	return rc;
}
