#include "app/matrix_suite.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define GBIT 1e9
#define MB   8e6 /* bits in one of qperf's MB */
/* qperf prints half of a round trip */
#define QPERF_US(us) ((us)*2e3)

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

static const struct ovl_matrix_path flannel_backends[] = {
	{.key = "host",
	 .label = "host -> host",
	 .lab.topology = "flannel-vxlan",
	 .from = "node1",
	 .to = "node2",
	 .iface = "eth0",
	 .host = "host"},
	{.key = "vxlan",
	 .label = "pod -> pod, vxlan",
	 .lab.topology = "flannel-vxlan",
	 .from = "pod1",
	 .to = "pod2",
	 .seed_bps = 0.928 * GBIT},
	{.key = "udp",
	 .label = "pod -> pod, udp (tun and a daemon)",
	 .lab.topology = "flannel-udp",
	 .from = "pod1",
	 .to = "pod2",
	 .against = "vxlan",
	 .seed_bps = 0.124 * GBIT},
	{.key = "udp-batch",
	 .label = "pod -> pod, udp, batched daemon",
	 .lab = {.topology = "flannel-udp", .batch = true},
	 .from = "pod1",
	 .to = "pod2",
	 .against = "vxlan",
	 .seed_note = "what the same backend would do with many packets a system call"},
	{.key = "host-gw",
	 .label = "pod -> pod, host-gw (no tunnel)",
	 .lab.topology = "flannel-hostgw",
	 .from = "pod1",
	 .to = "pod2"},
};

static const struct ovl_matrix_path vxlan_mtu[] = {
	{.key = "1500-9000",
	 .label = "overlay 1500 on underlay 9000",
	 .lab = {.topology = "vxlan-mtu", .overlay_mtu = 1500, .underlay_mtu = 9000},
	 .from = "vxlan1",
	 .to = "vxlan2",
	 .against = "8900-9000",
	 .seed_bps = 1.61 * GBIT,
	 .seed_note = "493 retransmits in 10 s"},
	{.key = "8900-9000",
	 .label = "overlay 8900 on underlay 9000",
	 .lab = {.topology = "vxlan-mtu", .overlay_mtu = 8900, .underlay_mtu = 9000},
	 .from = "vxlan1",
	 .to = "vxlan2",
	 .seed_bps = 5.44 * GBIT},
	{.key = "8900-1500",
	 .label = "overlay 8900 on underlay 1500",
	 .lab = {.topology = "vxlan-mtu", .overlay_mtu = 8900, .underlay_mtu = 1500},
	 .from = "vxlan1",
	 .to = "vxlan2",
	 .against = "8900-9000",
	 .seed_bps = 2.79 * GBIT,
	 .seed_note = "outer packets are fragmented"},
	{.key = "65000-65535",
	 .label = "overlay 65000 on underlay 65535",
	 .lab = {.topology = "vxlan-mtu", .overlay_mtu = 65000, .underlay_mtu = 65535},
	 .from = "vxlan1",
	 .to = "vxlan2",
	 .seed_note = "asked for, not measured"},
};

static const struct ovl_matrix_path docker_modes[] = {
	{.key = "host",
	 .label = "process -> process, loopback",
	 .lab.topology = "host",
	 .from = "node1",
	 .to = "node1",
	 .host = "host",
	 .seed_bps = 33.9 * GBIT},
	{.key = "published",
	 .label = "host -> container, published port",
	 .lab.topology = "docker-published",
	 .from = "node1",
	 .to = "localhost",
	 .against = "bridge",
	 .seed_bps = 6.09 * GBIT,
	 .seed_note = "docker-proxy, in user space, on localhost"},
	{.key = "bridge",
	 .label = "container -> container, bridge",
	 .lab.topology = "docker-bridge",
	 .from = "c1",
	 .to = "c2",
	 .seed_bps = 27.2 * GBIT},
	{.key = "user-bridge",
	 .label = "the same, user-defined bridge",
	 .lab.topology = "docker-bridge",
	 .from = "u1",
	 .to = "u2",
	 .iface = "br-6f1c2ab94e07",
	 .seed_bps = 26.3 * GBIT},
	{.key = "shared",
	 .label = "container -> container, one netns",
	 .lab.topology = "docker-sharedns",
	 .from = "c1",
	 .to = "c2",
	 .host = "host",
	 .seed_bps = 47.8 * GBIT},
	{.key = "hostnet-out",
	 .label = "container, host network -> host",
	 .lab.topology = "docker-hostnet",
	 .from = "c1",
	 .to = "node1",
	 .host = "host",
	 .seed_bps = 32.6 * GBIT},
	{.key = "hostnet-in",
	 .label = "host -> container, host network",
	 .lab.topology = "docker-hostnet",
	 .from = "node1",
	 .to = "c1",
	 .host = "host",
	 .seed_bps = 34.8 * GBIT},
};

