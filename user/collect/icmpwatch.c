#include "collect/icmpwatch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/icmp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/netns.h"

#define KINDS_MAX  32	/* of messages that are told apart */
#define DRAIN_MAX  4096 /* messages looked at in one reading */
#define HEAD_BYTES 8	/* of the ICMP header, and of the packet's beginning behind its IP header */
#define IP_MIN	   20
#define PACKET_MAX 256

struct kind {
	uint8_t type, code;
	uint16_t port;
	struct in_addr from;
	uint64_t n;
};

struct ovl_icmpwatch {
	int fd;
	size_t n;
	struct kind kinds[KINDS_MAX];
};

static int open_here(void *arg)
{
	struct icmp_filter filter = {.data = ~(1u << ICMP_DEST_UNREACH | 1u << ICMP_TIME_EXCEEDED)};
	struct ovl_icmpwatch *w = arg;

	w->fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
	if (w->fd < 0)
		return -errno;
	return setsockopt(w->fd, SOL_RAW, ICMP_FILTER, &filter, sizeof(filter)) ? -errno : 0;
}

struct ovl_icmpwatch *ovl_icmpwatch_open(int ns_fd)
{
	struct ovl_icmpwatch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = -1;
	if (!ovl_netns_run(ns_fd, open_here, w))
		return w;
	ovl_icmpwatch_close(w);
	return NULL;
}

void ovl_icmpwatch_close(struct ovl_icmpwatch *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

static void count(struct ovl_icmpwatch *w, const struct kind *k)
{
	struct kind *at = w->kinds;

	for (; at < w->kinds + w->n; at++)
		if (at->type == k->type && at->code == k->code && at->port == k->port &&
		    at->from.s_addr == k->from.s_addr)
			break;
	if (at == w->kinds + KINDS_MAX)
		return;
	if (at == w->kinds + w->n) {
		*at = *k;
		w->n++;
	}
	at->n++;
}

/* An IP header, the ICMP header, and the IP header and first 8 bytes of what it is about. */
static void take(struct ovl_icmpwatch *w, const uint8_t *p, size_t n)
{
	size_t outer = n ? (size_t)(p[0] & 15) * 4 : 0, inner;
	const uint8_t *icmp = p + outer, *about = icmp + HEAD_BYTES;
	struct kind k = {0};

	if (outer < IP_MIN || n < outer + HEAD_BYTES + IP_MIN)
		return;
	inner = (size_t)(about[0] & 15) * 4;
	if (inner < IP_MIN || n < outer + HEAD_BYTES + inner + 4 || about[9] != IPPROTO_UDP)
		return;
	k.type = icmp[0];
	k.code = icmp[1];
	k.port = (uint16_t)(about[inner + 2] << 8 | about[inner + 3]);
	memcpy(&k.from, p + 12, sizeof(k.from));
	count(w, &k);
}

void ovl_icmpwatch_read(struct ovl_icmpwatch *w, struct ovl_sheet *s)
{
	uint8_t packet[PACKET_MAX];

	for (int i = 0; i < DRAIN_MAX; i++) {
		ssize_t got = recv(w->fd, packet, sizeof(packet), MSG_TRUNC);

		if (got < 0)
			break;
		take(w, packet, (size_t)got < sizeof(packet) ? (size_t)got : sizeof(packet));
	}
	for (size_t i = 0; i < w->n; i++) {
		const struct kind *k = &w->kinds[i];
		char object[OVL_NAME_MAX], from[INET_ADDRSTRLEN] = "?";

		inet_ntop(AF_INET, &k->from, from, sizeof(from));
		snprintf(object, sizeof(object), "%u/%u from %s about udp %u", k->type, k->code,
			 from, k->port);
		ovl_sheet_rise(s, "icmp", object, "messages", k->n);
	}
}
