#include "app/options_check.h"

#include <errno.h>
#include <math.h>

#include "load/wire.h"

/* What only makes a load has no instruments, and towards a peer no interface. */
static int check_no_trace(const struct ovl_options *o, struct ovl_err *err)
{
	if (!o->load || (!o->peer && !o->iface))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--no-trace needs --load iperf-like and --peer HOST (or, as "
				   "root, the --iface of a lab or to make a twin of)");
	if (o->jsonl.on || o->record || o->render_cols || o->sample_hz || o->deep || o->tier ||
	    o->self_cost || o->window_ms >= 0)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"--jsonl, --record, --render, --sample-hz, --window, --tier, --deep and "
			"--self-cost show what --no-trace leaves out");
	if (o->n_bounds || o->compare)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--fail-if and --compare judge what --no-trace leaves out: run "
				   "without it");
	if (o->baseline)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--no-trace compares nothing: --baseline has no part in it");
	if (!o->iface && (o->netns || o->from))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--netns and --from belong to an --iface; without one the load "
				   "runs from where it is started (`ip netns exec` starts it "
				   "elsewhere)");
	return 0;
}

/* Round trips are one message at a time: what shapes a stream of bulk has no meaning. */
static int check_rr(const struct ovl_options *o, struct ovl_err *err)
{
	if (o->streams > 1 || o->rate_bps || o->tx_zerocopy || o->rx_trunc || o->reverse)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--load rr is one message at a time, there and back: "
				   "--parallel, --bitrate, --tx, --rx and --reverse have no part "
				   "in it");
	if (o->block_bytes > OVL_WIRE_RR_BYTES_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--length %u with --load rr: a message has at most %d bytes",
				   o->block_bytes, OVL_WIRE_RR_BYTES_MAX);
	if (o->json_iperf3.on)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--json-iperf3 has no words for round trips: use --json");
	if (o->latency_off)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--latency off and --load rr exclude each other");
	return 0;
}

int ovl_options_habit(int letter, struct ovl_err *err)
{
	if (letter == 'u')
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"iperf3's -u: the load is TCP alone; `ovltrace --iface IF` looks "
			"at UDP that others send");
	if (letter == 'c' || letter == 's')
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "iperf3's -c HOST is --no-trace --load iperf-like --peer HOST; "
				   "its -s is `ovltrace peer`");
	return 0;
}

/* Options that contradict each other are refused together, before anything is done. */
int ovl_options_check(const struct ovl_options *o, struct ovl_err *err)
{
	int on_stdout = (o->json.on && !o->json.path) + (o->jsonl.on && !o->jsonl.path) +
			(o->render_cols > 0) + o->plain +
			(o->json_iperf3.on && !o->json_iperf3.path);

	if (on_stdout > 1)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--json, --jsonl, --json-iperf3, --plain and --render cannot "
				   "share stdout: give "
				   "all but one a file, such as --json=FILE");
	if (!isnan(o->for_s) && o->count)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--for (or -t) and --count exclude each other");
	if (o->json_iperf3.on && !o->load)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--json-iperf3 needs --load iperf-like");
	if ((o->peer || o->load_anyway) && !o->load)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "%s a --load, such as --load iperf-like",
				   !o->load_anyway ? "--peer needs"
				   : o->peer	   ? "--peer and --load-anyway need"
						   : "--load-anyway needs");
	if ((o->load_raw || o->load_plain) && !o->peer)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--load %s needs --peer: the far end, where `%s -s` runs",
				   ovl_options_load(o), o->load_raw ? "iperf" : "iperf3");
	if (o->reverse && !o->load)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--reverse needs --load iperf-like");
	if (o->reverse && o->load_raw)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--reverse needs a far end that can be asked to send: --load "
				   "iperf-like or iperf3");
	if (o->load_rr && check_rr(o, err))
		return -EINVAL;
	if (o->no_trace)
		return check_no_trace(o, err);
	if (o->load && o->interval_s < 0.5)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"--interval %g with --load: at least 0.5 (the idle clock counts in 10 ms)",
			o->interval_s);
	if (o->self_cost && (!o->load || o->load_rr))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--self-cost compares goodput with and without the instruments: "
				   "it needs --load iperf-like, iperf3 or iperf2");
	if (o->deep && o->window_ms >= 0)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "--deep counts all the time: --window has no part in it");
	if (o->from && !o->peer)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "--from needs --peer");
	return 0;
}
