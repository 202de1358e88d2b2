#include "collect/features.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "collect/netns.h"

#define FEATURES_MAX 256 /* 64 on 6.18; the kernel's bitmap may grow */

static int ethtool(int sock, const char *name, void *data)
{
	struct ifreq req = {.ifr_data = data};

	ovl_str_copy(req.ifr_name, sizeof(req.ifr_name), name);
	return ioctl(sock, SIOCETHTOOL, &req) ? -errno : 0;
}

/* Number of feature bits, or -errno. */
static int count_features(int sock, const char *name)
{
	union {
		struct ethtool_sset_info head;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} info = {.room = ""};
	uint32_t n;
	int rc;

	info.head.cmd = ETHTOOL_GSSET_INFO;
	info.head.sset_mask = 1ull << ETH_SS_FEATURES;
	rc = ethtool(sock, name, &info);
	if (rc)
		return rc;
	memcpy(&n, info.room + sizeof(info.head), sizeof(n));
	return info.head.sset_mask && n <= FEATURES_MAX ? (int)n : -EOPNOTSUPP;
}

static int fill(struct ovl_link *link, const struct ethtool_gstrings *names,
		const struct ethtool_gfeatures *bits)
{
	for (uint32_t i = 0; i < names->len; i++) {
		const char *name = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;
		char whole[ETH_GSTRING_LEN + 1] = "";
		struct ovl_feature *feature;

		memcpy(whole, name, ETH_GSTRING_LEN);
		if (!*whole) /* a hole in the numbering */
			continue;
		feature = ovl_vec_push(&link->features);
		if (!feature)
			return -ENOMEM;
		ovl_str_copy(feature->name, sizeof(feature->name), whole);
		feature->on = bits->features[i / 32].active >> (i % 32) & 1;
	}
	return 0;
}

static int read_bits(int sock, struct ovl_link *link)
{
	int n = count_features(sock, link->name);
	struct ethtool_gstrings *names;
	struct ethtool_gfeatures *bits;
	size_t blocks;
	int rc;

	if (n < 0)
		return n;
	blocks = ((size_t)n + 31) / 32;
	names = calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
	bits = calloc(1, sizeof(*bits) + blocks * sizeof(bits->features[0]));
	rc = names && bits ? 0 : -ENOMEM;
	if (!rc) {
		*names = (struct ethtool_gstrings){
			.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = (uint32_t)n};
		rc = ethtool(sock, link->name, names);
	}
	if (!rc) {
		*bits = (struct ethtool_gfeatures){.cmd = ETHTOOL_GFEATURES,
						   .size = (uint32_t)blocks};
		rc = ethtool(sock, link->name, bits);
	}
	if (!rc)
		rc = fill(link, names, bits);
	free(names);
	free(bits);
	return rc;
}

static int read_here(void *arg)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (sock < 0)
		return -errno;
	rc = read_bits(sock, arg);
	close(sock);
	return rc;
}

int ovl_features_read(int ns_fd, struct ovl_link *link)
{
	int rc;

	ovl_vec_clear(&link->features);
	rc = ovl_netns_run(ns_fd, read_here, link);
	if (rc)
		ovl_vec_clear(&link->features);
	return rc;
}
