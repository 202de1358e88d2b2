/* The contract's JSON, read back: members in order, null for what is unknown, the exact sum. */
#include "view/json.h"
#include "view/json_put.h"
#include "sample_free.h"
#include "json_members.h"
#include "tap.h"

static const struct ovl_view_exit done = {0, "done"};

static ovl_json get(ovl_json o, const char *path)
{
	char key[128];

	for (const char *s = path; o && *s;) {
		size_t n = strcspn(s, ".");
		ovl_json next = NULL;

		snprintf(key, sizeof(key), "%.*s", (int)n, s);
		if (json_object_is_type(o, json_type_array))
			next = json_object_array_get_idx(o, (size_t)atoi(key));
		else if (!json_object_object_get_ex(o, key, &next))
			return NULL;
		o = next;
		s += n + (s[n] == '.');
	}
	return o;
}

/** Is the last member of the path there, null or not? */
static bool has(ovl_json o, const char *path)
{
	const char *dot = strrchr(path, '.');
	char head[128];

	snprintf(head, sizeof(head), "%.*s", dot ? (int)(dot - path) : 0, path);
	return json_object_object_get_ex(get(o, head), dot ? dot + 1 : path, NULL);
}

static bool is_null(ovl_json o, const char *path)
{
	return has(o, path) && !get(o, path);
}

/** The object's keys, separated by blanks. */
static const char *keys(ovl_json o)
{
	static char list[1024];

	list[0] = '\0';
	json_object_object_foreach(o, key, value)
	{
		(void)value;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? " " : "",
			 key);
	}
	return list;
}

static ovl_json parse(struct ovl_buf *b)
{
	ovl_json o = json_tokener_parse(ovl_buf_str(b));

	ok(o && !b->failed, "it parses");
	ok(b->n && b->s[b->n - 1] == '\n' && strchr(b->s, '\n') == b->s + b->n - 1,
	   "it is one line");
	return o;
}

#define test_group(o, members) test_each(o, members, sizeof(members) / sizeof((members)[0]))

static void test_each(ovl_json o, const char *const *members, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ok(has(o, members[i]), "member %s", members[i]);
}

static void test_members(ovl_json o)
{
	is_str(keys(o), "schema tool host config iface " MODEL_KEYS " readings exit",
	       "members of the document, in the contract's order");
	test_group(o, about_members);
	test_group(o, load_members);
	test_group(o, waterfall_members);
	test_group(o, cpu_members);
	test_group(o, count_members);
	is_str(json_object_get_string(get(o, "schema")), "ovltrace/1", "the schema");
}

static void test_sum(ovl_json o, const char *name)
{
	ovl_json terms = get(o, "waterfall.terms");
	int64_t sum = json_object_get_int64(get(o, "waterfall.unexplained_bps"));

	for (size_t i = 0; i < json_object_array_length(terms); i++) {
		ovl_json bps = get(json_object_array_get_idx(terms, i), "bps");

		if (!json_object_is_type(bps, json_type_int))
			ok(false, "%s: term %zu is not an integer", name, i);
		sum += json_object_get_int64(bps);
	}
	is_int(json_object_get_int64(get(o, "waterfall.underlay_bps")) -
		       json_object_get_int64(get(o, "waterfall.overlay_bps")),
	       sum, "%s: underlay - overlay = terms + unexplained, exactly", name);
}

static void test_known(void)
{
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_buf b = {0};
	ovl_json o;

	sample_facts(&f, true);
	sample_model(&m, true);
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	test_members(o);
	test_sum(o, "sample");
	ok(strstr(b.s, "\"goodput_bps\":6351000000,"), "a rate is written out in full");
	ok(strstr(b.s, "\"sender\":1204.5,"), "a fraction keeps its digits");
	ok(strstr(b.s, "\"duration_ns\":42000000000,"), "durations are integers");
	is_str(json_object_get_string(get(o, "drops.1.reason")), "SOCKET_RCVBUFF", "a drop");
	ok(is_null(o, "drops.3.netns") && is_null(o, "drops.3.iface") &&
		   is_null(o, "drops.3.stage"),
	   "a drop of unknown place");
	ok(is_null(o, "load.overlay.cpu_ns_per_kib.receiver"), "NAN is null");
	ok(is_null(o, "waterfall.terms.11.if_removed_bps"), "in a term too");
	ok(is_null(o, "counters.1.netns"), "a counter of the machine has no namespace");
	json_object_put(o);
	sample_free(&f, &m);
	ovl_buf_fini(&b);
}

