#include "collect/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "collect/links.h"
#include "collect/losses.h"
#include "collect/netns.h"
#include "collect/procnet.h"

enum file { FILE_SNMP, FILE_SNMP6, FILE_NETSTAT, FILE_COUNT };
static const char *const file_paths[FILE_COUNT] = {
	"/proc/thread-self/net/snmp",
	"/proc/thread-self/net/snmp6",
	"/proc/thread-self/net/netstat",
};

/* One counter of one namespace. */
struct item {
	char group[16], name[OVL_NAME_MAX];
	int64_t before, now;
	bool seen; /* in the latest reading */
};

struct ns_counters {
	uint32_t ns; /* index into the facts */
	struct ovl_links *links;
	int fd[FILE_COUNT]; /* -1: this kernel has none */
	OVL_VEC(struct item) items;
	size_t cursor; /* where the next counter is expected: the order hardly ever changes */
	bool failed;   /* out of memory while parsing */
};

struct link_counters {
	uint32_t link; /* index into the facts */
	int ifindex;
	struct ovl_links *links; /* of its namespace; owned there */
	struct rtnl_link_stats64 before, now;
	bool gone;
};

/* One CPU's readings; `online`: listed in that reading. */
struct cpu_reading {
	bool online, has_softnet;
	uint64_t idle_ns, iowait_ns, steal_ns;
	struct ovl_softnet softnet;
};
struct cpu_counters {
	struct cpu_reading before, now;
	uint64_t carry_ns; /* idle time that did not fit into the interval before, below one tick */
};

struct ovl_counters {
	OVL_VEC(struct ns_counters) ns;
	OVL_VEC(struct link_counters) links;
	OVL_VEC(struct cpu_counters) cpus; /* by number */
	int stat_fd, softnet_fd;
	uint64_t tick_ns;
	uint64_t before_ts_ns, now_ts_ns;
	struct ovl_text text; /* the file being parsed */
	bool failed;	      /* out of memory while parsing */
};

/* Gauges and settings among the counters: their differences mean nothing. */
static bool is_gauge(struct ovl_word group, struct ovl_word name)
{
	static const char *const gauges[][2] = {
		{"Ip", "Forwarding"}, {"Ip", "DefaultTTL"}, {"Tcp", "RtoAlgorithm"},
		{"Tcp", "RtoMin"},    {"Tcp", "RtoMax"},    {"Tcp", "MaxConn"},
		{"Tcp", "CurrEstab"},
	};

	for (size_t i = 0; i < sizeof(gauges) / sizeof(*gauges); i++)
		if (group.n == strlen(gauges[i][0]) && name.n == strlen(gauges[i][1]) &&
		    !memcmp(group.s, gauges[i][0], group.n) &&
		    !memcmp(name.s, gauges[i][1], name.n))
			return true;
	return false;
}

static bool is_item(const struct item *item, struct ovl_word group, struct ovl_word name)
{
	return !strncmp(item->group, group.s, group.n) && !item->group[group.n] &&
	       !strncmp(item->name, name.s, name.n) && !item->name[name.n];
}

static void take_counter(void *arg, struct ovl_word group, struct ovl_word name, int64_t value)
{
	struct ns_counters *ns = arg;
	struct item *item = NULL;

	if (group.n >= sizeof(item->group) || name.n >= sizeof(item->name) || is_gauge(group, name))
		return;
	if (ns->cursor < ns->items.n && is_item(&ns->items.v[ns->cursor], group, name))
		item = &ns->items.v[ns->cursor];
	for (size_t i = 0; !item && i < ns->items.n; i++)
		if (is_item(&ns->items.v[i], group, name))
			item = &ns->items.v[i];
	if (!item) {
		/* new: counters such as IcmpMsg's are listed only once they are not 0 */
		item = ovl_vec_push(&ns->items);
		if (!item) {
			ns->failed = true;
			return;
		}
		memcpy(item->group, group.s, group.n);
		memcpy(item->name, name.s, name.n);
	}
	item->now = value;
	item->seen = true;
	ns->cursor = (size_t)(item - ns->items.v) + 1;
}

