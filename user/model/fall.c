#include "model/fall.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/lane.h"
#include "model/ledger.h"
#include "model/text.h"
#include "model/waterfall.h"

#define UNCERTAIN_RATIO 0.03
#define UNCERTAIN_NS	UINT64_C(5000000000)

/* Losses of `n` rows; exogenous ones by their number. */
static int split_rows(const struct ovl_fall_in *in, const uint64_t *u, const uint64_t *o, size_t n,
		      int64_t *loss, struct ovl_waterfall_ends *ends)
{
	struct ovl_waterfall_row rows[OVL_ROW_COUNT];
	struct ovl_waterfall_in wf = {rows, n, in->bytes_u, in->bytes_o};

	for (size_t i = 0; i < n; i++)
		rows[i] = (struct ovl_waterfall_row){
			.u_ns = u[i],
			.o_ns = o[i],
			.exogenous = n == OVL_ROWS_CPU && ovl_row_exogenous((int)i),
		};
	return ovl_waterfall_split(&wf, loss, ends);
}

/* Divide idle's loss among the connection's states, see ovl_fall_split. */
static void divide_idle(const struct ovl_fall_in *in, int64_t idle_bps, struct ovl_fall *out)
{
	int64_t room[OVL_ROWS_CONN], left = idle_bps;
	struct ovl_waterfall_ends ends;

	if (!in->conn_valid || split_rows(in, in->conn_u, in->conn_o, OVL_ROWS_CONN, room, &ends))
		return;
	for (int round = 0; round < OVL_ROWS_CONN && left > 0; round++) {
		double weight = 0;
		int64_t share = left;

		for (int i = 0; i < OVL_ROWS_CONN; i++)
			weight += room[i] > 0 ? (double)in->conn_o[i] : 0;
		for (int i = 0; i < OVL_ROWS_CONN; i++) {
			int64_t part;

			if (room[i] <= 0 || left <= 0)
				continue;
			part = llround((double)share * ((double)in->conn_o[i] / weight));
			part = part < room[i] ? part : room[i];
			part = part < left ? part : left;
			out->bps[OVL_ROW_APP + i] += part;
			room[i] -= part;
			left -= part;
		}
	}
	for (int i = OVL_ROW_APP; i < OVL_ROW_COUNT; i++) {
		double part = (double)out->bps[i] / (double)idle_bps;

		out->shown[i] = out->bps[i] > 0;
		out->o_ns[i] = (uint64_t)(part * (double)in->o[OVL_ROW_IDLE]);
	}
}

static void take_terms(const struct ovl_fall_in *in, const int64_t *loss, struct ovl_fall *out)
{
	const int n = in->connection ? OVL_ROWS_CONN : OVL_ROWS_CPU;
	const int base = in->connection ? OVL_ROW_APP : 0;

	for (int i = 0; i < n; i++) {
		bool idle = !in->connection && i == OVL_ROW_IDLE;

		if (!in->connection && i == OVL_STAGE_UNCLASSIFIED)
			continue;
		if (idle && !in->saturated && loss[i] > 0) {
			divide_idle(in, loss[i], out);
			continue;
		}
		out->bps[base + i] = loss[i];
		out->o_ns[base + i] = in->o[i];
		out->shown[base + i] = loss[i] || in->u[i] || in->o[i];
	}
}

int ovl_fall_split(const struct ovl_fall_in *in, struct ovl_fall *out)
{
	const size_t n = in->connection ? OVL_ROWS_CONN : OVL_ROWS_CPU;
	struct ovl_waterfall_ends ends;
	int64_t loss[OVL_ROW_COUNT];
	int rc = split_rows(in, in->u, in->o, n, loss, &ends);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	out->underlay_bps = ends.underlay_bps;
	out->overlay_bps = ends.overlay_bps;
	take_terms(in, loss, out);
	out->unexplained_bps = ends.underlay_bps - ends.overlay_bps;
	for (int i = 0; i < OVL_ROW_COUNT; i++)
		out->unexplained_bps -= out->bps[i];
	return 0;
}

