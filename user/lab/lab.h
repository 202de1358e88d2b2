/*
 * Labs and the twin: network namespaces that stand in for clusters. Built by rtnetlink alone.
 *
 * A topology is built the same way twice: as a *lab* (named namespaces, stays until `lab down`) or
 * as a *twin* (unnamed namespaces held only by this process: they vanish with it, even by kill -9).
 * Nothing outside the namespaces made here is changed.
 */
#ifndef OVL_LAB_LAB_H
#define OVL_LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define OVL_LAB_PREFIX	    "ovl-"		/* of every named namespace of a lab */
#define OVL_LAB_STATE_DIR   "/run/ovltrace/lab" /* one file per lab that is (or was being) made */
#define OVL_LAB_ENDS_MAX    16
#define OVL_LAB_SERVED_PORT 5201 /* port at which an end that is only an address is served */
#define OVL_LAB_NOWHERE	    255	 /* namespace of an end that is only an address */

enum ovl_lab_offloads {
	OVL_LAB_OFFLOADS_CLOUD = 0, /* default: TSO for plain TCP, no tunnel segmentation */
	OVL_LAB_OFFLOADS_ALL,	    /* everything veth offers */
	OVL_LAB_OFFLOADS_NOGSO,	    /* no TSO at all on the underlay */
};

/** Where IPv6 is used instead of IPv4; the values are bits. */
enum ovl_lab_ipv6 {
	OVL_LAB_IPV6_NONE = 0,
	OVL_LAB_IPV6_INSIDE = 1,  /* pods */
	OVL_LAB_IPV6_OUTSIDE = 2, /* underlay */
	OVL_LAB_IPV6_BOTH = 3,
};

/** What to build. Zero-initialised plus `topology` is that topology's default. */
struct ovl_lab_spec {
	const char *topology; /* "flannel-vxlan" */
	enum ovl_lab_offloads offloads;
	enum ovl_lab_ipv6 ipv6;
	uint32_t underlay_mtu;	 /* 0: 1500 */
	uint32_t overlay_mtu;	 /* 0: what the underlay's leaves to the encapsulation */
	uint32_t nodes;		 /* 0: the topology's choice */
	uint32_t pods;		 /* on each node, or containers in a network; 0: the same */
	uint64_t rate_bps;	 /* of each underlay link (token bucket); 0: unlimited */
	bool batch;		 /* flannel-udp: the relay moves many packets a system call */
	uint32_t vni;		 /* 0: 1 */
	uint16_t port;		 /* UDP port of the encapsulation; 0: the backend's */
	const char *tunnel_name; /* NULL: the topology's */
	/* RPS of side a's and side b's devices; both 0: chosen, see base/cpus.h */
	int cpu_sender, cpu_receiver;
	uint32_t max_streams; /* bound on frames in flight is shared by these; 0: 1 */
	/*
	 * Offload feature names (ethtool -k) to switch off on the underlay pair. NULL: as
	 * `offloads` says; a list, an empty one too, replaces the profile. Names this kernel lacks
	 * count as off.
	 */
	const char *const *features_off;
	size_t n_features_off;
	const char *const *tunnel_features_off; /* the same for the tunnel device */
	size_t n_tunnel_features_off;
};

/** One endpoint of a built lab: a place with an address, or only an address. */
struct ovl_lab_end {
	char name[16];	/* "node1", "pod1", "service" */
	char netns[64]; /* "ovl-flannel-vxlan-node1", or "twin:a-node"; "" for an address only */
	/* index of the end whose namespace it is in (often its own), or OVL_LAB_NOWHERE */
	uint8_t place;
	uint8_t server;	 /* index of the (first) end where what is sent to `addr` is served */
	uint8_t servers; /* how many such ends; which one answers is chosen by connection */
	uint8_t host;	 /* index of the node it is on; of a node its own */
	int netns_fd;	 /* open, owned by the lab, the same for all in one place; else -1 */
	char addr[46];	 /* where its TCP server can be reached from its peers */
	char side;	 /* 'a': sender's host, 'b': receiver's host */
	bool node;	 /* true: forwards, as the host of its side does; false: a pod */
};

/** Client and server of a load, as indices of ends. */
struct ovl_lab_pair {
	bool used;
	uint8_t from, to;
};
enum ovl_lab_load { OVL_LAB_LOAD_UNDERLAY = 0, OVL_LAB_LOAD_OVERLAY, OVL_LAB_LOADS };

struct ovl_lab {
	bool twin;
	char topology[32];
	uint32_t n_ends;
	struct ovl_lab_end ends[OVL_LAB_ENDS_MAX];
	char iface[16];	   /* the device the lab is about: "flannel.1", "docker0", "lo" */
	uint8_t iface_end; /* index of the end where to look at it */
	struct ovl_lab_pair load[OVL_LAB_LOADS];
	int cpu_sender, cpu_receiver;
	/* bound on wire frames in flight, all streams (below 0.8 × netdev_max_backlog) */
	uint32_t max_frames;
};

/** Build a named lab. -EEXIST if it is up (err says how to remove it). Undoes a half-made one. */
int ovl_lab_up(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err);
/** Build the same topology in unnamed namespaces that only this process holds. */
int ovl_lab_twin(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err);
/** Open a lab that is up, by its topology's name. -ENOENT if there is none. */
int ovl_lab_open(const char *topology, struct ovl_lab *lab, struct ovl_err *err);
/**
 * Open the lab that owns a named namespace ("ovl-flannel-vxlan-node1").
 * 0, or -ENOENT with err untouched if that namespace belongs to no lab.
 */
int ovl_lab_open_by_netns(const char *netns, struct ovl_lab *lab, struct ovl_err *err);
/** Close the handles (of a twin: this is what removes it). */
void ovl_lab_close(struct ovl_lab *lab);
/**
 * Remove a lab, or what a broken `up` left of it; topology NULL: all labs. Names what is still
 * used.
 */
int ovl_lab_down(const char *topology, struct ovl_buf *out, struct ovl_err *err);
/** A few lines per lab that is up: by whom and when, its ends, how to use and remove it. */
int ovl_lab_list(struct ovl_buf *out, struct ovl_err *err);
/** Run argv in an endpoint's namespace, replacing this process; returns only on failure. */
int ovl_lab_exec(const char *topology, const char *end, char *const argv[], struct ovl_err *err);
/** Endpoint by name, NULL if there is none. */
const struct ovl_lab_end *ovl_lab_end(const struct ovl_lab *lab, const char *name);
/** Append one line per topology: its name and what it stands for. */
void ovl_lab_topologies(struct ovl_buf *out);

#endif
