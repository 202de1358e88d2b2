#include "collect/packets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "collect/instruments.h"
#include "collect/tundaemon.h"
#include "packets.skel.h"

#define PIDNS_INITIAL	 0xeffffffcu /* PROC_PID_INIT_INO of the kernel */
#define RUNS_ENOUGH	 5	     /* for a mean of what a run costs */
#define TUNNELS		 8
#define VXLAN_IANA_PORT	 4789
#define VXLAN_LINUX_PORT 8472 /* of the kernel, before there was another */

/* By enum ovl_packet_prog; `needed`: without it nothing else makes sense. */
static const struct {
	const char *hook;
	bool needed, daemon;
} progs[OVL_PACKET_PROGS] = {
	[OVL_PACKET_QUEUE] = {"net_dev_queue", true, false},
	[OVL_PACKET_START_XMIT] = {"net_dev_start_xmit", true, false},
	[OVL_PACKET_XMIT] = {"net_dev_xmit", true, false},
	[OVL_PACKET_NETIF_RX] = {"netif_rx", false, false},
	[OVL_PACKET_GRO] = {"napi_gro_receive_entry", false, false},
	[OVL_PACKET_GRO_FRAGS] = {"napi_gro_frags_entry", false, false},
	[OVL_PACKET_RECEIVE] = {"netif_receive_skb", true, false},
	[OVL_PACKET_ENQUEUE] = {"qdisc_enqueue", false, false},
	[OVL_PACKET_DEQUEUE] = {"qdisc_dequeue", false, false},
	[OVL_PACKET_COPY] = {"skb_copy_datagram_iovec", false, false},
	[OVL_PACKET_RAISE] = {"softirq_raise", false, false},
	[OVL_PACKET_SOFTIRQ] = {"softirq_entry", false, false},
	[OVL_PACKET_SYS_ENTER] = {"sys_enter", false, true},
	[OVL_PACKET_SYS_EXIT] = {"sys_exit", false, true},
	[OVL_PACKET_WAKING] = {"sched_waking", false, true},
	[OVL_PACKET_SWITCH] = {"sched_switch", false, true},
};

static const char lost_counts[] = "packets, segments and waits per hop";

static struct bpf_program *program(const struct packets_bpf *skel, int prog)
{
	struct bpf_program *const by_number[OVL_PACKET_PROGS] = {
		[OVL_PACKET_QUEUE] = skel->progs.ovl_queue,
		[OVL_PACKET_START_XMIT] = skel->progs.ovl_start_xmit,
		[OVL_PACKET_XMIT] = skel->progs.ovl_xmit,
		[OVL_PACKET_NETIF_RX] = skel->progs.ovl_netif_rx,
		[OVL_PACKET_GRO] = skel->progs.ovl_gro,
		[OVL_PACKET_GRO_FRAGS] = skel->progs.ovl_gro_frags,
		[OVL_PACKET_RECEIVE] = skel->progs.ovl_receive,
		[OVL_PACKET_ENQUEUE] = skel->progs.ovl_enqueue,
		[OVL_PACKET_DEQUEUE] = skel->progs.ovl_dequeue,
		[OVL_PACKET_COPY] = skel->progs.ovl_copy,
		[OVL_PACKET_RAISE] = skel->progs.ovl_raise,
		[OVL_PACKET_SOFTIRQ] = skel->progs.ovl_softirq,
		[OVL_PACKET_SYS_ENTER] = skel->progs.ovl_sys_enter,
		[OVL_PACKET_SYS_EXIT] = skel->progs.ovl_sys_exit,
		[OVL_PACKET_WAKING] = skel->progs.ovl_waking,
		[OVL_PACKET_SWITCH] = skel->progs.ovl_switch,
	};

	return by_number[prog];
}

