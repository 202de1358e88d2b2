#include "collect/nftexpr.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/xt_conntrack.h>
#include <linux/netfilter/xt_tcpudp.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/str.h"

/* XT_CONNTRACK_STATE_* and NF_CT_STATE_BIT() are the same */
#define STATE_INVALID 1u
#define STATE_USUAL   (2u | 8u) /* established, new */

/* The attributes of one expression by number. */
#define ATTRS 16
struct attrs {
	const struct nlattr *v[ATTRS];
};

static int take(const struct nlattr *attr, void *arg)
{
	struct attrs *a = arg;
	uint16_t type = mnl_attr_get_type(attr);

	if (type < ATTRS)
		a->v[type] = attr;
	return MNL_CB_OK;
}

static uint32_t be32(const struct nlattr *attr)
{
	return attr && mnl_attr_get_payload_len(attr) >= 4 ? ntohl(mnl_attr_get_u32(attr)) : 0;
}

static uint64_t number64(const struct nlattr *attr)
{
	return attr && mnl_attr_get_payload_len(attr) >= 8 ? be64toh(mnl_attr_get_u64(attr)) : 0;
}

/* The bytes of an NFTA_DATA_VALUE within an attribute. */
static size_t data_of(const struct nlattr *attr, void *to, size_t n)
{
	struct attrs a = {{NULL}};
	size_t have;

	memset(to, 0, n);
	if (!attr || mnl_attr_parse_nested(attr, take, &a) < 0 || !a.v[NFTA_DATA_VALUE])
		return 0;
	have = mnl_attr_get_payload_len(a.v[NFTA_DATA_VALUE]);
	memcpy(to, mnl_attr_get_payload(a.v[NFTA_DATA_VALUE]), have < n ? have : n);
	return have;
}

/* What the last expression loaded: the next one takes it, or loads something else. */
static void forget(struct ovl_nftexpr *e)
{
	e->base = e->offset = e->len = e->immediate = 0;
	e->ct_state = e->l4proto = e->masked = e->masked_invalid = false;
}

static void take_immediate(const struct attrs *a, struct ovl_nftexpr *e)
{
	struct attrs data = {{NULL}}, verdict = {{NULL}};

	if (!a->v[NFTA_IMMEDIATE_DATA] ||
	    mnl_attr_parse_nested(a->v[NFTA_IMMEDIATE_DATA], take, &data) < 0 ||
	    !data.v[NFTA_DATA_VERDICT] ||
	    mnl_attr_parse_nested(data.v[NFTA_DATA_VERDICT], take, &verdict) < 0)
		return;
	if (!verdict.v[NFTA_VERDICT_CODE])
		return;
	switch ((int)be32(verdict.v[NFTA_VERDICT_CODE])) {
	case NF_DROP: e->drops = true; break;
	case NFT_JUMP:
	case NFT_GOTO: e->jumps = true; break;
	default: break;
	}
}

static bool is_invalid(uint32_t states)
{
	return states & STATE_INVALID && !(states & STATE_USUAL);
}

static void take_match(const struct attrs *a, struct ovl_nftexpr *e)
{
	const struct nlattr *info = a->v[NFTA_MATCH_INFO];
	size_t n = info ? mnl_attr_get_payload_len(info) : 0;

	if (!a->v[NFTA_MATCH_NAME])
		return;
	ovl_str_copy(e->match, sizeof(e->match), mnl_attr_get_str(a->v[NFTA_MATCH_NAME]));
	/* revisions 2 and 3 begin alike up to the state mask */
	if (!strcmp(e->match, "conntrack") && n >= sizeof(struct xt_conntrack_mtinfo2)) {
		struct xt_conntrack_mtinfo2 ct;

		memcpy(&ct, mnl_attr_get_payload(info), sizeof(ct));
		e->invalid = ct.match_flags & XT_CONNTRACK_STATE &&
			     !(ct.invert_flags & XT_CONNTRACK_STATE) && is_invalid(ct.state_mask);
	} else if (!strcmp(e->match, "udp") && n >= sizeof(struct xt_udp)) {
		struct xt_udp udp;

		memcpy(&udp, mnl_attr_get_payload(info), sizeof(udp));
		e->proto = IPPROTO_UDP;
		e->dport = udp.dpts[0] == udp.dpts[1] && !(udp.invflags & XT_UDP_INV_DSTPT)
				   ? udp.dpts[0]
				   : 0;
	} else if (!strcmp(e->match, "tcp") && n >= sizeof(struct xt_tcp)) {
		struct xt_tcp tcp;

		memcpy(&tcp, mnl_attr_get_payload(info), sizeof(tcp));
		e->proto = IPPROTO_TCP;
		e->dport = tcp.dpts[0] == tcp.dpts[1] && !(tcp.invflags & XT_TCP_INV_DSTPT)
				   ? tcp.dpts[0]
				   : 0;
	}
}

static void take_target(const struct attrs *a, struct ovl_nftexpr *e)
{
	const struct nlattr *info = a->v[NFTA_TARGET_INFO];
	const char *name = a->v[NFTA_TARGET_NAME] ? mnl_attr_get_str(a->v[NFTA_TARGET_NAME]) : "";
	uint16_t mss;

	e->drops |= !strcmp(name, "DROP");
	e->rejects |= !strcmp(name, "REJECT");
	e->translates |= !strcmp(name, "DNAT") || !strcmp(name, "REDIRECT");
	if (!strcmp(name, "TCPMSS") && info && mnl_attr_get_payload_len(info) >= sizeof(mss)) {
		memcpy(&mss, mnl_attr_get_payload(info), sizeof(mss));
		e->mss = mss == 0xffff ? 0 : mss; /* 0xffff: to the path's MTU, which is right */
	}
}

