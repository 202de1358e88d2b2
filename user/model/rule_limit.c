/* What holds a path to a rate: shapers, quotas, windows, applications. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define FEW	       3
#define NEAR_RATIO     0.75 /* of a shaper's rate: it is what limits */
#define HELD_PS	       20   /* packets a second that a shaper held back */
#define THROTTLED      0.1  /* of the periods */
#define LIMITED	       0.5  /* of the time */
#define SAME_RATIO     0.1  /* bytes of two connections that differ by less are the same */
#define RELAY_BPS      1e6
#define RTT_LONG_US    2000  /* a window matters by the delay it has to cover */
#define WINDOW_SMALL   65536 /* bytes: below, it limits at any delay */
#define SEGS_OF_PACKET 45    /* of the largest */

static double bps_of(const struct ovl_diag *d, uint32_t ns, const char *device)
{
	const struct ovl_device *dev = ovl_diag_device(d, ovl_diag_link(d, ns, device));

	return dev && d->seconds > 0 ? (double)dev->tx.bytes * 8 / d->seconds : NAN;
}

static void say_shaper(struct ovl_diag *d, const struct ovl_reading *rate, double held,
		       double drops, double carried, const char *device)
{
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_EGRESS_SHAPER, 0.95, rate->ns, device);
	char in[96];

	ovl_diag_title(f,
		       "a shaper (%s) holds %s to %.4g Mbit/s: it made packets wait %.0f times and "
		       "dropped %.0f",
		       rate->object, device, (double)rate->value / 1e6, held, drops);
	ovl_diag_evidence(f, "rate", (double)rate->value, "bps", "tc qdisc");
	ovl_diag_evidence(f, "carried", carried, "bps", "rtnetlink");
	ovl_diag_evidence(f, "overlimits", held, "", "tc -s qdisc");
	ovl_diag_evidence(f, "drops", drops, "pkts", "tc -s qdisc");
	ovl_diag_evidence(f, "backlog",
			  ovl_diag_setting(d, rate->ns, "qdisc", rate->object, "backlog_bytes"),
			  "bytes", "tc -s qdisc");
	ovl_diag_fix(f,
		     "%stc qdisc change dev %s … rate RATE burst BURST (or del): it may be a pod's "
		     "bandwidth annotation",
		     ovl_diag_in(d, rate->ns, in, sizeof(in)), device);
	ovl_diag_risk(f, "others on this link get less");
	ovl_diag_verify(f, "overlimits stand still, or the rate is the new one");
	ovl_diag_cost(f, 0.3, 0.9);
	ovl_diag_explains(d, f, OVL_SYMPTOM_QUEUE | OVL_SYMPTOM_RATE);
	/* a dropped packet may be many segments; what it did not drop was lost elsewhere */
	if (drops * SEGS_OF_PACKET * 2 >= (double)d->retrans_segs)
		ovl_diag_explains(d, f, OVL_SYMPTOM_LOSS);
}

static void rule_shaper(struct ovl_diag *d)
{
	ovl_vec_each(rate, &d->m->readings) {
		const struct ovl_reading *held, *drops;
		char device[OVL_IF_MAX] = "";
		double carried;
		size_t n;

		if (strcmp(rate->kind, "qdisc") != 0 || strcmp(rate->name, "rate_bps") != 0)
			continue;
		held = ovl_diag_reading(d, rate->ns, "qdisc", rate->object, "overlimits");
		drops = ovl_diag_reading(d, rate->ns, "qdisc", rate->object, "drops");
		n = strcspn(rate->object, " ");
		for (size_t i = 0; i < n && i + 1 < sizeof(device); i++)
			device[i] = rate->object[i];
		carried = bps_of(d, rate->ns, device);
		if (!held || (double)held->delta < HELD_PS * d->seconds)
			continue;
		/* a device that is not of the path (ifb): its waiting packets are all there is */
		if (isfinite(carried) && carried < NEAR_RATIO * (double)rate->value &&
		    (!drops || drops->delta < FEW))
			continue;
		say_shaper(d, rate, (double)held->delta, drops ? (double)drops->delta : 0, carried,
			   device);
	}
}

/*
 * Does what is throttled there carry the path's traffic: a pod's tasks, the tunnel's process, or an
 * end of the largest connection? Agents of the node do not.
 */