/** The underlay's cost of a stage: its number, 0 when it had none, null when not measured. */
static void test_underlay(void)
{
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_buf b = {0};
	ovl_json o;

	sample_facts(&f, true);
	sample_model(&m, true);
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	ok(json_object_get_double(get(o, "cpu.stages.1.underlay_ns_per_kib")) == 12.6,
	   "the underlay's cost of a stage");
	ok(has(o, "cpu.stages.0.underlay_ns_per_kib") &&
		   get(o, "cpu.stages.0.underlay_ns_per_kib") &&
		   json_object_get_double(get(o, "cpu.stages.0.underlay_ns_per_kib")) == 0,
	   "0 where it was measured to have none");
	is_str(json_object_get_string(get(o, "cpu.stages.15.key")), "qdisc",
	       "a stage of the underlay alone is listed");
	is_int(json_object_get_int64(get(o, "cpu.stages.15.ns")), 0, "without overlay time");
	json_object_put(o);
	ovl_buf_clear(&b);
	sample_free(&f, &m);
	sample_facts(&f, false);
	sample_model(&m, false);
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	ok(is_null(o, "cpu.stages.0.underlay_ns_per_kib"), "null without an underlay");
	json_object_put(o);
	sample_free(&f, &m);
	ovl_buf_fini(&b);
}

static void test_unknown(void)
{
	static const char *const nulls[] = {
		"traffic",
		"waterfall",
		"cpu",
		"paths",
		"copies",
		"segmentation",
		"latency",
		"drops",
		"counters",
		"flows",
		"findings",
		"verdict.confidence_ratio",
		"verdict.sentence",
		"verdict.side",
		"self.cpu_ratio",
		"load.overlay",
		"load.underlay",
		"load.disturbed",
	};
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_buf b = {0};
	ovl_json o;

	sample_facts(&f, true);
	sample_unknown(&m);
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		ok(is_null(o, nulls[i]), "%s is null when nothing is known", nulls[i]);
	is_int(json_object_array_length(get(o, "verdict.evidence")), 0, "no evidence is []");
	ok(!strstr(b.s, "NaN") && !strstr(b.s, "nan") && !strstr(b.s, "inf"), "no NaN in the text");
	json_object_put(o);
	ovl_buf_clear(&b);
	f.load.valid = false;
	f.iface = -1;
	ovl_json_document(&b, &f, &m, &(struct ovl_view_exit){7, NULL});
	o = parse(&b);
	ok(is_null(o, "load") && is_null(o, "iface"), "no load and no interface");
	is_str(json_object_get_string(get(o, "exit.reason")), "input", "a reason from the code");
	json_object_put(o);
	sample_free(&f, &m);
	ovl_buf_fini(&b);
}

/** Every device, by name, with null for what is not there or not read. */
static void test_devices(void)
{
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_buf b = {0};
	ovl_json o;

	sample_facts(&f, true);
	sample_model(&m, true);
	sample_link(&f, 1, "lo", "", 65536);
	f.links.v[2].ifindex = 1;
	sample_link(&f, 0, "ens3", "", 9000);
	f.links.v[3].up = false;
	f.links.v[3].lower = 99;
	f.links.v[1].master = 3;
	*ovl_vec_push(&m.devices) = (struct ovl_device){true, {1, 2, 3, 4}, {5, 6, 7, 8}};
	ovl_vec_push(&m.devices);
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	is_int(json_object_array_length(get(o, "devices")), 4, "all devices of the run");
	is_str(keys(get(o, "devices.0")), "iface netns kind mtu ifindex up master lower rx tx",
	       "their members");
	is_str(json_object_to_json_string_ext(get(o, "devices.0"), JSON_C_TO_STRING_PLAIN),
	       "{\"iface\":\"flannel.1\",\"netns\":\"ovl-flannel-vxlan-node1\",\"kind\":"
	       "\"vxlan\",\"mtu\":1450,\"ifindex\":2,\"up\":true,\"master\":null,"
	       "\"lower\":{\"iface\":\"eth0\",\"netns\":\"ovl-flannel-vxlan-node1\"},\"rx\":{"
	       "\"bytes\":1,\"pkts\":2,\"drops\":3,\"errors\":4},"
	       "\"tx\":{\"bytes\":5,\"pkts\":6,\"drops\":7,\"errors\":8}}",
	       "one with everything known");
	is_str(json_object_get_string(get(o, "devices.1.master.iface")), "ens3", "a port's master");
	ok(is_null(o, "devices.1.rx") && is_null(o, "devices.3.tx"), "counters not read: null");
	is_str(json_object_get_string(get(o, "devices.2.kind")), "loopback", "loopback");
	is_str(json_object_get_string(get(o, "devices.2.netns")), "net:[4026532002]", "its place");
	is_str(json_object_get_string(get(o, "devices.3.kind")), "physical", "physical");
	ok(!json_object_get_boolean(get(o, "devices.3.up")) && is_null(o, "devices.3.lower"),
	   "down, and on nothing that is");
	json_object_put(o);
	ovl_buf_clear(&b);
	f.iface = 2;
	ovl_json_end(&b, &f, &m, &done);
	o = parse(&b);
	is_str(json_object_get_string(get(o, "iface.kind")), "loopback", "the interface's kind");
	is_int(json_object_array_length(get(o, "devices")), 4, "the end record has them too");
	json_object_put(o);
	ovl_buf_clear(&b);
	f.iface = 3;
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	ok(is_null(o, "iface.kind"), "a physical interface has none");
	json_object_put(o);
	sample_free(&f, &m);
	ovl_buf_fini(&b);
}

