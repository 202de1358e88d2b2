/* What watching costs the load: the mean of quads, its error, and what is no measurement. */
#include "model/effect.h"

#include <math.h>

#include "tap.h"

int main(void)
{
	const double same[] = {0.98, 0.98, 0.98, 0.98}, spread[] = {0.9, 1.0, 1.1, 1.0};
	const double broken[] = {0.98, 0, 0.98}, endless[] = {0.98, INFINITY, 0.98};
	struct ovl_effect_delta d;
	struct ovl_effect e = {0};

	ovl_effect_take(same, 4, &d);
	is_int(d.n_quads, 4, "four quads");
	is_int(d.change_ppm, -20000, "2 %% less with the instruments");
	is_int(d.stderr_ppm, 0, "and no scatter");
	ovl_effect_keep(&e, &d);
	ok(e.valid && fabs(e.change_ratio + 0.02) < 1e-9 && e.n_quads == 4, "kept");

	ovl_effect_take(spread, 4, &d);
	/* by hand: logs -0.105361, 0, 0.095310, 0: mean -0.002513, deviation 0.082110 */
	is_int(d.change_ppm, -2509, "the geometric mean");
	ok(d.stderr_ppm > 40000 && d.stderr_ppm < 42000, "its error: %llu ppm",
	   (unsigned long long)d.stderr_ppm);

	ovl_effect_take(same, 2, &d);
	is_int(d.n_quads, 0, "two quads are too few");
	ovl_effect_take(broken, 3, &d);
	is_int(d.n_quads, 0, "nothing that arrived: no measurement");
	ovl_effect_take(endless, 3, &d);
	is_int(d.n_quads, 0, "nothing without the instruments: none either");
	ovl_effect_keep(&e, &d);
	ok(e.valid && e.n_quads == 4, "what was measured stays");
	ovl_effect_keep(&e, &(struct ovl_effect_delta){.n_quads = 3, .change_ppm = INT64_MIN});
	ok(e.n_quads == 4, "a damaged record is not believed");
	return tap_done();
}
