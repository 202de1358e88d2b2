#include "model/losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/model.h"

/*
 * Counters of /proc/net/{snmp,snmp6,netstat} that count packets the node threw away, in one group
 * or in any ("").
 */
static const struct {
	const char *group, *name;
} protocol[] = {
	{"", "InDiscards"},
	{"", "OutDiscards"},
	{"", "ReasmFails"},
	{"", "FragFails"},
	{"", "RcvbufErrors"},
	{"", "SndbufErrors"},
	{"", "MemErrors"},
	{"TcpExt", "RcvPruned"},
	{"TcpExt", "OfoPruned"},
	{"TcpExt", "ListenDrops"},
	{"TcpExt", "TCPBacklogDrop"},
	{"TcpExt", "TCPRcvQDrop"},
	{"TcpExt", "TCPOFODrop"},
	{"TcpExt", "PFMemallocDrop"},
	{"TcpExt", "TCPMinTTLDrop"},
	{"TcpExt", "TCPZeroWindowDrop"},
};

static bool of_protocol(const struct ovl_counter *c)
{
	for (size_t i = 0; i < sizeof(protocol) / sizeof(protocol[0]); i++)
		if (!strcmp(c->name, protocol[i].name) &&
		    (!*protocol[i].group || !strcmp(c->group, protocol[i].group)))
			return true;
	return false;
}

static bool of_backlog(const struct ovl_counter *c)
{
	return !strcmp(c->group, "softnet") && !strcmp(c->name, "dropped");
}

bool ovl_losses_counter(const struct ovl_counter *c)
{
	return !strcmp(c->group, "link") || of_backlog(c) || of_protocol(c);
}

/* Drivers name their counters as they like: these words say that a packet was lost. */
static bool of_driver(const char *name)
{
	static const char *const parts[] = {"drop",  "miss",	 "discard", "no_buf",
					    "nobuf", "overflow", "overrun", "xmit_errors"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static int add(ovl_losses *to, uint32_t ns, const char *source, const char *object,
	       const char *name, uint64_t pkts)
{
	struct ovl_loss *loss = pkts ? ovl_vec_push(to) : NULL;

	if (!pkts)
		return 0;
	if (!loss)
		return -ENOMEM;
	loss->ns = ns;
	loss->source = source;
	loss->pkts = pkts;
	ovl_str_copy(loss->object, sizeof(loss->object), object);
	ovl_str_copy(loss->name, sizeof(loss->name), name);
	return 0;
}

static int add_devices(const struct ovl_facts *facts, struct ovl_model *m)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < m->devices.n && i < facts->links.n; i++) {
		const struct ovl_device *d = &m->devices.v[i];
		const struct ovl_link *link = &facts->links.v[i];

		if (!d->valid)
			continue;
		rc = add(&m->losses, link->ns, "device", link->name, "tx_dropped", d->tx.drops);
		rc = rc ? rc
			: add(&m->losses, link->ns, "device", link->name, "rx_dropped",
			      d->rx.drops);
	}
	return rc;
}

/* A link's counter is called "eth0:rx_missed_errors". */
static int add_counter(const struct ovl_counter *c, ovl_losses *to)
{
	const bool link = !strcmp(c->group, "link");
	const char *colon = link ? strrchr(c->name, ':') : NULL;
	char object[OVL_NAME_MAX];

	ovl_str_copy(object, sizeof(object), colon ? c->name : c->group);
	if (colon)
		object[colon - c->name] = '\0';
	return add(to, c->ns,
		   link		   ? "link"
		   : of_backlog(c) ? "backlog"
				   : "protocol",
		   object, colon ? colon + 1 : c->name, (uint64_t)c->delta);
}

static int add_reading(const struct ovl_reading *r, ovl_losses *to)
{
	if (r->delta <= 0)
		return 0;
	/* what a class drops its discipline counts as well */
	if (!strcmp(r->kind, "qdisc") && !strcmp(r->name, "drops") && !strstr(r->object, " class "))
		return add(to, r->ns, "qdisc", r->object, r->name, (uint64_t)r->delta);
	if (!strcmp(r->kind, "nic") && of_driver(r->name))
		return add(to, r->ns, "nic", r->object, r->name, (uint64_t)r->delta);
	return 0;
}

static int by_pkts(const void *a, const void *b)
{
	const struct ovl_loss *x = a, *y = b;
	int order;

	if (x->pkts != y->pkts)
		return x->pkts < y->pkts ? 1 : -1;
	order = strcmp(x->object, y->object);
	return order ? order : strcmp(x->name, y->name);
}

int ovl_losses_build(const struct ovl_facts *facts, struct ovl_model *out)
{
	int rc;

	ovl_vec_clear(&out->losses);
	rc = add_devices(facts, out);
	ovl_vec_each(c, &out->counters)
		if (!rc && c->delta > 0 && ovl_losses_counter(c))
			rc = add_counter(c, &out->losses);
	ovl_vec_each(r, &out->readings)
		rc = rc ? rc : add_reading(r, &out->losses);
	if (out->losses.n)
		qsort(out->losses.v, out->losses.n, sizeof(*out->losses.v), by_pkts);
	return rc;
}
