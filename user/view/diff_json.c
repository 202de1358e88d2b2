#include "model/stage.h"
#include "view/diff.h"
#include "view/json_put.h"

static void put_side(ovl_json root, const char *key, const char *name,
		     const struct ovl_diff_side *side)
{
	ovl_json o = ovl_json_object(root, key);
	const struct ovl_link *iface = ovl_facts_iface(side->facts);

	ovl_json_text(o, "name", name);
	ovl_json_text_or_null(o, "iface", iface ? iface->name : "");
	if (iface)
		ovl_json_netns(o, side->facts, iface->ns);
	else
		ovl_json_null(o, "netns");
	ovl_json_text(o, "kernel", side->facts->kernel);
	ovl_json_u64(o, "duration_ns", side->model->duration_ns);
}

static void put_metrics(ovl_json root, const struct ovl_diff *diff)
{
	static const char *const judged[] = {"worse", "same", "better"};
	ovl_json list = ovl_json_array(root, "metrics");

	for (int i = 0; i < OVL_METRIC_COUNT; i++) {
		const struct ovl_diff_metric *m = &diff->metric[i];
		ovl_json o = ovl_json_element(list);

		ovl_json_text(o, "name", ovl_metric_info(m->metric)->name);
		ovl_json_number(o, "a", m->a);
		ovl_json_number(o, "b", m->b);
		ovl_json_text(o, "judged", judged[m->judged + 1]);
	}
}

static void put_stages(ovl_json root, const struct ovl_diff *diff)
{
	ovl_json list = ovl_json_array(root, "ledger");

	ovl_vec_each(s, &diff->stages) {
		ovl_json o = ovl_json_element(list);

		ovl_json_text(o, "key", ovl_stage_info((enum ovl_stage)s->stage)->key);
		ovl_json_number(o, "a_ns_per_kib", s->a_ns_per_kib);
		ovl_json_number(o, "b_ns_per_kib", s->b_ns_per_kib);
		ovl_json_number(o, "noise_ns_per_kib", s->noise_ns_per_kib);
		ovl_json_bool(o, "beyond_noise", ovl_diff_stands_out(s));
		ovl_json_bps(o, "loss_bps", s->bps);
	}
}

static void put_devices(ovl_json root, const struct ovl_diff *diff)
{
	ovl_json list = ovl_json_array(root, "path");

	ovl_vec_each(d, &diff->devices) {
		ovl_json o = ovl_json_element(list);

		ovl_json_text(o, "netns", d->netns);
		ovl_json_text(o, "iface", d->iface);
		ovl_json_text(o, "what", d->what);
		ovl_json_text(o, "a", d->a);
		ovl_json_text(o, "b", d->b);
	}
}

static void put_rates(ovl_json root, const char *key, const struct ovl_diff_rate *v, size_t n)
{
	ovl_json list = ovl_json_array(root, key);

	for (size_t i = 0; i < n; i++) {
		ovl_json o = ovl_json_element(list);

		ovl_json_text_or_null(o, "netns", v[i].netns);
		ovl_json_text(o, "name", v[i].name);
		ovl_json_number(o, "a_per_s", v[i].a_ps);
		ovl_json_number(o, "b_per_s", v[i].b_ps);
	}
}

void ovl_diff_json(struct ovl_buf *out, const struct ovl_diff_names *names,
		   const struct ovl_diff_side *a, const struct ovl_diff_side *b,
		   const struct ovl_diff *diff)
{
	ovl_json root = json_object_new_object();

	ovl_json_text(root, "schema", "ovltrace-diff/1");
	put_side(root, "a", names->a, a);
	put_side(root, "b", names->b, b);
	put_metrics(root, diff);
	put_devices(root, diff);
	put_stages(root, diff);
	put_rates(root, "drops", diff->drops.v, diff->drops.n);
	put_rates(root, "counters", diff->counters.v, diff->counters.n);
	ovl_buf_puts(out, json_object_to_json_string_ext(
				  root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	ovl_buf_puts(out, "\n");
	json_object_put(root);
}
