/* What one nf_tables rule matches and does, out of its expressions. Pure but for libmnl. */
#ifndef OVL_COLLECT_NFTEXPR_H
#define OVL_COLLECT_NFTEXPR_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/facts.h"

/** The parts of a rule that explain packets. */
struct ovl_nftexpr {
	bool counted, drops, rejects, limits, translates, jumps;
	bool invalid; /* matches packets that are INVALID to conntrack, and hardly any other */
	uint64_t pkts;
	uint32_t mss;		/* clamped to it, 0: no */
	uint8_t proto;		/* IPPROTO_*, 0: any */
	uint16_t dport;		/* 0: any */
	uint64_t limit_bps;	/* of a byte limit, 0: none */
	char match[OVL_IF_MAX]; /* last xt match or "" */
	/* while reading: what the last expression loaded */
	uint32_t base, offset, len, immediate;
	bool ct_state, l4proto, masked, masked_invalid;
};

/** Take an NFTA_RULE_EXPRESSIONS attribute apart. */
void ovl_nftexpr_read(const struct nlattr *list, struct ovl_nftexpr *e);

#endif