static bool is_on_path(const struct ovl_diag *d, uint32_t ns)
{
	const struct ovl_flow_sum *most = d->m->flows.n ? d->m->flows.v : NULL;

	if (!d->iface || ns != d->iface->ns || !strcmp(d->iface->kind, "tun"))
		return true;
	return most && most->f.ns == ns && most->f.acked_bytes + most->f.received_bytes > 0;
}

static void rule_quota(struct ovl_diag *d)
{
	ovl_vec_each(r, &d->m->readings) {
		const struct ovl_reading *periods, *task, *lost;
		double quota, share;
		struct ovl_finding *f;

		if (strcmp(r->kind, "cgroup") != 0 || strcmp(r->name, "throttled_periods") != 0)
			continue;
		periods = ovl_diag_reading(d, r->ns, "cgroup", r->object, "periods");
		if (r->delta < FEW || !periods || periods->delta <= 0)
			continue;
		share = (double)r->delta / (double)periods->delta;
		task = ovl_diag_reading(d, r->ns, "cgroup", r->object, "task");
		lost = ovl_diag_reading(d, r->ns, "cgroup", r->object, "throttled_ns");
		quota = ovl_diag_setting(d, r->ns, "cgroup", r->object, "quota_millicpus") / 1000;
		f = ovl_diag_find(d, OVL_RULE_CPU_QUOTA, share >= THROTTLED ? 0.95 : 0.5, r->ns,
				  "");
		ovl_diag_title(f,
			       "control group %s (%s) may use %.2f CPUs and was stopped in %.0f of "
			       "%.0f periods: work waits while CPUs are idle",
			       r->object, task ? task->text : "?", quota, (double)r->delta,
			       (double)periods->delta);
		ovl_diag_evidence(f, "throttled_periods", share, "ratio", "cpu.stat");
		ovl_diag_evidence(f, "quota", quota, "CPUs", "cpu.max");
		ovl_diag_evidence(f, "throttled", lost ? (double)lost->delta : NAN, "ns",
				  "cpu.stat");
		ovl_diag_fix(f,
			     "raise or remove the CPU limit of the pod (resources.limits.cpu), or "
			     "cpu.max of its group below /sys/fs/cgroup");
		ovl_diag_risk(f, "it may take CPU time from its neighbours");
		ovl_diag_verify(f, "nr_throttled of cpu.stat stands still");
		if (is_on_path(d, r->ns))
			ovl_diag_cost(f, share >= THROTTLED ? 0.3 : 0,
				      share >= THROTTLED ? 0.9 : 0.04);
		else
			f->level = OVL_LEVEL_INFO;
		ovl_diag_explains(d, f, OVL_SYMPTOM_CPU | OVL_SYMPTOM_RATE | OVL_SYMPTOM_WINDOW);
	}
}

static bool near(uint64_t a, uint64_t b)
{
	return fabs((double)a - (double)b) <= SAME_RATIO * fmax((double)a, (double)b);
}

/* Two connections of the node itself: what one receives the other sends on. */
static void rule_proxy(struct ovl_diag *d)
{
	const double least = RELAY_BPS / 8 * d->seconds;

	ovl_vec_each(a, &d->m->flows) {
		if ((double)a->f.received_bytes < least)
			continue;
		ovl_vec_each(b, &d->m->flows) {
			struct ovl_finding *f;

			if (a == b || a->f.ns != b->f.ns ||
			    !near(a->f.received_bytes, b->f.acked_bytes) ||
			    !strcmp(a->f.src, b->f.dst) || !strcmp(a->f.dst, b->f.src) ||
			    a->f.acked_bytes > a->f.received_bytes)
				continue;
			f = ovl_diag_find(d, OVL_RULE_USERLAND_PROXY, 0.85, a->f.ns, "");
			ovl_diag_title(
				f,
				"a process on %s relays every byte: what comes on %s from %s goes "
				"out again to %s",
				ovl_facts_ns(d->facts, a->f.ns), a->f.src, a->f.dst, b->f.dst);
			ovl_diag_evidence(f, "received", (double)a->f.received_bytes, "bytes",
					  "sock_diag");
			ovl_diag_evidence(f, "sent_on", (double)b->f.acked_bytes, "bytes",
					  "sock_diag");
			ovl_diag_fix(
				f,
				"let address translation do it: Docker \"userland-proxy\": false, "
				"kube-proxy iptables, nftables or ipvs mode, or nft dnat");
			ovl_diag_risk(
				f, "the pod sees the client's own address; loops back to the same "
				   "node need masquerading");
			ovl_diag_verify(f, "ss -tnp on the node shows no connection of the proxy");
			ovl_diag_cost(f, 0.3, 0.9);
			ovl_diag_explains(d, f, OVL_SYMPTOM_WINDOW | OVL_SYMPTOM_CPU);
			return;
		}
	}
}