/* Why packets cannot, or should not, be counted on this machine; NULL: they can. */
static const char *refusal(void)
{
	struct utsname u;

	if (!uname(&u) && strstr(u.version, "PREEMPT_RT"))
		return "a PREEMPT_RT kernel lets other work in between the steps of a packet";
	return NULL;
}

/* Names of a daemon's threads mean the same to BPF and /proc only in the first PID namespace. */
static bool first_pidns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == PIDNS_INITIAL;
}

static bool is_tunnel(const char *kind)
{
	static const char *const kinds[] = {"vxlan", "geneve", "gre",	 "gretap", "ip6gre",
					    "ipip",  "sit",    "ip6tnl", "erspan"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static struct packets_bpf *try_load(const struct ovl_packets *p, const struct ovl_facts *facts,
				    const uint16_t ports[OVL_TUNDAEMON_PORTS])
{
	const uint16_t vxlan[] = {facts->vxlan.valid ? facts->vxlan.port : 0, VXLAN_IANA_PORT,
				  VXLAN_LINUX_PORT};
	struct packets_bpf *skel = packets_bpf__open();

	if (!skel)
		return NULL;
	for (int i = 0; i < OVL_PACKET_PROGS; i++)
		bpf_program__set_autoload(program(skel, i), p->wanted[i]);
	bpf_map__set_max_entries(skel->maps.hop_counts, p->n_hops ? p->n_hops : 1);
	bpf_map__set_max_entries(skel->maps.daemon_counts,
				 facts->daemons.n ? (__u32)facts->daemons.n : 1);
	for (size_t i = 0; i < sizeof(vxlan) / sizeof(vxlan[0]); i++)
		skel->rodata->ovl_vxlan_ports[i] = vxlan[i];
	for (int i = 0; i < OVL_TUNDAEMON_PORTS && i < TUNNELS; i++)
		skel->rodata->ovl_ip_ports[i] = ports[i];
	if (!packets_bpf__load(skel))
		return skel;
	packets_bpf__destroy(skel);
	return NULL;
}

/* Programs whose tracepoint this kernel lacks are left out. Number of those that are left out. */
static int leave_out_unknown(struct ovl_packets *p)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int out = 0;

	for (int i = 0; btf && i < OVL_PACKET_PROGS; i++) {
		if (!p->wanted[i] || ovl_instruments_tracepoint(btf, progs[i].hook))
			continue;
		p->wanted[i] = false;
		out++;
	}
	btf__free(btf);
	return out;
}

static void say_missing(const struct ovl_packets *p, bool daemons, struct ovl_facts *facts)
{
	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		char hook[OVL_NAME_MAX];

		if (p->wanted[i] || (progs[i].daemon && !daemons))
			continue;
		snprintf(hook, sizeof(hook), "tp_btf/%s", progs[i].hook);
		ovl_instruments_missing(facts, hook, "this kernel refuses or lacks it",
					progs[i].daemon ? "what a tun daemon does for a packet"
							: "some of the counts and waits per hop");
	}
}

static int load(struct ovl_packets *p, const struct ovl_facts *facts,
		const uint16_t ports[OVL_TUNDAEMON_PORTS])
{
	p->skel = try_load(p, facts, ports);
	if (!p->skel && leave_out_unknown(p))
		p->skel = try_load(p, facts, ports);
	return p->skel ? 0 : -ENOTSUP;
}

static int name_hops(struct ovl_packets *p, const struct ovl_facts *facts)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->n_hops && !rc; i++) {
		const struct ovl_link *link = &facts->links.v[i];
		struct ovl_device_key key = {.ifindex = (uint64_t)link->ifindex};
		struct ovl_hop_value value = {.index = i};

		if (link->ns >= facts->ns.n)
			continue;
		key.netns = facts->ns.v[link->ns].inode;
		value.flags = is_tunnel(link->kind)	   ? OVL_HOP_TUNNEL
			      : !strcmp(link->kind, "tun") ? OVL_HOP_TUN
							   : 0;
		rc = bpf_map_update_elem(bpf_map__fd(p->skel->maps.hops), &key, &value, BPF_ANY);
	}
	for (uint32_t i = 0; i < facts->daemons.n && !rc; i++) {
		uint32_t tgid = (uint32_t)facts->daemons.v[i].pid;

		p->daemons[i].pid = facts->daemons.v[i].pid;
		p->daemons[i].link = facts->daemons.v[i].link;
		p->n_daemons = i + 1;
		rc = bpf_map_update_elem(bpf_map__fd(p->skel->maps.daemons), &tgid, &i, BPF_ANY);
	}
	return rc;
}

