#include "app/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/options_check.h"
#include "base/str.h"
#include "load/load.h"

static const char *command_name(enum ovl_command command)
{
	switch (command) {
	case OVL_CMD_PEER: return " peer";
	case OVL_CMD_LAB: return " lab";
	case OVL_CMD_REPLAY: return " replay";
	case OVL_CMD_DOCTOR: return " doctor";
	case OVL_CMD_LIST: return " list";
	case OVL_CMD_RELAY: return " relay";
	case OVL_CMD_DIFF: return " diff";
	case OVL_CMD_MATRIX: return " matrix";
	case OVL_CMD_POD:
	case OVL_CMD_RUN: break;
	}
	return "";
}

static int usage(const struct ovl_options *o, struct ovl_err *err, int key, const char *arg,
		 const char *wants)
{
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "--%s '%s': %s; see ovltrace%s --help",
			   ovl_option_rows[key].name, arg, wants, command_name(o->command));
}

static bool parse_seconds(const char *s, double min, double max, double *out)
{
	char *end;
	double v;

	if (*s < '0' || *s > '9' || s[strspn(s, "0123456789.")])
		return false;
	v = strtod(s, &end);
	if (*end || !isfinite(v) || v < min || v > max)
		return false;
	*out = v;
	return true;
}

/* A byte count with K, M or G (1024-based, as iperf3). */
static bool parse_bytes(const char *s, uint64_t min, uint64_t max, uint32_t *out)
{
	char digits[24];
	size_t n = strlen(s);
	unsigned shift = 0;
	unsigned long long v;

	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, s, n + 1);
	switch (digits[n - 1]) {
	case 'k':
	case 'K': shift = 10; break;
	case 'm':
	case 'M': shift = 20; break;
	case 'g':
	case 'G': shift = 30; break;
	}
	if (shift)
		digits[n - 1] = '\0';
	if (!ovl_str_u64(digits, 0, UINT32_MAX, &v) || v << shift < min || v << shift > max)
		return false;
	*out = (uint32_t)(v << shift);
	return true;
}

/* Bits per second with K, M or G (1000-based, as iperf3). */
static bool parse_rate(const char *s, uint64_t *out)
{
	static const char units[] = "kmgKMG";
	char digits[24];
	size_t n = strlen(s);
	const char *unit = n ? strchr(units, s[n - 1]) : NULL;
	unsigned long long v, per = 1;

	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, s, n + 1);
	if (unit)
		digits[n - 1] = '\0';
	for (long i = unit ? (unit - units) % 3 : -1; i >= 0; i--)
		per *= 1000;
	if (!ovl_str_u64(digits, 1, 1000000000000ull, &v) || v * per < 8000 ||
	    v > 1000000000000ull / per)
		return false;
	*out = v * per;
	return true;
}

