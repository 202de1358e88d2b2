#include "model/wake.h"

#include "model/ledger.h"

uint64_t ovl_wake_settle(const struct ovl_lane_acc *a, uint32_t hz, uint64_t taken[OVL_STAGE_COUNT])
{
	uint64_t all = ovl_acc_wakes(a), certain = ovl_acc_samples(a), room = all;

	if (hz && a->wall_ns) {
		double worth = (double)ovl_acc_busy_ns(a) * hz / 1e9 + 0.5;

		room = worth > (double)certain ? (uint64_t)(worth - (double)certain) : 0;
	}
	return ovl_ledger_share(room < all ? room : all, a->wake, OVL_STAGE_COUNT, taken);
}
