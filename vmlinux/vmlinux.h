/*
 * The kernel's types that our BPF programs read, and nothing else: curated by hand, not dumped.
 *
 * Every struct carries preserve_access_index, so offsets come from the running kernel's BTF (CO-RE)
 * and only names and kinds matter here. tests/vmlinux.t asserts that each field exists there; one
 * that only some kernels have is followed by "optional:" with the version that changed it.
 * 64-bit kernels only: sk_buff.end is an offset there and a pointer on 32-bit ones.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

/* from include/uapi/linux/bpf.h: part of the kernel's ABI, never renumbered */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_LRU_HASH = 9,
};

enum {
	BPF_F_NO_PREALLOC = 1,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

/* from include/uapi/asm-generic/errno-base.h */
#define EEXIST 17
#define EFAULT 14

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct napi_struct {
	struct net_device *dev;
};

struct nf_hook_state {
	struct net *net;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
};

struct sock {
	struct sock_common __sk_common;
	int sk_err;
	__u16 sk_type;
	__u16 sk_protocol; /* a bit field before 5.6 */
};

struct msghdr {
	unsigned int msg_flags;
};

struct nsproxy {
	struct net *net_ns;
};

struct task_struct {
	int pid;
	int tgid;
	struct nsproxy *nsproxy;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs;
};

struct sk_buff {
	struct sk_buff *next;
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	unsigned int data_len;
	__u8 ip_summed : 2;
	int skb_iif;
	__u16 csum_start;
	__be16 protocol;
	__u16 network_header;
	__u32 tail; /* sk_buff_data_t */
	__u32 end;  /* sk_buff_data_t */
	unsigned char *head;
	unsigned char *data;
	char cb[48];
};

/* what TCP keeps in sk_buff.cb */
struct tcp_skb_cb {
	__u16 tcp_gso_segs;
};

#pragma clang attribute pop

#endif
