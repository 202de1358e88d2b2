#include "collect/nftrules.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "collect/netns.h"
#include "collect/nftexpr.h"
#include "collect/nldump.h"

#define REPLY_BYTES    65536
#define COST_SHARE     100	  /* a reading that took t waits for 100 t until the next */
#define SECOND_WAIT_NS 2000000000 /* but the second waits no longer: short runs need two */
#define TRANSLATE_MAX  512	  /* translating rules that are listed */

struct chain {
	uint8_t family;
	char table[32], name[40];
	uint32_t hook, rules;
	bool base, nat, policy_drops;
	uint64_t policy_pkts;
};

struct ovl_nftrules {
	struct ovl_nldump dump;
	uint64_t next_ts_ns;
	uint32_t readings, complete; /* of these: the whole list was got */
	OVL_VEC(struct chain) chains;
	size_t last_chain; /* that a rule belonged to: rules come chain by chain */
	uint32_t translating, rules;
	struct ovl_sheet *sheet;
	_Alignas(struct nlmsghdr) char request[128];
	_Alignas(struct nlmsghdr) char reply[REPLY_BYTES];
};

static int open_here(void *arg)
{
	struct ovl_nftrules *n = arg;

	return ovl_nldump_open(&n->dump.nl, NETLINK_NETFILTER);
}

struct ovl_nftrules *ovl_nftrules_open(int ns_fd)
{
	struct ovl_nftrules *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->dump.reply = n->reply;
	n->dump.reply_bytes = sizeof(n->reply);
	if (!ovl_netns_run(ns_fd, open_here, n))
		return n;
	ovl_nftrules_close(n);
	return NULL;
}

void ovl_nftrules_close(struct ovl_nftrules *n)
{
	if (!n)
		return;
	if (n->dump.nl)
		mnl_socket_close(n->dump.nl);
	ovl_vec_fini(&n->chains);
	free(n);
}

static int dump(struct ovl_nftrules *n, uint16_t what, mnl_cb_t cb, void (*again)(void *))
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(n->request);
	struct nfgenmsg *msg;

	nlh->nlmsg_type = (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | what);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	msg = mnl_nlmsg_put_extra_header(nlh, sizeof(*msg));
	msg->nfgen_family = AF_UNSPEC;
	msg->version = NFNETLINK_V0;
	n->dump.again = again;
	again(n);
	return ovl_nldump_run(&n->dump, nlh, cb, n);
}

static const char *family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_IPV4: return "ip";
	case NFPROTO_IPV6: return "ip6";
	case NFPROTO_INET: return "inet";
	case NFPROTO_BRIDGE: return "bridge";
	case NFPROTO_NETDEV: return "netdev";
	case NFPROTO_ARP: return "arp";
	default: return "?";
	}
}

static const char *hook_name(const struct chain *c)
{
	static const char *const inet[] = {"prerouting", "input", "forward", "output",
					   "postrouting"};

	if (!c->base)
		return "";
	if (c->family == NFPROTO_NETDEV)
		return c->hook ? "egress" : "ingress";
	return c->hook < 5 ? inet[c->hook] : "?";
}

/* ---- chains ---- */

static int policy_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == NFTA_COUNTER_PACKETS)
		((struct chain *)arg)->policy_pkts = be64toh(mnl_attr_get_u64(attr));
	return MNL_CB_OK;
}

static int hook_attr(const struct nlattr *attr, void *arg)
{
	if (mnl_attr_get_type(attr) == NFTA_HOOK_HOOKNUM)
		((struct chain *)arg)->hook = ntohl(mnl_attr_get_u32(attr));
	return MNL_CB_OK;
}

