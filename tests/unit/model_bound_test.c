/* Figures by name, bounds on them, and what counts as worse. */
#include "model/bound.h"

#include <errno.h>
#include <math.h>

#include "tap.h"

static void check_parse(const char *s, int metric, int op, double value)
{
	char why[OVL_TEXT_MAX] = "";
	struct ovl_bound b;
	int rc = ovl_bound_parse(s, &b, why);

	ok(!rc && (int)b.metric == metric && (int)b.op == op && fabs(b.value - value) < 1e-9,
	   "'%s' is understood %s", s, why);
}

static void check_refused(const char *s, const char *says)
{
	char why[OVL_TEXT_MAX] = "";
	struct ovl_bound b;

	is_int(ovl_bound_parse(s, &b, why), -EINVAL, "'%s' is refused", s);
	ok(strstr(why, says) != NULL, "because: %s", why);
}

static void check_words(void)
{
	check_parse("loss>20%", OVL_METRIC_LOSS, OVL_BOUND_ABOVE, 0.2);
	check_parse(" loss >= 0.25 ", OVL_METRIC_LOSS, OVL_BOUND_AT_LEAST, 0.25);
	check_parse("goodput<5G", OVL_METRIC_GOODPUT, OVL_BOUND_BELOW, 5e9);
	check_parse("goodput<=1.5 M", OVL_METRIC_GOODPUT, OVL_BOUND_AT_MOST, 1.5e6);
	check_parse("rtt_p99>250us", OVL_METRIC_RTT_P99, OVL_BOUND_ABOVE, 250e3);
	check_parse("rtt_p50>2ms", OVL_METRIC_RTT_P50, OVL_BOUND_ABOVE, 2e6);
	check_parse("drops>0", OVL_METRIC_DROPS, OVL_BOUND_ABOVE, 0);
	check_parse("findings>0", OVL_METRIC_FINDINGS, OVL_BOUND_ABOVE, 0);
	check_parse("path_cost>400", OVL_METRIC_PATH_COST, OVL_BOUND_ABOVE, 400);
	check_refused("", "one of goodput");
	check_refused("beauty>1", "one of goodput");
	check_refused("loss", "< <= > >=");
	check_refused("loss=1", "< <= > >=");
	check_refused("loss>", "a share");
	check_refused("loss>-1", "a share");
	check_refused("loss>1G", "a share");
	check_refused("loss>1.2.3", "a share");
	check_refused("loss>nan", "a share");
	check_refused("loss>1% and more", "a share");
	check_refused("goodput<5ms", "bit/s");
	check_refused("rtt_p99>250", "a duration");
	check_refused("loss>20%                                                           ",
		      "longer");
}

static void check_values(void)
{
	struct ovl_model m = {0};
	struct ovl_bound b;
	char why[OVL_TEXT_MAX];

	m.drops_ps = 5;
	m.load.overlay.valid = m.load.underlay.valid = true;
	m.load.overlay.goodput_bps = 6e9;
	m.load.underlay.goodput_bps = 8e9;
	ok(fabs(ovl_metric_get(&m, OVL_METRIC_LOSS) - 0.25) < 1e-9, "loss of a measured pair");
	ovl_bound_parse("loss>20%", &b, why);
	is_int(ovl_bound_check(&b, &m), 1, "25 %% breaks loss>20%%");
	ovl_bound_parse("loss>25%", &b, why);
	is_int(ovl_bound_check(&b, &m), 0, "but not loss>25%%");
	ovl_bound_parse("loss>=25%", &b, why);
	is_int(ovl_bound_check(&b, &m), 1, "and loss>=25%% again");
	ovl_bound_parse("goodput<6G", &b, why);
	is_int(ovl_bound_check(&b, &m), 0, "6 Gbit/s is not below 6G");
	ovl_bound_parse("goodput<=6G", &b, why);
	is_int(ovl_bound_check(&b, &m), 1, "but at most that");
	m.load.overlay.valid = false;
	is_int(ovl_bound_check(&b, &m), -ENODATA, "without a load it is not known");
	m.self.cpu_ratio = NAN;
	for (int i = 0; i < OVL_METRIC_COUNT; i++) {
		const bool known = i == OVL_METRIC_DROPS || i == OVL_METRIC_RETRANSMITS ||
				   i == OVL_METRIC_UNDERLAY;

		ok(isnan(ovl_metric_get(&m, (enum ovl_metric)i)) != known, "%s is %s",
		   ovl_metric_info((enum ovl_metric)i)->name, known ? "known" : "unknown");
	}
}

static void check_judge(void)
{
	is_int(ovl_metric_judge(OVL_METRIC_GOODPUT, 10, 8.9), -1, "11 %% less goodput is worse");
	is_int(ovl_metric_judge(OVL_METRIC_GOODPUT, 10, 9.1), 0, "9 %% less is not");
	is_int(ovl_metric_judge(OVL_METRIC_GOODPUT, 10, 11.1), 1, "11 %% more is better");
	is_int(ovl_metric_judge(OVL_METRIC_LOSS, 0.2, 0.26), -1, "6 points more loss is worse");
	is_int(ovl_metric_judge(OVL_METRIC_LOSS, 0.2, 0.24), 0, "4 points is not");
	is_int(ovl_metric_judge(OVL_METRIC_DROPS, 0, 9), 0, "a few drops are chance");
	is_int(ovl_metric_judge(OVL_METRIC_DROPS, 0, 11), -1, "more are worse");
	is_int(ovl_metric_judge(OVL_METRIC_RX, 1, 100), 0, "traffic is neither");
	is_int(ovl_metric_judge(OVL_METRIC_LOSS, NAN, 0.5), 0, "unknown is not judged");
}

int main(void)
{
	check_words();
	check_values();
	check_judge();
	return tap_done();
}
