/* What the option table says to people, and what of it goes into the document. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/option_table.h"
#include "base/str.h"
#include "load/load.h"

#define LEFT 33 /* columns of an option and its argument */

const struct ovl_option_row ovl_option_rows[] = {
#define OPT(KEY, name, ch, arg, metavar, commands, help) {name, ch, arg, metavar, commands, help},
#include "app/options.def"
};

/* What an option is to one command, where the table's words are another's. */
static const struct {
	enum ovl_command command;
	enum ovl_option_key key;
	const char *help;
} own[] = {
	{OVL_CMD_PEER, OPT_PORT, "TCP port to listen on (default 5201)"},
	{OVL_CMD_RELAY, OPT_PORT, "UDP port (default 8285)"},
	{OVL_CMD_RELAY, OPT_BATCH, "many packets a system call (default: one, as flannel's)"},
	{OVL_CMD_MATRIX, OPT_FOR, "measured seconds of a row in each turn (default 4)"},
	{OVL_CMD_MATRIX, OPT_NO_TRACE, "only measure: no BPF, and nothing that tells why"},
	{OVL_CMD_POD, OPT_LOAD, "what to send; rr: round trips"},
	{OVL_CMD_POD, OPT_NO_TRACE, "only make the load, which is all that this program can"},
	{OVL_CMD_POD, OPT_FOR, "measured seconds (default 10)"},
	{OVL_CMD_POD, OPT_PLAIN, "iperf3's text (as without it)"},
	{OVL_CMD_REPLAY, OPT_PLAIN, "the report as text (as without it)"},
	{OVL_CMD_POD, OPT_OMIT, "seconds left out at the start (default 0)"},
};

static const char *const heads[] = {
	[OVL_CMD_RUN] =
		"usage: ovltrace [--iface IF] [options]      where is overlay throughput lost?\n"
		"       ovltrace --no-trace --load iperf-like --peer HOST   only the load\n"
		"       ovltrace peer [options]              far end for --load (no BPF, no root)\n"
		"       ovltrace lab up TOPO | down [TOPO] | list | exec TOPO END -- CMD...\n"
		"       ovltrace matrix SUITE [options]      a published table, measured here\n"
		"       ovltrace doctor [options]            what this kernel and process allow\n"
		"       ovltrace replay FILE [options]       look at a recording\n"
		"       ovltrace diff A B [--json]           what changed between two recordings\n"
		"       ovltrace list stages|hooks|metrics|rules   the tables\n"
		"       ovltrace relay TUN LOCAL SUBNET=REMOTE...  tun to UDP, as flannel's udp "
		"backend\n\n"
		"example: ovltrace --load iperf-like --iface flannel.1\n\n",
	[OVL_CMD_POD] =
		"usage: ovltrace --no-trace --load iperf-like --peer HOST [options]\n"
		"       ovltrace peer [options]              far end for --load\n\n"
		"This static program makes and answers loads; tracing needs the full one.\n\n",
	[OVL_CMD_PEER] = "usage: ovltrace peer [options]      far end for `ovltrace --load … "
			 "--peer HOST` and `iperf3 -c HOST`\n\n",
	[OVL_CMD_LAB] =
		"usage: ovltrace lab up TOPO [options]         make a lab in network namespaces\n"
		"       ovltrace lab down [TOPO]              remove one lab, or all\n"
		"       ovltrace lab list\n"
		"       ovltrace lab exec TOPO END -- CMD...   run CMD in an endpoint (node1, "
		"pod1, …)\n"
		"topologies:\n",
	[OVL_CMD_RELAY] = "usage: ovltrace relay [options] TUN LOCAL SUBNET=REMOTE...\n"
			  "       the labs' stand-in for flannel's udp backend: joins a tun device "
			  "to UDP\n\n",
	[OVL_CMD_REPLAY] = "usage: ovltrace replay FILE [options]      look at a recording\n\n",
	[OVL_CMD_DOCTOR] =
		"usage: ovltrace doctor [options]      check kernel, rights and interface\n\n",
	[OVL_CMD_DIFF] = "usage: ovltrace diff A B [options]      what changed between two "
			 "recordings\n\n",
	[OVL_CMD_MATRIX] =
		"usage: ovltrace matrix SUITE [options]      a published table, measured here\n"
		"suites:\n",
	[OVL_CMD_LIST] = "usage: ovltrace list stages|hooks|metrics|rules\n\n",
};

static const char *words(enum ovl_command command, int key)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].command == command && (int)own[i].key == key)
			return own[i].help;
	return ovl_option_rows[key].help;
}

