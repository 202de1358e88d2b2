#include "collect/tcpdiag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "collect/netns.h"
#include "collect/nldump.h"

#define REPLY_BYTES 65536
#define KNOWN_MAX   16384 /* connections remembered from one reading to the next */
#define FLOWS_MAX   64	  /* told of one namespace and interval */
#define STATE_SYN   2	  /* TCP_SYN_SENT */
#define STATES \
	(~(1u << 6 | 1u << 7 | 1u << 10 | 1u << 12)) /* no TIME_WAIT, CLOSE, LISTEN, NEW_SYN */

struct known {
	uint64_t cookie;
	struct tcp_info info;
	uint32_t rqueue, wqueue;
	struct inet_diag_sockid id;
	uint8_t family, state;
};
typedef OVL_VEC(struct known) knowns;

struct ovl_tcpdiag {
	struct ovl_nldump dump;
	uint32_t ns;
	knowns before, now;
	/* not all connections of the last and of this reading are known */
	bool gap, full;
	/* before the dump that runs */
	size_t whole;
	bool whole_full;
	_Alignas(struct nlmsghdr) char request[256];
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
};

static int open_here(void *arg)
{
	struct ovl_tcpdiag *t = arg;

	return ovl_nldump_open(&t->dump.nl, NETLINK_SOCK_DIAG);
}

static void again(void *arg)
{
	struct ovl_tcpdiag *t = arg;

	t->now.n = t->whole;
	t->full = t->whole_full;
}

struct ovl_tcpdiag *ovl_tcpdiag_open(int ns_fd, uint32_t ns)
{
	struct ovl_tcpdiag *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->ns = ns;
	t->gap = true;
	t->dump.reply = t->reply;
	t->dump.reply_bytes = sizeof(t->reply);
	t->dump.again = again;
	if (!ovl_netns_run(ns_fd, open_here, t))
		return t;
	ovl_tcpdiag_close(t);
	return NULL;
}

void ovl_tcpdiag_close(struct ovl_tcpdiag *t)
{
	if (!t)
		return;
	if (t->dump.nl)
		mnl_socket_close(t->dump.nl);
	ovl_vec_fini(&t->before);
	ovl_vec_fini(&t->now);
	free(t);
}

static int socket_attr(const struct nlattr *attr, void *arg)
{
	struct known *k = arg;
	size_t n = mnl_attr_get_payload_len(attr);

	/* the structure grows with the kernel: what an older one lacks stays 0 */
	if (mnl_attr_get_type(attr) == INET_DIAG_INFO)
		memcpy(&k->info, mnl_attr_get_payload(attr),
		       n < sizeof(k->info) ? n : sizeof(k->info));
	return MNL_CB_OK;
}

static int socket_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct inet_diag_msg *msg = mnl_nlmsg_get_payload(nlh);
	struct ovl_tcpdiag *t = arg;
	struct known *k;

	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return MNL_CB_OK;
	k = t->now.n < KNOWN_MAX ? ovl_vec_push(&t->now) : NULL;
	if (!k) {
		t->full = true;
		return MNL_CB_OK;
	}
	k->cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0];
	k->id = msg->id;
	k->family = msg->idiag_family;
	k->state = msg->idiag_state;
	k->rqueue = msg->idiag_rqueue;
	k->wqueue = msg->idiag_wqueue;
	mnl_attr_parse(nlh, sizeof(*msg), socket_attr, k);
	return MNL_CB_OK;
}

static int dump(struct ovl_tcpdiag *t, uint8_t family)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(t->request);
	struct inet_diag_req_v2 *req;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_ext = 1 << (INET_DIAG_INFO - 1);
	req->idiag_states = STATES;
	t->whole = t->now.n;
	t->whole_full = t->full;
	return ovl_nldump_run(&t->dump, nlh, socket_msg, t);
}