static int set_number(int key, const char *arg, struct ovl_options *o, struct ovl_err *err)
{
	unsigned long long v = 0;

	switch (key) {
	case OPT_COUNT:
		return ovl_str_u64(arg, 1, 1000000000, &o->count)
			       ? 0
			       : usage(o, err, key, arg, "a number of intervals from 1");
	case OPT_STREAMS:
		if (!ovl_str_u64(arg, 1, 128, &v))
			return usage(o, err, key, arg, "a number of streams from 1 to 128");
		o->streams = (uint32_t)v;
		return 0;
	case OPT_PORT:
		if (!ovl_str_u64(arg, 1, 65535, &v))
			return usage(o, err, key, arg, "a TCP port from 1 to 65535");
		o->port = (uint16_t)v;
		return 0;
	case OPT_SAMPLE_HZ:
		if (!ovl_str_u64(arg, 10, 5000, &v))
			return usage(o, err, key, arg, "a rate from 10 to 5000 a second");
		o->sample_hz = (uint32_t)v;
		return 0;
	case OPT_PACKETS:
		if (!ovl_str_u64(arg, 0, 1000, &v) || (v && v < 10))
			return usage(o, err, key, arg, "10 to 1000 milliseconds, or 0");
		o->window_ms = (long)v;
		return 0;
	case OPT_BLOCK:
		return parse_bytes(arg, 1, 1 << 20, &o->block_bytes)
			       ? 0
			       : usage(o, err, key, arg, "1 byte to 1M");
	case OPT_MSS:
		return parse_bytes(arg, OVL_LOAD_MSS_MIN, OVL_LOAD_MSS_MAX, &o->mss_bytes)
			       ? 0
			       : usage(o, err, key, arg, "88 to 32767 bytes");
	case OPT_WINDOW:
		return parse_bytes(arg, 4096, 1u << 30, &o->window_bytes)
			       ? 0
			       : usage(o, err, key, arg, "4K to 1G");
	case OPT_FOR:
	case OPT_TIME:
		return parse_seconds(arg, 0.5, 86400, &o->for_s)
			       ? 0
			       : usage(o, err, key, arg, "seconds from 0.5 to 86400");
	case OPT_OMIT:
		return parse_seconds(arg, 0, 600, &o->omit_s)
			       ? 0
			       : usage(o, err, key, arg, "seconds from 0 to 600");
	case OPT_RATE:
		return parse_rate(arg, &o->rate_bps) ? 0 : usage(o, err, key, arg, "8K to 1000G");
	case OPT_INTERVAL:
		return parse_seconds(arg, 0.1, 60, &o->interval_s)
			       ? 0
			       : usage(o, err, key, arg, "seconds from 0.1 to 60");
	}
	return -ENOENT;
}

/* What a lab is made of; its topology knows the narrower limits. */
static int set_lab(int key, const char *arg, struct ovl_options *o, struct ovl_err *err)
{
	static const struct {
		int key;
		uint32_t min, max;
		const char *wants;
		size_t at;
	} numbers[] = {
		{OPT_MTU, 68, 65535, "an MTU from 68 to 65535 bytes",
		 offsetof(struct ovl_options, mtu)},
		{OPT_OVERLAY_MTU, 68, 65535, "an MTU from 68 to 65535 bytes",
		 offsetof(struct ovl_options, overlay_mtu)},
		{OPT_NODES, 1, 3, "a number of nodes, 2 or 3", offsetof(struct ovl_options, nodes)},
		{OPT_PODS, 1, 9, "a number of pods from 1", offsetof(struct ovl_options, pods)},
		{OPT_VNI, 1, 0xffffff, "a VNI from 1 to 16777215",
		 offsetof(struct ovl_options, vni)},
	};
	unsigned long long v;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].key != key)
			continue;
		if (!ovl_str_u64(arg, numbers[i].min, numbers[i].max, &v))
			return usage(o, err, key, arg, numbers[i].wants);
		*(uint32_t *)((char *)o + numbers[i].at) = (uint32_t)v;
		return 0;
	}
	if (key == OPT_LINK_RATE)
		return parse_rate(arg, &o->link_bps)
			       ? 0
			       : usage(o, err, key, arg, "bit/s from 8K to 1000G, such as 100M");
	if (key == OPT_IPV6) {
		static const char *const words[] = {"", "inside", "outside", "both"};

		for (int i = 1; i < 4; i++)
			if (!strcmp(arg, words[i]))
				o->ipv6 = (enum ovl_lab_ipv6)i;
		return o->ipv6 ? 0 : usage(o, err, key, arg, "inside, outside or both");
	}
	return -ENOENT;
}