static int chain_attr(const struct nlattr *attr, void *arg)
{
	struct chain *c = arg;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_CHAIN_TABLE:
		ovl_str_copy(c->table, sizeof(c->table), mnl_attr_get_str(attr));
		break;
	case NFTA_CHAIN_NAME: ovl_str_copy(c->name, sizeof(c->name), mnl_attr_get_str(attr)); break;
	case NFTA_CHAIN_HOOK:
		c->base = true;
		mnl_attr_parse_nested(attr, hook_attr, c);
		break;
	case NFTA_CHAIN_TYPE: c->nat = !strcmp(mnl_attr_get_str(attr), "nat"); break;
	case NFTA_CHAIN_POLICY: c->policy_drops = ntohl(mnl_attr_get_u32(attr)) == NF_DROP; break;
	case NFTA_CHAIN_COUNTERS: mnl_attr_parse_nested(attr, policy_attr, c); break;
	default: break;
	}
	return MNL_CB_OK;
}

static int chain_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct ovl_nftrules *n = arg;
	struct chain *c = ovl_vec_push(&n->chains);

	if (!c)
		return MNL_CB_OK;
	c->family = msg->nfgen_family;
	mnl_attr_parse(nlh, sizeof(*msg), chain_attr, c);
	return MNL_CB_OK;
}

/* ---- rules ---- */

struct rule {
	const char *table, *chain;
	uint64_t handle;
	const struct nlattr *expressions;
};

static int rule_attr(const struct nlattr *attr, void *arg)
{
	struct rule *r = arg;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_RULE_TABLE: r->table = mnl_attr_get_str(attr); break;
	case NFTA_RULE_CHAIN: r->chain = mnl_attr_get_str(attr); break;
	case NFTA_RULE_HANDLE: r->handle = be64toh(mnl_attr_get_u64(attr)); break;
	case NFTA_RULE_EXPRESSIONS: r->expressions = attr; break;
	default: break;
	}
	return MNL_CB_OK;
}

static bool is_chain(const struct chain *c, uint8_t family, const struct rule *r)
{
	return c->family == family && !strcmp(c->name, r->chain) && !strcmp(c->table, r->table);
}

static struct chain *chain_of(struct ovl_nftrules *n, uint8_t family, const struct rule *r)
{
	if (n->last_chain < n->chains.n && is_chain(&n->chains.v[n->last_chain], family, r))
		return &n->chains.v[n->last_chain];
	for (size_t i = 0; i < n->chains.n; i++)
		if (is_chain(&n->chains.v[i], family, r)) {
			n->last_chain = i;
			return &n->chains.v[i];
		}
	return NULL;
}

/*
 * Do only first packets of connections pass this chain: is it, or are all the base chains of its
 * table, of type nat?
 */
static bool is_nat(const struct ovl_nftrules *n, const struct chain *c)
{
	bool nat = false;

	if (c->base)
		return c->nat;
	ovl_vec_each(other, &n->chains) {
		if (!other->base || other->family != c->family || strcmp(other->table, c->table))
			continue;
		if (!other->nat)
			return false;
		nat = true;
	}
	return nat;
}

static void put_rule(struct ovl_nftrules *n, const struct chain *c, const struct rule *r,
		     const struct ovl_nftexpr *e)
{
	const char *does = e->drops && e->limits ? "polices"
			   : e->drops		 ? "drops"
			   : e->rejects		 ? "rejects"
			   : e->mss		 ? "clamps"
			   : e->limits		 ? "limits"
						 : "translates";
	char object[OVL_NAME_MAX], port[16] = "", words[2 * OVL_NAME_MAX];

	/* the counts of rules that never matched say nothing, and there may be thousands */
	if ((e->drops || e->rejects) && (!e->counted || !e->pkts))
		return;
	if (e->translates && !e->drops && n->translating++ >= TRANSLATE_MAX)
		return;
	snprintf(object, sizeof(object), "%s %.20s %.24s handle %llu", family_name(c->family),
		 c->table, c->name, (unsigned long long)r->handle);
	if (e->dport)
		snprintf(port, sizeof(port), " dport %u", e->dport);
	snprintf(words, sizeof(words), "%s:%s%s%s%s%s %s", hook_name(c),
		 e->proto == IPPROTO_UDP   ? " udp"
		 : e->proto == IPPROTO_TCP ? " tcp"
					   : "",
		 port, e->invalid ? " ct state invalid" : "", *e->match ? " match " : "", e->match,
		 does);
	ovl_sheet_say(n->sheet, "rule", object, "words", words);
	/* a rule that had not counted in a whole list before began at 0 */
	if (e->counted && n->complete)
		ovl_sheet_rise(n->sheet, "rule", object, does, e->pkts);
	else if (e->counted)
		ovl_sheet_count(n->sheet, "rule", object, does, e->pkts);
	if (e->invalid && (e->drops || e->rejects))
		ovl_sheet_set(n->sheet, "rule", object, "ct_invalid", 1);
	if (e->dport)
		ovl_sheet_set(n->sheet, "rule", object, "dport", e->dport);
	if (e->mss)
		ovl_sheet_set(n->sheet, "rule", object, "mss", e->mss);
	if (e->limit_bps)
		ovl_sheet_set(n->sheet, "rule", object, "limit_bps", (int64_t)e->limit_bps);
}