static int by_cookie(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

static void address(char to[OVL_ADDR_MAX], uint8_t family, const __be32 *addr, __be16 port)
{
	char text[INET6_ADDRSTRLEN] = "?";
	const bool mapped = family == AF_INET6 && !addr[0] && !addr[1] && addr[2] == htonl(0xffff);

	inet_ntop(mapped ? AF_INET : family, mapped ? &addr[3] : addr, text, sizeof(text));
	snprintf(to, OVL_ADDR_MAX, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, ntohs(port));
}

static uint64_t grown(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

static void describe(const struct ovl_tcpdiag *t, const struct known *k, const struct known *old,
		     struct ovl_flow *f)
{
	static const struct tcp_info none;
	const struct tcp_info *a = old ? &old->info : &none, *b = &k->info;

	*f = (struct ovl_flow){
		.ns = t->ns,
		.state = k->state,
		.app_limited = b->tcpi_delivery_rate_app_limited,
		.acked_bytes = grown(a->tcpi_bytes_acked, b->tcpi_bytes_acked),
		.received_bytes = grown(a->tcpi_bytes_received, b->tcpi_bytes_received),
		.sent_segs = grown(a->tcpi_data_segs_out, b->tcpi_data_segs_out),
		.retrans_segs = grown(a->tcpi_total_retrans, b->tcpi_total_retrans),
		.dsack_segs = grown(a->tcpi_dsack_dups, b->tcpi_dsack_dups),
		.busy_us = grown(a->tcpi_busy_time, b->tcpi_busy_time),
		.rwnd_us = grown(a->tcpi_rwnd_limited, b->tcpi_rwnd_limited),
		.sndbuf_us = grown(a->tcpi_sndbuf_limited, b->tcpi_sndbuf_limited),
		.total_acked_bytes = b->tcpi_bytes_acked,
		.rtt_us = b->tcpi_rtt,
		.min_rtt_us = b->tcpi_min_rtt == UINT32_MAX ? 0 : b->tcpi_min_rtt,
		.cwnd_segs = b->tcpi_snd_cwnd,
		.mss_bytes = b->tcpi_snd_mss,
		.pmtu_bytes = b->tcpi_pmtu,
		.snd_wnd_bytes = b->tcpi_snd_wnd,
		.unacked_segs = b->tcpi_unacked,
		.unsent_bytes = b->tcpi_notsent_bytes,
		.timeouts = b->tcpi_retransmits,
		.probes = b->tcpi_probes,
	};
	address(f->src, k->family, k->id.idiag_src, k->id.idiag_sport);
	address(f->dst, k->family, k->id.idiag_dst, k->id.idiag_dport);
}

/* What makes a connection worth telling: bytes moved, but a stuck one above all. */
static uint64_t weight(const struct ovl_flow *f)
{
	bool stuck = f->timeouts || f->probes || f->state == STATE_SYN;

	return (stuck ? UINT64_C(1) << 62 : 0) + f->acked_bytes + f->received_bytes;
}

static int by_weight(const void *a, const void *b)
{
	const uint64_t x = weight(a), y = weight(b);

	return x > y ? -1 : x < y;
}

static int tell(struct ovl_tcpdiag *t, struct ovl_sample *sample)
{
	OVL_VEC(struct ovl_flow) all = {0};
	int rc = 0;

	ovl_vec_each(k, &t->now) {
		const struct known *old =
			t->before.n ? bsearch(k, t->before.v, t->before.n, sizeof(*k), by_cookie)
				    : NULL;
		struct ovl_flow f, *to;

		/* one that may have been there before: its counters are no interval's */
		if (!old && t->gap)
			old = k;
		describe(t, k, old, &f);
		if (!weight(&f) && !f.unacked_segs)
			continue;
		to = ovl_vec_push(&all);
		if (!to)
			rc = -ENOMEM;
		else
			*to = f;
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_weight);
	for (size_t i = 0; !rc && i < all.n && i < FLOWS_MAX; i++) {
		struct ovl_flow *to = ovl_vec_push(&sample->flows);

		if (!to)
			rc = -ENOMEM;
		else
			*to = all.v[i];
	}
	ovl_vec_fini(&all);
	return rc;
}

int ovl_tcpdiag_read(struct ovl_tcpdiag *t, struct ovl_sample *sample)
{
	knowns spare = t->before;
	int rc;

	t->before = t->now;
	t->now = spare;
	ovl_vec_clear(&t->now);
	t->full = false;
	rc = dump(t, AF_INET);
	rc = rc ? rc : dump(t, AF_INET6);
	if (rc) {
		ovl_vec_clear(&t->now);
		t->gap = true;
		return rc;
	}
	if (t->now.n)
		qsort(t->now.v, t->now.n, sizeof(*t->now.v), by_cookie);
	rc = sample ? tell(t, sample) : 0;
	t->gap = t->full;
	return rc;
}