/* Halves of a stage's time that only the overlay has, at both ends of the estimate. */
static const struct {
	enum ovl_stage stage;
	unsigned low, high;
} overlay_only[] = {
	{OVL_STAGE_VXLAN_ENCAP, 2, 2}, {OVL_STAGE_VXLAN_DECAP, 2, 2},
	{OVL_STAGE_UDP_TX, 2, 2},      {OVL_STAGE_TUN, 2, 2},
	{OVL_STAGE_USER_DAEMON, 2, 2}, {OVL_STAGE_IP, 1, 1},
	{OVL_STAGE_NETFILTER, 0, 1},   {OVL_STAGE_BRIDGE, 0, 2},
	{OVL_STAGE_GSO, 0, 2},	       {OVL_STAGE_GRO, 0, 2},
	{OVL_STAGE_GRO_CELLS, 0, 2},   {OVL_STAGE_FRAGMENTATION, 0, 2},
	{OVL_STAGE_REASSEMBLY, 0, 2},
};

void ovl_fall_estimate(const uint64_t *o, bool low, uint64_t *u)
{
	uint64_t path_o = 0, path_u = 0;

	memcpy(u, o, OVL_ROWS_CPU * sizeof(*u));
	for (size_t i = 0; i < sizeof(overlay_only) / sizeof(overlay_only[0]); i++) {
		uint64_t t = o[overlay_only[i].stage];
		unsigned halves = low ? overlay_only[i].low : overlay_only[i].high;

		u[overlay_only[i].stage] = t - t / 2 * halves - (halves == 2 ? t % 2 : 0);
	}
	for (int i = 0; i < OVL_ROWS_CPU; i++) {
		path_o += ovl_row_exogenous(i) ? 0 : o[i];
		path_u += ovl_row_exogenous(i) ? 0 : u[i];
	}
	for (int i = 0; i < OVL_ROWS_CPU && path_o; i++)
		if (ovl_row_exogenous(i))
			u[i] = (uint64_t)llroundl((long double)o[i] * path_u / path_o);
}

/* Accumulators of one lane: pooled, or of some pairs. */
struct lane_sums {
	struct ovl_lane_acc u, o;
	struct ovl_conn_acc conn_u, conn_o;
};

static void fall_in_from(const struct lane_sums *sums, const struct ovl_choice *choice, uint32_t hz,
			 struct ovl_fall_in *in)
{
	memset(in, 0, sizeof(*in));
	in->connection = choice->connection;
	in->saturated = choice->saturated;
	in->bytes_u = sums->conn_u.bytes;
	in->bytes_o = sums->conn_o.bytes;
	in->conn_valid = sums->conn_u.busy_us && sums->conn_o.busy_us;
	ovl_lane_conn_rows(&sums->conn_u, in->conn_u);
	ovl_lane_conn_rows(&sums->conn_o, in->conn_o);
	if (choice->connection) {
		memcpy(in->u, in->conn_u, sizeof(in->conn_u));
		memcpy(in->o, in->conn_o, sizeof(in->conn_o));
		return;
	}
	ovl_lane_cpu_rows(&sums->u, hz, sums->conn_u.wall_ns, in->u);
	ovl_lane_cpu_rows(&sums->o, hz, sums->conn_o.wall_ns, in->o);
}

/* Number of the pinned CPU in a pair's lanes, -1: the pairs do not keep this lane. */
static int pair_which(const struct ovl_facts *facts, const struct ovl_choice *choice)
{
	if (choice->connection || choice->cpu == facts->load.cpu_sender)
		return 0;
	return choice->cpu == facts->load.cpu_receiver ? 1 : -1;
}

static bool pair_complete(const struct ovl_pair *p)
{
	return p->has[OVL_PHASE_UNDERLAY] && p->has[OVL_PHASE_OVERLAY];
}

static void sums_change(struct lane_sums *s, const struct ovl_pair *p, int which, bool add)
{
	void (*lane)(struct ovl_lane_acc *, const struct ovl_lane_acc *) =
		add ? ovl_acc_lane_add : ovl_acc_lane_sub;
	void (*conn)(struct ovl_conn_acc *, const struct ovl_conn_acc *) =
		add ? ovl_acc_conn_add : ovl_acc_conn_sub;

	lane(&s->u, &p->lane[OVL_PHASE_UNDERLAY][which]);
	lane(&s->o, &p->lane[OVL_PHASE_OVERLAY][which]);
	conn(&s->conn_u, &p->conn[OVL_PHASE_UNDERLAY]);
	conn(&s->conn_o, &p->conn[OVL_PHASE_OVERLAY]);
}

