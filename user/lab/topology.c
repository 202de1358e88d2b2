#include "lab/topology.h"

#include <errno.h>
#include <string.h>

static const struct ovl_topo *const topologies[] = {
	&ovl_topo_flannel_vxlan,
	&ovl_topo_flannel_udp,
	&ovl_topo_flannel_hostgw,
	&ovl_topo_vxlan_mtu,
	&ovl_topo_k8s,
	&ovl_topo_docker_bridge,
	&ovl_topo_docker_published,
	&ovl_topo_docker_hostnet,
	&ovl_topo_docker_sharedns,
	&ovl_topo_veth,
	&ovl_topo_host,
};

#define N_TOPOLOGIES (sizeof(topologies) / sizeof(topologies[0]))

const struct ovl_topo *ovl_topo_at(uint32_t i)
{
	return i < N_TOPOLOGIES ? topologies[i] : NULL;
}

const struct ovl_topo *ovl_topo_find(const char *name)
{
	for (size_t i = 0; name && i < N_TOPOLOGIES; i++) {
		if (strcmp(topologies[i]->name, name) == 0)
			return topologies[i];
	}
	return NULL;
}

int ovl_topo_unknown(const char *name, struct ovl_err *err)
{
	struct ovl_buf known = {0};

	for (size_t i = 0; i < N_TOPOLOGIES; i++)
		ovl_buf_printf(&known, "%s%s", i ? ", " : "", topologies[i]->name);
	ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "unknown topology '%s'; known: %s",
		    name ? name : "", ovl_buf_str(&known));
	ovl_buf_fini(&known);
	return -EINVAL;
}

void ovl_lab_topologies(struct ovl_buf *out)
{
	for (size_t i = 0; i < N_TOPOLOGIES; i++)
		ovl_buf_printf(out, "  %-17s %s\n", topologies[i]->name, topologies[i]->about);
}
