/* What BPF programs and user space both know: map keys, values and switches. Included by both. */
#ifndef OVL_ABI_H
#define OVL_ABI_H

/* Both sides have __u32 & co.: vmlinux.h on the BPF side, <linux/types.h> on the other. */
#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define OVL_STACK_DEPTH	  127	/* frames of one stack: the kernel's maximum */
#define OVL_STACK_BUCKETS 16384 /* of one stack map, a power of two */
#define OVL_SAMPLE_ENTRIES \
	16384 /* distinct (stack, CPU, task class, mode) per interval, at least */
#define OVL_TASK_ENTRIES    1024 /* tasks with a class of their own */
#define OVL_DROP_ENTRIES    4096 /* distinct (reason, location, device) per interval */
#define OVL_CONNECT_ENTRIES 4096 /* addresses and ports that were connected to */
#define OVL_DEVICE_ENTRIES  4096 /* devices and namespaces a drop can be attributed to */
#define OVL_DROP_BUDGET \
	200000 /* kfree_skb events a second and CPU that are looked at; the rest is counted */

/** Who a task works for; tasks not in the map are OVL_TASK_OTHER. */
enum ovl_task_class {
	OVL_TASK_OTHER = 0,
	OVL_TASK_LOAD_TX, /* our load's sending side */
	OVL_TASK_LOAD_RX, /* our load's receiving side */
	OVL_TASK_DAEMON,  /* a tun daemon */
	OVL_TASK_PROXY,	  /* a port proxy */
	OVL_TASK_SELF,	  /* ovltrace itself */
	OVL_TASK_CLASSES,
};

/*
 * Bits of `ovl_active`, which user space flips: every map that is drained exists twice, and the bit
 * says which of the two programs write to. Stack maps are flipped apart and less often, because a
 * stack keeps its id for as long as its map is not emptied.
 */
#define OVL_ACTIVE_EVENTS 1u /* samples and drops */
#define OVL_ACTIVE_STACKS 2u /* stacks */

/** Key of one sampled situation (value: __u64 count). */
struct ovl_sample_key {
	__s32 kernel_stack; /* id in the interval's stack map; < 0: -errno of bpf_get_stackid */
	__u32 cpu;
	__u8 task_class; /* enum ovl_task_class of the current task */
	__u8 idle;	 /* 1: the current task is the CPU's idle task */
	__u8 user;	 /* 1: the interrupt hit user mode (kernel_stack is then -EFAULT) */
	__u8 cut;	 /* 1: kept without its leaf, because the whole stack's bucket was taken */
};

/**
 * A device (ifindex > 0) or a namespace (ifindex 0) that drops and calls may be attributed to
 * (value: OVL_DEVICE_* bits).
 */
struct ovl_device_key {
	__u64 netns; /* inode of the network namespace */
	__u64 ifindex;
};

#define OVL_DEVICE_KNOWN 1u
#define OVL_DEVICE_TUN	 2u /* hands its packets to a process */

/** Key of one kind of drop (values: struct ovl_drop_value, per CPU). */
struct ovl_drop_key {
	__u64 location; /* instruction address that freed the skb */
	__u64 netns;	/* inode of the network namespace, 0: unknown */
	__u32 ifindex;	/* 0: unknown */
	__u32 reason;	/* value of enum skb_drop_reason of the running kernel */
	__u16 protocol; /* skb->protocol, host order */
	__u16 pad[3];
};

struct ovl_drop_value {
	__u64 pkts; /* skbs */
	__u64 segs; /* wire segments: gso_segs of each, at least 1 */
};

/** Key of attempts to connect to one address (value: struct ovl_connect_value). */
struct ovl_connect_key {
	__u64 netns; /* inode of the client's network namespace */
	__u8 addr[16];
	__u16 family; /* AF_INET, AF_INET6 */
	__u16 port;
	__u32 pad;
};

/** They only grow. */
struct ovl_connect_value {
	__u64 tried, answered, refused, unanswered, repeated;
};

/** Programs whose runs are counted per CPU in `runs`. */
enum ovl_prog {
	OVL_PROG_SAMPLER = 0,
	OVL_PROG_DROPS,
	OVL_PROG_RETRANSMIT,
	OVL_PROG_CONNECT,
	OVL_PROG_COUNT,
};

/*
 * Calls of kernel functions (bpf/funcs/), by the rows of hooks.def.
 */
#define OVL_FUNC_ENTRIES 2048 /* distinct (function, device) */

enum ovl_func {
#define FUNC(KEY, key, symbol, module, place, p, skb, bytes, b, touch, side, flags, lost) \
	OVL_FUNC_##KEY,
#include "hooks.def"
	OVL_FUNC_COUNT,
};