/*
 * Leave-one-pair-out jackknife of every term. Over a run longer than the pairs that are kept, the
 * error of the last ones is scaled to the number of all. Returns how many pairs it rests on.
 */
static uint32_t term_errors(const struct ovl_model_state *state, const struct ovl_facts *facts,
			    const struct ovl_choice *choice, double *stderr_bps)
{
	double x[OVL_ROW_COUNT][OVL_PAIRS_KEPT];
	int which = pair_which(facts, choice);
	struct lane_sums all = {0};
	uint32_t m = 0;

	for (int r = 0; r < OVL_ROW_COUNT; r++)
		stderr_bps[r] = NAN;
	if (which < 0)
		return 0;
	for (int i = 0; i < OVL_PAIRS_KEPT; i++)
		if (pair_complete(&state->pair[i]))
			sums_change(&all, &state->pair[i], which, true);
	for (int i = 0; i < OVL_PAIRS_KEPT; i++) {
		struct ovl_fall_in in;
		struct ovl_fall fall;

		if (!pair_complete(&state->pair[i]))
			continue;
		sums_change(&all, &state->pair[i], which, false);
		fall_in_from(&all, choice, facts->sample_hz, &in);
		sums_change(&all, &state->pair[i], which, true);
		if (ovl_fall_split(&in, &fall))
			return 0;
		for (int r = 0; r < OVL_ROW_COUNT; r++)
			x[r][m] = (double)fall.bps[r];
		m++;
	}
	if (m < 3)
		return 0;
	for (int r = 0; r < OVL_ROW_COUNT; r++)
		stderr_bps[r] =
			ovl_stats_jackknife(x[r], m) * sqrt((double)m / fmax(m, state->pairs));
	return m;
}

/* Everything that the terms are made from. */
struct drawing {
	const struct ovl_model_state *state;
	const struct ovl_facts *facts;
	const struct ovl_choice *choice;
	struct ovl_fall_in in;
	struct ovl_fall fall, low; /* low: of an estimate */
	bool estimated;
	double stderr_bps[OVL_ROW_COUNT];
	uint64_t other_rows[OVL_ROWS_CPU]; /* overlay rows of the other CPU of the path, if any */
	bool other_valid;
};

static uint64_t wall_of(const uint64_t *rows, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += rows[i];
	return sum;
}

/* Goodput if this row cost nothing, on its lane and, for a stage, on the other CPU as well. */
static void removed(const struct drawing *d, int row, struct ovl_term *t)
{
	const bool conn = d->choice->connection;
	const int idle = conn ? 0 : OVL_ROW_IDLE; /* app is the connection's idle time */
	double wall = (double)wall_of(d->in.o, conn ? OVL_ROWS_CONN : OVL_ROWS_CPU);
	double other = (double)wall_of(d->other_rows, OVL_ROWS_CPU);
	double busy = wall - (double)d->in.o[idle], off = (double)d->fall.o_ns[row];
	bool is_idle = row >= OVL_ROW_IDLE && !conn;
	struct ovl_waterfall_lane lanes[2] = {
		{.wall_ns = wall,
		 .busy_ns = is_idle ? busy + off : busy,
		 .removed_ns = off,
		 .limiting = true},
		{.wall_ns = other,
		 .busy_ns = other - (double)d->other_rows[OVL_ROW_IDLE],
		 .removed_ns = row < OVL_STAGE_COUNT ? (double)d->other_rows[row] : 0},
	};

	if (conn && row == OVL_ROW_APP)
		lanes[0].busy_ns += off;
	ovl_waterfall_removed(lanes, d->other_valid ? 2 : 1, d->in.bytes_o, &t->if_removed_bps,
			      &t->if_removed_high_bps);
}

