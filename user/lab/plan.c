#include "lab/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

void ovl_plan_init(struct ovl_plan *plan, const struct ovl_lab_spec *spec, uint32_t encap_bytes)
{
	memset(plan, 0, sizeof(*plan));
	plan->encap_bytes = encap_bytes;
	plan->steered = true;
	plan->spec = spec;
	plan->ip6_inside = spec->ipv6 & OVL_LAB_IPV6_INSIDE;
	plan->ip6_outside = spec->ipv6 & OVL_LAB_IPV6_OUTSIDE;
}

void ovl_plan_fini(struct ovl_plan *plan)
{
	for (size_t i = 0; i < OVL_LAB_ENDS_MAX; i++)
		ovl_buf_fini(&plan->nft[i]);
}

__attribute__((format(printf, 4, 0))) static void format(struct ovl_plan *plan, char *field,
							 size_t n, const char *fmt, va_list ap)
{
	int len = vsnprintf(field, n, fmt, ap);

	if (len < 0 || (size_t)len >= n)
		plan->full = true;
}

void ovl_plan_set(struct ovl_plan *plan, char *field, size_t n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	format(plan, field, n, fmt, ap);
	va_end(ap);
}

/* Index of the next row of a table, or of its last one when it is full. */
static uint32_t next(struct ovl_plan *plan, uint32_t *n, uint32_t max)
{
	if (*n < max)
		return (*n)++;
	plan->full = true;
	return max - 1;
}

static uint8_t add_end(struct ovl_plan *plan, char side, bool node, const char *addr)
{
	uint8_t i = (uint8_t)next(plan, &plan->n_ends, OVL_LAB_ENDS_MAX);
	struct ovl_lab_end *end = &plan->ends[i];

	*end = (struct ovl_lab_end){.place = i,
				    .server = i,
				    .servers = 1,
				    .host = i,
				    .netns_fd = -1,
				    .side = side,
				    .node = node};
	if (!ovl_str_copy(end->addr, sizeof(end->addr), addr))
		plan->full = true;
	return i;
}

uint8_t ovl_plan_node(struct ovl_plan *plan, char side, const char *addr, const char *fmt, ...)
{
	uint8_t i = add_end(plan, side, true, addr);
	va_list ap;

	va_start(ap, fmt);
	format(plan, plan->ends[i].name, sizeof(plan->ends[i].name), fmt, ap);
	va_end(ap);
	return i;
}

uint8_t ovl_plan_pod(struct ovl_plan *plan, uint8_t host, char side, const char *addr,
		     const char *fmt, ...)
{
	uint8_t i = add_end(plan, side, false, addr);
	va_list ap;

	plan->ends[i].host = host;
	va_start(ap, fmt);
	format(plan, plan->ends[i].name, sizeof(plan->ends[i].name), fmt, ap);
	va_end(ap);
	return i;
}

uint8_t ovl_plan_sharer(struct ovl_plan *plan, uint8_t with, const char *addr, const char *name)
{
	const struct ovl_lab_end *host = &plan->ends[with];
	uint8_t i = add_end(plan, host->side, host->node, addr);

	plan->ends[i].place = with;
	plan->ends[i].host = host->host;
	OVL_PLAN_SET(plan, plan->ends[i].name, "%s", name);
	return i;
}

uint8_t ovl_plan_virtual(struct ovl_plan *plan, uint8_t server, uint32_t servers, const char *addr,
			 const char *name)
{
	uint8_t i = add_end(plan, plan->ends[server].side, false, addr);

	plan->ends[i].place = OVL_LAB_NOWHERE;
	plan->ends[i].server = server;
	plan->ends[i].servers = (uint8_t)servers;
	plan->ends[i].host = plan->ends[server].host;
	OVL_PLAN_SET(plan, plan->ends[i].name, "%s", name);
	return i;
}

struct ovl_plan_dev *ovl_plan_dev(struct ovl_plan *plan, enum ovl_plan_kind kind, uint8_t end,
				  const char *name)
{
	struct ovl_plan_dev *d = &plan->devs[next(plan, &plan->n_devs, OVL_PLAN_DEVS)];

	*d = (struct ovl_plan_dev){.kind = kind, .end = end};
	OVL_PLAN_SET(plan, d->name, "%s", name);
	return d;
}

struct ovl_plan_vtep *ovl_plan_vtep(struct ovl_plan *plan, uint8_t end, const char *dev)
{
	struct ovl_plan_vtep *v = &plan->vteps[next(plan, &plan->n_vteps, OVL_PLAN_VTEPS)];

	*v = (struct ovl_plan_vtep){.end = end};
	OVL_PLAN_SET(plan, v->dev, "%s", dev);
	return v;
}

struct ovl_plan_route *ovl_plan_route(struct ovl_plan *plan, uint8_t end, const char *dev)
{
	struct ovl_plan_route *r = &plan->routes[next(plan, &plan->n_routes, OVL_PLAN_ROUTES)];

	*r = (struct ovl_plan_route){.end = end, .frames_per_segment = 1};
	OVL_PLAN_SET(plan, r->dev, "%s", dev);
	return r;
}

struct ovl_plan_daemon *ovl_plan_daemon(struct ovl_plan *plan, uint8_t end, const char *what)
{
	struct ovl_plan_daemon *d = &plan->daemons[next(plan, &plan->n_daemons, OVL_PLAN_DAEMONS)];

	*d = (struct ovl_plan_daemon){.end = end, .what = what};
	return d;
}

void ovl_plan_path(struct ovl_plan *plan, uint8_t from, uint8_t to)
{
	plan->paths[next(plan, &plan->n_paths, OVL_PLAN_PATHS)] = (struct ovl_plan_path){from, to};
}

void ovl_plan_arg(struct ovl_plan *plan, struct ovl_plan_daemon *daemon, const char *fmt, ...)
{
	va_list ap;
	size_t i = 0;

	while (i < OVL_PLAN_ARGS && daemon->args[i][0])
		i++;
	if (i == OVL_PLAN_ARGS) {
		plan->full = true;
		return;
	}
	va_start(ap, fmt);
	format(plan, daemon->args[i], sizeof(daemon->args[i]), fmt, ap);
	va_end(ap);
}

uint32_t ovl_plan_fragments(uint32_t payload_bytes, uint32_t room_bytes)
{
	uint32_t step_bytes = room_bytes & ~7u;

	if (payload_bytes <= room_bytes)
		return 1;
	return 1 + (payload_bytes - room_bytes + step_bytes - 1) / step_bytes;
}

uint32_t ovl_plan_frames_per_segment(const struct ovl_plan *plan)
{
	const struct ovl_lab_spec *s = plan->spec;
	uint32_t ip_bytes = plan->ip6_outside ? 40 : 20;
	uint32_t fragment_bytes = plan->ip6_outside ? 8 : 0; /* header in each fragment */
	uint32_t packet_bytes = s->overlay_mtu + plan->encap_bytes;

	if (!plan->encap_bytes || packet_bytes <= s->underlay_mtu)
		return 1;
	return ovl_plan_fragments(packet_bytes - ip_bytes,
				  s->underlay_mtu - ip_bytes - fragment_bytes);
}

int ovl_plan_find(const struct ovl_plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->n_ends; i++) {
		if (strcmp(plan->ends[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}
