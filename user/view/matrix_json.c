#include <math.h>

#include "view/json_put.h"
#include "view/matrix.h"

/* A duration in whole nanoseconds; null for NAN. */
static void put_ns(ovl_json o, const char *key, double ns)
{
	if (isnan(ns))
		ovl_json_null(o, key);
	else
		ovl_json_u64(o, key, (uint64_t)llround(ns));
}

static void put_limit(ovl_json o, const struct ovl_matrix_turn *middle)
{
	const bool known = middle && middle->traced;
	ovl_json list;

	ovl_json_text_or_null(o, "limit", known ? ovl_limit_key(middle->limit) : "");
	ovl_json_text_or_null(o, "side", known ? middle->side : "");
	ovl_json_text_or_null(o, "sentence", known ? middle->sentence : "");
	ovl_json_text_or_null(o, "top_finding", known ? middle->top_finding : "");
	if (!known) {
		ovl_json_null(o, "largest");
		return;
	}
	list = ovl_json_array(o, "largest");
	for (uint32_t i = 0; i < middle->n_top; i++) {
		ovl_json e = ovl_json_element(list);

		ovl_json_text(e, "key", middle->top[i].key);
		ovl_json_text(e, "label", middle->top[i].label);
		ovl_json_bps(e, "bps", middle->top[i].bps);
	}
}

static void put_why(ovl_json o, const struct ovl_matrix *m, const struct ovl_matrix_row *row)
{
	struct ovl_matrix_why why;
	ovl_json w, list;

	ovl_matrix_explain(m, row, &why);
	if (!why.valid) {
		ovl_json_null(o, "why");
		return;
	}
	w = ovl_json_object(o, "why");
	ovl_json_text(w, "against", m->rows[row->against].key);
	ovl_json_number(w, "ratio", why.ratio);
	ovl_json_number(w, "cost_factor", why.cost_factor);
	ovl_json_number(w, "waits_factor", why.waits_factor);
	ovl_json_number(w, "cpus", why.own_cpus);
	ovl_json_number(w, "against_cpus", why.other_cpus);
	list = ovl_json_array(w, "parts");
	for (int i = 0; i < OVL_MATRIX_PARTS; i++) {
		ovl_json e = ovl_json_element(list);

		ovl_json_text(e, "key", ovl_matrix_part_key((enum ovl_matrix_part)i));
		ovl_json_number(e, "ns_per_kib", why.own_ns_per_kib[i]);
		ovl_json_number(e, "against_ns_per_kib", why.other_ns_per_kib[i]);
		ovl_json_number(e, "of_difference_ratio", why.part_ratio[i]);
	}
}

static void put_turns(ovl_json o, const struct ovl_matrix_row *row)
{
	ovl_json list = ovl_json_array(o, "turns");

	ovl_vec_each(t, &row->turns) {
		ovl_json e = ovl_json_element(list);

		ovl_json_bps(e, "goodput_bps", t->goodput_bps);
		ovl_json_bps(e, "host_bps", t->host_bps);
		put_ns(e, "latency_ns", t->latency_ns);
		ovl_json_text_or_null(e, "limit", t->traced ? ovl_limit_key(t->limit) : "");
	}
}

static void put_row(ovl_json list, const struct ovl_matrix *m, const struct ovl_matrix_row *row)
{
	struct ovl_matrix_summary s;
	ovl_json o = ovl_json_element(list), seed;

	ovl_matrix_summarise(m, row, &s);
	ovl_json_text(o, "key", row->key);
	ovl_json_text(o, "label", row->label);
	ovl_json_bps(o, "goodput_bps", s.goodput_bps);
	ovl_json_bps(o, "goodput_spread_bps", s.goodput_spread_bps);
	ovl_json_bps(o, "host_bps", s.host_bps);
	ovl_json_number(o, "of_host_ratio", s.of_host_ratio);
	put_ns(o, "latency_ns", s.latency_ns);
	put_ns(o, "latency_spread_ns", s.latency_spread_ns);
	ovl_json_number(o, "segs_ps", s.segs_ps);
	ovl_json_number(o, "bytes_per_pkt", s.bytes_per_pkt);
	ovl_json_number(o, "retransmits_ps", s.retransmits_ps);
	ovl_json_number(o, "copies_per_pkt", s.copies_per_pkt);
	put_limit(o, s.middle);
	put_why(o, m, row);
	seed = ovl_json_object(o, "seed");
	ovl_json_bps(seed, "goodput_bps", row->seed_bps);
	put_ns(seed, "latency_ns", row->seed_latency_ns);
	ovl_json_text_or_null(seed, "note", row->seed_note ? row->seed_note : "");
	ovl_json_text_or_null(o, "skipped", row->skipped);
	put_turns(o, row);
}

void ovl_matrix_json(struct ovl_buf *out, const struct ovl_matrix *m)
{
	ovl_json root = json_object_new_object(), host, list;

	ovl_json_text(root, "schema", "ovltrace-matrix/1");
	ovl_json_text(root, "suite", m->suite);
	host = ovl_json_object(root, "host");
	ovl_json_text(host, "kernel", m->host.kernel);
	ovl_json_text(host, "arch", m->host.arch);
	ovl_json_u64(host, "cpus", m->host.cpus);
	ovl_json_text(host, "nodename", m->host.nodename);
	ovl_json_u64(root, "turns", m->turns);
	ovl_json_bool(root, "complete", !m->stopped);
	put_ns(root, "row_ns", m->seconds * 1e9);
	/* qperf prints half of it; its figures are doubled */
	ovl_json_text(root, "latency", "round trip");
	list = ovl_json_array(root, "rows");
	for (uint32_t i = 0; i < m->n_rows; i++)
		put_row(list, m, &m->rows[i]);
	ovl_buf_puts(out, json_object_to_json_string_ext(
				  root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	ovl_buf_puts(out, "\n");
	json_object_put(root);
}