static void detach(void *with)
{
	struct ovl_packets *p = with;

	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		if (p->attached[i] >= 0)
			close(p->attached[i]);
		p->attached[i] = -1;
	}
}

static int attach(void *with)
{
	struct ovl_packets *p = with;

	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		int fd;

		if (!p->wanted[i])
			continue;
		fd = bpf_raw_tracepoint_open(NULL, bpf_program__fd(program(p->skel, i)));
		if (fd < 0) {
			detach(p);
			return fd;
		}
		p->attached[i] = fd;
	}
	return 0;
}

static void set(void *with, uint32_t window)
{
	struct ovl_packets *p = with;

	__atomic_store_n(&p->skel->bss->ovl_window, window, __ATOMIC_SEQ_CST);
}

static uint64_t spent_ns(void *with)
{
	struct ovl_packets *p = with;
	int fd = bpf_map__fd(p->skel->maps.packet_runs);
	uint64_t *per_cpu = calloc((size_t)p->cpus, sizeof(*per_cpu)), runs = 0;

	for (uint32_t i = 0; per_cpu && i < OVL_PACKET_PROGS; i++) {
		if (bpf_map_lookup_elem(fd, &i, per_cpu))
			continue;
		for (int cpu = 0; cpu < p->cpus; cpu++)
			runs += per_cpu[cpu];
	}
	free(per_cpu);
	return runs * __atomic_load_n(&p->mean_cost_ns, __ATOMIC_RELAXED);
}

/* Attach once, to find out what is refused. */
static int try_attach(struct ovl_packets *p)
{
	int rc = 0;

	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		int fd;

		if (!p->wanted[i])
			continue;
		fd = bpf_raw_tracepoint_open(NULL, bpf_program__fd(program(p->skel, i)));
		p->wanted[i] = fd >= 0;
		if (fd >= 0)
			close(fd);
		else if (progs[i].needed)
			rc = fd;
	}
	return rc;
}

static int alloc_room(struct ovl_packets *p)
{
	size_t cpus = (size_t)p->cpus;
	bool ok = true;

	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		p->runs[i] = calloc(cpus, sizeof(*p->runs[i]));
		ok = ok && p->runs[i];
	}
	p->per_cpu = calloc(cpus, sizeof(struct ovl_wait_value));
	return ok && p->per_cpu ? 0 : -ENOMEM;
}

static int bring_up(struct ovl_packets *p, struct ovl_facts *facts,
		    const uint16_t ports[OVL_TUNDAEMON_PORTS])
{
	int rc = load(p, facts, ports);

	rc = rc ? rc : name_hops(p, facts);
	return rc ? rc : try_attach(p);
}

int ovl_packets_open(struct ovl_packets *p, const struct ovl_packets_spec *spec,
		     struct ovl_facts *facts, struct ovl_err *err)
{
	uint16_t ports[OVL_TUNDAEMON_PORTS];
	const char *why = refusal();
	int rc;

