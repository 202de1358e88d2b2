#include "load/spec.h"

#include <errno.h>

#include "load/wire.h"

#define BLOCK_BYTES (128 * 1024)

uint32_t ovl_load_block_bytes(uint32_t asked, uint64_t rate_bps)
{
	const uint64_t tenth = rate_bps / 80;

	if (asked)
		return asked;
	if (!rate_bps || tenth >= BLOCK_BYTES)
		return BLOCK_BYTES;
	return tenth ? (uint32_t)tenth : 1;
}

int ovl_spec_check(const struct ovl_load_spec *spec, struct ovl_err *err)
{
	if (spec->streams > OVL_LOAD_STREAMS_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot run %u streams: at most %d are possible", spec->streams,
				   OVL_LOAD_STREAMS_MAX);
	if (spec->block_bytes > OVL_WIRE_BLOCK_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot write blocks of %u bytes: at most %d are possible",
				   spec->block_bytes, OVL_WIRE_BLOCK_MAX);
	if (spec->window_bytes > INT32_MAX || spec->max_frames > INT32_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "cannot use a window of %u bytes or %u frames: too large",
				   spec->window_bytes, spec->max_frames);
	if (spec->reverse && (!spec->remote || spec->raw))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "only a remote far end that speaks iperf3's protocol can be "
				   "asked to send");
	if (spec->reverse && spec->tx_zerocopy)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "the far end sends and cannot be asked to do so by zerocopy: "
				   "leave out --tx zerocopy or --reverse");
	if (!spec->path[OVL_LOAD_UNDERLAY].used && !spec->path[OVL_LOAD_OVERLAY].used)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "the load was given no path to use");
	return 0;
}