static struct cpu_counters *cpu_at(struct ovl_counters *c, uint32_t cpu)
{
	if (cpu >= 65536) /* NR_CPUS is at most 8192: not a CPU's number */
		return NULL;
	while (c->cpus.n <= cpu)
		if (!ovl_vec_push(&c->cpus)) {
			c->failed = true;
			return NULL;
		}
	return &c->cpus.v[cpu];
}

static void take_stat(void *arg, const struct ovl_stat_cpu *line)
{
	struct ovl_counters *c = arg;
	struct cpu_counters *cpu = cpu_at(c, line->cpu);

	if (!cpu)
		return;
	cpu->now.online = true;
	cpu->now.idle_ns = line->idle * c->tick_ns;
	cpu->now.iowait_ns = line->iowait * c->tick_ns;
	cpu->now.steal_ns = line->steal * c->tick_ns;
}

static void take_softnet(void *arg, const struct ovl_softnet *line)
{
	struct cpu_counters *cpu = cpu_at(arg, line->cpu);

	if (!cpu)
		return;
	cpu->now.has_softnet = true;
	cpu->now.softnet = *line;
}

static int read_cpus(struct ovl_counters *c, struct ovl_err *err)
{
	int rc;

	ovl_vec_each(cpu, &c->cpus)
		cpu->now = (struct cpu_reading){0};
	/* the CPUs' clocks and the interval's edge belong together */
	c->now_ts_ns = ovl_clock_ns();
	rc = ovl_procnet_read(c->stat_fd, &c->text);
	if (!rc && !ovl_procnet_stat(c->text.s, take_stat, c))
		rc = -EPROTO;
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "/proc/stat could not be read: %s",
				   strerror(-rc));
	if (c->softnet_fd >= 0 && !ovl_procnet_read(c->softnet_fd, &c->text))
		ovl_procnet_softnet(c->text.s, take_softnet, c);
	return 0;
}

static int read_links(struct ovl_counters *c, struct ovl_err *err)
{
	ovl_vec_each(link, &c->links) {
		int rc;

		if (link->gone)
			continue;
		rc = ovl_links_stats(link->links, link->ifindex, &link->now);
		link->gone = rc == -ENODEV;
		if (rc && !link->gone)
			return ovl_err_set(err, OVL_EXIT_FAILED, rc,
					   "the statistics of device %d could not be read: %s",
					   link->ifindex, strerror(-rc));
	}
	return 0;
}

static void read_ns(struct ovl_counters *c, struct ns_counters *ns)
{
	ovl_vec_each(item, &ns->items)
		item->seen = false;
	ns->cursor = 0;
	for (int i = 0; i < FILE_COUNT; i++) {
		if (ns->fd[i] < 0 || ovl_procnet_read(ns->fd[i], &c->text))
			continue;
		if (i == FILE_SNMP6)
			ovl_procnet_snmp6(c->text.s, take_counter, ns);
		else
			ovl_procnet_pairs(c->text.s, take_counter, ns);
	}
	c->failed |= ns->failed;
}

static int read_all(struct ovl_counters *c, struct ovl_err *err)
{
	int rc = read_cpus(c, err);

	if (!rc)
		rc = read_links(c, err);
	if (rc)
		return rc;
	ovl_vec_each(ns, &c->ns)
		read_ns(c, ns);
	if (c->failed)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return 0;
}

/* What was read becomes the beginning of the next interval. */
static void turn_over(struct ovl_counters *c)
{
	c->before_ts_ns = c->now_ts_ns;
	ovl_vec_each(cpu, &c->cpus)
		cpu->before = cpu->now;
	ovl_vec_each(link, &c->links)
		link->before = link->now;
	ovl_vec_each(ns, &c->ns)
		ovl_vec_each(item, &ns->items)
			item->before = item->now;
}

static int open_files(void *arg)
{
	struct ns_counters *ns = arg;

	for (int i = 0; i < FILE_COUNT; i++)
		ns->fd[i] = open(file_paths[i], O_RDONLY | O_CLOEXEC);
	/* IPv6 can be switched off; IPv4 cannot */
	return ns->fd[FILE_SNMP] < 0 ? -errno : 0;
}

static int open_ns(struct ovl_counters *c, const struct ovl_facts *facts, uint32_t index, int ns_fd,
		   struct ovl_err *err)
{
	struct ns_counters *ns = ovl_vec_push(&c->ns);
	int rc;