	*p = (struct ovl_packets){.cpus = libbpf_num_possible_cpus(), .deep = spec->deep};
	memset(p->attached, 0xff, sizeof(p->attached));
	facts->packets = (struct ovl_packet_facts){0};
	if (why) {
		ovl_instruments_missing(facts, "packet windows", why, lost_counts);
		return 0;
	}
	if (ovl_tundaemon_find(facts, ports) || alloc_room(p)) {
		ovl_packets_close(p);
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory to count packets");
	}
	p->n_hops = facts->links.n < OVL_HOPS_MAX ? (uint32_t)facts->links.n : OVL_HOPS_MAX;
	for (int i = 0; i < OVL_PACKET_PROGS; i++)
		p->wanted[i] = !progs[i].daemon || (facts->daemons.n && first_pidns());
	rc = bring_up(p, facts, ports);
	if (rc) {
		ovl_instruments_missing(facts, "packet windows", strerror(-rc), lost_counts);
		packets_bpf__destroy(p->skel);
		p->skel = NULL;
		return 0;
	}
	say_missing(p, facts->daemons.n > 0, facts);
	if (facts->links.n > p->n_hops)
		ovl_instruments_missing(facts, "packet windows", "more devices than are counted",
					"packets of the devices beyond the first 256");
	facts->packets.valid = true;
	facts->packets.deep = spec->deep;
	facts->packets.window_ns = spec->deep ? 0 : spec->window_ns;
	for (int i = 0; i < OVL_PACKET_PROGS; i++)
		facts->packets.progs += p->wanted[i];
	p->window.length_ns = facts->packets.window_ns;
	p->window.budget_ratio = spec->budget_ratio;
	return 0;
}

int ovl_packets_start(struct ovl_packets *p)
{
	const struct ovl_window_ops ops = {
		.with = p, .attach = attach, .detach = detach, .set = set, .spent_ns = spent_ns};

	if (!p->skel || p->window.running)
		return 0;
	return ovl_window_start(&p->window, &ops, p->window.length_ns, p->window.budget_ratio);
}

int ovl_packets_drain(struct ovl_packets *p, struct ovl_sample *sample)
{
	return p->skel ? ovl_packets_read(p, sample) : 0;
}

/* What the kernel knows of a program, all zero when it does not say. */
static struct bpf_prog_info prog_info(const struct ovl_packets *p, int prog)
{
	struct bpf_prog_info info = {0};
	__u32 n = sizeof(info);

	if (!p->wanted[prog] ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program(p->skel, prog)), &info, &n))
		return (struct bpf_prog_info){0};
	return info;
}

uint64_t ovl_packets_missed(const struct ovl_packets *p)
{
	uint64_t sum = 0;

	for (int i = 0; i < OVL_PACKET_PROGS; i++)
		sum += prog_info(p, i).recursion_misses;
	return sum;
}

void ovl_packets_costs(struct ovl_packets *p, uint64_t dispatch_ns, uint64_t fallback_ns,
		       struct ovl_facts *facts)
{
	uint64_t all_ns = 0, all_n = 0, mean;

	if (!p->skel)
		return;
	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		const struct bpf_prog_info info = prog_info(p, i);

		facts->packets.cost_ns[i] = 0;
		all_ns += info.run_time_ns;
		all_n += info.run_cnt;
		if (info.run_cnt >= RUNS_ENOUGH)
			facts->packets.cost_ns[i] = dispatch_ns + info.run_time_ns / info.run_cnt;
	}
	mean = all_n >= RUNS_ENOUGH ? dispatch_ns + all_ns / all_n : fallback_ns;
	for (int i = 0; i < OVL_PACKET_PROGS; i++)
		if (!facts->packets.cost_ns[i])
			facts->packets.cost_ns[i] = mean;
	__atomic_store_n(&p->mean_cost_ns, mean, __ATOMIC_RELAXED);
}

void ovl_packets_close(struct ovl_packets *p)
{
	ovl_window_stop(&p->window);
	packets_bpf__destroy(p->skel);
	p->skel = NULL;
	ovl_packets_forget(p);
	for (int i = 0; i < OVL_PACKET_PROGS; i++) {
		free(p->runs[i]);
		p->runs[i] = NULL;
	}
	free(p->per_cpu);
	p->per_cpu = NULL;
}
