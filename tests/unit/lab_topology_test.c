/* Every topology's tables make sense by themselves, so that `up` cannot meet a bad row. */
#include "lab/topology.h"

#include "lab/build.h"
#include "lab/lab.h"
#include "lab/netlink.h"
#include "tap.h"

static bool is_ip4(const char *text)
{
	uint32_t ip;
	uint8_t len;

	return ovl_netlink_parse_ip4(text, &ip, &len);
}

/* Does an end have a device of that name, made before row `before`? */
static bool has_dev(const struct ovl_topo *t, uint8_t end, const char *name, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		const struct ovl_topo_dev *d = &t->devs[i];

		if ((d->end == end && strcmp(d->name, name) == 0) ||
		    (d->peer_name && d->peer_end == end && strcmp(d->peer_name, name) == 0))
			return true;
	}
	return false;
}

static bool dev_good(const struct ovl_topo *t, size_t i)
{
	const struct ovl_topo_dev *d = &t->devs[i];
	uint8_t mac[6];
	bool good = d->end < t->n_ends && !has_dev(t, d->end, d->name, i);

	good = good && (strcmp(d->name, OVL_TOPO_TUNNEL) == 0 || ovl_build_name_ok(d->name));
	good = good && (!d->addr || is_ip4(d->addr)) && (!d->peer_addr || is_ip4(d->peer_addr));
	good = good && (!d->mac || ovl_netlink_parse_mac(d->mac, mac));
	if (d->kind == OVL_TOPO_VETH)
		good = good && d->peer_name && d->peer_end < t->n_ends &&
		       ovl_build_name_ok(d->peer_name) &&
		       (!d->master || has_dev(t, d->peer_end, d->master, i));
	if (d->kind == OVL_TOPO_VXLAN)
		good = good && d->local && is_ip4(d->local) && has_dev(t, d->end, d->lower, i);
	return good;
}

static void tables(const struct ovl_topo *t)
{
	uint8_t mac[6];

	ok(t->n_ends > 0 && t->n_ends <= OVL_LAB_ENDS_MAX, "%s: number of ends", t->name);
	for (size_t i = 0; i < t->n_ends; i++) {
		const struct ovl_topo_end *e = &t->ends[i];

		ok(is_ip4(e->addr) && (e->side == 'a' || e->side == 'b') &&
			   ovl_topo_end(t, e->name) == (int)i,
		   "%s: end %s", t->name, e->name);
	}
	for (size_t i = 0; i < t->n_devs; i++)
		ok(dev_good(t, i), "%s: device %zu %s", t->name, i, t->devs[i].name);
	for (size_t i = 0; i < t->n_vteps; i++) {
		const struct ovl_topo_vtep *v = &t->vteps[i];

		ok(has_dev(t, v->end, v->dev, t->n_devs) && is_ip4(v->addr) &&
			   ovl_netlink_parse_mac(v->mac, mac) && is_ip4(v->remote),
		   "%s: vtep %zu", t->name, i);
	}
	for (size_t i = 0; i < t->n_routes; i++) {
		const struct ovl_topo_route *r = &t->routes[i];

		ok(has_dev(t, r->end, r->dev, t->n_devs) && (!r->dst || is_ip4(r->dst)) &&
			   (!r->via || is_ip4(r->via)),
		   "%s: route %zu", t->name, i);
	}
	for (size_t i = 0; i < t->n_paths; i++)
		ok(t->paths[i].from < t->n_ends && t->paths[i].to < t->n_ends, "%s: path %zu",
		   t->name, i);
}

static void ends(void)
{
	struct ovl_lab lab = {0};

	ovl_build_ends(ovl_topo_find("flannel-vxlan"), true, &lab);
	is_int(lab.n_ends, 4, "flannel-vxlan has four ends");
	ok(!lab.twin, "named: a lab");
	is_str(ovl_lab_end(&lab, "node1")->netns, "ovl-flannel-vxlan-node1", "namespace of node1");
	is_str(ovl_lab_end(&lab, "pod2")->addr, "10.244.2.2", "address of pod2");
	is_int(ovl_lab_end(&lab, "pod2")->side, 'b', "pod2 is on the receiver's side");
	ok(!ovl_lab_end(&lab, "pod3"), "there is no pod3");
	ovl_build_ends(ovl_topo_find("flannel-vxlan"), false, &lab);
	ok(lab.twin, "unnamed: a twin");
	is_str(ovl_lab_end(&lab, "node1")->netns, "twin:a-node", "twin's sender node");
	is_str(ovl_lab_end(&lab, "pod1")->netns, "twin:a-pod", "twin's sender pod");
	is_str(ovl_lab_end(&lab, "node2")->netns, "twin:b-node", "twin's receiver node");
	is_str(ovl_lab_end(&lab, "pod2")->netns, "twin:b-pod", "twin's receiver pod");
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
		{{.topology = "flannel-vxlan", .underlay_mtu = 70000}, "underlay of MTU 70000"},
		{{.topology = "flannel-vxlan", .underlay_mtu = 60}, "underlay of MTU 60"},
		{{.topology = "flannel-vxlan", .overlay_mtu = 20}, "overlay of MTU 20"},
		{{.topology = "flannel-vxlan", .vni = 0x1000000}, "VNI 16777216"},
		{{.topology = "flannel-vxlan", .cpu_receiver = 99999}, "CPU 99999"},
		{{.topology = "flannel-vxlan", .cpu_sender = -1}, "CPU -1"},
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
	for (const char *const *name = ovl_lab_topologies(); *name; name++) {
		const struct ovl_topo *topo = ovl_topo_find(*name);

		ok(topo && strcmp(topo->name, *name) == 0, "topology %s is found by its name",
		   *name);
		if (topo)
			tables(topo);
	}
	ok(!ovl_topo_find("nosuch") && !ovl_topo_find(NULL), "no other is");
	ends();
	refused();
	return tap_done();
}