/** Names from outside: broken UTF-8, quotes, control characters. */
static void test_names(void)
{
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_buf b = {0};
	ovl_json o;

	sample_huge(&f, &m);
	copy_str(f.links.v[0].name, "a\"\\\x1b\xff/");
	copy_str(f.config.v[0].value, "\xe2\x82");
	ovl_json_document(&b, &f, &m, &done);
	o = parse(&b);
	test_sum(o, "huge");
	is_str(json_object_get_string(get(o, "iface.name")), "a\"\\\x1b\xef\xbf\xbd/",
	       "quotes are escaped, broken bytes replaced");
	ok(!strchr(b.s, '\x1b') && !strchr(b.s, '\xff'), "no raw control or broken byte");
	is_int(json_object_get_int64(get(o, "duration_ns")), INT64_MAX,
	       "beyond int64: its maximum");
	json_object_put(o);
	sample_free(&f, &m);
	ovl_buf_fini(&b);
}

static void test_records(void)
{
	struct ovl_facts f;
	struct ovl_model m;
	struct ovl_buf b = {0};
	ovl_json o;

	sample_facts(&f, true);
	sample_model(&m, true);
	ovl_json_start(&b, &f);
	o = parse(&b);
	is_str(keys(o), "type schema tool host config iface interval_ns start_unix_ns", "start");
	is_str(json_object_get_string(get(o, "type")), "start", "its type");
	json_object_put(o);
	ovl_buf_clear(&b);
	ovl_json_sample(&b, &f, &m);
	o = parse(&b);
	is_str(keys(o), "type " MODEL_KEYS " last", "sample");
	is_str(keys(get(o, "last")), "drops_ps retransmits_ps rtt_ns per_cpu goodput_bps",
	       "its last interval");
	is_str(keys(get(o, "last.per_cpu.1")), "cpu busy_ratio softirq_ratio", "and CPUs");
	ok(json_object_get_int64(get(o, "last.goodput_bps")) == 6420000000,
	   "with values of its own");
	test_sum(o, "sample record");
	json_object_put(o);
	ovl_buf_clear(&b);
	ovl_json_end(&b, &f, &m, &done);
	o = parse(&b);
	is_str(keys(o), "type schema tool host config iface " MODEL_KEYS " readings exit", "end");
	json_object_put(o);
	sample_free(&f, &m);
	ovl_buf_fini(&b);
}

static void test_numbers(void)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{0, "0"},
		{-0.0, "0"},
		{0.1, "0.1"},
		{1e-7, "0.0000001"},
		{0.541, "0.541"},
		{1204.5, "1204.5"},
		{1e15, "1000000000000000"},
		{123456789.123, "123456789"},
		{1e18, "1000000000000000000"},
		{1.5e18, "1500000000000000000"},
		{-2.5, "-2.5"},
		{NAN, "null"},
		{-INFINITY, "null"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ovl_json o = json_object_new_object();
		char want[64];

		ovl_json_number(o, "v", cases[i].v);
		snprintf(want, sizeof(want), "{\"v\":%s}", cases[i].text);
		is_str(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), want, "number %g",
		       cases[i].v);
		json_object_put(o);
	}
}

int main(void)
{
	test_known();
	test_underlay();
	test_unknown();
	test_devices();
	test_names();
	test_records();
	test_numbers();
	return tap_done();
}
