/*
 * Keeps the tally of a load's overlay path in iperf3's terms (view/transfer.h): readings of its
 * connections become rows, readings of the path what the receiver says. Time runs only while it is
 * measured, so that the slices of a profile count like one run.
 */
#ifndef OVL_APP_TALLY_H
#define OVL_APP_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "app/options.h"
#include "base/vec.h"
#include "load/load.h"
#include "model/sample.h"
#include "view/transfer.h"

/** Seconds of a load that is made alone: -t, or intervals. */
double ovl_tally_duration_s(const struct ovl_options *o);
/** One connection at the last edge. */
struct ovl_tally_edge {
	struct ovl_load_stream row, far;
};

struct ovl_tally {
	struct ovl_transfer transfer;
	struct ovl_load *load;
	bool far_counts; /* the receiver counts while it runs */
	OVL_VEC(struct ovl_tally_edge) edges;
	uint64_t row_ts_ns;	     /* of the last edge */
	double elapsed_s;	     /* before it */
	struct ovl_load_counts last; /* of the last reading */
	uint64_t wall_ns, host_cpu_ns, remote_cpu_ns;
	struct ovl_load_delta sum;   /* of the measured time */
	uint64_t user_us, system_us; /* of this process, when the measured time began */
};

/**
 * Start of a load; keep: its intervals are kept for JSON. 0, or -errno; ovl_tally_close in both
 * cases.
 */
int ovl_tally_open(struct ovl_tally *t, struct ovl_load *load, const struct ovl_load_spec *spec,
		   const struct ovl_options *o, bool keep);
void ovl_tally_close(struct ovl_tally *t);
/** A piece of the measured time begins now: the first interval does. */
void ovl_tally_begin(struct ovl_tally *t);
/** The first reading of the path, begun at the same time (that of a remote path takes a while). */
void ovl_tally_base(struct ovl_tally *t, const struct ovl_load_counts *at);
/** Another reading of the path, in the same piece. */
void ovl_tally_read(struct ovl_tally *t, const struct ovl_load_counts *at);
/** An interval ends now: it is then the last of transfer.intervals. 0 or -ENOMEM. */
int ovl_tally_row(struct ovl_tally *t, bool omitted);
/**
 * The omitted time has ended with the last interval, at this reading: what follows is measured,
 * from 0 on.
 */
void ovl_tally_restart(struct ovl_tally *t, const struct ovl_load_counts *at);
/** The omitted time has ended with the last interval: iperf3 servers are told no more of it. */
void ovl_tally_mark(struct ovl_tally *t);
/**
 * The load is finished: what its far end says. whole: an iperf3 server's results are of the
 * measured time and of no other. alone: this process has done nothing but the load.
 */
void ovl_tally_finish(struct ovl_tally *t, bool whole, bool alone);

#endif