	if (!ns)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	ns->ns = index;
	for (int i = 0; i < FILE_COUNT; i++)
		ns->fd[i] = -1;
	ns->links = ovl_links_open(ns_fd, err);
	if (!ns->links)
		return -EIO;
	rc = ovl_netns_run(ns_fd, open_files, ns);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "/proc/net/snmp of network namespace %s cannot be opened: %s",
				   ovl_facts_ns(facts, index), strerror(-rc));
	for (size_t i = 0; i < facts->links.n; i++) {
		struct link_counters *link;

		if (facts->links.v[i].ns != index)
			continue;
		link = ovl_vec_push(&c->links);
		if (!link)
			return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
		link->link = (uint32_t)i;
		link->ifindex = facts->links.v[i].ifindex;
		link->links = ns->links;
	}
	return 0;
}

struct ovl_counters *ovl_counters_open(const struct ovl_facts *facts, const int *ns_fd,
				       struct ovl_err *err)
{
	const long hz = sysconf(_SC_CLK_TCK);
	struct ovl_counters *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c) {
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
		return NULL;
	}
	c->tick_ns = 1000000000ull / (hz > 0 ? (uint64_t)hz : 100);
	c->stat_fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	c->softnet_fd = open("/proc/net/softnet_stat", O_RDONLY | O_CLOEXEC);
	if (c->stat_fd < 0)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -errno, "/proc/stat cannot be opened: %s",
				 strerror(errno));
	for (size_t i = 0; !rc && i < facts->ns.n; i++)
		if (ns_fd[i] >= 0)
			rc = open_ns(c, facts, (uint32_t)i, ns_fd[i], err);
	if (!rc)
		rc = ovl_counters_begin(c, err);
	if (!rc)
		return c;
	ovl_counters_close(c);
	return NULL;
}

int ovl_counters_begin(struct ovl_counters *c, struct ovl_err *err)
{
	int rc = read_all(c, err);

	if (!rc)
		turn_over(c);
	return rc;
}

/* Difference of a counter that only grows; 0 when it was started anew. */
static uint64_t grown(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

static int put_cpu(struct ovl_counters *c, uint32_t number, struct ovl_sample *s)
{
	struct cpu_counters *cpu = &c->cpus.v[number];
	const uint64_t wall = grown(c->before_ts_ns, c->now_ts_ns);
	struct ovl_cpu_clock *out;
	uint64_t idle, steal;

	/* a CPU that came or went within the interval has no whole clock */
	if (!cpu->before.online || !cpu->now.online) {
		cpu->carry_ns = 0;
		return 0;
	}
	out = ovl_vec_push(&s->cpus);
	if (!out)
		return -ENOMEM;
	/* both columns may run backwards for a moment (a kernel race): each is cut at 0 */
	idle = grown(cpu->before.idle_ns, cpu->now.idle_ns) +
	       grown(cpu->before.iowait_ns, cpu->now.iowait_ns) + cpu->carry_ns;
	steal = grown(cpu->before.steal_ns, cpu->now.steal_ns);
	out->cpu = number;
	out->wall_ns = wall;
	out->idle_ns = idle < wall ? idle : wall;
	out->steal_ns = steal < wall - out->idle_ns ? steal : wall - out->idle_ns;
	/* ticks are rounded at both edges: up to one may overflow; the next interval gets it */
	cpu->carry_ns = idle - out->idle_ns < c->tick_ns ? idle - out->idle_ns : c->tick_ns;
	if (cpu->before.has_softnet && cpu->now.has_softnet)
		out->softirq_handled = cpu->now.softnet.processed - cpu->before.softnet.processed;
	return 0;
}

static int put_counter(struct ovl_sample *s, uint32_t ns, const char *group, const char *name,
		       int64_t delta)
{
	struct ovl_counter *out;

	if (delta <= 0)
		return 0;
	out = ovl_vec_push(&s->counters);
	if (!out)
		return -ENOMEM;
	out->ns = ns;
	ovl_str_copy(out->group, sizeof(out->group), group);
	ovl_str_copy(out->name, sizeof(out->name), name);
	out->delta = delta;
	return 0;
}

static int put_softnet(const struct ovl_counters *c, struct ovl_sample *s)
{
	static const char *const names[] = {"dropped", "time_squeeze", "received_rps",
					    "flow_limit"};
	int64_t sum[4] = {0};
	int rc = 0;

	for (size_t i = 0; i < c->cpus.n; i++) {
		const struct ovl_softnet *a = &c->cpus.v[i].before.softnet;
		const struct ovl_softnet *b = &c->cpus.v[i].now.softnet;

		if (!c->cpus.v[i].before.has_softnet || !c->cpus.v[i].now.has_softnet)
			continue;
		/* 32-bit counters that wrap: so does the difference */
		sum[0] += (uint32_t)(b->dropped - a->dropped);
		sum[1] += (uint32_t)(b->time_squeeze - a->time_squeeze);
		sum[2] += (uint32_t)(b->received_rps - a->received_rps);
		sum[3] += (uint32_t)(b->flow_limit - a->flow_limit);
	}
	for (int i = 0; !rc && i < 4; i++)
		rc = put_counter(s, OVL_NS_MACHINE, "softnet", names[i], sum[i]);
	return rc;
}

static int put_link(const struct link_counters *link, struct ovl_sample *s)
{
	struct ovl_link_delta *out = ovl_vec_push(&s->links);
	const struct rtnl_link_stats64 *a = &link->before, *b = &link->now;

	if (!out)
		return -ENOMEM;
	out->link = link->link;
	out->gone = link->gone;
	if (link->gone)
		return 0;
	out->rx_bytes = grown(a->rx_bytes, b->rx_bytes);
	out->rx_pkts = grown(a->rx_packets, b->rx_packets);
	out->rx_dropped = grown(a->rx_dropped, b->rx_dropped);
	out->rx_errors = grown(a->rx_errors, b->rx_errors);
	out->tx_bytes = grown(a->tx_bytes, b->tx_bytes);
	out->tx_pkts = grown(a->tx_packets, b->tx_packets);
	out->tx_dropped = grown(a->tx_dropped, b->tx_dropped);
	out->tx_errors = grown(a->tx_errors, b->tx_errors);
	return 0;
}

static int put_ns(const struct ns_counters *ns, struct ovl_sample *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < ns->items.n; i++) {
		const struct item *item = &ns->items.v[i];

		if (item->seen)
			rc = put_counter(s, ns->ns, item->group, item->name,
					 (int64_t)((uint64_t)item->now - (uint64_t)item->before));
	}
	return rc;
}

