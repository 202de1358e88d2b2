/*
 * Facts of a run that do not change from sample to sample: host, interface, path, load,
 * instruments.
 * Plain data, made by collect and app (or read back from a recording), consumed by model and view.
 */
#ifndef OVL_MODEL_FACTS_H
#define OVL_MODEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/abi.h"
#include "model/func.h"

#define OVL_NAME_MAX 64 /* names of namespaces, hosts, counters, symbols */
#define OVL_IF_MAX   16 /* IFNAMSIZ */
#define OVL_TEXT_MAX 256

/** One network namespace on the path. */
struct ovl_ns {
	/* name in /run/netns, else "twin:a-node"…, else "net:[inode]"; "" never */
	char name[OVL_NAME_MAX];
	uint64_t inode;
};

/** One feature bit of a device, by ethtool's name. */
struct ovl_feature {
	char name[40];
	bool on;
};

/** One device on the path. */
struct ovl_link {
	uint32_t ns; /* index into ovl_facts.ns */
	int ifindex;
	char name[OVL_IF_MAX];
	char kind[OVL_IF_MAX]; /* rtnetlink's kind, "loopback"; "" for a physical device */
	uint32_t mtu;
	/* index of the underlay (tunnel) or peer (veth) device in ovl_facts.links, -1: none */
	int lower;
	/* index of the bridge, bond… it is a port of in ovl_facts.links, -1: none or unknown */
	int master;
	bool up;
	OVL_VEC(struct ovl_feature) features;
};

struct ovl_vxlan {
	bool valid;
	uint32_t vni;
	uint16_t port;
	char local[46];	      /* address, "" when unset */
	char dev[OVL_IF_MAX]; /* "" when unset */
};

/** The load as configured and as agreed with the peer. */
struct ovl_load_facts {
	bool valid;
	char kind[16];	    /* "iperf-like" */
	char peer_kind[16]; /* "twin" "lab" "ovltrace" */
	uint32_t streams;
	char congestion[16];
	int cpu_sender, cpu_receiver; /* -1: on another host, or not pinned */
	bool has_underlay;	      /* slices of the underlay are measured */
	/* one sentence, e.g. "twin of flannel.1 (CPU only: no NIC, no wire)" */
	char where[OVL_TEXT_MAX];
	char disagreement
		[OVL_TEXT_MAX]; /* of sender and receiver in the end; "": none, or unknown */
};

/** One instrument that is absent, and what that costs. */
struct ovl_missing {
	char hook[OVL_NAME_MAX];
	char reason[OVL_TEXT_MAX];
	char lost[OVL_TEXT_MAX];
};

/** One kernel function that is probed. */
struct ovl_func_probe {
	uint8_t func; /* enum ovl_func (bpf/abi.h), OVL_FUNC_COUNT: unknown to this version */
	uint8_t tier; /* enum ovl_tier, never AUTO */
};

/** One effective option, for the JSON document's `config`. */
struct ovl_setting {
	char name[32];
	char value[OVL_TEXT_MAX];
};

/** The process behind a tun device of the path. */
struct ovl_daemon {
	uint32_t link; /* index into ovl_facts.links of the device */
	int pid;
	char name[16];	 /* as in /proc/PID/comm */
	int vnet_header; /* aggregates may pass, behind a header: 1, 0; -1: unknown */
};

/** How packets are counted. */
struct ovl_packet_facts {
	bool valid;
	bool deep;			    /* all the time, else in windows */
	uint64_t window_ns;		    /* length of a window */
	uint32_t progs;			    /* tracepoint programs */
	uint64_t cost_ns[OVL_PACKET_PROGS]; /* of one run, dispatch included; 0: unknown */
};

struct ovl_facts {
	char tool_version[16], libbpf_version[16];
	char kernel[OVL_NAME_MAX], arch[16], nodename[OVL_NAME_MAX];
	uint32_t cpus; /* online */
	uint64_t start_unix_ns;

	OVL_VEC(struct ovl_ns) ns;
	OVL_VEC(struct ovl_link) links;
	int iface; /* index into links of the interface looked at, -1: none (yet) */
	struct ovl_vxlan vxlan;
	struct ovl_load_facts load;

	uint32_t sample_hz; /* 0: no sampler */
	uint64_t interval_ns;
	/* calibrated at start; 0: unknown */
	uint64_t sample_cost_ns;     /* one sampler interrupt, dispatch and stack walk included */
	uint64_t drop_cost_ns;	     /* one run of the drop program, dispatch included */
	uint64_t retransmit_cost_ns; /* one run of the retransmit program, dispatch included */
	uint64_t func_cost_ns;	 /* one run of a program at a function, dispatch included: a mean */
	uint32_t progs_attached; /* tracepoint programs attached */
	struct ovl_packet_facts packets;
	OVL_VEC(struct ovl_daemon) daemons;
	OVL_VEC(struct ovl_func_probe) funcs;
	OVL_VEC(struct ovl_missing) missing;
	OVL_VEC(struct ovl_setting) config;
};

/** How many programs measure, by what they are attached to. */
struct ovl_probes {
	uint32_t tracepoint;	 /* those of windows too, open or not */
	uint32_t fentry, kprobe; /* kernel functions */
	uint32_t sampler;
	uint32_t all;
};

/** Release what *f holds and zero it. */
void ovl_facts_fini(struct ovl_facts *f);
/** Name of a namespace by index, "?" when out of range. */
const char *ovl_facts_ns(const struct ovl_facts *f, uint32_t ns);
/** Is this namespace one of the path's? Indices out of range stand for the rest of the machine. */
bool ovl_facts_on_path(const struct ovl_facts *f, uint32_t ns);
/** Is the load one of round trips, which has no throughput? */
bool ovl_facts_rr(const struct ovl_facts *f);
/** A device's kind in one word: rtnetlink's, else "loopback" or "physical". */
const char *ovl_facts_kind(const struct ovl_link *link);
/**
 * Is the load's sender on this host, so that its TCP's state (retransmits, round trips, what it
 * waits for) is known?
 */
bool ovl_facts_sends(const struct ovl_facts *f);
struct ovl_probes ovl_facts_probes(const struct ovl_facts *f);
/** The interface looked at, or NULL. */
const struct ovl_link *ovl_facts_iface(const struct ovl_facts *f);

#endif
