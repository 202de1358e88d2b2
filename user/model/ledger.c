#include "model/ledger.h"

#include <math.h>
#include <string.h>

/* remainder · n must fit into 64 bits: both stay below 2^32 */
#define SUM_MAX UINT32_MAX

static unsigned shift_for(const uint64_t *n, size_t rows)
{
	unsigned shift = 0;

	for (;; shift++) {
		uint64_t sum = 0;
		size_t i = 0;

		for (; i < rows && sum <= SUM_MAX; i++) {
			uint64_t part = n[i] >> shift;

			sum = part > SUM_MAX ? (uint64_t)SUM_MAX + 1 : sum + part;
		}
		if (sum <= SUM_MAX)
			return shift;
	}
}

/* Give one unit to each of the `left` rows with the largest remainders; each gets at most one. */
static void give_rest(uint64_t *remainder, size_t rows, uint64_t *out, uint64_t left)
{
	while (left--) {
		size_t best = 0;

		for (size_t i = 1; i < rows; i++)
			if (remainder[i] > remainder[best])
				best = i;
		out[best]++;
		remainder[best] = 0;
	}
}

uint64_t ovl_ledger_share(uint64_t total, const uint64_t *n, size_t rows, uint64_t *out)
{
	uint64_t remainder[OVL_LEDGER_ROWS], sum = 0, given = 0;
	unsigned shift;

	if (rows > OVL_LEDGER_ROWS)
		return 0;
	shift = shift_for(n, rows);
	for (size_t i = 0; i < rows; i++)
		sum += n[i] >> shift;
	memset(out, 0, rows * sizeof(*out));
	if (!sum)
		return 0;
	for (size_t i = 0; i < rows; i++) {
		uint64_t part = n[i] >> shift;

		out[i] = total / sum * part + total % sum * part / sum;
		remainder[i] = total % sum * part % sum;
		given += out[i];
	}
	give_rest(remainder, rows, out, total - given);
	return total;
}

double ovl_ledger_error(uint64_t certain, uint64_t wake, uint32_t hz, uint64_t busy_ns,
			uint64_t wall_ns)
{
	double low = (double)certain, high = low + (double)wake, worth;

	if (!hz || !wall_ns)
		return NAN;
	worth = (double)busy_ns * hz / 1e9;
	return fmax(0, fmax(low - worth, worth - high)) * 1e9 / hz / (double)wall_ns;
}
