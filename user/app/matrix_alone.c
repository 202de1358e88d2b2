#include "app/matrix_alone.h"

#include "app/session.h"
#include "app/signals.h"
#include "base/clock.h"

/* What a path carried in its slices. */
struct carried {
	uint64_t bytes, wall_ns, retransmits;
	uint32_t mss_bytes;
};

static bool pause_ns(struct ovl_matrix_how *how, uint64_t ns)
{
	how->stopped = ovl_signals_wait(how->signal_fd, ovl_clock_ns() + ns);
	return how->stopped;
}

/* One slice of a path, without its start. */
static int slice(struct ovl_load *load, enum ovl_load_which which, const struct ovl_plan *plan,
		 struct ovl_matrix_how *how, struct carried *c, struct ovl_err *err)
{
	struct ovl_load_counts before, after;
	int rc;

	ovl_load_select(load, which);
	if (pause_ns(how, plan->omit_ns))
		return 0;
	rc = ovl_load_read(load, which, &before, err);
	if (rc || pause_ns(how, plan->interval_ns))
		return rc;
	rc = ovl_load_read(load, which, &after, err);
	if (rc)
		return rc;
	c->bytes += after.bytes - before.bytes;
	c->wall_ns += after.ts_ns - before.ts_ns;
	c->retransmits += after.retransmits - before.retransmits;
	c->mss_bytes = after.mss_bytes;
	return 0;
}

static double per_second(uint64_t n, const struct carried *c)
{
	return (double)n * 1e9 / (double)c->wall_ns;
}

int ovl_matrix_alone(struct ovl_load *load, const struct ovl_scene *scene,
		     const struct ovl_options *o, struct ovl_matrix_how *how,
		     struct ovl_matrix_turn *turn, struct ovl_err *err)
{
	const bool underlay = scene->load.path[OVL_LOAD_UNDERLAY].used;
	struct carried c[OVL_LOAD_PATHS] = {0};
	const struct carried *over = &c[OVL_LOAD_OVERLAY], *under = &c[OVL_LOAD_UNDERLAY];
	struct ovl_plan plan;
	int rc = 0;

	ovl_plan_make(o, underlay, false, &plan);
	for (int which = underlay ? OVL_LOAD_UNDERLAY : OVL_LOAD_OVERLAY;
	     which < OVL_LOAD_PATHS && !how->stopped; which++) {
		ovl_load_select(load, (enum ovl_load_which)which);
		pause_ns(how, plan.warmup_ns);
	}
	for (uint64_t pair = 0; !rc && !how->stopped && pair < plan.pairs; pair++) {
		for (uint64_t k = underlay ? 0 : 1; !rc && !how->stopped && k < 2; k++) {
			/* u o, o u, …; without underlay o, o, … */
			const bool second = underlay ? (pair + k) % 2 : true;

			rc = slice(load, second ? OVL_LOAD_OVERLAY : OVL_LOAD_UNDERLAY, &plan, how,
				   &c[second ? OVL_LOAD_OVERLAY : OVL_LOAD_UNDERLAY], err);
		}
	}
	ovl_load_select(load, OVL_LOAD_PATHS);
	if (rc || how->stopped || !over->wall_ns)
		return rc;
	turn->goodput_bps = 8 * per_second(over->bytes, over);
	turn->retransmits_ps = per_second(over->retransmits, over);
	if (over->mss_bytes)
		turn->segs_ps = turn->goodput_bps / 8 / over->mss_bytes;
	if (under->wall_ns)
		turn->host_bps = 8 * per_second(under->bytes, under);
	return 0;
}
