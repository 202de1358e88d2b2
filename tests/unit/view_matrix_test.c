/* A matrix in text and JSON: what is unknown is a dash or null, nothing is too wide. */
#include "view/matrix.h"

#include <json-c/json.h>
#include <math.h>

#include "base/str.h"
#include "tap.h"

static struct ovl_matrix_turn *turn(struct ovl_matrix_row *row, double goodput_bps,
				    double latency_ns)
{
	struct ovl_matrix_turn *t = ovl_vec_push(&row->turns);

	ovl_matrix_turn_init(t, 0);
	t->goodput_bps = goodput_bps;
	t->latency_ns = latency_ns;
	return t;
}

static void traced(struct ovl_matrix_turn *t, double ns_per_kib)
{
	t->traced = true;
	t->limit = OVL_LIMIT_TUN_DAEMON_CPU;
	t->n_top = 2;
	for (uint32_t i = 0; i < t->n_top; i++)
		t->top[i] = (struct ovl_matrix_loss){
			"tun", "a label of a stage of forty-seven columns.....", 1.23e9};
	ovl_str_copy(t->sentence, sizeof(t->sentence),
		     "CPU 0 (sender) is full: 100 % busy, 10 % in softirq and 88 % in the daemon; "
		     "another CPU is nearly as full");
	for (int i = 0; i < OVL_MATRIX_PARTS; i++)
		t->ns_per_kib[i] = ns_per_kib;
	t->busy_cpus = 1;
}

static void fill(struct ovl_matrix *m)
{
	*m = (struct ovl_matrix){.suite = "flannel-backends",
				 .about = "a suite",
				 .seconds = 4,
				 .turns = 3,
				 .n_rows = 3};
	m->rows[0] = (struct ovl_matrix_row){.key = "host",
					     .label = "host -> host",
					     .against = -1,
					     .seed_bps = NAN,
					     .seed_latency_ns = 122.8e3};
	m->rows[1] = (struct ovl_matrix_row){.key = "udp",
					     .label = "pod -> pod, udp (tun and a daemon)",
					     .against = 0,
					     .seed_bps = 0.124e9,
					     .seed_latency_ns = NAN,
					     .seed_note = "a note"};
	m->rows[2] =
		(struct ovl_matrix_row){.key = "out",
					.label = "left out",
					.against = -1,
					.seed_bps = NAN,
					.seed_latency_ns = NAN,
					.skipped = "this lab needs a program that is not there"};
	ovl_str_copy(m->host.kernel, sizeof(m->host.kernel), "6.1.0");
	ovl_str_copy(m->host.nodename, sizeof(m->host.nodename), "node\x1b[31m");
	traced(turn(&m->rows[0], 20e9, 25e3), 10);
	traced(turn(&m->rows[1], 0.5e9, 61.4e3), 400);
}

static bool narrow(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (n > 100) {
			printf("# %zu columns: %.*s\n", n, (int)n, text);
			return false;
		}
		text += n + (text[n] == '\n');
	}
	return true;
}

static void check_text(const struct ovl_matrix *m)
{
	struct ovl_buf b = {0};
	const char *text;

	ovl_matrix_text(&b, m);
	text = ovl_buf_str(&b);
	ok(narrow(text), "no line has more than 100 columns");
	ok(strstr(text, "pod -> pod, udp (tun and a daemon)   0.50     -    2.5%    61.4      -"),
	   "goodput, its share, the round trip; one turn has no spread");
	ok(strstr(text, "      - |  0.12       -\n"),
	   "the published figures, a dash where there is none");
	ok(strstr(text, "skipped: this lab needs a program"), "why a row is not there");
	ok(strstr(text, "1/40.0 of row host: a byte costs 40.0 times its CPU time"),
	   "why a row is slower than another");
	ok(!strchr(text, '\x1b'), "no control characters");
	ovl_buf_fini(&b);
}

static struct json_object *row(struct json_object *doc, size_t i, const char *key)
{
	struct json_object *rows, *v = NULL;

	json_object_object_get_ex(doc, "rows", &rows);
	json_object_object_get_ex(json_object_array_get_idx(rows, i), key, &v);
	return v;
}

static void check_json(const struct ovl_matrix *m)
{
	static const char *const contract[] = {"key",		"label",       "goodput_bps",
					       "of_host_ratio", "latency_ns",  "copies_per_pkt",
					       "limit",		"top_finding", "seed"};
	struct json_object *doc, *schema, *rows, *seed = NULL;
	struct ovl_buf b = {0};

	ovl_matrix_json(&b, m);
	doc = json_tokener_parse(ovl_buf_str(&b));
	json_object_object_get_ex(doc, "schema", &schema);
	is_str(json_object_get_string(schema), "ovltrace-matrix/1", "the schema");
	json_object_object_get_ex(doc, "rows", &rows);
	is_int(json_object_array_length(rows), 3, "every row is there");
	for (size_t i = 0; i < sizeof(contract) / sizeof(contract[0]); i++)
		ok(json_object_object_get_ex(json_object_array_get_idx(rows, 2), contract[i], NULL),
		   "a row has %s, measured or not", contract[i]);
	ok(json_object_get_int64(row(doc, 0, "goodput_bps")) == 20000000000 &&
		   json_object_get_int64(row(doc, 1, "latency_ns")) == 61400,
	   "rates in bit/s, durations in ns");
	is_str(json_object_get_string(row(doc, 1, "limit")), "tun_daemon_cpu", "the limit's key");
	ok(!row(doc, 2, "limit") && !row(doc, 2, "goodput_bps") && !row(doc, 0, "copies_per_pkt"),
	   "null where nothing was measured");
	json_object_object_get_ex(row(doc, 0, "seed"), "latency_ns", &seed);
	is_int(json_object_get_int64(seed), 122800, "the published figures beside");
	ok(row(doc, 1, "why") && !row(doc, 0, "why"), "why a row is slower, where it is compared");
	json_object_put(doc);
	ovl_buf_fini(&b);
}

int main(void)
{
	struct ovl_matrix m;

	fill(&m);
	check_text(&m);
	check_json(&m);
	ovl_matrix_fini(&m);
	return tap_done();
}
