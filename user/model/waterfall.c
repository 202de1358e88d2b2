#include "model/waterfall.h"

#include <errno.h>
#include <math.h>

#define BITS_NS 8e9L  /* bytes per ns to bit/s */
#define BPS_MAX 1e16L /* sums of up to a few hundred terms still fit into 64 bits */

/* Sums of one phase. */
struct phase {
	long double wall, path, bytes; /* W, P, B */
	long double a, b;	       /* P/W, B/P */
};

static int phase_init(struct phase *p, long double wall, long double exogenous, uint64_t bytes)
{
	p->wall = wall;
	p->path = wall - exogenous;
	p->bytes = bytes;
	if (!(p->wall > 0) || !(p->path > 0))
		return -EDOM;
	p->a = p->path / p->wall;
	p->b = p->bytes / p->path;
	return BITS_NS * p->b > BPS_MAX ? -ERANGE : 0;
}

static int phases_init(const struct ovl_waterfall_in *in, struct phase *u, struct phase *o)
{
	long double wall_u = 0, wall_o = 0, x_u = 0, x_o = 0;
	int rc;

	for (size_t i = 0; i < in->n; i++) {
		const struct ovl_waterfall_row *r = &in->rows[i];

		wall_u += r->u_ns;
		wall_o += r->o_ns;
		x_u += r->exogenous ? r->u_ns : 0;
		x_o += r->exogenous ? r->o_ns : 0;
	}
	rc = phase_init(u, wall_u, x_u, in->bytes_u);
	return rc ? rc : phase_init(o, wall_o, x_o, in->bytes_o);
}

static long double row_loss(const struct ovl_waterfall_row *r, const struct phase *u,
			    const struct phase *o)
{
	long double t_u = r->u_ns, t_o = r->o_ns;

	if (r->exogenous)
		return BITS_NS * (t_o / o->wall - t_u / u->wall) * (u->b + o->b) / 2;
	return BITS_NS * (t_o * u->bytes - t_u * o->bytes) / (u->path * o->path) * (u->a + o->a) /
	       2;
}

int ovl_waterfall_split(const struct ovl_waterfall_in *in, int64_t *loss_bps,
			struct ovl_waterfall_ends *ends)
{
	struct phase u, o;
	int64_t sum = 0;
	int rc = phases_init(in, &u, &o);

	if (rc)
		return rc;
	for (size_t i = 0; i < in->n; i++) {
		loss_bps[i] = llroundl(row_loss(&in->rows[i], &u, &o));
		sum += loss_bps[i];
	}
	ends->underlay_bps = llroundl(BITS_NS * u.bytes / u.wall);
	ends->overlay_bps = llroundl(BITS_NS * o.bytes / o.wall);
	ends->rest_bps = ends->underlay_bps - ends->overlay_bps - sum;
	return 0;
}

static double rate_of(double ns, uint64_t bytes)
{
	return ns > 0 && bytes ? (double)BITS_NS * (double)bytes / ns : NAN;
}

void ovl_waterfall_removed(const struct ovl_waterfall_lane *lanes, size_t n, uint64_t bytes,
			   double *low_bps, double *high_bps)
{
	double low = 0, high = 0; /* ns that the slowest lane still needs for these bytes */

	for (size_t i = 0; i < n; i++) {
		double busy = lanes[i].busy_ns - lanes[i].removed_ns;

		low = fmax(low, lanes[i].limiting ? lanes[i].wall_ns - lanes[i].removed_ns : busy);
		high = fmax(high, busy);
	}
	*low_bps = rate_of(low, bytes);
	*high_bps = rate_of(high, bytes);
}
