/* Attempts to open TCP connections, and what became of them, by address and port. */
#include "shared.bpf.h"
#include <bpf/bpf_endian.h>

#define FAMILY_INET	2 /* AF_* of the kernel's ABI */
#define FAMILY_INET6	10
#define PROTO_TCP	6
#define STATE_CONNECTED 1 /* TCP_* of include/net/tcp_states.h */
#define STATE_SYN_SENT	2
#define ERR_REFUSED	111 /* ECONNREFUSED: a reset came */

/**
 * By the client's namespace and the address as the client gave it, before any rule rewrites it.
 * Only namespaces of the path. Entries stay, counts only grow.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OVL_CONNECT_ENTRIES);
	__type(key, struct ovl_connect_key);
	__type(value, struct ovl_connect_value);
} connects SEC(".maps");

static __always_inline bool key_of(struct sock *sk, struct ovl_connect_key *key)
{
	__u32 daddr;

	key->netns = ovl_sock_netns(sk);
	if (!ovl_known(key->netns, 0))
		return false;
	key->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	key->port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (key->family == FAMILY_INET) {
		daddr = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(key->addr, &daddr, sizeof(daddr));
		return true;
	}
	return key->family == FAMILY_INET6 &&
	       !BPF_CORE_READ_INTO(&key->addr, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr8);
}

static __always_inline struct ovl_connect_value *value_of(struct sock *sk)
{
	struct ovl_connect_key key = {0};
	struct ovl_connect_value first = {0}, *v;

	if (!key_of(sk, &key))
		return (void *)0;
	v = bpf_map_lookup_elem(&connects, &key);
	if (v)
		return v;
	bpf_map_update_elem(&connects, &key, &first, BPF_NOEXIST);
	v = bpf_map_lookup_elem(&connects, &key);
	if (!v)
		ovl_count(&lost, OVL_LOST_CONNECT_MAP);
	return v;
}

/* A socket's TCP state changes: (sk, old state, new state). */
SEC("tp_btf/inet_sock_set_state")
int ovl_connect(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	const int from = (int)ctx[1], to = (int)ctx[2];
	struct ovl_connect_value *v;

	if (from != STATE_SYN_SENT && to != STATE_SYN_SENT)
		return 0;
	ovl_count(&runs, OVL_PROG_CONNECT);
	if (BPF_CORE_READ(sk, sk_protocol) != PROTO_TCP)
		return 0;
	v = value_of(sk);
	if (!v)
		return 0;
	if (to == STATE_SYN_SENT)
		__sync_fetch_and_add(&v->tried, 1);
	else if (to == STATE_CONNECTED)
		__sync_fetch_and_add(&v->answered, 1);
	else if (BPF_CORE_READ(sk, sk_err) == ERR_REFUSED)
		__sync_fetch_and_add(&v->refused, 1);
	else
		__sync_fetch_and_add(&v->unanswered, 1);
	return 0;
}

/** A SYN that is sent again, called by the retransmit program. */
__hidden void ovl_connect_again(struct sock *sk)
{
	struct ovl_connect_value *v;

	if (BPF_CORE_READ(sk, __sk_common.skc_state) != STATE_SYN_SENT)
		return;
	v = value_of(sk);
	if (v)
		__sync_fetch_and_add(&v->repeated, 1);
}

char LICENSE[] SEC("license") __weak = "GPL";
