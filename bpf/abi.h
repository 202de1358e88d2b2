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

/** A device (ifindex > 0) or a namespace (ifindex 0) that drops may be attributed to. */
struct ovl_device_key {
	__u64 netns; /* inode of the network namespace */
	__u64 ifindex;
};

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

/** Events that could not be kept, counted per CPU in `lost`. */
enum ovl_lost {
	OVL_LOST_STACK = 0,   /* bucket taken by another stack (-EEXIST), without the leaf too */
	OVL_LOST_SAMPLE_MAP,  /* sample map full */
	OVL_LOST_DROP_MAP,    /* drop map full */
	OVL_LOST_DROP_BUDGET, /* drops beyond the per-second budget */
	OVL_LOST_CONNECT_MAP, /* map of attempts to connect full */
	OVL_LOST_COUNT,
};

#endif
