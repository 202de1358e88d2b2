/* What synth writes: CPU rows, connections and devices of each scenario. */
#ifndef OVL_TESTS_SYNTH_PLANS_H
#define OVL_TESTS_SYNTH_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "model/sample.h"
#include "model/stage.h"

#define MS	    1000000ull
#define PAIRS	    6
#define START_TS_NS (1000ull * 1000 * MS)
#define SAMPLE_HZ   1000 /* one hit is one millisecond: rows come out exact */
#define LINKS	    10

/* Time of one stage on one CPU, pooled over the slices of a phase. */
struct row {
	uint32_t cpu;
	uint8_t stage, work, ctx, task_class;
	uint32_t u_ms, o_ms; /* underlay and overlay phase */
	const char *symbol;
};

/* The sender's connection in one phase. */
struct conn {
	uint64_t bytes;
	uint32_t busy_ms, rwnd_ms, sndbuf_ms;
	uint32_t retransmits; /* per slice */
	uint32_t rtt_us, cwnd_segs;
};

struct plan {
	const char *name;
	const struct row *rows;
	size_t n_rows;
	uint32_t cpus;
	uint32_t wall_ms[PAIRS]; /* length of a slice by pair, the same in both phases */
	struct conn conn[2];	 /* underlay, overlay */
	bool settle;		 /* an interval between slices */
	/* overlay slices also have: */
	uint32_t drops, lost;
	bool huge;
};

#define TX_TASK OVL_CTX_TASK, OVL_TASK_LOAD_TX
#define RX_TASK OVL_CTX_TASK, OVL_TASK_LOAD_RX
#define SOFTIRQ OVL_CTX_SOFTIRQ, OVL_TASK_OTHER

/* Two CPUs whose pooled rows give known losses: vector A of the waterfall's test vectors. What is
 * there "other traffic" is another task's time here: exogenous as well. */
static const struct row vector_a[] = {
	{0, OVL_STAGE_TCP_TX, OVL_WORK_OTHER, TX_TASK, 1500, 900, "tcp_write_xmit"},
	{0, OVL_STAGE_COPY_FROM_USER, OVL_WORK_COPY, TX_TASK, 1750, 700, "rep_movs_alternative"},
	{0, OVL_STAGE_VETH, OVL_WORK_OTHER, TX_TASK, 250, 350, "veth_xmit"},
	{0, OVL_STAGE_IP, OVL_WORK_LOOKUP, TX_TASK, 250, 400, "fib_table_lookup"},
	{0, OVL_STAGE_QDISC, OVL_WORK_LOCK, TX_TASK, 250, 450, "_raw_spin_lock"},
	{0, OVL_STAGE_BRIDGE, OVL_WORK_LOOKUP, TX_TASK, 0, 200, "br_fdb_find_rcu"},
	{0, OVL_STAGE_NETFILTER, OVL_WORK_OTHER, TX_TASK, 0, 150, "nft_do_chain"},
	{0, OVL_STAGE_VXLAN_ENCAP, OVL_WORK_OTHER, TX_TASK, 0, 400, "vxlan_xmit_one"},
	{0, OVL_STAGE_GSO, OVL_WORK_ALLOC, TX_TASK, 0, 900, "skb_segment"},
	{0, OVL_STAGE_VXLAN_DECAP, OVL_WORK_OTHER, SOFTIRQ, 0, 250, "vxlan_rcv"},
	{0, OVL_STAGE_UNCLASSIFIED, OVL_WORK_OTHER, TX_TASK, 25, 50, NULL},
	{0, OVL_STAGE_USER_OTHER, OVL_WORK_OTHER, OVL_CTX_USER, OVL_TASK_OTHER, 50, 50, NULL},
	{0, OVL_STAGE_KERNEL_OTHER, OVL_WORK_OTHER, OVL_CTX_TASK, OVL_TASK_SELF, 25, 50, NULL},
	{1, OVL_STAGE_COPY_TO_USER, OVL_WORK_COPY, RX_TASK, 3600, 1500, "rep_movs_alternative"},
	{1, OVL_STAGE_TCP_RX, OVL_WORK_OTHER, SOFTIRQ, 900, 700, "tcp_v4_rcv"},
	{1, OVL_STAGE_WAKEUP, OVL_WORK_LOCK, SOFTIRQ, 350, 250, "try_to_wake_up"},
	{1, OVL_STAGE_GRO, OVL_WORK_OTHER, SOFTIRQ, 0, 800, "dev_gro_receive"},
	{1, OVL_STAGE_BRIDGE, OVL_WORK_LOOKUP, SOFTIRQ, 0, 150, "br_handle_frame"},
	{1, OVL_STAGE_UNCLASSIFIED, OVL_WORK_OTHER, RX_TASK, 25, 50, NULL},
};

