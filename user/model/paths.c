/* Paths from steps: which device follows on which, most of the time. */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "model/packets.h"

/*
 * A branch is followed, and a beginning is one, from this share of a device's packets on. Below lie
 * floods of a bridge, and the odd step that a reused address makes.
 */
#define SHARE 0.1

struct graph {
	const struct ovl_packets_acc *acc;
	int dir;
};

static uint64_t weight(const struct graph *g, const struct ovl_step *s)
{
	return s->skbs[g->dir];
}

static uint64_t into(const struct graph *g, uint32_t node)
{
	uint64_t n = 0;

	ovl_vec_each(s, &g->acc->steps)
		n += s->to == node ? weight(g, s) : 0;
	return n;
}

/* The step that most packets take from here; NULL: they end here. */
static const struct ovl_step *heaviest(const struct graph *g, uint32_t node)
{
	const struct ovl_step *best = NULL;
	uint64_t all = 0;

	ovl_vec_each(s, &g->acc->steps) {
		if (s->from != node)
			continue;
		all += weight(g, s);
		if (!best || weight(g, s) > weight(g, best))
			best = s;
	}
	return best && (double)weight(g, best) >= SHARE * (double)all && weight(g, best) ? best
											 : NULL;
}

/* Packets of a device as they leave it for the driver, or for the stack. */
static struct ovl_point_value counted(const struct graph *g, uint32_t node)
{
	ovl_vec_each(hop, &g->acc->hops) {
		if (hop->link == node / 2)
			return hop->n.at[node & 1 ? OVL_POINT_RX : OVL_POINT_XMIT][g->dir];
	}
	return (struct ovl_point_value){0};
}

/* Packets of a device as they come to it: what is given to it is not cut into segments yet. */
static uint64_t arrived(const struct graph *g, uint32_t node)
{
	ovl_vec_each(hop, &g->acc->hops) {
		if (hop->link == node / 2)
			return hop->n.at[node & 1 ? OVL_POINT_RX : OVL_POINT_QUEUE][g->dir].skbs;
	}
	return 0;
}

static int feature(const struct ovl_link *link, const char *name)
{
	ovl_vec_each(f, &link->features) {
		if (!strcmp(f->name, name))
			return f->on;
	}
	return -1;
}

static void lose(struct ovl_path_hop *hop, const struct ovl_link *link, const char *name)
{
	if (feature(link, name) == 0)
		ovl_str_copy(hop->lost[hop->n_lost++], sizeof(hop->lost[0]), name);
}

/*
 * Offloads of sending that end here: what the hop before left undone is done in software. A tunnel
 * leaves aggregates to the device below, which needs to know them with the tunnel's headers on.
 */
static void lost_features(const struct ovl_facts *facts, uint32_t before, struct ovl_path_hop *hop)
{
	const struct ovl_link *from = &facts->links.v[before], *to = &facts->links.v[hop->link];
	const bool tunnel = !strcmp(from->kind, "vxlan") || !strcmp(from->kind, "geneve");

	if (feature(from, "tx-tcp-segmentation") == 1)
		lose(hop, to, tunnel ? "tx-udp_tnl-segmentation" : "tx-tcp-segmentation");
	if (feature(from, "tx-checksum-ip-generic") == 1)
		lose(hop, to, "tx-checksum-ip-generic");
}

static void add_hop(const struct graph *g, const struct ovl_facts *facts, uint32_t node,
		    struct ovl_hop_path *path)
{
	struct ovl_point_value n = counted(g, node);
	struct ovl_path_hop *hop = &path->hops[path->n];

	*hop = (struct ovl_path_hop){.link = node / 2,
				     .received = node & 1,
				     .pkts = n.skbs,
				     .segs = n.segs,
				     .bytes = n.bytes};
	if (!hop->received && path->n && !path->hops[path->n - 1].received)
		lost_features(facts, path->hops[path->n - 1].link, hop);
	path->n++;
}

static bool on_path(const struct ovl_hop_path *path, uint32_t node)
{
	for (uint32_t i = 0; i < path->n; i++)
		if (path->hops[i].link == node / 2 && path->hops[i].received == (node & 1))
			return true;
	return false;
}

static const char *side(const struct ovl_facts *facts, const struct ovl_hop_path *path)
{
	bool tx = false, rx = false;

	for (uint32_t i = 0; i < path->n; i++) {
		/* in a lab the far node has a device of this name: the path's other end */
		const struct ovl_link *link = &facts->links.v[path->hops[i].link];
		const struct ovl_link *iface = ovl_facts_iface(facts);

		if (!iface || strcmp(link->name, iface->name) != 0 ||
		    strcmp(link->kind, iface->kind) != 0)
			continue;
		tx |= !path->hops[i].received;
		rx |= path->hops[i].received;
	}
	return tx && rx ? "both" : tx ? "tx" : rx ? "rx" : NULL;
}

static int follow(const struct graph *g, const struct ovl_facts *facts, uint32_t start,
		  struct ovl_packets_model *out)
{
	struct ovl_hop_path *path = ovl_vec_push(&out->paths);
	const struct ovl_step *step;
	uint32_t node = start;

	if (!path)
		return -ENOMEM;
	path->dir = (enum ovl_dir)g->dir;
	add_hop(g, facts, node, path);
	while (path->n < OVL_PATH_HOPS && (step = heaviest(g, node)) != NULL &&
	       !on_path(path, step->to)) {
		node = step->to;
		add_hop(g, facts, node, path);
	}
	path->side = side(facts, path);
	return 0;
}

/* The busiest node that packets begin at and that no path has yet; its packets in *pkts. */
static uint32_t beginning(const struct graph *g, const struct ovl_packets_model *out,
			  uint64_t *pkts)
{
	uint32_t best = UINT32_MAX;

	*pkts = 0;
	ovl_vec_each(s, &g->acc->steps) {
		uint64_t n = arrived(g, s->from);
		bool taken = false;

		ovl_vec_each(path, &out->paths)
			taken |= (int)path->dir == g->dir && on_path(path, s->from);
		if (taken || n <= *pkts || !weight(g, s) ||
		    (double)into(g, s->from) >= (1 - SHARE) * (double)n)
			continue;
		best = s->from;
		*pkts = n;
	}
	return best;
}

int ovl_paths_build(const struct ovl_packets_acc *acc, const struct ovl_facts *facts,
		    struct ovl_packets_model *out)
{
	for (int dir = 0; dir < OVL_DIRS; dir++) {
		const struct graph g = {acc, dir};
		uint64_t pkts, most = 0;

		for (int i = 0; i < OVL_PATHS_MAX; i++) {
			uint32_t start = beginning(&g, out, &pkts);
			int rc;

			if (!i)
				most = pkts;
			/* what is rare beside the rest is not a path of the traffic */
			if (start == UINT32_MAX || (double)pkts < SHARE / 10 * (double)most)
				break;
			rc = follow(&g, facts, start, out);
			if (rc)
				return rc;
		}
	}
	return 0;
}