static int set_choice(int key, const char *arg, struct ovl_options *o, struct ovl_err *err)
{
	int used = 0;

	switch (key) {
	case OPT_LOAD:
		o->load_raw = !strcmp(arg, "iperf2");
		o->load_plain = !strcmp(arg, "iperf3");
		o->load_rr = !strcmp(arg, "rr");
		o->load = o->load_raw || o->load_plain || o->load_rr || !strcmp(arg, "iperf-like");
		if (!o->load && strcmp(arg, "none") != 0)
			return usage(o, err, key, arg, "none, iperf-like, iperf3, iperf2 or rr");
		return 0;
	case OPT_LATENCY:
		o->latency_off = !strcmp(arg, "off");
		return o->latency_off || !strcmp(arg, "auto")
			       ? 0
			       : usage(o, err, key, arg, "auto or off");
	case OPT_TX:
		o->tx_zerocopy = !strcmp(arg, "zerocopy");
		return o->tx_zerocopy || !strcmp(arg, "copy")
			       ? 0
			       : usage(o, err, key, arg, "copy or zerocopy");
	case OPT_RX:
		o->rx_trunc = !strcmp(arg, "trunc");
		return o->rx_trunc || !strcmp(arg, "copy")
			       ? 0
			       : usage(o, err, key, arg, "copy or trunc");
	case OPT_ALLOW: return ovl_allow_add(&o->allow, arg, err);
	case OPT_TIER:
		o->tier =
			ovl_tier_find(arg) < 0 ? OVL_TIER_COUNT : (enum ovl_tier)ovl_tier_find(arg);
		return o->tier < OVL_TIER_COUNT
			       ? 0
			       : usage(o, err, key, arg, "auto, tracepoint, fentry or kprobe");
	case OPT_COLOR:
		if (!strcmp(arg, "always"))
			o->color = OVL_COLOR_ALWAYS;
		else if (!strcmp(arg, "never"))
			o->color = OVL_COLOR_NEVER;
		else if (strcmp(arg, "auto") != 0)
			return usage(o, err, key, arg, "auto, always or never");
		return 0;
	case OPT_RENDER:
		if (sscanf(arg, "%3dx%3d%n", &o->render_cols, &o->render_rows, &used) != 2 ||
		    arg[used] || o->render_cols < 1 || o->render_rows < 1)
			return usage(o, err, key, arg,
				     "COLSxROWS, each from 1 to 999, such as 80x24");
		return 0;
	}
	return -ENOENT;
}

static int set_bound(int key, const char *arg, struct ovl_options *o, struct ovl_err *err)
{
	char why[OVL_TEXT_MAX];

	if (key != OPT_FAIL_IF)
		return -ENOENT;
	if (o->n_bounds == OVL_BOUNDS_MAX)
		return usage(o, err, key, arg, "more than 16 bounds");
	if (ovl_bound_parse(arg, &o->bounds[o->n_bounds], why))
		return usage(o, err, key, arg, why);
	o->n_bounds++;
	return 0;
}

static int set_text(int key, const char *arg, struct ovl_options *o)
{
	switch (key) {
	case OPT_IFACE: o->iface = arg; return 0;
	case OPT_NETNS: o->netns = arg; return 0;
	case OPT_PEER: o->peer = arg; return 0;
	case OPT_FROM: o->from = arg; return 0;
	case OPT_BASELINE: o->baseline = arg; return 0;
	case OPT_CONGESTION: o->congestion = arg; return 0;
	case OPT_BIND: o->bind = arg; return 0;
	case OPT_RECORD: o->record = arg; return 0;
	case OPT_COMPARE: o->compare = arg; return 0;
	case OPT_OFFLOADS: o->offloads = arg; return 0;
	case OPT_JSON: o->json = (struct ovl_out_spec){true, arg}; return 0;
	case OPT_JSON_IPERF3: o->json_iperf3 = (struct ovl_out_spec){true, arg}; return 0;
	case OPT_JSONL: o->jsonl = (struct ovl_out_spec){true, arg}; return 0;
	}
	return -ENOENT;
}

static int set_flag(int key, struct ovl_options *o)
{
	switch (key) {
	case OPT_LOAD_ANYWAY: o->load_anyway = true; return 0;
	case OPT_REVERSE: o->reverse = true; return 0;
	case OPT_NO_TRACE: o->no_trace = true; return 0;
	case OPT_DEEP: o->deep = true; return 0;
	case OPT_SELF_COST: o->self_cost = true; return 0;
	case OPT_PLAIN: o->plain = true; return 0;
	case OPT_BATCH: o->batch = true; return 0;
	case OPT_QUICK: o->quick = true; return 0;
	case OPT_ASCII: o->ascii = true; return 0;
	case OPT_MONO: o->mono = true; return 0;
	case OPT_HELP: o->help = true; return 0;
	case OPT_VERSION: o->version = true; return 0;
	}
	return -ENOENT;
}