static void name_term(const struct drawing *d, int row, struct ovl_term *t)
{
	const struct ovl_conn_acc *o = &d->state->path[OVL_PHASE_OVERLAY].conn;
	bool waits = !d->choice->connection && row == OVL_ROW_NET;

	ovl_str_copy(t->key, sizeof(t->key), ovl_row_key(row));
	ovl_str_copy(t->label, sizeof(t->label), ovl_row_label(row));
	if (waits && (o->retransmits || d->state->drop_pkts_overlay)) {
		ovl_str_copy(t->key, sizeof(t->key), "loss");
		ovl_str_copy(t->label, sizeof(t->label), "waiting for lost packets");
	} else if (waits) {
		ovl_str_copy(t->key, sizeof(t->key), "cwnd");
		ovl_str_copy(t->label, sizeof(t->label), "waiting for acknowledgements");
	}
}

static void fill_term(const struct drawing *d, int row, struct ovl_term *t)
{
	name_term(d, row, t);
	t->bps = d->fall.bps[row];
	t->stderr_bps = d->stderr_bps[row];
	t->ns_per_kib = NAN;
	if (row < OVL_STAGE_COUNT && d->in.bytes_o)
		t->ns_per_kib = (double)d->fall.o_ns[row] * 1024 / (double)d->in.bytes_o;
	t->low_bps = d->estimated ? (double)d->low.bps[row] : NAN;
	t->basis = OVL_BASIS_MEASURED;
	if (d->estimated)
		t->basis = OVL_BASIS_ESTIMATED;
	else if (!d->choice->connection && row >= OVL_ROW_APP)
		t->basis = OVL_BASIS_ARITHMETIC;
	removed(d, row, t);
}

static int by_loss(const void *a, const void *b)
{
	const struct ovl_term *x = a, *y = b;

	if (x->bps != y->bps)
		return x->bps < y->bps ? 1 : -1;
	return strcmp(x->key, y->key);
}

static void fill_ledger(const struct drawing *d, struct ovl_waterfall *w)
{
	const struct ovl_cpu_state *cpu = ovl_state_cpu(d->state, d->choice->cpu);

	w->ledger_error_ratio = w->wake_ratio = NAN;
	if (d->choice->connection || !cpu)
		return;
	for (int p = OVL_PHASE_UNDERLAY; p <= OVL_PHASE_OVERLAY; p++) {
		const struct ovl_lane_acc *a = &cpu->phase[p].lane;
		uint64_t certain = ovl_acc_samples(a), wake = ovl_acc_wakes(a);
		double error = ovl_ledger_error(certain, wake, d->facts->sample_hz,
						ovl_acc_busy_ns(a), a->wall_ns);

		if (certain + wake)
			w->wake_ratio =
				fmax(w->wake_ratio, (double)wake / (double)(certain + wake));

		w->ledger_error_ratio = fmax(w->ledger_error_ratio, error); /* ignores NAN */
		w->uncertain |= error > UNCERTAIN_RATIO && a->wall_ns >= UNCERTAIN_NS;
	}
}

static int draw(const struct drawing *d, struct ovl_waterfall *w)
{
	w->underlay_bps = (double)d->fall.underlay_bps;
	w->overlay_bps = (double)d->fall.overlay_bps;
	w->unexplained_bps = d->fall.unexplained_bps;
	w->basis = d->estimated ? OVL_BASIS_ESTIMATED : OVL_BASIS_MEASURED;
	if (d->estimated)
		w->low_underlay_bps = (double)d->low.underlay_bps;
	if (d->choice->connection)
		ovl_str_copy(w->lane, sizeof(w->lane), "connection");
	else
		ovl_text_set(w->lane, "cpu%d", d->choice->cpu);
	for (int r = 0; r < OVL_ROW_COUNT; r++) {
		struct ovl_term *t = d->fall.shown[r] ? ovl_vec_push(&w->terms) : NULL;

		if (!t && d->fall.shown[r])
			return -ENOMEM;
		if (t)
			fill_term(d, r, t);
	}
	if (w->terms.n)
		qsort(w->terms.v, w->terms.n, sizeof(*w->terms.v), by_loss);
	fill_ledger(d, w);
	w->n_runners_up = d->choice->n_runners_up;
	memcpy(w->runners_up, d->choice->runners_up, sizeof(w->runners_up));
	w->valid = true;
	return 0;
}

