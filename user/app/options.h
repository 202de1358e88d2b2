/* The command line: one table (options.def), one struct, no globals. */
#ifndef OVL_APP_OPTIONS_H
#define OVL_APP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "lab/lab.h"
#include "load/allow.h"
#include "model/bound.h"
#include "model/facts.h"
#include "model/func.h"

#define OVL_BOUNDS_MAX 16

/** Commands, as bits: an option names those that know it. */
enum ovl_command {
	OVL_CMD_RUN = 1,
	OVL_CMD_PEER = 2,
	OVL_CMD_LAB = 4,
	OVL_CMD_REPLAY = 8,
	OVL_CMD_DOCTOR = 16,
	OVL_CMD_LIST = 32,
	OVL_CMD_RELAY = 64,
	OVL_CMD_POD = 128, /* without a name, in the static program */
	OVL_CMD_DIFF = 256,
	OVL_CMD_MATRIX = 512,
};

/** One output: off, stdout or a file. */
struct ovl_out_spec {
	bool on;
	const char *path; /* NULL: stdout */
};

enum ovl_color { OVL_COLOR_AUTO = 0, OVL_COLOR_ALWAYS, OVL_COLOR_NEVER };

struct ovl_options {
	enum ovl_command command;
	bool help, version;
	const char *iface, *netns;
	bool load;	 /* --load, not none */
	bool load_raw;	 /* --load iperf2 */
	bool load_plain; /* --load iperf3 */
	bool load_rr;	 /* --load rr */
	bool reverse;
	bool tx_zerocopy, rx_trunc;
	const char *peer, *from, *baseline;
	bool load_anyway;
	bool latency_off;	  /* --latency off */
	double for_s;		  /* NAN: not given */
	double interval_s;	  /* NAN: not given */
	double omit_s;		  /* NAN: not given */
	uint64_t rate_bps;	  /* of each stream; 0: unlimited */
	unsigned long long count; /* 0: not given */
	uint32_t streams, block_bytes, mss_bytes, window_bytes;
	const char *congestion;
	uint16_t port; /* 0: default */
	const char *bind;
	struct ovl_allow allow; /* empty: everybody */
	bool plain;
	struct ovl_out_spec json, jsonl, json_iperf3;
	bool no_trace;
	int render_cols, render_rows; /* 0: no --render */
	const char *record, *compare;
	uint32_t n_bounds;
	struct ovl_bound bounds[OVL_BOUNDS_MAX]; /* --fail-if, any of them */
	uint32_t sample_hz;			 /* 0: as many as the cost budget allows */
	long window_ms;				 /* of counting packets, 0: none; -1: not given */
	enum ovl_tier tier;
	bool deep; /* packets and kernel functions all the time */
	bool self_cost;
	const char *offloads;
	enum ovl_lab_ipv6 ipv6;
	uint32_t mtu, overlay_mtu, nodes, pods, vni; /* 0: not given */
	uint64_t link_bps;			     /* 0: not given */
	bool batch, quick;
	bool ascii, mono;
	enum ovl_color color;
	int n_args; /* what is left of argv */
	char **args;
};

/**
 * Parse argv[1…] for one command; words that are no options end up in args, and so does everything
 * after "--" (`lab exec TOPO END -- CMD -x`). -EINVAL with OVL_EXIT_USAGE.
 */
int ovl_options_parse(enum ovl_command command, int argc, char **argv, struct ovl_options *out,
		      struct ovl_err *err);
/** The usage text of a command; names, if any, writes the list of what it works on. */
void ovl_options_help(enum ovl_command command, void (*names)(struct ovl_buf *out),
		      struct ovl_buf *out);
/** The contract's load.kind: "iperf-like", "iperf3", "iperf2", "rr"; "none". */
const char *ovl_options_load(const struct ovl_options *o);
/** Bytes of one write, or of a message of round trips. */
uint32_t ovl_options_length(const struct ovl_options *o);
/**
 * The effective options of a run, for the JSON document's `config`; remote: the load's far end is
 * another process, which sends by its own congestion control. 0 or -ENOMEM.
 */
int ovl_options_settings(const struct ovl_options *o, bool remote, struct ovl_facts *facts);

#endif