#define K8S \
	{ \
		.topology = "k8s", .pods = 1 \
	}

static const struct ovl_matrix_path k8s_paths[] = {
	{.key = "host-host",
	 .label = "host -> host",
	 .lab = K8S,
	 .from = "node1",
	 .to = "node2",
	 .iface = "eth0",
	 .host = "host-host",
	 .seed_bps = 470 * MB,
	 .seed_latency_ns = QPERF_US(61.4)},
	{.key = "host-pod",
	 .label = "host -> pod, other node",
	 .lab = K8S,
	 .from = "node1",
	 .to = "pod2",
	 .seed_bps = 302 * MB,
	 .seed_latency_ns = QPERF_US(77)},
	{.key = "pod-host",
	 .label = "pod -> host, other node",
	 .lab = K8S,
	 .from = "pod1",
	 .to = "node2",
	 .iface = "eth0",
	 .seed_bps = 530 * MB,
	 .seed_latency_ns = QPERF_US(71),
	 .seed_note = "SNAT only, no vxlan"},
	{.key = "pod-pod",
	 .label = "pod -> pod, other node",
	 .lab = K8S,
	 .from = "pod1",
	 .to = "pod2",
	 .against = "pod-host",
	 .seed_bps = 299 * MB,
	 .seed_latency_ns = QPERF_US(81.8)},
	{.key = "pod-service",
	 .label = "pod -> Service",
	 .lab = K8S,
	 .from = "pod1",
	 .to = "service",
	 .seed_note = "qperf failed: its second port is not in the Service"},
};

static const struct ovl_matrix_suite suites[] = {
	{"flannel-backends", "flannel's vxlan and udp backends between pods of two nodes",
	 flannel_backends, COUNT(flannel_backends)},
	{"vxlan-mtu", "a vxlan of several MTUs on underlays of several MTUs", vxlan_mtu,
	 COUNT(vxlan_mtu)},
	{"docker-modes", "Docker's networks on one host, and a published port", docker_modes,
	 COUNT(docker_modes)},
	{"k8s-paths", "between hosts, pods and a Service of two Kubernetes nodes", k8s_paths,
	 COUNT(k8s_paths)},
};

_Static_assert(COUNT(flannel_backends) <= OVL_MATRIX_ROWS_MAX &&
		       COUNT(vxlan_mtu) <= OVL_MATRIX_ROWS_MAX &&
		       COUNT(docker_modes) <= OVL_MATRIX_ROWS_MAX &&
		       COUNT(k8s_paths) <= OVL_MATRIX_ROWS_MAX,
	       "a matrix has room for every suite");

const struct ovl_matrix_suite *ovl_matrix_suite_at(uint32_t i)
{
	return i < COUNT(suites) ? &suites[i] : NULL;
}

const struct ovl_matrix_suite *ovl_matrix_suite_find(const char *name, struct ovl_err *err)
{
	struct ovl_buf known = {0};

	for (uint32_t i = 0; name && i < COUNT(suites); i++)
		if (!strcmp(suites[i].name, name))
			return &suites[i];
	for (uint32_t i = 0; i < COUNT(suites); i++)
		ovl_buf_printf(&known, "%s%s", i ? ", " : "", suites[i].name);
	ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "%s%s%s; known: %s",
		    name ? "unknown suite '" : "matrix wants a suite", name ? name : "",
		    name ? "'" : "", ovl_buf_str(&known));
	ovl_buf_fini(&known);
	return NULL;
}

void ovl_matrix_suites(struct ovl_buf *out)
{
	for (uint32_t i = 0; i < COUNT(suites); i++)
		ovl_buf_printf(out, "  %-17s %s\n", suites[i].name, suites[i].about);
}

static int row_of(const struct ovl_matrix_suite *suite, const char *key)
{
	for (uint32_t i = 0; key && i < suite->n; i++)
		if (!strcmp(suite->paths[i].key, key))
			return (int)i;
	return -1;
}

static double known(double figure)
{
	return figure > 0 ? figure : NAN;
}

void ovl_matrix_suite_rows(const struct ovl_matrix_suite *suite, struct ovl_matrix *m)
{
	*m = (struct ovl_matrix){
		.suite = suite->name, .about = suite->about, .n_rows = suite->n, .host.iface = -1};
	for (uint32_t i = 0; i < suite->n; i++) {
		const struct ovl_matrix_path *path = &suite->paths[i];

		m->rows[i] = (struct ovl_matrix_row){
			.key = path->key,
			.label = path->label,
			.host = row_of(suite, path->host),
			.against = row_of(suite, path->against),
			.seed_bps = known(path->seed_bps),
			.seed_latency_ns = known(path->seed_latency_ns),
			.seed_note = path->seed_note,
		};
	}
}

uint32_t ovl_matrix_suite_order(const struct ovl_matrix_suite *suite, uint32_t turn, uint32_t i)
{
	return (turn + i) % suite->n;
}