static int rule_msg(const struct nlmsghdr *nlh, void *arg)
{
	const struct nfgenmsg *msg = mnl_nlmsg_get_payload(nlh);
	struct ovl_nftrules *n = arg;
	struct rule r = {.table = "", .chain = ""};
	struct ovl_nftexpr e;
	struct chain *c;

	mnl_attr_parse(nlh, sizeof(*msg), rule_attr, &r);
	c = chain_of(n, msg->nfgen_family, &r);
	if (!c)
		return MNL_CB_OK;
	c->rules++;
	n->rules++;
	if (!r.expressions)
		return MNL_CB_OK;
	ovl_nftexpr_read(r.expressions, &e);
	/* a Service's port is matched where the way to its translation begins */
	e.translates |= e.jumps && e.dport && is_nat(n, c);
	if (e.drops || e.rejects || e.mss || e.limits || e.translates)
		put_rule(n, c, &r, &e);
	return MNL_CB_OK;
}

static void put_chains(struct ovl_nftrules *n)
{
	ovl_sheet_set(n->sheet, "nf_tables", "all", "rules", n->rules);
	if (n->translating > TRANSLATE_MAX)
		ovl_sheet_set(n->sheet, "nf_tables", "all", "translating_left_out",
			      n->translating - TRANSLATE_MAX);
	ovl_vec_each(c, &n->chains) {
		char object[OVL_NAME_MAX];

		if (!c->rules && !c->policy_drops)
			continue;
		snprintf(object, sizeof(object), "%s %.24s %.24s", family_name(c->family), c->table,
			 c->name);
		/* the others are for first packets alone, however many they are */
		if (!is_nat(n, c))
			ovl_sheet_set(n->sheet, "chain", object, "rules", c->rules);
		if (c->base)
			ovl_sheet_say(n->sheet, "chain", object, "hook", hook_name(c));
		if (c->policy_drops)
			ovl_sheet_count(n->sheet, "chain", object, "policy_drops", c->policy_pkts);
	}
}

static void forget_chains(void *arg)
{
	struct ovl_nftrules *n = arg;

	ovl_vec_clear(&n->chains);
}

static void forget_rules(void *arg)
{
	struct ovl_nftrules *n = arg;

	n->translating = n->rules = 0;
	ovl_vec_each(c, &n->chains)
		c->rules = 0;
}

int ovl_nftrules_read(struct ovl_nftrules *n, struct ovl_sheet *s)
{
	const uint64_t start_ts_ns = ovl_clock_ns();
	uint64_t took_ns;
	int rc;

	if (start_ts_ns < n->next_ts_ns)
		return 0;
	n->sheet = s;
	rc = dump(n, NFT_MSG_GETCHAIN, chain_msg, forget_chains);
	rc = rc ? rc : dump(n, NFT_MSG_GETRULE, rule_msg, forget_rules);
	if (!rc) {
		put_chains(n);
		n->complete++;
	}
	took_ns = COST_SHARE * (ovl_clock_ns() - start_ts_ns);
	if (!n->readings++ && took_ns > SECOND_WAIT_NS)
		took_ns = SECOND_WAIT_NS;
	n->next_ts_ns = start_ts_ns + took_ns;
	return rc;
}
