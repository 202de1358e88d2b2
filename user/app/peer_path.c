#include "app/peer_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/address.h"
#include "base/str.h"
#include "collect/netns.h"
#include "collect/vtep.h"

/*
 * Does a peer answer on the overlay, and on the underlay, too? Asked by connecting as the load
 * will: an iperf3 server sees a whole test without data, and one that serves both paths says that
 * it is busy on the second.
 */
static int ask(struct ovl_load_spec *load, enum ovl_load_which which, bool *iperf3,
	       struct ovl_err *err)
{
	struct ovl_load_spec probe = *load;
	struct ovl_load *trial;

	if (which == OVL_LOAD_OVERLAY)
		probe.path[OVL_LOAD_UNDERLAY].used = false;
	probe.streams = 1;
	if (which == OVL_LOAD_UNDERLAY)
		probe.connect_timeout_ms = 1000;
	trial = ovl_load_start(&probe, err);
	if (!trial)
		return -EIO;
	for (int i = 0; i < OVL_LOAD_PATHS; i++)
		load->path[i].was_iperf3 =
			probe.path[i].used &&
			!strcmp(ovl_load_peer_kind(trial, (enum ovl_load_which)i), "iperf3");
	*iperf3 = load->path[OVL_LOAD_OVERLAY].was_iperf3;
	ovl_load_stop(trial);
	return 0;
}

/* What was found where the peer's VTEP is. */
static const char *found(const struct ovl_err *why)
{
	if (strstr(why->text, "busy"))
		return "a busy server answers at";
	if (strstr(why->text, "sends all the time"))
		return "an iperf3 server, which sends all the time, answers at";
	if (strstr(why->text, "of version"))
		return "an older `ovltrace peer`, which does not send, answers at";
	return "nothing answers at";
}

static int underlay(const struct ovl_options *o, const struct ovl_target *target,
		    struct ovl_load_spec *load, char *said, struct ovl_err *err)
{
	struct ovl_load_path_spec *path = &load->path[OVL_LOAD_UNDERLAY];
	struct ovl_err why = OVL_ERR_INIT;
	bool iperf3 = false;
	char vtep[46];
	int rc;

	if (o->baseline && !strcmp(o->baseline, "off"))
		return 0;
	path->client_netns_fd = target->ns_fd[0];
	path->server_netns_fd = -1;
	if (load->reverse) {
		rc = ask(load, OVL_LOAD_OVERLAY, &iperf3, err);
		if (rc)
			return rc;
	}
	if (iperf3) {
		snprintf(
			said, OVL_TEXT_MAX,
			"no underlay to compare with: an iperf3 server sends all the time, so that "
			"two cannot take turns; run `ovltrace peer` there instead (the underlay is "
			"estimated now)");
		return 0;
	}
	path->used = true;
	if (o->baseline && strcmp(o->baseline, "auto") != 0) {
		uint16_t port = load->port;

		rc = ovl_address_resolve("--baseline", o->baseline, path->addr, &port, err);
		if (!rc && port != load->port)
			rc = ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					 "--baseline %s: the port must be "
					 "the peer's, %u",
					 o->baseline, load->port);
		return rc;
	}
	if (load->raw) {
		path->used = false;
		snprintf(
			said, OVL_TEXT_MAX,
			"no underlay to compare with: name it by --baseline HOST, where `iperf -s` "
			"runs, too");
		return 0;
	}
	/* asking the peer also fills the neighbour entry that leads to its VTEP */
	rc = ask(load, OVL_LOAD_OVERLAY, &iperf3, err);
	if (rc)
		return rc;
	rc = ovl_vtep_find(target->ns_fd[0], o->iface, load->path[OVL_LOAD_OVERLAY].addr, vtep,
			   &why);
	if (!rc) {
		ovl_str_copy(path->addr, sizeof(path->addr), vtep);
		if (!ask(load, OVL_LOAD_UNDERLAY, &iperf3, &why))
			return 0;
		snprintf(
			said, OVL_TEXT_MAX,
			"no underlay to compare with: %s the "
			"peer's VTEP %s port %u; run `ovltrace peer` in the node's namespace there "
			"(the underlay is estimated now)",
			found(&why), vtep, load->port);
	} else {
		snprintf(said, OVL_TEXT_MAX,
			 "no underlay to compare with: %.180s; name it by --baseline "
			 "HOST",
			 why.text);
	}
	path->used = false;
	return 0;
}

int ovl_peer_path(const struct ovl_options *o, const struct ovl_target *target,
		  struct ovl_load_spec *load, int *from_fd, char *said, struct ovl_err *err)
{
	struct ovl_load_path_spec *path = &load->path[OVL_LOAD_OVERLAY];
	int rc;

	load->remote = true;
	load->port = load->port ? load->port : OVL_LOAD_PORT;
	path->used = true;
	path->client_netns_fd = target->ns_fd[0];
	path->server_netns_fd = -1;
	rc = ovl_address_resolve("--peer", o->peer, path->addr, &load->port, err);
	if (rc)
		return rc;
	if (o->from) {
		*from_fd = ovl_netns_open(o->from, err);
		if (*from_fd < 0)
			return *from_fd;
		path->client_netns_fd = *from_fd;
	}
	return underlay(o, target, load, said, err);
}
