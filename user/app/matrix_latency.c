#include "app/matrix_latency.h"

#include <errno.h>

#include "app/signals.h"
#include "base/clock.h"
#include "load/rr.h"

#define MESSAGE_BYTES 1
#define LOOK_NS	      100000000ull /* a far end that is silent is noticed */
#define LEAST	      100	   /* round trips: on a busy machine they take longer */

static int run(struct ovl_rr *rr, struct ovl_matrix_how *how, struct ovl_hist *all,
	       struct ovl_err *err)
{
	const uint64_t end = ovl_clock_ns() + (uint64_t)(how->latency_s * 1e9);
	int rc = 0;

	ovl_rr_start(rr, 0);
	while (!rc && !how->stopped && (ovl_clock_ns() < end || all->count < LEAST)) {
		how->stopped = ovl_signals_wait(how->signal_fd, ovl_clock_ns() + LOOK_NS);
		rc = ovl_rr_read(rr, all, err);
	}
	return rc ? rc : ovl_rr_pause(rr, all, err);
}

int ovl_matrix_latency(const struct ovl_load *load, struct ovl_matrix_how *how,
		       struct ovl_matrix_turn *turn, struct ovl_err *err)
{
	struct ovl_rr *rr = ovl_rr_open(load, OVL_LOAD_OVERLAY, MESSAGE_BYTES, err);
	struct ovl_hist all = {0};
	uint64_t ns;
	int rc;

	if (!rr)
		return -EIO;
	rc = run(rr, how, &all, err);
	if (!rc && ovl_hist_quantile(&all, 0.5, &ns))
		turn->latency_ns = (double)ns;
	ovl_rr_close(rr);
	return rc;
}