static double share_of(uint64_t us, uint64_t wall_ns)
{
	/* the kernel counts from another instant than the interval's: a little more is all of it */
	return wall_ns ? fmin(1, (double)us * 1e3 / (double)wall_ns) : 0;
}

static void say_reader(struct ovl_diag *d, const struct ovl_flow_sum *s, double rwnd)
{
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_SLOW_READER, 0.9, s->f.ns, "");

	ovl_diag_title(
		f,
		"the application that receives from %s at %s reads too slowly: its window was "
		"closed, and the sender waited for it %.0f %% of the time; the network is "
		"innocent",
		s->f.src, s->f.dst, rwnd * 100);
	ovl_diag_evidence(f, "rwnd_limited", rwnd, "ratio", "sock_diag");
	ovl_diag_evidence(f, "intervals_closed", s->closed, "", "sock_diag");
	ovl_diag_evidence(f, "least_window", s->least_wnd_bytes, "bytes", "sock_diag");
	ovl_diag_evidence(f, "unsent", s->f.unsent_bytes, "bytes", "sock_diag");
	ovl_diag_fix(f, "look at the receiving application: its disk, its locks, its CPU");
	ovl_diag_risk(f, "none");
	ovl_diag_verify(f, "ss -ti at the sender: rwnd_limited falls");
	ovl_diag_explains(d, f, OVL_SYMPTOM_WINDOW);
}

static void say_buffer(struct ovl_diag *d, const struct ovl_flow_sum *s, double share, bool send)
{
	const double rate = (double)s->f.acked_bytes * 8e9 / fmax(1, (double)s->wall_ns);
	struct ovl_finding *f = ovl_diag_find(d, OVL_RULE_TCP_BUFFER_BELOW_BDP, 0.85, s->f.ns, "");

	ovl_diag_title(
		f,
		"%s to %s waits %.0f %% of the time for the %s: its window (%u bytes) covers "
		"%.3g Mbit/s at this RTT and no more",
		s->f.src, s->f.dst, share * 100, send ? "sender's buffer" : "receiver's window",
		s->f.snd_wnd_bytes, rate / 1e6);
	ovl_diag_evidence(f, send ? "sndbuf_limited" : "rwnd_limited", share, "ratio", "sock_diag");
	ovl_diag_evidence(f, "rtt", s->f.rtt_us * 1e3, "ns", "sock_diag");
	ovl_diag_evidence(f, "window", s->f.snd_wnd_bytes, "bytes", "sock_diag");
	ovl_diag_evidence(f, "rate", rate, "bps", "sock_diag");
	ovl_diag_evidence(f, "tcp_rmem_max",
			  ovl_diag_setting(d, s->f.ns, "sysctl", "ipv4", "tcp_rmem_max"), "bytes",
			  "sysctl");
	ovl_diag_evidence(f, "tcp_wmem_max",
			  ovl_diag_setting(d, s->f.ns, "sysctl", "ipv4", "tcp_wmem_max"), "bytes",
			  "sysctl");
	ovl_diag_evidence(f, "tcp_window_scaling",
			  ovl_diag_setting(d, s->f.ns, "sysctl", "ipv4", "window_scaling"), "",
			  "sysctl");
	if (!send && ovl_diag_setting(d, s->f.ns, "sysctl", "ipv4", "window_scaling") == 0)
		ovl_diag_fix(f, "sysctl -w net.ipv4.tcp_window_scaling=1: without it no window "
				"is larger than 65535 bytes");
	ovl_diag_fix(
		f, "%s: sysctl -w net.ipv4.tcp_%s=\"4096 131072 33554432\" (twice bandwidth x RTT)",
		send ? "at the sender" : "at the receiver, in the pod's namespace",
		send ? "wmem" : "rmem");
	ovl_diag_risk(f, "more memory for each connection");
	ovl_diag_verify(f, "ss -ti: %s falls and the rate grows",
			send ? "sndbuf_limited" : "rwnd_limited");
	ovl_diag_cost(f, 0.3, 0.9);
	ovl_diag_explains(d, f, OVL_SYMPTOM_WINDOW | OVL_SYMPTOM_RATE);
}

