#include "app/scene.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/lab_path.h"
#include "app/peer_path.h"
#include "app/quiet_cpus.h"
#include "app/twin.h"
#include "base/buf.h"
#include "base/str.h"

/* Among several interfaces of one name: the first node of a lab, if all belong to one lab. */
static int prefer_lab_node(const char *const *names, uint32_t n)
{
	struct ovl_lab lab;
	int choice = -1;

	if (ovl_lab_open_by_netns(names[0], &lab, NULL))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		bool ours = false;

		for (uint32_t e = 0; e < lab.n_ends; e++) {
			if (strcmp(lab.ends[e].netns, names[i]) != 0)
				continue;
			ours = true;
			if (lab.ends[e].place == lab.ends[lab.iface_end].place)
				choice = (int)i;
		}
		if (!ours) {
			choice = -1;
			break;
		}
	}
	ovl_lab_close(&lab);
	return choice;
}

static bool knows_netns(const struct ovl_facts *facts, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	for (size_t i = 0; i < facts->ns.n; i++)
		if (facts->ns.v[i].inode == st.st_ino)
			return true;
	return false;
}

/* All endpoints' namespaces are on the path: their counters are read, their devices named. */
static int add_ends(struct ovl_scene *s, struct ovl_err *err)
{
	for (uint32_t i = 0; i < s->lab.n_ends; i++) {
		const struct ovl_lab_end *end = &s->lab.ends[i];
		int fd, rc;

		if (end->place == OVL_LAB_NOWHERE || knows_netns(&s->facts, end->netns_fd))
			continue;
		fd = fcntl(end->netns_fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
					   "cannot keep namespace %s: %s", end->netns,
					   strerror(errno));
		rc = ovl_target_add_ns(&s->target, &s->facts, end->netns, fd, err);
		if (rc) {
			close(fd);
			return rc;
		}
	}
	return 0;
}

static void spec_from_options(struct ovl_scene *s, const struct ovl_options *o)
{
	s->load.port = o->port;
	s->load.streams = o->streams;
	s->load.block_bytes = o->block_bytes;
	s->load.mss_bytes = o->mss_bytes;
	s->load.window_bytes = o->window_bytes;
	s->load.rate_bps = o->rate_bps;
	s->load.tx_zerocopy = o->tx_zerocopy;
	s->load.rx_trunc = o->rx_trunc;
	s->load.raw = o->load_raw;
	s->load.plain = o->load_plain;
	ovl_str_copy(s->load.congestion, sizeof(s->load.congestion),
		     o->congestion ? o->congestion : "");
}

static void facts_of_load(struct ovl_scene *s, const struct ovl_options *o, const char *peer_kind)
{
	struct ovl_load_facts *f = &s->facts.load;

	f->valid = true;
	ovl_str_copy(f->kind, sizeof(f->kind), ovl_options_load(o));
	ovl_str_copy(f->peer_kind, sizeof(f->peer_kind), peer_kind);
	f->streams = s->load.streams;
	f->cpu_sender = s->load.cpu_sender;
	f->cpu_receiver = s->load.cpu_receiver;
	f->has_underlay = s->load.path[OVL_LOAD_UNDERLAY].used;
}

static int scene_of_lab(struct ovl_scene *s, const struct ovl_options *o, struct ovl_err *err)
{
	int rc = ovl_lab_path(o, &s->lab, &s->load, err);

	if (!rc)
		rc = add_ends(s, err);
	if (rc)
		return rc;
	facts_of_load(s, o, "lab");
	ovl_lab_path_say(&s->lab, ovl_facts_iface(&s->facts)->name, &s->load, s->facts.load.where,
			 sizeof(s->facts.load.where));
	return 0;
}

static int scene_of_twin(struct ovl_scene *s, const struct ovl_options *o, struct ovl_err *err)
{
	int rc = ovl_twin_make(&s->facts, o, &s->lab, err);

	if (rc)
		return rc;
	s->has_lab = true;
	rc = ovl_lab_path(o, &s->lab, &s->load, err);
	if (!rc)
		rc = add_ends(s, err);
	if (rc)
		return rc;
	facts_of_load(s, o, "twin");
	snprintf(s->facts.load.where, sizeof(s->facts.load.where),
		 "twin of %s (CPU only: no NIC, no wire%s) on CPUs %d and %d%s", o->iface,
		 strchr(s->facts.vxlan.local, ':') ? "; its underlay is IPv4" : "",
		 s->load.cpu_sender, s->load.cpu_receiver,
		 o->reverse ? ", from the far node to this one" : "");
	snprintf(s->said, sizeof(s->said),
		 "loading a private twin of %s on CPUs %d (sender) and %d (receiver); no packet "
		 "leaves "
		 "this node",
		 o->iface, s->load.cpu_sender, s->load.cpu_receiver);
	return 0;
}