/** Where a call's device and namespace are found. */
enum ovl_func_place {
	OVL_PLACE_SKB = 0, /* struct sk_buff */
	OVL_PLACE_SK,	   /* struct sock */
	OVL_PLACE_DEV,	   /* struct net_device */
	OVL_PLACE_NET,	   /* struct net */
	OVL_PLACE_NAPI,	   /* struct napi_struct */
	OVL_PLACE_STATE,   /* struct nf_hook_state */
	OVL_PLACE_PKT,	   /* a pointer to a pointer to the skb */
};

/** What one call moves, in bytes. */
enum ovl_func_bytes {
	OVL_BYTES_NONE = 0,
	OVL_BYTES_LEN,	  /* of the skb */
	OVL_BYTES_REST,	  /* of the skb, less an argument */
	OVL_BYTES_ARG,	  /* an argument */
	OVL_BYTES_RET,	  /* what the function returns, unless negative */
	OVL_BYTES_RETLEN, /* length of the skb that it returns */
	OVL_BYTES_TAIL,	  /* used part of the skb's head, headroom included */
	OVL_BYTES_HEADLEN,
	OVL_BYTES_PAGED,  /* what is not in the head */
	OVL_BYTES_CSUM,	  /* from csum_start on */
	OVL_BYTES_SEGHDR, /* headers times segments */
};

#define OVL_FUNC_NO	0xffu /* no such argument */
#define OVL_FUNC_SLEEPS 1u    /* counted, not timed */

/** Key of what is counted of one function at one device (values: struct ovl_func_value, per CPU) */
struct ovl_func_key {
	__u64 netns;   /* inode, 0: not of the path */
	__u32 ifindex; /* 0: unknown, or of no device */
	__u16 func;    /* enum ovl_func */
	__u16 turn;    /* 0 or 1: see ovl_func_turn */
};

struct ovl_func_value {
	__u64 calls;
	__u64 bytes;
	__u64 segs;    /* wire segments of the skbs */
	__u64 timed;   /* calls of which the times are known */
	__u64 incl_ns; /* from entry to return */
	__u64 excl_ns; /* the same without the other functions of the table that it called */
};

/** Events that could not be kept, counted per CPU in each object's map of losses. */
enum ovl_lost {
	OVL_LOST_STACK = 0,    /* bucket taken by another stack (-EEXIST), without the leaf too */
	OVL_LOST_SAMPLE_MAP,   /* sample map full */
	OVL_LOST_DROP_MAP,     /* drop map full */
	OVL_LOST_DROP_BUDGET,  /* drops beyond the per-second budget */
	OVL_LOST_CONNECT_MAP,  /* map of attempts to connect full */
	OVL_LOST_FUNC_MAP,     /* calls of functions, for want of room */
	OVL_LOST_FUNC_SPAN,    /* times of calls of which begin or end was not seen */
	OVL_LOST_PACKET_MAP,   /* no room for a step, a histogram or a system call */
	OVL_LOST_PACKET_SPAN,  /* no slot free for a wait, or a wait too old to be true */
	OVL_LOST_PACKET_DEPTH, /* devices nested deeper than is kept */
	/* runs of programs at packets and functions that the kernel left out, by its own account */
	OVL_LOST_RUN,
	OVL_LOST_COUNT,
};

/*
 * Packets of the path, counted while a window is open (bpf/packets/). A hop is one device of the
 * facts, known to the programs by its index there.
 */
#define OVL_HOPS_MAX	 256  /* devices that are counted */
#define OVL_EDGES_MAX	 4096 /* distinct steps from one hop to the next */
#define OVL_WAIT_BUCKETS 120  /* of one histogram, see hist.h */
#define OVL_WAITS_MAX	 1024 /* histograms: hop × kind × direction */
#define OVL_SPAN_BITS	 15   /* of the number of packets whose wait can be timed */
#define OVL_DAEMONS_MAX	 64   /* processes behind tun devices, and kinds of system calls of one */
#define OVL_SYSCALLS_MAX 1024
#define OVL_SPAN_MAX_NS	 1000000000ull /* a wait longer than this is taken for a reused address */

/** What is known of a device beforehand: bits of struct ovl_hop_value.flags. */
#define OVL_HOP_TUNNEL 1u /* encapsulates in the kernel */
#define OVL_HOP_TUN    2u /* hands its packets to a process */

/** Value of a device in the map of hops (key: struct ovl_device_key). */
struct ovl_hop_value {
	__u32 index;
	__u32 flags;
};

