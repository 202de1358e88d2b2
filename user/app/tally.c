#include "app/tally.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "app/delta.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/version.h"
#include "load/iperf3_wire.h"

#define COST_BYTES_MIN 65536 /* from which on the cost of a KiB means something */

static double known(uint64_t v)
{
	return v ? (double)v : NAN; /* kernels that do not know it leave it 0 */
}

static int look(struct ovl_tally *t, uint32_t i, uint64_t ts_ns, struct ovl_load_stream *out)
{
	return ovl_load_stream(t->load, OVL_LOAD_OVERLAY, i, ts_ns, out);
}

static int add_stream(struct ovl_tally *t, uint32_t i)
{
	struct ovl_transfer_stream *s = ovl_vec_push(&t->transfer.streams);
	struct ovl_tally_edge *edge = ovl_vec_push(&t->edges);
	struct ovl_load_stream now;

	if (!s || !edge)
		return -ENOMEM;
	s->counted = ovl_transfer_unknown();
	s->far_bytes = s->far_retransmits = NAN;
	s->max_cwnd_bytes = s->max_snd_wnd_bytes = s->max_rtt_us = s->min_rtt_us = NAN;
	if (look(t, i, 0, &now))
		return 0;
	s->socket = now.fd;
	ovl_str_copy(s->local_host, sizeof(s->local_host), now.local);
	ovl_str_copy(s->remote_host, sizeof(s->remote_host), now.remote);
	s->local_port = now.local_port;
	s->remote_port = now.remote_port;
	if (i)
		return 0;
	t->transfer.mss_bytes = known(now.mss_bytes);
	t->transfer.sndbuf_bytes = known(now.sndbuf_bytes);
	t->transfer.rcvbuf_bytes = known(now.rcvbuf_bytes);
	return 0;
}

