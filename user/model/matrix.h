/*
 * A matrix: the rows of a table that compares paths, each measured in several turns, and what is
 * said of a row. Pure.
 *
 * Turns go round all rows before the next begins, so that a slow drift of the machine hits all rows
 * alike; a row is compared with its host within a turn.
 */
#ifndef OVL_MODEL_MATRIX_H
#define OVL_MODEL_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/facts.h"
#include "model/model.h"

#define OVL_MATRIX_ROWS_MAX 12
#define OVL_MATRIX_TOP	    3

/** A row of the waterfall: what of the host's goodput is lost there. */
struct ovl_matrix_loss {
	char key[32], label[48];
	double bps;
};

/** CPU time by what it is spent on, all CPUs; other programs' is left out. */
enum ovl_matrix_part {
	OVL_MATRIX_BYTES, /* copies and checksums: by the byte */
	/* system calls, user mode of daemons and proxies, wakeups, scheduler */
	OVL_MATRIX_SWITCHES,
	OVL_MATRIX_PACKETS, /* the rest of the network stack: by the packet */
	OVL_MATRIX_OTHER,   /* user mode of the load, interrupts, unclassified */
	OVL_MATRIX_PARTS,
};

/** One measurement of a row. Unknown is NAN. */
struct ovl_matrix_turn {
	uint32_t turn;
	double goodput_bps;
	double host_bps;   /* of the lab's own underlay, measured in turns with it; NAN: none */
	double latency_ns; /* median round trip of a small message, one at a time, nothing else */
	double copies_per_pkt;
	double segs_ps; /* goodput ÷ MSS */
	/* mean size of what the device looked at took for a packet, the way of most bytes */
	double bytes_per_pkt;
	double retransmits_ps;
	bool traced; /* what follows is known */
	enum ovl_limit limit;
	char side[12];
	char sentence[OVL_TEXT_MAX];
	char top_finding[32]; /* rule of the first that is a warning or worse; "": none */
	uint32_t n_top;
	struct ovl_matrix_loss top[OVL_MATRIX_TOP]; /* largest loss first; gains are left out */
	double ns_per_kib[OVL_MATRIX_PARTS];
	double busy_cpus; /* mean number of CPUs that were busy with it */
};

struct ovl_matrix_row {
	const char *key, *label;
	int host;    /* row that is its 100 %, itself for a host; -1: its lab's own underlay */
	int against; /* row that its cost is compared with, -1: none */
	double seed_bps, seed_latency_ns; /* NAN: the seed has none */
	const char *seed_note;		  /* NULL: none */
	char skipped[OVL_TEXT_MAX];	  /* why it was not measured, "": it was, or not yet */
	OVL_VEC(struct ovl_matrix_turn) turns;
};

struct ovl_matrix {
	const char *suite, *about;
	struct ovl_facts host; /* of the machine alone */
	double seconds;	       /* measured, of a row in a turn */
	uint32_t turns;	       /* planned */
	bool stopped;	       /* before all were done */
	uint32_t n_rows;
	struct ovl_matrix_row rows[OVL_MATRIX_ROWS_MAX];
};

/** What is said of a row: medians over its turns. */
struct ovl_matrix_summary {
	uint32_t n;				/* turns that it rests on */
	double goodput_bps, goodput_spread_bps; /* spread: half of the range, NAN: one turn */
	double host_bps, of_host_ratio;
	double latency_ns, latency_spread_ns;
	double segs_ps, bytes_per_pkt, retransmits_ps, copies_per_pkt;
	/* the turn whose goodput is the median, for what has no median; NULL: none */
	const struct ovl_matrix_turn *middle;
};

/** Why a row carries less than another, as factors whose product is `ratio`. */
struct ovl_matrix_why {
	bool valid;
	double ratio;	     /* goodput of the other ÷ its own */
	double cost_factor;  /* CPU time per byte, its own ÷ the other's */
	double waits_factor; /* CPUs busy with it, the other's ÷ its own: > 1, it waits more */
	double own_cpus, other_cpus; /* busy with it */
	/* cost per KiB, and what each part adds to the cost, Σ = 1 */
	double own_ns_per_kib[OVL_MATRIX_PARTS], other_ns_per_kib[OVL_MATRIX_PARTS];
	double part_ratio[OVL_MATRIX_PARTS];
};

const char *ovl_matrix_part_key(enum ovl_matrix_part part);
const char *ovl_matrix_part_label(enum ovl_matrix_part part);
/** What a measured run says, into a turn (its number and latency are left alone). */
void ovl_matrix_take(struct ovl_matrix_turn *turn, const struct ovl_facts *facts,
		     const struct ovl_model *model);
/** Everything in a turn unknown. */
void ovl_matrix_turn_init(struct ovl_matrix_turn *turn, uint32_t number);
void ovl_matrix_summarise(const struct ovl_matrix *m, const struct ovl_matrix_row *row,
			  struct ovl_matrix_summary *out);
/** Row against row->against; not valid without that, untraced, or where it is no slower. */
void ovl_matrix_explain(const struct ovl_matrix *m, const struct ovl_matrix_row *row,
			struct ovl_matrix_why *out);
void ovl_matrix_fini(struct ovl_matrix *m);

#endif