static void take_cmp(const struct attrs *a, struct ovl_nftexpr *e)
{
	const uint32_t op = be32(a->v[NFTA_CMP_OP]);
	uint8_t data[16];
	size_t n = data_of(a->v[NFTA_CMP_DATA], data, sizeof(data));
	uint32_t state;

	memcpy(&state, data, sizeof(state));
	if (n && op == NFT_CMP_EQ && !e->masked) {
		if (e->base == NFT_PAYLOAD_TRANSPORT_HEADER && e->len == 2 && e->offset == 2)
			e->dport = (uint16_t)(data[0] << 8 | data[1]);
		else if (e->base == NFT_PAYLOAD_TRANSPORT_HEADER && e->len == 4 && !e->offset)
			e->dport = (uint16_t)(data[2] << 8 | data[3]); /* both ports at once */
		else if (e->l4proto ||
			 (e->len == 1 && e->offset == 9 && e->base == NFT_PAYLOAD_NETWORK_HEADER))
			e->proto = data[0];
		else if (e->ct_state)
			e->invalid = is_invalid(state);
	} else if (n && op == NFT_CMP_NEQ && !state && e->masked_invalid) {
		e->invalid = true;
	}
	forget(e);
}

static void take_exthdr(const struct attrs *a, struct ovl_nftexpr *e)
{
	/* `tcp option maxseg size set N`: the value came by the immediate before it */
	if (a->v[NFTA_EXTHDR_SREG] && be32(a->v[NFTA_EXTHDR_OP]) == NFT_EXTHDR_OP_TCPOPT &&
	    a->v[NFTA_EXTHDR_TYPE] && mnl_attr_get_u8(a->v[NFTA_EXTHDR_TYPE]) == TCPOPT_MAXSEG &&
	    e->immediate)
		e->mss = e->mss ? e->mss : e->immediate;
	forget(e);
}

static void take_immediate_data(const struct attrs *a, struct ovl_nftexpr *e)
{
	uint8_t data[16];

	forget(e);
	if (data_of(a->v[NFTA_IMMEDIATE_DATA], data, sizeof(data)) == 2)
		e->immediate = (uint32_t)(data[0] << 8 | data[1]);
}

/* `ct state invalid` is the state, a mask, and a comparison with 0 that must not hold. */
static void take_bitwise(const struct attrs *a, struct ovl_nftexpr *e)
{
	uint32_t mask = 0;
	bool invalid = e->ct_state && data_of(a->v[NFTA_BITWISE_MASK], &mask, sizeof(mask)) &&
		       is_invalid(mask);

	forget(e);
	e->masked = true;
	e->masked_invalid = invalid;
}

static void take_limit(const struct attrs *a, struct ovl_nftexpr *e)
{
	uint64_t unit_s = number64(a->v[NFTA_LIMIT_UNIT]);

	e->limits = true;
	if (be32(a->v[NFTA_LIMIT_TYPE]) == NFT_LIMIT_PKT_BYTES && unit_s)
		e->limit_bps = number64(a->v[NFTA_LIMIT_RATE]) * 8 / unit_s;
}

static void take_expr(const char *name, const struct attrs *a, struct ovl_nftexpr *e)
{
	if (!strcmp(name, "counter")) {
		e->counted = true;
		e->pkts = number64(a->v[NFTA_COUNTER_PACKETS]);
	} else if (!strcmp(name, "immediate")) {
		take_immediate(a, e);
		take_immediate_data(a, e);
	} else if (!strcmp(name, "match")) {
		take_match(a, e);
	} else if (!strcmp(name, "target")) {
		take_target(a, e);
	} else if (!strcmp(name, "payload")) {
		forget(e);
		/* one that writes to the packet loads nothing */
		if (!a->v[NFTA_PAYLOAD_DREG])
			return;
		e->base = be32(a->v[NFTA_PAYLOAD_BASE]);
		e->offset = be32(a->v[NFTA_PAYLOAD_OFFSET]);
		e->len = be32(a->v[NFTA_PAYLOAD_LEN]);
	} else if (!strcmp(name, "meta")) {
		forget(e);
		e->l4proto = be32(a->v[NFTA_META_KEY]) == NFT_META_L4PROTO;
	} else if (!strcmp(name, "cmp")) {
		take_cmp(a, e);
	} else if (!strcmp(name, "ct")) {
		forget(e);
		e->ct_state = a->v[NFTA_CT_DREG] && be32(a->v[NFTA_CT_KEY]) == NFT_CT_STATE;
	} else if (!strcmp(name, "bitwise")) {
		take_bitwise(a, e);
	} else if (!strcmp(name, "rt") || !strcmp(name, "lookup")) {
		forget(e);
	} else if (!strcmp(name, "limit")) {
		take_limit(a, e);
	} else if (!strcmp(name, "exthdr")) {
		take_exthdr(a, e);
	} else if (!strcmp(name, "reject")) {
		e->rejects = true;
	} else if (!strcmp(name, "nat") || !strcmp(name, "redir")) {
		e->translates = true;
	}
}

void ovl_nftexpr_read(const struct nlattr *list, struct ovl_nftexpr *e)
{
	const struct nlattr *elem;

	memset(e, 0, sizeof(*e));
	mnl_attr_for_each_nested(elem, list)
	{
		struct attrs expr = {{NULL}}, data = {{NULL}};

		if (mnl_attr_parse_nested(elem, take, &expr) < 0 || !expr.v[NFTA_EXPR_NAME])
			continue;
		if (expr.v[NFTA_EXPR_DATA])
			mnl_attr_parse_nested(expr.v[NFTA_EXPR_DATA], take, &data);
		take_expr(mnl_attr_get_str(expr.v[NFTA_EXPR_NAME]), &data, e);
	}
}