/* Little work on both CPUs: something else is the limit. */
static const struct row light[] = {
	{0, OVL_STAGE_TCP_TX, OVL_WORK_OTHER, TX_TASK, 900, 150, "tcp_write_xmit"},
	{0, OVL_STAGE_COPY_FROM_USER, OVL_WORK_COPY, TX_TASK, 1500, 200, "rep_movs_alternative"},
	{0, OVL_STAGE_VXLAN_ENCAP, OVL_WORK_OTHER, TX_TASK, 0, 60, "vxlan_xmit_one"},
	{0, OVL_STAGE_GSO, OVL_WORK_ALLOC, TX_TASK, 0, 90, "skb_segment"},
	{1, OVL_STAGE_COPY_TO_USER, OVL_WORK_COPY, RX_TASK, 1800, 230, "rep_movs_alternative"},
	{1, OVL_STAGE_TCP_RX, OVL_WORK_OTHER, SOFTIRQ, 700, 160, "tcp_v4_rcv"},
	{1, OVL_STAGE_GRO, OVL_WORK_OTHER, SOFTIRQ, 0, 120, "dev_gro_receive"},
	{1, OVL_STAGE_VXLAN_DECAP, OVL_WORK_OTHER, SOFTIRQ, 0, 70, "vxlan_rcv"},
};

/* One overlay's stages with the longest symbol there can be. */
static const struct row wide[] = {
	{0, OVL_STAGE_GSO, OVL_WORK_CHECKSUM, TX_TASK, 300, 1900,
	 "a_function_whose_name_is_as_long_as_any_function_name_may_be_01"},
	{0, OVL_STAGE_COPY_FROM_USER, OVL_WORK_COPY, TX_TASK, 2400, 1500, "rep_movs_alternative"},
	{0, OVL_STAGE_VXLAN_ENCAP, OVL_WORK_OTHER, TX_TASK, 0, 500, "vxlan_xmit_one"},
	{1, OVL_STAGE_GRO, OVL_WORK_OTHER, SOFTIRQ, 800, 1700, "dev_gro_receive"},
	{1, OVL_STAGE_COPY_TO_USER, OVL_WORK_COPY, RX_TASK, 2600, 1200, "rep_movs_alternative"},
	{1, OVL_STAGE_VXLAN_DECAP, OVL_WORK_OTHER, SOFTIRQ, 0, 300, "vxlan_rcv"},
};

#define ROWS(r) .rows = (r), .n_rows = sizeof(r) / sizeof((r)[0])

static const struct plan plans[] = {
	{.name = "vector-a",
	 ROWS(vector_a),
	 .cpus = 2,
	 .wall_ms = {800, 800, 800, 800, 900, 900},
	 .conn = {{12500000000, 5000, 0, 0, 0, 90, 80}, {5000000000, 5000, 0, 0, 0, 210, 64}}},
	{.name = "window",
	 ROWS(light),
	 .cpus = 2,
	 .settle = true,
	 .wall_ms = {600, 600, 700, 700, 700, 700},
	 .conn = {{8000000000, 3960, 80, 0, 0, 100, 80}, {1000000000, 3980, 3600, 0, 0, 240, 20}}},
	{.name = "lossy",
	 ROWS(light),
	 .cpus = 2,
	 .settle = true,
	 .drops = 180,
	 .lost = 25,
	 .wall_ms = {600, 600, 700, 700, 700, 700},
	 .conn = {{8000000000, 3960, 80, 0, 0, 100, 80}, {600000000, 4000, 10, 0, 140, 900, 6}}},
	{.name = "wide",
	 ROWS(wide),
	 .cpus = 64,
	 .settle = true,
	 .drops = 1,
	 .lost = 1,
	 .huge = true,
	 .wall_ms = {600, 600, 700, 700, 700, 700},
	 .conn = {{450000000000, 4000, 80, 0, 0, 4000000000, 4000000000},
		  {90000000000, 4000, 100, 0, 4000000000, 4000000000, 1}}},
};

static const struct {
	uint32_t ns;
	const char *name, *kind;
	uint32_t mtu;
	int lower;
} links[LINKS] = {
	{0, "eth0", "veth", 1500, 5},	    {0, "flannel.1", "vxlan", 1450, 0},
	{0, "cni0", "bridge", 1450, -1},    {0, "vethpod", "veth", 1450, 4},
	{1, "eth0", "veth", 1450, 3},	    {2, "eth0", "veth", 1500, 0},
	{2, "flannel.1", "vxlan", 1450, 5}, {2, "cni0", "bridge", 1450, -1},
	{2, "vethpod", "veth", 1450, 9},    {3, "eth0", "veth", 1450, 8},
};

#endif