/** Places where a packet is seen at a device, in the order it passes them. */
enum ovl_hop_point {
	OVL_POINT_QUEUE = 0, /* net_dev_queue: handed to the device, before its qdisc */
	OVL_POINT_XMIT,	     /* net_dev_start_xmit: what the driver gets, after segmentation */
	OVL_POINT_BACKLOG,   /* netif_rx: received, to wait for the softirq */
	OVL_POINT_GRO,	     /* napi_gro_receive: received, before aggregation */
	OVL_POINT_RX,	     /* netif_receive_skb: what the stack gets, after aggregation */
	OVL_POINTS,
};

/** Which way of a flow a packet goes: a TCP segment without payload goes the way of the ACKs. */
enum ovl_dir { OVL_DIR_DATA = 0, OVL_DIR_ACK, OVL_DIRS };

/** Packets of one direction at one point of one hop. */
struct ovl_point_value {
	__u64 skbs;
	__u64 bytes;	/* skb->len: at QUEUE and XMIT with the Ethernet header, else without */
	__u64 segs;	/* wire segments */
	__u64 gso_skbs; /* of these skbs those that stand for several segments */
};

/** All that is counted at one hop (per CPU). */
struct ovl_hop_counts {
	struct ovl_point_value at[OVL_POINTS][OVL_DIRS];
	/* skbs that changed on the way through the device, by what changed */
	__u64 head_moved;   /* a header copy, or its room grown: skb->head is another */
	__u64 linearised;   /* its fragments were copied into its head */
	__u64 checksummed;  /* the checksum was left to the device and is computed now */
	__u64 xmit_refused; /* the driver's answer was not NETDEV_TX_OK */
};

/** A step from one hop to the next; a node is hop index × 2 + (received ? 1 : 0). */
struct ovl_edge_key {
	__u16 from, to;
};

struct ovl_edge_value {
	__u64 skbs[OVL_DIRS];
};

/** What is timed, from where to where. */
enum ovl_wait_kind {
	OVL_WAIT_ENCAP = 0, /* start_xmit(tunnel) → net_dev_queue(device below) */
	OVL_WAIT_DECAP_GRO, /* netif_receive_skb(device below) → napi_gro_receive(tunnel) */
	OVL_WAIT_SOFTIRQ,   /* netif_rx(dev) → netif_receive_skb(dev) */
	OVL_WAIT_QDISC,	    /* qdisc_enqueue(dev) → qdisc_dequeue(dev) */
	OVL_WAIT_SEGMENT,   /* net_dev_queue(dev) → the first start_xmit(dev) of an aggregate */
	OVL_WAIT_TUN,	    /* start_xmit(tun) → copied to the daemon that reads it */
	OVL_WAIT_SOCKET,    /* netif_receive_skb(dev) → copied to the process that reads it */
	OVL_WAIT_RAISE,	    /* softirq_raise(NET_RX) → softirq_entry(NET_RX), no device */
	OVL_WAIT_WAKE,	    /* sched_waking(daemon) → sched_switch to it */
	OVL_WAITS,
};

#define OVL_HOP_NONE 0xffffu /* the waits that belong to no device */

struct ovl_wait_key {
	__u16 hop; /* index, OVL_HOP_NONE; of WAKE the daemon's index */
	__u8 kind; /* enum ovl_wait_kind */
	__u8 dir;  /* enum ovl_dir */
};

struct ovl_wait_value {
	__u64 sum_ns, max_ns;
	__u64 n[OVL_WAIT_BUCKETS];
};

/** System calls of one daemon by number. */
struct ovl_syscall_key {
	__u32 daemon;
	__u32 nr;
};

struct ovl_syscall_value {
	__u64 calls;
	__u64 failed; /* answered -errno, would-block among them */
	__u64 result; /* sum of what the others answered: bytes, for those that move data */
};

/** What the scheduler did with a daemon's threads. */
struct ovl_daemon_counts {
	__u64 wakeups;	   /* sched_waking of one of its threads */
	__u64 switches;	   /* the CPU went from one of its threads to another task */
	__u64 preemptions; /* of these without its wish */
};

/** Programs that count packets: runs and own cost are per kind. */
enum ovl_packet_prog {
	OVL_PACKET_QUEUE = 0,
	OVL_PACKET_START_XMIT,
	OVL_PACKET_XMIT,
	OVL_PACKET_NETIF_RX,
	OVL_PACKET_GRO,
	OVL_PACKET_GRO_FRAGS,
	OVL_PACKET_RECEIVE,
	OVL_PACKET_ENQUEUE,
	OVL_PACKET_DEQUEUE,
	OVL_PACKET_COPY,
	OVL_PACKET_RAISE,
	OVL_PACKET_SOFTIRQ,
	OVL_PACKET_SYS_ENTER,
	OVL_PACKET_SYS_EXIT,
	OVL_PACKET_WAKING,
	OVL_PACKET_SWITCH,
	OVL_PACKET_PROGS,
};

#endif