int ovl_counters_end(struct ovl_counters *c, const struct ovl_facts *facts,
		     struct ovl_sample *sample, struct ovl_err *err)
{
	int rc = read_all(c, err);

	if (rc)
		return rc;
	sample->start_ts_ns = c->before_ts_ns;
	sample->end_ts_ns = c->now_ts_ns;
	ovl_vec_clear(&sample->cpus);
	ovl_vec_clear(&sample->links);
	ovl_vec_clear(&sample->counters);
	for (uint32_t i = 0; !rc && i < c->cpus.n; i++)
		rc = put_cpu(c, i, sample);
	for (size_t i = 0; !rc && i < c->links.n; i++)
		rc = put_link(&c->links.v[i], sample);
	for (size_t i = 0; !rc && i < c->links.n; i++)
		rc = c->links.v[i].gone ? 0
					: ovl_losses_link(&facts->links.v[c->links.v[i].link],
							  &c->links.v[i].before, &c->links.v[i].now,
							  put_counter, sample);
	for (size_t i = 0; !rc && i < c->ns.n; i++)
		rc = put_ns(&c->ns.v[i], sample);
	if (!rc)
		rc = put_softnet(c, sample);
	turn_over(c);
	return rc ? ovl_err_set(err, OVL_EXIT_FAILED, rc, "out of memory") : 0;
}

void ovl_counters_close(struct ovl_counters *c)
{
	if (!c)
		return;
	ovl_vec_each(ns, &c->ns) {
		ovl_links_close(ns->links);
		for (int i = 0; i < FILE_COUNT; i++)
			if (ns->fd[i] >= 0)
				close(ns->fd[i]);
		ovl_vec_fini(&ns->items);
	}
	ovl_vec_fini(&c->ns);
	ovl_vec_fini(&c->links);
	ovl_vec_fini(&c->cpus);
	if (c->stat_fd >= 0)
		close(c->stat_fd);
	if (c->softnet_fd >= 0)
		close(c->softnet_fd);
	free(c->text.s);
	free(c);
}