static int set(int key, const char *arg, struct ovl_options *o, struct ovl_err *err)
{
	int rc;

	if (ovl_option_rows[key].arg == NO)
		return set_flag(key, o);
	if (arg && !*arg)
		return usage(o, err, key, arg, "an empty value");
	rc = set_text(key, arg, o);
	if (rc == -ENOENT)
		rc = set_number(key, arg, o, err);
	if (rc == -ENOENT)
		rc = set_lab(key, arg, o, err);
	if (rc == -ENOENT)
		rc = set_choice(key, arg, o, err);
	if (rc == -ENOENT)
		rc = set_bound(key, arg, o, err);
	return rc;
}

static bool is_command(const char *word)
{
	for (int bit = 1; bit <= OVL_CMD_MATRIX; bit <<= 1) {
		const char *name = command_name((enum ovl_command)bit);

		if (*name && !strcmp(name + 1, word))
			return true;
	}
	return false;
}

/* What the static program for pods leaves out. */
static int left_out(struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
			   "this static program only has `peer` and `--no-trace`; tracing and "
			   "labs need the full one");
}

int ovl_options_parse(enum ovl_command command, int argc, char **argv, struct ovl_options *out,
		      struct ovl_err *err)
{
	struct option longs[OPT_COUNT_OF + 1] = {0};
	char shorts[2 + OPT_COUNT_OF * 3] = ":";
	int c, rc;

	*out = (struct ovl_options){.command = command,
				    .for_s = NAN,
				    .interval_s = NAN,
				    .omit_s = NAN,
				    .streams = 1,
				    .window_ms = -1};
	for (int i = 0; i < OPT_COUNT_OF; i++) {
		longs[i] = (struct option){ovl_option_rows[i].name, ovl_option_rows[i].arg, NULL,
					   1000 + i};
		if (ovl_option_rows[i].ch) {
			size_t n = strlen(shorts);

			snprintf(shorts + n, sizeof(shorts) - n, "%c%s", ovl_option_rows[i].ch,
				 ovl_option_rows[i].arg == MUST ? ":" : "");
		}
	}
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		int key = c - 1000;

		if (c == ':')
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "%s needs a value; see ovltrace%s --help",
					   argv[optind - 1], command_name(command));
		if (c == '?' && command & (OVL_CMD_RUN | OVL_CMD_POD) &&
		    ovl_options_habit(optopt, err))
			return -EINVAL;
		if (c == '?')
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "unknown option %s; see ovltrace%s --help",
					   argv[optind > 1 ? optind - 1 : 1],
					   command_name(command));
		for (int i = 0; c < 1000 && i < OPT_COUNT_OF; i++)
			if (ovl_option_rows[i].ch == c)
				key = i;
		if (!(ovl_option_rows[key].commands & (int)command) && command == OVL_CMD_POD)
			return left_out(err);
		if (!(ovl_option_rows[key].commands & (int)command))
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "ovltrace%s has no option --%s; see ovltrace%s --help",
					   command_name(command), ovl_option_rows[key].name,
					   command_name(command));
		rc = set(key, optarg, out, err);
		if (rc)
			return rc;
	}
	out->n_args = argc - optind;
	out->args = argv + optind;
	if (command == OVL_CMD_POD && out->n_args && is_command(out->args[0]))
		return left_out(err);
	if (command & (OVL_CMD_RUN | OVL_CMD_PEER | OVL_CMD_DOCTOR | OVL_CMD_POD) && out->n_args &&
	    !out->help)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"ovltrace%s does not know what to do with '%s' (a file for --json is "
			"given as --json=FILE); see ovltrace%s --help",
			command_name(command), out->args[0], command_name(command));
	if (out->help || out->version || command == OVL_CMD_MATRIX)
		return 0;
	return ovl_options_check(out, err);
}
