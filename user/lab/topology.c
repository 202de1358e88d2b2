#include "lab/topology.h"

#include <string.h>

#include "lab/lab.h"

/* The one list of topologies: name, tables. */
#define TOPOLOGIES(row) row("flannel-vxlan", ovl_topo_flannel_vxlan)

#define NAME(name, topo)   name,
#define TABLES(name, topo) &topo,

static const char *const names[] = {TOPOLOGIES(NAME) NULL};
static const struct ovl_topo *const topologies[] = {TOPOLOGIES(TABLES)};

#define N_TOPOLOGIES (sizeof(topologies) / sizeof(topologies[0]))

const char *const *ovl_lab_topologies(void)
{
	return names;
}

const struct ovl_topo *ovl_topo_find(const char *name)
{
	for (size_t i = 0; name && i < N_TOPOLOGIES; i++) {
		if (strcmp(topologies[i]->name, name) == 0)
			return topologies[i];
	}
	return NULL;
}

int ovl_topo_end(const struct ovl_topo *topo, const char *name)
{
	for (size_t i = 0; i < topo->n_ends; i++) {
		if (strcmp(topo->ends[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

void ovl_topo_names(struct ovl_buf *out)
{
	for (size_t i = 0; i < N_TOPOLOGIES; i++)
		ovl_buf_printf(out, "%s%s", i ? ", " : "", topologies[i]->name);
}

void ovl_topo_end_names(const struct ovl_topo *topo, struct ovl_buf *out)
{
	for (size_t i = 0; i < topo->n_ends; i++)
		ovl_buf_printf(out, "%s%s", i ? ", " : "", topo->ends[i].name);
}
