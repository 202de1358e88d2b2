#include "collect/nicstats.h"

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

#define STATS_MAX   4096 /* of one device: drivers with many queues have a thousand */
#define DEVICES_MAX 24	 /* looked at in one namespace */

static int ethtool(int sock, const char *name, void *data)
{
	struct ifreq req = {.ifr_data = data};

	ovl_str_copy(req.ifr_name, sizeof(req.ifr_name), name);
	return ioctl(sock, SIOCETHTOOL, &req) ? -errno : 0;
}

/* Does this counter say that something was lost? */
static bool matters(const char *name)
{
	static const char *const parts[] = {"drop",    "discard",  "error",  "err_",
					    "miss",    "fifo",	   "no_buf", "nobuf",
					    "overrun", "overflow", "crc",    "allowance_exceeded"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static uint32_t count_stats(int sock, const char *name)
{
	union {
		struct ethtool_sset_info head;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} info = {.room = ""};
	uint32_t n;

	info.head.cmd = ETHTOOL_GSSET_INFO;
	info.head.sset_mask = 1ull << ETH_SS_STATS;
	if (ethtool(sock, name, &info) || !info.head.sset_mask)
		return 0;
	memcpy(&n, info.room + sizeof(info.head), sizeof(n));
	return n <= STATS_MAX ? n : 0;
}

static void put_device(int sock, struct ovl_sheet *s, const char *device)
{
	const uint32_t n = count_stats(sock, device);
	struct ethtool_gstrings *names;
	struct ethtool_stats *stats;

	if (!n)
		return;
	names = calloc(1, sizeof(*names) + (size_t)n * ETH_GSTRING_LEN);
	stats = calloc(1, sizeof(*stats) + (size_t)n * sizeof(uint64_t));
	if (names && stats) {
		*names = (struct ethtool_gstrings){
			.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = n};
		stats->cmd = ETHTOOL_GSTATS;
		stats->n_stats = n;
	}
	if (names && stats && !ethtool(sock, device, names) && !ethtool(sock, device, stats))
		for (uint32_t i = 0; i < n; i++) {
			char name[ETH_GSTRING_LEN + 1] = "";

			memcpy(name, (const char *)names->data + (size_t)i * ETH_GSTRING_LEN,
			       ETH_GSTRING_LEN);
			if (matters(name))
				ovl_sheet_rise(s, "nic", device, name, stats->data[i]);
		}
	free(names);
	free(stats);
}

void ovl_nicstats_read(struct ovl_sheet *s, const struct ovl_facts *facts, uint32_t ns)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), n = 0;

	if (sock < 0)
		return;
	ovl_vec_each(link, &facts->links) {
		if (link->ns != ns)
			continue;
		if (n++ < DEVICES_MAX)
			put_device(sock, s, link->name);
		else
			s->left_out++;
	}
	close(sock);
}
