/*
 * Every topology's plan, with every option it knows, makes sense by itself, so that `up` cannot
 * meet a bad row; what a topology does not know is refused before anything is made.
 */
#include "lab/topology.h"

#include <stdlib.h>

#include "lab/build.h"
#include "lab/lab.h"
#include "lab/netlink.h"
#include "lab/spec.h"
#include "tap.h"

static bool is_ip(const char *text)
{
	struct ovl_netlink_ip ip;

	return ovl_netlink_parse_ip(text, &ip);
}

static bool is_place(const struct ovl_plan *p, uint8_t end)
{
	return end < p->n_ends && p->ends[end].place == end;
}

/* Does an end have a device of that name, made before row `before`? */
static bool has_dev(const struct ovl_plan *p, uint8_t end, const char *name, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		const struct ovl_plan_dev *d = &p->devs[i];

		if ((d->end == end && strcmp(d->name, name) == 0) ||
		    (d->peer_name[0] && d->peer_end == end && strcmp(d->peer_name, name) == 0))
			return true;
	}
	return false;
}

static bool dev_good(const struct ovl_plan *p, size_t i)
{
	const struct ovl_plan_dev *d = &p->devs[i];
	uint8_t mac[6];
	bool good = is_place(p, d->end) && !has_dev(p, d->end, d->name, i);

	good = good && ovl_spec_name_ok(d->name) && d->mtu > 0;
	good = good && (!d->addr[0] || is_ip(d->addr)) && (!d->peer_addr[0] || is_ip(d->peer_addr));
	good = good && (!d->mac[0] || ovl_netlink_parse_mac(d->mac, mac));
	good = good && (!d->master[0] || has_dev(p, d->end, d->master, i));
	if (d->kind == OVL_PLAN_VETH)
		good = good && is_place(p, d->peer_end) && ovl_spec_name_ok(d->peer_name) &&
		       (!d->peer_master[0] || has_dev(p, d->peer_end, d->peer_master, i));
	if (d->kind == OVL_PLAN_VXLAN)
		good = good && is_ip(d->local) && (!d->lower[0] || has_dev(p, d->end, d->lower, i));
	return good;
}

static bool ends_good(const struct ovl_plan *p)
{
	bool good = p->n_ends > 0;

	for (uint32_t i = 0; i < p->n_ends; i++) {
		const struct ovl_lab_end *e = &p->ends[i];

		good = good && (e->side == 'a' || e->side == 'b') && e->name[0] &&
		       ovl_plan_find(p, e->name) == (int)i && e->server < p->n_ends &&
		       p->ends[e->server].place != OVL_LAB_NOWHERE &&
		       (e->place == OVL_LAB_NOWHERE || is_place(p, e->place)) &&
		       (is_ip(e->addr) || (!e->addr[0] && !strcmp(e->name, "switch")));
	}
	return good;
}

static bool routes_good(const struct ovl_plan *p)
{
	bool good = true;

	for (uint32_t i = 0; i < p->n_routes; i++) {
		const struct ovl_plan_route *r = &p->routes[i];

		good = good && has_dev(p, r->end, r->dev, p->n_devs) &&
		       (!r->dst[0] || is_ip(r->dst)) && (!r->via[0] || is_ip(r->via)) &&
		       (r->dst[0] || r->via[0]) && r->frames_per_segment > 0;
	}
	for (uint32_t i = 0; i < p->n_vteps; i++) {
		const struct ovl_plan_vtep *v = &p->vteps[i];
		uint8_t mac[6];

		good = good && has_dev(p, v->end, v->dev, p->n_devs) && is_ip(v->addr) &&
		       ovl_netlink_parse_mac(v->mac, mac) && is_ip(v->remote);
	}
	return good;
}

static bool uses_good(const struct ovl_plan *p)
{
	bool good = p->n_paths > 0 && p->load[OVL_LAB_LOAD_OVERLAY].used && p->iface[0];

	for (uint32_t i = 0; i < p->n_paths; i++)
		good = good && p->paths[i].to < p->n_ends && p->paths[i].from < p->n_ends &&
		       p->ends[p->paths[i].from].place != OVL_LAB_NOWHERE;
	for (int i = 0; i < OVL_LAB_LOADS; i++)
		good = good && p->load[i].from < p->n_ends && p->load[i].to < p->n_ends;
	good = good && (!strcmp(p->iface, "lo") ||
			has_dev(p, p->ends[p->iface_end].place, p->iface, p->n_devs));
	for (uint32_t i = 0; i < p->n_daemons; i++)
		good = good && is_place(p, p->daemons[i].end) && p->daemons[i].args[0][0];
	return good;
}

