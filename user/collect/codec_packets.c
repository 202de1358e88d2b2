/* The packets of a sample of a recording: one line per member. */
#include <errno.h>
#include <inttypes.h>

#include "collect/codec.h"

/* Points and directions lie in one array, in the order of bpf/abi.h. */
#define HOP(m)	    OVL_F(struct ovl_hop_delta, n.m, UINT)
#define AT(p, c, m) OVL_F(struct ovl_hop_delta, n.at[p][c].m, UINT)
#define WAY(p, c)   AT(p, c, skbs), AT(p, c, bytes), AT(p, c, segs), AT(p, c, gso_skbs)
#define BOTH(p)	    WAY(p, 0), WAY(p, 1)
static const struct ovl_codec_field hop_fields[] = {
	OVL_F(struct ovl_hop_delta, link, UINT),
	BOTH(0),
	BOTH(1),
	BOTH(2),
	BOTH(3),
	BOTH(4),
	HOP(head_moved),
	HOP(linearised),
	HOP(checksummed),
	HOP(xmit_refused),
};
static const struct ovl_codec_table hop_table =
	OVL_CODEC_TABLE(struct ovl_hop_delta, "a hop", hop_fields);

static const struct ovl_codec_field step_fields[] = {
	OVL_F(struct ovl_step, from, UINT),
	OVL_F(struct ovl_step, to, UINT),
	OVL_F_ARRAY(struct ovl_step, skbs),
};
static const struct ovl_codec_table step_table =
	OVL_CODEC_TABLE(struct ovl_step, "a step", step_fields);

/* Kinds and directions of a newer version are left out by ovl_model_add. */
static const struct ovl_codec_field wait_fields[] = {
	OVL_F(struct ovl_wait, link, UINT),   OVL_F(struct ovl_wait, kind, UINT),
	OVL_F(struct ovl_wait, dir, UINT),    OVL_F(struct ovl_wait, sum_ns, UINT),
	OVL_F(struct ovl_wait, max_ns, UINT), OVL_F_ARRAY(struct ovl_wait, n),
};
static const struct ovl_codec_table wait_table =
	OVL_CODEC_TABLE(struct ovl_wait, "a wait", wait_fields);

static const struct ovl_codec_field daemon_fields[] = {
	OVL_F(struct ovl_daemon_delta, daemon, UINT),
	OVL_F(struct ovl_daemon_delta, n.wakeups, UINT),
	OVL_F(struct ovl_daemon_delta, n.switches, UINT),
	OVL_F(struct ovl_daemon_delta, n.preemptions, UINT),
	OVL_F(struct ovl_daemon_delta, user_ns, OPT),
	OVL_F(struct ovl_daemon_delta, kernel_ns, OPT),
};
static const struct ovl_codec_table daemon_table =
	OVL_CODEC_TABLE(struct ovl_daemon_delta, "a daemon's work", daemon_fields);

static const struct ovl_codec_field syscall_fields[] = {
	OVL_F(struct ovl_syscall, daemon, UINT), OVL_F(struct ovl_syscall, name, STR),
	OVL_F(struct ovl_syscall, calls, UINT),	 OVL_F(struct ovl_syscall, failed, UINT),
	OVL_F(struct ovl_syscall, bytes, OPT),
};
static const struct ovl_codec_table syscall_table =
	OVL_CODEC_TABLE(struct ovl_syscall, "a system call", syscall_fields);

static const struct ovl_codec_field packets_fields[] = {
	OVL_F(struct ovl_packets_delta, open_ns, UINT),
	OVL_F(struct ovl_packets_delta, windows, UINT),
	OVL_F(struct ovl_packets_delta, windows_lost, UINT),
	OVL_F_VEC(struct ovl_packets_delta, hops, hop_table, OVL_HOPS_MAX),
	OVL_F_VEC(struct ovl_packets_delta, steps, step_table, OVL_EDGES_MAX),
	OVL_F_VEC(struct ovl_packets_delta, waits, wait_table, OVL_WAITS_MAX),
	OVL_F_VEC(struct ovl_packets_delta, daemons, daemon_table, OVL_DAEMONS_MAX),
	OVL_F_VEC(struct ovl_packets_delta, syscalls, syscall_table, OVL_SYSCALLS_MAX),
};
const struct ovl_codec_table ovl_codec_packets =
	OVL_CODEC_TABLE(struct ovl_packets_delta, "the packets", packets_fields);

static int beyond(const char *what, uint32_t index, size_t n, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL, "%s names number %" PRIu32 " of %zu", what,
			   index, n);
}

int ovl_codec_packets_check(const struct ovl_packets_delta *p, const struct ovl_facts *f,
			    struct ovl_err *err)
{
	ovl_vec_each(hop, &p->hops) {
		if (hop->link >= f->links.n)
			return beyond("a hop", hop->link, f->links.n, err);
	}
	ovl_vec_each(step, &p->steps) {
		if (step->from / 2 >= f->links.n || step->to / 2 >= f->links.n)
			return beyond("a step",
				      step->from / 2 >= f->links.n ? step->from : step->to,
				      2 * f->links.n, err);
	}
	ovl_vec_each(wait, &p->waits) {
		if (wait->link >= f->links.n && wait->link != OVL_LINK_NONE)
			return beyond("a wait", wait->link, f->links.n, err);
	}
	ovl_vec_each(daemon, &p->daemons) {
		if (daemon->daemon >= f->daemons.n)
			return beyond("a daemon's work", daemon->daemon, f->daemons.n, err);
	}
	ovl_vec_each(call, &p->syscalls) {
		if (call->daemon >= f->daemons.n)
			return beyond("a system call", call->daemon, f->daemons.n, err);
	}
	return 0;
}