void ovl_options_help(enum ovl_command command, void (*names)(struct ovl_buf *out),
		      struct ovl_buf *out)
{
	ovl_buf_puts(out, heads[command]);
	if (names) {
		names(out);
		ovl_buf_puts(out, "\n");
	}
	for (int i = 0; i < OPT_COUNT_OF; i++) {
		char left[64], letter[8] = "   ";

		if (!(ovl_option_rows[i].commands & (int)command))
			continue;
		if (ovl_option_rows[i].ch)
			snprintf(letter, sizeof(letter), "-%c,", ovl_option_rows[i].ch);
		snprintf(left, sizeof(left), "%s --%s%s%s%s", letter, ovl_option_rows[i].name,
			 ovl_option_rows[i].arg == MAY	  ? "[="
			 : ovl_option_rows[i].arg == MUST ? " "
							  : "",
			 ovl_option_rows[i].metavar, ovl_option_rows[i].arg == MAY ? "]" : "");
		if (strlen(left) > (size_t)LEFT)
			ovl_buf_printf(out, "  %s\n  %-*s %s\n", left, LEFT, "", words(command, i));
		else
			ovl_buf_printf(out, "  %-*s %s\n", LEFT, left, words(command, i));
	}
	if (command & (OVL_CMD_RUN | OVL_CMD_POD))
		ovl_buf_puts(out, "\nexit: 0 ok, 1 failed, 2 usage, 3 limit exceeded, 4 rights "
				  "missing, 5 kernel lacks "
				  "something, 6 peer, 7 input not found\n");
}

static int add(struct ovl_facts *facts, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int add(struct ovl_facts *facts, const char *name, const char *fmt, ...)
{
	struct ovl_setting *s = ovl_vec_push(&facts->config);
	va_list ap;

	if (!s)
		return -ENOMEM;
	ovl_str_copy(s->name, sizeof(s->name), name);
	va_start(ap, fmt);
	vsnprintf(s->value, sizeof(s->value), fmt, ap);
	va_end(ap);
	return 0;
}

const char *ovl_options_load(const struct ovl_options *o)
{
	if (!o->load)
		return "none";
	if (o->load_rr)
		return "rr";
	return o->load_raw ? "iperf2" : o->load_plain ? "iperf3" : "iperf-like";
}

uint32_t ovl_options_length(const struct ovl_options *o)
{
	if (o->block_bytes)
		return o->block_bytes;
	return o->load_rr ? 1 : ovl_load_block_bytes(0, o->rate_bps);
}

int ovl_options_settings(const struct ovl_options *o, bool remote, struct ovl_facts *facts)
{
	const char *const congestion = o->congestion	      ? o->congestion
				       : remote && o->reverse ? "far end's"
							      : "cubic";
	int rc = 0;

	rc |= add(facts, "iface", "%s", o->iface ? o->iface : "");
	rc |= add(facts, "netns", "%s", o->netns ? o->netns : "");
	rc |= add(facts, "load", "%s", ovl_options_load(o));
	rc |= add(facts, "peer", "%s", o->peer ? o->peer : "");
	rc |= add(facts, "from", "%s", o->from ? o->from : "");
	rc |= add(facts, "baseline", "%s", o->baseline ? o->baseline : "auto");
	rc |= add(facts, "latency", "%s", o->latency_off ? "off" : "auto");
	rc |= add(facts, "reverse", "%s", o->reverse ? "true" : "false");
	rc |= add(facts, "tx", "%s", o->tx_zerocopy ? "zerocopy" : "copy");
	rc |= add(facts, "rx", "%s", o->rx_trunc ? "trunc" : "copy");
	rc |= add(facts, "no_trace", "%s", o->no_trace ? "true" : "false");
	rc |= add(facts, "load_anyway", "%s", o->load_anyway ? "true" : "false");
	rc |= isnan(o->for_s) ? 0 : add(facts, "for", "%g", o->for_s);
	rc |= o->count ? add(facts, "count", "%llu", o->count) : 0;
	rc |= add(facts, "streams", "%u", o->streams);
	rc |= add(facts, "length", "%u", ovl_options_length(o));
	rc |= add(facts, "congestion", "%s", congestion);
	rc |= add(facts, "set_mss", "%u", o->mss_bytes);
	rc |= add(facts, "window", "%u", o->window_bytes);
	rc |= add(facts, "port", "%u", o->port ? o->port : 5201u);
	rc |= o->sample_hz ? add(facts, "sample_hz", "%u", o->sample_hz)
			   : add(facts, "sample_hz", "auto");
	rc |= o->window_ms < 0 ? add(facts, "window_ms", "off")
			       : add(facts, "window_ms", "%ld", o->window_ms);
	rc |= add(facts, "tier", "%s", ovl_tier_name(o->tier));
	rc |= add(facts, "self_cost", "%s", o->self_cost ? "true" : "false");
	rc |= add(facts, "deep", "%s", o->deep ? "true" : "false");
	return rc ? -ENOMEM : 0;
}