static void plan(const struct ovl_topo *t, struct ovl_lab_spec spec)
{
	struct ovl_plan *p = malloc(sizeof(*p));
	struct ovl_err err = OVL_ERR_INIT;
	bool devs = true;
	char what[96];

	snprintf(what, sizeof(what), "%s, %u nodes, %u pods, IPv6 %d", t->name, spec.nodes,
		 spec.pods, spec.ipv6);
	ok(ovl_spec_complete(&spec, t, &err) == 0, "%s: accepted %s", what, err.text);
	ovl_plan_init(p, &spec, ovl_spec_encap_bytes(&spec, t));
	t->plan(p);
	for (size_t i = 0; i < p->n_devs; i++)
		devs = devs && dev_good(p, i);
	ok(!p->full, "%s: fits", what);
	ok(ends_good(p), "%s: ends", what);
	ok(devs, "%s: devices", what);
	ok(routes_good(p), "%s: routes and VTEPs", what);
	ok(uses_good(p), "%s: paths, load, interface, daemons", what);
	ovl_plan_fini(p);
	free(p);
}

/* Least, normal and most of everything, in both address families. */
static void plans(const struct ovl_topo *t)
{
	for (int ipv6 = 0; ipv6 <= OVL_LAB_IPV6_BOTH; ipv6++) {
		uint32_t needs = (ipv6 & OVL_LAB_IPV6_INSIDE ? OVL_TOPO_IPV6_INSIDE : 0u) |
				 (ipv6 & OVL_LAB_IPV6_OUTSIDE ? OVL_TOPO_IPV6_OUTSIDE : 0u);

		if ((t->options & needs) != needs)
			continue;
		plan(t, (struct ovl_lab_spec){.ipv6 = (enum ovl_lab_ipv6)ipv6});
		if (t->nodes.max > t->nodes.min || t->pods.max > t->pods.min)
			plan(t, (struct ovl_lab_spec){
					.ipv6 = (enum ovl_lab_ipv6)ipv6,
					.nodes = t->nodes.max > t->nodes.min ? t->nodes.max : 0,
					.pods = t->pods.max > t->pods.min ? t->pods.max : 0});
	}
}

static void lab_of(const char *topology, bool named, uint32_t nodes, struct ovl_lab *lab)
{
	const struct ovl_lab_spec spec = {.topology = topology, .nodes = nodes};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_build b;

	ok(ovl_build_init(&b, &spec, named, lab, &err) == 0, "%s is planned %s", topology,
	   err.text);
	ovl_build_fini(&b);
}

static void ends(void)
{
	struct ovl_lab lab;

	lab_of("flannel-vxlan", true, 0, &lab);
	is_int(lab.n_ends, 4, "flannel-vxlan has four ends");
	ok(!lab.twin, "named: a lab");
	is_str(ovl_lab_end(&lab, "node1")->netns, "ovl-flannel-vxlan-node1", "namespace of node1");
	is_str(ovl_lab_end(&lab, "pod2")->addr, "10.244.2.2", "address of pod2");
	is_int(ovl_lab_end(&lab, "pod2")->side, 'b', "pod2 is on the receiver's side");
	is_str(lab.iface, "flannel.1", "its device");
	ok(!ovl_lab_end(&lab, "pod3"), "there is no pod3");
	lab_of("flannel-vxlan", false, 0, &lab);
	ok(lab.twin, "unnamed: a twin");
	is_str(ovl_lab_end(&lab, "node1")->netns, "twin:a-node", "twin's sender node");
	is_str(ovl_lab_end(&lab, "pod1")->netns, "twin:a-pod", "twin's sender pod");
	is_str(ovl_lab_end(&lab, "node2")->netns, "twin:b-node", "twin's receiver node");
	is_str(ovl_lab_end(&lab, "pod2")->netns, "twin:b-pod", "twin's receiver pod");
	lab_of("k8s", true, 3, &lab);
	is_str(ovl_lab_end(&lab, "service")->netns, "", "a Service is no place");
	is_int(ovl_lab_end(&lab, "service")->server, ovl_lab_end(&lab, "pod2") - lab.ends,
	       "pod2 serves it");
	lab_of("docker-hostnet", true, 0, &lab);
	is_str(ovl_lab_end(&lab, "c1")->netns, "ovl-docker-hostnet-node1",
	       "a container with host networking is in its host's namespace");
}