static void rule_windows(struct ovl_diag *d)
{
	const struct ovl_flow_sum *s = d->m->flows.n ? &d->m->flows.v[0] : NULL;
	double rwnd, sndbuf, busy;
	bool alone;

	/* the connection that carried most; those of a full CPU or throttled task wait for it */
	if (!s || !s->intervals || s->f.received_bytes > s->f.acked_bytes)
		return;
	rwnd = share_of(s->f.rwnd_us, s->wall_ns);
	sndbuf = share_of(s->f.sndbuf_us, s->wall_ns);
	busy = share_of(s->f.busy_us, s->wall_ns);
	alone = !(d->explained & (OVL_SYMPTOM_CPU | OVL_SYMPTOM_WINDOW | OVL_SYMPTOM_DEAD));
	if (!alone)
		return;
	if (rwnd >= LIMITED && s->closed * 3 >= s->intervals)
		say_reader(d, s, rwnd);
	else if (rwnd >= LIMITED &&
		 (s->f.min_rtt_us >= RTT_LONG_US || s->f.snd_wnd_bytes <= WINDOW_SMALL))
		say_buffer(d, s, rwnd, false);
	else if (sndbuf >= LIMITED && s->f.min_rtt_us >= RTT_LONG_US)
		say_buffer(d, s, sndbuf, true);
	else if (s->app_limited * 2 >= s->intervals && s->hungry * 2 >= s->intervals &&
		 !ovl_facts_rr(d->facts)) { /* one message at a time is what rr is asked for */
		struct ovl_finding *f =
			ovl_diag_find(d, OVL_RULE_SENDER_APPLICATION_LIMITED, 0.8, s->f.ns, "");

		ovl_diag_title(
			f,
			"the application that sends from %s to %s gives TCP too little to do: it "
			"had data in flight %.0f %% of the time; the network is innocent",
			s->f.src, s->f.dst, busy * 100);
		ovl_diag_evidence(f, "app_limited", (double)s->app_limited / s->intervals, "ratio",
				  "sock_diag");
		ovl_diag_evidence(f, "busy", busy, "ratio", "sock_diag");
		ovl_diag_fix(f, "larger writes, more in parallel, or a faster source of the data");
		ovl_diag_risk(f, "none");
		ovl_diag_verify(f, "ss -ti at the sender no longer says app_limited");
		ovl_diag_explains(d, f, OVL_SYMPTOM_RATE);
	}
}

static void rule_accept(struct ovl_diag *d)
{
	for (uint32_t ns = 0; ns < d->facts->ns.n; ns++) {
		double over = ovl_diag_counter(d, ns, "TcpExt", "ListenOverflows");
		struct ovl_finding *f;

		if (over < FEW)
			continue;
		f = ovl_diag_find(d, OVL_RULE_ACCEPT_QUEUE_OVERFLOW, 0.95, ns, "");
		ovl_diag_title(
			f,
			"a server in %s accepts connections too slowly: its queue was full %.0f "
			"times, and clients wait; the network is innocent",
			ovl_facts_ns(d->facts, ns), over);
		ovl_diag_evidence(f, "listen_overflows", over, "", "/proc/net/netstat");
		ovl_diag_evidence(f, "listen_drops",
				  ovl_diag_counter(d, ns, "TcpExt", "ListenDrops"), "",
				  "/proc/net/netstat");
		ovl_diag_fix(
			f,
			"a longer queue: listen() backlog and net.core.somaxconn; accept in more "
			"threads");
		ovl_diag_risk(f, "none");
		ovl_diag_verify(f,
				"TcpExtListenOverflows stands still; ss -ltn: Recv-Q below Send-Q");
		ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD | OVL_SYMPTOM_LOSS);
	}
}

void ovl_rule_limit(struct ovl_diag *d)
{
	rule_shaper(d);
	rule_quota(d);
	rule_proxy(d);
	rule_accept(d);
}

void ovl_rule_window(struct ovl_diag *d)
{
	rule_windows(d);
}