static void note_time(struct ovl_transfer *tr)
{
	time_t now = time(NULL);
	struct utsname u;
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(tr->time, sizeof(tr->time), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	tr->start_unix_s = (uint64_t)now;
	if (!uname(&u))
		snprintf(tr->system_info, sizeof(tr->system_info), "%.40s %.64s %.64s %.60s %.20s",
			 u.sysname, u.nodename, u.release, u.version, u.machine);
}

double ovl_tally_duration_s(const struct ovl_options *o)
{
	if (o->count)
		return (double)o->count * (isnan(o->interval_s) ? 1 : o->interval_s);
	return isnan(o->for_s) ? 10 : o->for_s;
}

int ovl_tally_open(struct ovl_tally *t, struct ovl_load *load, const struct ovl_load_spec *spec,
		   const struct ovl_options *o, bool keep)
{
	struct ovl_transfer *tr = &t->transfer;
	int rc = 0;

	*t = (struct ovl_tally){.load = load};
	ovl_transfer_init(tr);
	t->far_counts =
		!strcmp(ovl_load_peer_kind(load, OVL_LOAD_OVERLAY), "ovltrace") && !spec->reverse;
	snprintf(tr->version, sizeof(tr->version), "ovltrace " OVL_VERSION);
	ovl_str_copy(tr->host, sizeof(tr->host), spec->path[OVL_LOAD_OVERLAY].addr);
	ovl_load_cookie(load, OVL_LOAD_OVERLAY, tr->cookie);
	note_time(tr);
	tr->block_bytes = ovl_load_block_bytes(o->block_bytes, spec->rate_bps);
	tr->rate_bps = (double)spec->rate_bps;
	tr->window_bytes = spec->window_bytes;
	tr->omit_s = isnan(o->omit_s) ? 0 : o->omit_s;
	tr->duration_s = ovl_tally_duration_s(o);
	tr->reverse = spec->reverse;
	tr->plain = o->load_plain;
	tr->keep = keep;
	for (uint32_t i = 0; i < (spec->streams ? spec->streams : 1) && !rc; i++)
		rc = add_stream(t, i);
	if (tr->streams.n)
		tr->port = tr->streams.v[0].remote_port;
	return rc;
}

void ovl_tally_close(struct ovl_tally *t)
{
	ovl_vec_fini(&t->edges);
	ovl_transfer_fini(&t->transfer);
}

static void take_usage(uint64_t *user_us, uint64_t *system_us)
{
	struct rusage u = {0};

	getrusage(RUSAGE_SELF, &u);
	*user_us = (uint64_t)u.ru_utime.tv_sec * 1000000 + (uint64_t)u.ru_utime.tv_usec;
	*system_us = (uint64_t)u.ru_stime.tv_sec * 1000000 + (uint64_t)u.ru_stime.tv_usec;
}

void ovl_tally_begin(struct ovl_tally *t)
{
	t->row_ts_ns = ovl_clock_ns();
	for (uint32_t i = 0; i < t->edges.n; i++)
		look(t, i, t->row_ts_ns, &t->edges.v[i].row);
	if (t->elapsed_s <= 0)
		take_usage(&t->user_us, &t->system_us);
}

void ovl_tally_base(struct ovl_tally *t, const struct ovl_load_counts *at)
{
	for (uint32_t i = 0; i < t->edges.n; i++)
		look(t, i, at->ts_ns, &t->edges.v[i].far);
	t->last = *at;
}

/* NAN if it is not known at both ends, or has been unknown before. */
static void lengthen(double *total, bool first, uint64_t before, uint64_t after)
{
	double more = before == UINT64_MAX || after == UINT64_MAX || after < before
			      ? NAN
			      : (double)(after - before);

	*total = first ? more : *total + more;
}

static uint64_t less(uint64_t after, uint64_t before)
{
	return after > before ? after - before : 0;
}

void ovl_tally_read(struct ovl_tally *t, const struct ovl_load_counts *at)
{
	const bool reverse = t->transfer.reverse, first = !t->wall_ns;
	struct ovl_load_delta d;
	uint64_t tx_ns, rx_ns;

	ovl_delta_take(&t->last, at, &d);
	ovl_delta_add(&t->sum, &d);
	tx_ns = d.sender_cpu_ns;
	rx_ns = d.receiver_cpu_ns;
	for (uint32_t i = 0; i < t->edges.n; i++) {
		struct ovl_tally_edge *edge = &t->edges.v[i];
		struct ovl_load_stream now;

		if (look(t, i, at->ts_ns, &now))
			continue;
		lengthen(&t->transfer.streams.v[i].far_bytes, first, edge->far.received_bytes,
			 now.received_bytes);
		edge->far = now;
	}
	if (t->far_counts)
		lengthen(&t->transfer.far_bytes, first, t->last.bytes, at->bytes);
	t->wall_ns += d.wall_ns;
	t->host_cpu_ns += reverse ? rx_ns : tx_ns;
	t->remote_cpu_ns += reverse ? tx_ns : rx_ns;
	t->last = *at;
}

int ovl_tally_row(struct ovl_tally *t, bool omitted)
{
	uint64_t now_ns = ovl_clock_ns();
	struct ovl_transfer_interval in = {.omitted = omitted};
	double end_s = t->elapsed_s + (double)less(now_ns, t->row_ts_ns) / 1e9;

	for (uint32_t i = 0; i < t->edges.n; i++) {
		struct ovl_transfer_row *row = ovl_vec_push(&in.rows);
		struct ovl_load_stream *last = &t->edges.v[i].row, now;

		if (!row) {
			ovl_vec_fini(&in.rows);
			return -ENOMEM;
		}
		*row = ovl_transfer_unknown();
		row->start_s = t->elapsed_s;
		row->end_s = end_s;
		if (look(t, i, now_ns, &now))
			continue;
		row->bytes = (double)less(now.bytes, last->bytes);
		if (!t->transfer.reverse) {
			row->retransmits = (double)less(now.retransmits, last->retransmits);
			row->cwnd_bytes = known(now.cwnd_bytes);
			row->snd_wnd_bytes = known(now.snd_wnd_bytes);
			row->rtt_us = known(now.rtt_us);
			row->rttvar_us = known(now.rttvar_us);
			row->pmtu_bytes = known(now.pmtu_bytes);
		}
		*last = now;
	}
	t->row_ts_ns = now_ns;
	t->elapsed_s = end_s;
	return ovl_transfer_add(&t->transfer, &in);
}

void ovl_tally_restart(struct ovl_tally *t, const struct ovl_load_counts *at)
{
	t->elapsed_s = 0;
	ovl_tally_base(t, at);
	take_usage(&t->user_us, &t->system_us);
}

void ovl_tally_mark(struct ovl_tally *t)
{
	for (uint32_t i = 0; i < t->edges.n; i++)
		ovl_load_mark(t->load, OVL_LOAD_OVERLAY, i, &t->edges.v[i].row);
}

/* What an iperf3 server has found. */
static void take_results(struct ovl_tally *t, const struct ovl_iperf3_results *theirs, bool whole)
{
	struct ovl_transfer *tr = &t->transfer;
	char *theirs_congestion = tr->reverse ? tr->sender_congestion : tr->receiver_congestion;

	ovl_str_copy(theirs_congestion, sizeof(tr->sender_congestion), theirs->congestion);
	if (!whole)
		return;
	tr->remote_cpu = theirs->cpu_total;
	tr->remote_user_cpu = theirs->cpu_user;
	tr->remote_system_cpu = theirs->cpu_system;
	tr->far_bytes = 0;
	tr->far_retransmits = tr->reverse ? 0 : NAN;
	for (uint32_t i = 0; i < theirs->n && i < tr->streams.n; i++) {
		struct ovl_transfer_stream *s = &tr->streams.v[i];

		s->far_bytes = (double)theirs->stream[i].bytes;
		s->far_retransmits = theirs->stream[i].retransmits < 0
					     ? NAN
					     : (double)theirs->stream[i].retransmits;
		tr->far_bytes += s->far_bytes;
		tr->far_retransmits += s->far_retransmits;
	}
}

static struct ovl_transfer_side side(uint64_t bytes, uint64_t cpu_ns, bool switches,
				     uint64_t voluntary, uint64_t involuntary)
{
	/* of a handful it would be what the threads need to live */
	const double kib = bytes >= COST_BYTES_MIN ? (double)bytes / 1024 : NAN;

	return (struct ovl_transfer_side){
		.cpu_ns_per_kib = cpu_ns ? (double)cpu_ns / kib : NAN,
		.voluntary_per_mib = switches ? (double)voluntary * 1024 / kib : NAN,
		.involuntary_per_mib = switches ? (double)involuntary * 1024 / kib : NAN,
	};
}

/* What the payload has cost, and what TCP waited for. */
static void take_costs(struct ovl_tally *t)
{
	const struct ovl_load_delta *d = &t->sum;
	struct ovl_transfer *tr = &t->transfer;
	struct ovl_transfer_side *far = tr->reverse ? &tr->sender : &tr->receiver;

	tr->sender = side(d->bytes, d->sender_cpu_ns, d->sender_switches, d->sender_voluntary,
			  d->sender_involuntary);
	tr->receiver = side(d->bytes, d->receiver_cpu_ns, d->receiver_switches,
			    d->receiver_voluntary, d->receiver_involuntary);
	if (isnan(far->cpu_ns_per_kib) && d->bytes >= COST_BYTES_MIN) /* said only in the end */
		far->cpu_ns_per_kib =
			tr->remote_cpu / 100 * (double)d->wall_ns * 1024 / (double)d->bytes;
	tr->last_mss_bytes = known(d->mss_bytes);
	if (!d->wall_ns || tr->reverse)
		return;
	tr->rwnd_ratio = fmin(1, (double)d->rwnd_us * 1e3 / (double)d->wall_ns);
	tr->sndbuf_ratio = fmin(1, (double)d->sndbuf_us * 1e3 / (double)d->wall_ns);
}

static void take_agreement(struct ovl_tally *t)
{
	struct ovl_load_agreement both;

	if (ovl_load_agreement(t->load, OVL_LOAD_OVERLAY, &both))
		ovl_load_disagree(&both, t->transfer.disagreement,
				  sizeof(t->transfer.disagreement));
}

void ovl_tally_finish(struct ovl_tally *t, bool whole, bool alone)
{
	const struct ovl_iperf3_results *theirs = ovl_load_far_results(t->load, OVL_LOAD_OVERLAY);
	struct ovl_transfer *tr = &t->transfer;
	uint64_t user_us, system_us;

	ovl_str_copy(tr->reverse ? tr->receiver_congestion : tr->sender_congestion,
		     sizeof(tr->sender_congestion), ovl_load_congestion(t->load));
	if (t->wall_ns) {
		const double percent = 100 / (double)t->wall_ns;

		tr->host_cpu = (double)t->host_cpu_ns * percent;
		if (t->remote_cpu_ns)
			tr->remote_cpu = (double)t->remote_cpu_ns * percent;
		if (alone) {
			take_usage(&user_us, &system_us);
			tr->host_user_cpu = (double)less(user_us, t->user_us) * 1000 * percent;
			tr->host_system_cpu =
				(double)less(system_us, t->system_us) * 1000 * percent;
			tr->host_cpu = tr->host_user_cpu + tr->host_system_cpu;
		}
	}
	if (tr->streams.n == 1 && t->far_counts)
		tr->streams.v[0].far_bytes = tr->far_bytes;
	if (theirs)
		take_results(t, theirs, whole);
	take_costs(t);
	take_agreement(t);
}