/* Outer packets of a full inner one, IPv4 and IPv6 outside. */
static void fragments(void)
{
	static const struct {
		enum ovl_lab_ipv6 ipv6;
		uint32_t overlay, underlay, want;
	} rows[] = {
		{OVL_LAB_IPV6_NONE, 1450, 1500, 1},    {OVL_LAB_IPV6_NONE, 1451, 1500, 2},
		{OVL_LAB_IPV6_NONE, 1500, 1500, 2},    {OVL_LAB_IPV6_NONE, 8900, 1500, 7},
		{OVL_LAB_IPV6_OUTSIDE, 1430, 1500, 1}, {OVL_LAB_IPV6_NONE, 65000, 65535, 1},
	};
	const struct ovl_topo *t = ovl_topo_find("vxlan-mtu");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ovl_lab_spec spec = {.ipv6 = rows[i].ipv6,
						  .overlay_mtu = rows[i].overlay,
						  .underlay_mtu = rows[i].underlay};
		struct ovl_plan *p = calloc(1, sizeof(*p));

		ovl_plan_init(p, &spec, ovl_spec_encap_bytes(&spec, t));
		is_int(ovl_plan_frames_per_segment(p), rows[i].want, "frames of %u on %u",
		       rows[i].overlay, rows[i].underlay);
		free(p);
	}
}

/* What a spec asks for in vain is refused before anything is made. */
static void refused(void)
{
	static const struct {
		struct ovl_lab_spec spec;
		const char *says;
	} rows[] = {
		{{.topology = "nosuch"}, "unknown topology 'nosuch'; known: flannel-vxlan"},
		{{.topology = NULL}, "unknown topology ''"},
		{{.topology = "flannel-vxlan", .tunnel_name = "a/b"}, "'a/b'"},
		{{.topology = "flannel-vxlan", .tunnel_name = "cni0"}, "another device"},
		{{.topology = "flannel-vxlan", .tunnel_name = "lo"}, "another device"},
		{{.topology = "flannel-vxlan", .tunnel_name = "vethpod1"}, "another device"},
		{{.topology = "flannel-vxlan", .underlay_mtu = 70000}, "underlay of MTU 70000"},
		{{.topology = "flannel-vxlan", .underlay_mtu = 60}, "underlay of MTU 60"},
		{{.topology = "flannel-vxlan", .overlay_mtu = 20}, "overlay of MTU 20"},
		{{.topology = "flannel-vxlan", .ipv6 = 1, .overlay_mtu = 1200}, "MTU 1200"},
		{{.topology = "flannel-vxlan", .ipv6 = 2, .underlay_mtu = 1270}, "MTU 1270"},
		{{.topology = "vxlan-mtu", .overlay_mtu = 65486, .underlay_mtu = 65535},
		 "at most 65485"},
		{{.topology = "flannel-udp", .overlay_mtu = 65508, .underlay_mtu = 65535},
		 "at most 65507"},
		{{.topology = "vxlan-mtu", .ipv6 = 2, .overlay_mtu = 1431}, "at most 1430"},
		{{.topology = "flannel-vxlan", .vni = 0x1000000}, "VNI 16777216"},
		{{.topology = "flannel-vxlan", .cpu_receiver = 99999}, "CPU 99999"},
		{{.topology = "flannel-vxlan", .cpu_sender = -1}, "CPU -1"},
		{{.topology = "flannel-vxlan", .nodes = 4}, "takes 2 to 3"},
		{{.topology = "flannel-vxlan", .pods = 9}, "takes 1 to 3"},
		{{.topology = "flannel-vxlan", .rate_bps = 10}, "10 bit/s"},
		{{.topology = "flannel-vxlan", .batch = true}, "no --batch"},
		{{.topology = "flannel-udp", .vni = 7}, "no --vni"},
		{{.topology = "host", .underlay_mtu = 1500}, "no --mtu"},
		{{.topology = "host", .nodes = 1}, "no --nodes"},
		{{.topology = "host", .offloads = OVL_LAB_OFFLOADS_ALL}, "no --offloads"},
		{{.topology = "docker-bridge", .ipv6 = 1}, "no --ipv6 inside"},
		{{.topology = "veth", .ipv6 = 1}, "no --ipv6 inside"},
		{{.topology = "veth", .pods = 1}, "no --pods"},
		{{.topology = "vxlan-mtu", .nodes = 2}, "no --nodes"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ovl_err err = OVL_ERR_INIT;
		struct ovl_lab lab = {0};

		ok(ovl_lab_twin(&rows[i].spec, &lab, &err) < 0, "refused: %s", rows[i].says);
		ok(strstr(err.text, rows[i].says) && err.exit == OVL_EXIT_USAGE, "says: %s",
		   err.text);
	}
}

int main(void)
{
	const struct ovl_topo *t;

	for (uint32_t i = 0; (t = ovl_topo_at(i)); i++) {
		ok(ovl_topo_find(t->name) == t, "topology %s is found by its name", t->name);
		plans(t);
	}
	ok(!ovl_topo_find("nosuch") && !ovl_topo_find(NULL), "no other is");
	ends();
	fragments();
	refused();
	return tap_done();
}
