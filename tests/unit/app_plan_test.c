#include <math.h>

#include "app/options.h"
#include "app/session.h"
#include "tap.h"

static struct ovl_plan plan(const char *args, bool underlay, bool until_quit)
{
	char text[256], *argv[16] = {(char *)"ovltrace"};
	struct ovl_options o;
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_plan p = {0};
	int argc = 1;

	snprintf(text, sizeof(text), "%s", args);
	for (char *word = strtok(text, " "); word && argc < 16; word = strtok(NULL, " "))
		argv[argc++] = word;
	ok(ovl_options_parse(OVL_CMD_RUN, argc, argv, &o, &err) == 0, "'%s' is understood %s", args,
	   err.text);
	ovl_plan_make(&o, underlay, until_quit, &p);
	return p;
}

static void test_load(void)
{
	struct ovl_plan p = plan("-i x --load iperf-like", true, false);

	is_int(p.pairs, 6, "10 s by default: six pairs");
	is_int(p.interval_ns * p.pairs * 2 / 1000000, 9999, "which measure ten seconds together");
	is_int(p.omit_ns, 200000000, "after 200 ms that are left out");
	p = plan("-i x --load iperf-like --for 30", true, false);
	is_int(p.pairs, 18, "30 s: eighteen pairs");
	p = plan("-i x --load iperf-like --for 3", true, false);
	is_int(p.pairs, 3, "3 s: three pairs");
	is_int(p.interval_ns, 500000000, "of half a second");
	p = plan("-i x --load iperf-like --for 0.5", true, false);
	is_int(p.pairs, 1, "half a second: one pair");
	p = plan("-i x --load iperf-like --for 8", false, false);
	is_int(p.pairs, 6, "without underlay the slices are the overlay's alone");
	is_int(p.interval_ns / 1000, 1333333, "and share the eight seconds");
	p = plan("-i x --load iperf-like -d 1 --for 12", true, false);
	is_int(p.pairs, 6, "an interval of 1 s is the length of a slice");
	is_int(p.interval_ns, 1000000000, "exactly");
	p = plan("-i x --load iperf-like --count 4", true, false);
	is_int(p.pairs, 4, "--count counts pairs");
	p = plan("-i x --load iperf-like", true, true);
	is_int(p.pairs, 0, "on a screen: until q");
	p = plan("-i x --load iperf-like --for 10", true, true);
	is_int(p.pairs, 6, "on a screen with --for: that long");
}

static void test_observe(void)
{
	struct ovl_plan p = plan("-i x --for 3", false, false);

	is_int(p.intervals, 3, "3 s: three intervals");
	is_int(p.interval_ns, 1000000000, "of one second");
	p = plan("-i x --for 2.5 -d 1", false, false);
	is_int(p.intervals, 2, "2.5 s in intervals of about 1 s: two");
	is_int(p.interval_ns, 1250000000, "which share the time");
	p = plan("-i x --for 0.5", false, false);
	is_int(p.intervals, 1, "shorter than an interval: one");
	is_int(p.interval_ns, 500000000, "of that length");
	p = plan("-i x --count 7 -d 0.2", false, false);
	is_int(p.intervals, 7, "--count intervals");
	is_int(p.interval_ns, 200000000, "of -d seconds");
	p = plan("-i x", false, true);
	is_int(p.intervals, 0, "on a screen: until q");
	p = plan("-i x", false, false);
	is_int(p.intervals, 10, "elsewhere: ten, so that it ends");
}

static const char *setting(const struct ovl_facts *facts, const char *name)
{
	ovl_vec_each(s, &facts->config)
		if (!strcmp(s->name, name))
			return s->value;
	return "";
}

static void test_options(void)
{
	char *argv[] = {(char *)"ovltrace",
			(char *)"--iface=flannel.1",
			(char *)"-P",
			(char *)"4",
			(char *)"-l",
			(char *)"64K",
			(char *)"-w1M",
			(char *)"--json=out.json",
			(char *)"--load",
			(char *)"iperf-like",
			NULL};
	struct ovl_options o;
	struct ovl_facts facts = {0};
	struct ovl_err err = OVL_ERR_INIT;

	is_int(ovl_options_parse(OVL_CMD_RUN, 10, argv, &o, &err), 0,
	       "long, short and glued options");
	is_str(o.iface, "flannel.1", "the interface");
	is_int(o.streams, 4, "streams");
	is_int(o.block_bytes, 65536, "K is 1024");
	is_int(o.window_bytes, 1 << 20, "M is 1024 K");
	ok(o.json.on && !strcmp(o.json.path, "out.json"), "--json=FILE");
	ok(isnan(o.for_s), "what was not given is unknown, not 0");
	is_int(ovl_options_settings(&o, true, &facts), 0, "the effective options");
	is_str(setting(&facts, "congestion"), "cubic", "with their defaults");
	ovl_facts_fini(&facts);
	o.reverse = true;
	ovl_options_settings(&o, true, &facts);
	is_str(setting(&facts, "congestion"), "far end's", "whoever sends chooses it");
	ovl_facts_fini(&facts);
	ovl_options_settings(&o, false, &facts);
	is_str(setting(&facts, "congestion"), "cubic", "in a lab that is this program, too");
	ovl_facts_fini(&facts);
	o.congestion = "reno";
	ovl_options_settings(&o, true, &facts);
	is_str(setting(&facts, "congestion"), "reno", "unless it is asked for one");
	ovl_facts_fini(&facts);
}

int main(void)
{
	test_load();
	test_observe();
	test_options();
	return tap_done();
}