static void gather_other(struct drawing *d)
{
	const struct ovl_load_facts *load = &d->facts->load;
	int number = d->choice->cpu == load->cpu_sender ? load->cpu_receiver : load->cpu_sender;
	const struct ovl_cpu_state *cpu = ovl_state_cpu(d->state, number);

	/* for the connection any full CPU bounds the gain: take the fullest one */
	if (d->choice->connection)
		cpu = ovl_state_cpu(d->state, d->choice->cpu);
	else if (number == d->choice->cpu)
		return;
	if (!cpu || !cpu->phase[OVL_PHASE_OVERLAY].lane.wall_ns)
		return;
	d->other_valid = true;
	ovl_lane_cpu_rows(&cpu->phase[OVL_PHASE_OVERLAY].lane, d->facts->sample_hz,
			  d->state->path[OVL_PHASE_OVERLAY].conn.wall_ns, d->other_rows);
}

/* The lane's pooled sums; false with the reason in why_not. */
static bool gather(struct drawing *d, char why_not[OVL_TEXT_MAX])
{
	const struct ovl_cpu_state *cpu = ovl_state_cpu(d->state, d->choice->cpu);
	struct lane_sums sums = {0};
	const char *why = NULL;

	d->estimated = !d->facts->load.has_underlay;
	sums.conn_u = d->state->path[OVL_PHASE_UNDERLAY].conn;
	sums.conn_o = d->state->path[OVL_PHASE_OVERLAY].conn;
	if (!d->choice->connection && cpu) {
		sums.u = cpu->phase[OVL_PHASE_UNDERLAY].lane;
		sums.o = cpu->phase[OVL_PHASE_OVERLAY].lane;
	}
	if (!sums.conn_o.wall_ns)
		why = "no turn of the overlay was measured yet";
	else if (!d->estimated && !sums.conn_u.wall_ns)
		why = "no turn of the underlay was measured yet";
	else if (d->estimated && d->choice->connection)
		why = "the underlay was not measured, and the connection's waits cannot be "
		      "estimated";
	else if (d->estimated && !sums.conn_o.bytes)
		why = "the underlay was not measured, and nothing arrived over the overlay to "
		      "estimate it from";
	else if (!d->choice->connection &&
		 (!ovl_acc_samples(&sums.o) || (!d->estimated && !ovl_acc_samples(&sums.u))))
		why = "no stack samples were taken on the CPU that limits, so its time has no "
		      "stages";
	if (why) {
		ovl_str_copy(why_not, OVL_TEXT_MAX, why);
		return false;
	}
	fall_in_from(&sums, d->choice, d->facts->sample_hz, &d->in);
	gather_other(d);
	return true;
}

static int compute(struct drawing *d)
{
	int rc;

	if (d->estimated) {
		d->in.bytes_u = d->in.bytes_o;
		d->in.conn_valid = false;
		ovl_fall_estimate(d->in.o, true, d->in.u);
		rc = ovl_fall_split(&d->in, &d->low);
		if (rc)
			return rc;
		ovl_fall_estimate(d->in.o, false, d->in.u);
	}
	return ovl_fall_split(&d->in, &d->fall);
}

int ovl_fall_build(const struct ovl_model_state *state, const struct ovl_facts *facts,
		   const struct ovl_choice *choice, struct ovl_waterfall *w)
{
	struct drawing d = {.state = state, .facts = facts, .choice = choice};
	struct ovl_waterfall fresh = {.lane_purity_ratio = NAN,
				      .ledger_error_ratio = NAN,
				      .wake_ratio = NAN,
				      .underlay_bps = NAN,
				      .overlay_bps = NAN,
				      .low_underlay_bps = NAN};

	int rc;

	fresh.terms.v = w->terms.v;
	fresh.terms.cap = w->terms.cap;
	*w = fresh;
	if (!choice->drawn) {
		ovl_str_copy(w->why_not, sizeof(w->why_not), choice->why_not);
		return 0;
	}
	if (!gather(&d, w->why_not))
		return 0;
	rc = compute(&d);
	if (rc) {
		ovl_str_copy(w->why_not, sizeof(w->why_not),
			     rc == -EDOM
				     ? "the lane had no time for the path at all, so no loss can "
				       "be divided"
				     : "the measured bytes or times cannot be (a damaged "
				       "recording?), so no loss can be divided");
		return 0;
	}
	w->stderr_pairs = term_errors(state, facts, choice, d.stderr_bps);
	return draw(&d, w);
}