/* An end of the lab that the interface belongs to stands for its namespace. */
static const char *place_of(const struct ovl_scene *s, const char *from)
{
	const struct ovl_lab_end *end = s->has_lab && from ? ovl_lab_end(&s->lab, from) : NULL;

	return end && *end->netns ? end->netns : from;
}

/* A word that is no address: perhaps an end of the lab was meant, and misspelt. */
static int name_ends(const struct ovl_scene *s, const char *peer, int rc, struct ovl_err *err)
{
	struct ovl_buf names = {0};

	if (rc != -EHOSTUNREACH || !s->has_lab || strpbrk(peer, ".:"))
		return rc;
	for (uint32_t i = 0; i < s->lab.n_ends; i++)
		if (*s->lab.ends[i].addr)
			ovl_buf_printf(&names, " %s", s->lab.ends[i].name);
	ovl_err_set(err, OVL_EXIT_USAGE, rc,
		    "--peer %.64s is no end of lab %s, and no host of that name is known here; its "
		    "ends are%s",
		    peer, s->lab.topology, ovl_buf_str(&names));
	ovl_buf_fini(&names);
	return rc;
}

static int scene_of_peer(struct ovl_scene *s, const struct ovl_options *o, struct ovl_err *err)
{
	const struct ovl_lab_end *end = s->has_lab ? ovl_lab_end(&s->lab, o->peer) : NULL;
	struct ovl_options own = *o;
	double idle_cpus;
	int other;
	/* this end's thread, whether it sends or receives */
	int rc = ovl_quiet_cpus(o->reverse ? &s->load.cpu_receiver : &s->load.cpu_sender, &other,
				&idle_cpus, err);

	s->load.reverse = o->reverse;
	own.from = place_of(s, o->from);
	if (end && *end->addr)
		own.peer = end->addr;
	if (!rc)
		rc = ovl_peer_path(&own, &s->target, &s->load, &s->from_fd, s->said, err);
	if (rc)
		return name_ends(s, o->peer, rc, err);
	facts_of_load(s, o, "ovltrace");
	snprintf(s->facts.load.where, sizeof(s->facts.load.where), "%s %s over %s%s%s%s",
		 o->reverse ? "from" : "to", o->peer, o->iface,
		 !o->from     ? ""
		 : o->reverse ? ", to "
			      : ", from ",
		 o->from ? o->from : "",
		 s->facts.load.has_underlay ? ", its underlay in turns" : "");
	return 0;
}

static int set_load(struct ovl_scene *s, const struct ovl_options *o, struct ovl_err *err)
{
	const struct ovl_link *iface = ovl_facts_iface(&s->facts);

	if (!iface->up)
		return ovl_err_set(
			err, OVL_EXIT_INPUT, -ENETDOWN,
			"%s is down, so there is nothing to load: bring it up with `ip link "
			"set %s up`, or leave out --load",
			iface->name, iface->name);
	spec_from_options(s, o);
	s->has_load = true;
	if (!ovl_lab_open_by_netns(ovl_facts_ns(&s->facts, iface->ns), &s->lab, err)) {
		s->has_lab = true;
		/* an end of the lab needs no server, unless a real one's protocol is asked for */
		if (o->peer ? ovl_lab_path_named(o, &s->lab) && !o->load_plain && !o->load_raw
			    : !strcmp(iface->name, s->lab.iface))
			return scene_of_lab(s, o, err);
		if (o->peer)
			return scene_of_peer(s, o, err);
		ovl_lab_close(&s->lab);
		s->has_lab = false;
	}
	return o->peer ? scene_of_peer(s, o, err) : scene_of_twin(s, o, err);
}

int ovl_scene_open(const struct ovl_options *o, struct ovl_scene *s, struct ovl_err *err)
{
	int rc;

	*s = (struct ovl_scene){.from_fd = -1, .load = {.cpu_sender = -1, .cpu_receiver = -1}};
	for (size_t i = 0; i < sizeof(s->target.ns_fd) / sizeof(s->target.ns_fd[0]); i++)
		s->target.ns_fd[i] = -1;
	if (!o->iface)
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"which interface? Give --iface IF, such as --iface flannel.1 (`ip -br "
			"link` lists them; `ovltrace lab up flannel-vxlan` makes one to try)");
	ovl_target_host(&s->facts);
	s->facts.iface = -1;
	rc = ovl_target_find(o->iface, o->netns, prefer_lab_node, &s->facts, &s->target, err);
	if (rc)
		return rc;
	ovl_str_copy(s->said, sizeof(s->said), s->target.said);
	rc = o->load ? set_load(s, o, err) : 0;
	if (!rc && ovl_options_settings(o, s->load.remote, &s->facts))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	return rc;
}

void ovl_scene_close(struct ovl_scene *s)
{
	if (s->has_lab)
		ovl_lab_close(&s->lab);
	if (s->from_fd >= 0)
		close(s->from_fd);
	ovl_target_close(&s->target);
	ovl_facts_fini(&s->facts);
}
