#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/version.h"
#include "collect/collect.h"
#include "collect/links.h"
#include "collect/netns.h"
#include "collect/path.h"

#define SIMILAR_MAX   5	  /* similar interfaces named when one is not found */
#define SENTENCE_LIST 300 /* bytes of a sentence that a list of names may take */

struct if_name {
	char s[OVL_IF_MAX];
};

/* What a search over namespaces has come across. */
struct search {
	const char *iface;
	OVL_VEC(struct ovl_netns) hits; /* where the interface exists */
	OVL_VEC(struct if_name) seen;	/* every other name, each once */
	uint32_t looked_at;		/* namespaces */
	uint32_t refused;		/* namespaces and processes that could not be looked at */
};

static void search_fini(struct search *s)
{
	ovl_vec_fini(&s->hits);
	ovl_vec_fini(&s->seen);
}

static int note_name(struct search *s, const char *name)
{
	struct if_name *at;

	ovl_vec_each(seen, &s->seen)
		if (!strcmp(seen->s, name))
			return 0;
	at = ovl_vec_push(&s->seen);
	if (!at)
		return -ENOMEM;
	ovl_str_copy(at->s, sizeof(at->s), name);
	return 0;
}

/* Look for the interface in one namespace: 1 there, 0 not, or -errno. */
static int search_ns(struct search *s, int ns_fd)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_links *links = ovl_links_open(ns_fd, &err);
	ovl_raw_links raw = {0};
	int rc;

	if (!links)
		return err.exit == OVL_EXIT_RIGHTS ? -EPERM : -EIO;
	rc = ovl_links_read(links, &raw);
	s->looked_at += !rc;
	if (!rc && ovl_links_by_name(&raw, s->iface))
		rc = 1;
	for (size_t i = 0; !rc && i < raw.n; i++)
		rc = note_name(s, raw.v[i].name);
	ovl_vec_fini(&raw);
	ovl_links_close(links);
	return rc;
}

/* Look everywhere else. 0 or -ENOMEM; a namespace that cannot be read is counted, not fatal. */
static int search_all(struct search *s, uint64_t skip_inode)
{
	ovl_netns_vec all = {0};
	int rc = ovl_netns_list(&all, &s->refused);

	for (size_t i = 0; !rc && i < all.n; i++) {
		struct ovl_netns *hit;
		int fd, found;

		if (all.v[i].inode == skip_inode)
			continue;
		fd = ovl_netns_open_path(all.v[i].path);
		if (fd < 0) {
			s->refused += fd == -EACCES || fd == -EPERM;
			continue;
		}
		found = search_ns(s, fd);
		close(fd);
		s->refused += found == -EPERM;
		if (found == -ENOMEM)
			rc = found;
		if (found != 1)
			continue;
		hit = ovl_vec_push(&s->hits);
		if (hit)
			*hit = all.v[i];
		else
			rc = -ENOMEM;
	}
	ovl_vec_fini(&all);
	return rc;
}

/* Levenshtein distance of two interface names. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[OVL_IF_MAX + 1];
	size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i + 1;
		for (size_t j = 0; j < n; j++) {
			unsigned int best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (best > diagonal + 1)
				best = diagonal + 1;
			if (best > row[j] + 1)
				best = row[j] + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

static bool similar(const char *name, const char *wanted)
{
	return distance(name, wanted) <= 2 || (strlen(wanted) >= 3 && !strncmp(name, wanted, 3));
}

static int not_found(const struct search *s, const char *where, struct ovl_err *err)
{
	struct ovl_buf text = {0};
	uint32_t named = 0;
	int rc;

	for (size_t i = 0; i < s->seen.n && named < SIMILAR_MAX; i++)
		if (similar(s->seen.v[i].s, s->iface))
			ovl_buf_printf(&text, "%s%s",
				       named++ ? ", " : "; similar: ", s->seen.v[i].s);
	if (s->refused)
		ovl_buf_printf(&text, "; %u could not be looked into for lack of rights",
			       s->refused);
	rc = ovl_err_set(err, OVL_EXIT_INPUT, -ENODEV,
			 "interface %s was not found in %s (%zu other interfaces in %u network "
			 "namespace%s)%s",
			 s->iface, where, s->seen.n, s->looked_at, s->looked_at == 1 ? "" : "s",
			 ovl_buf_str(&text));
	ovl_buf_fini(&text);
	return rc;
}

static int ambiguous(const struct search *s, struct ovl_err *err)
{
	struct ovl_buf text = {0};
	size_t i;
	int rc;

	for (i = 0; i < s->hits.n && text.n < SENTENCE_LIST; i++)
		ovl_buf_printf(&text, "%s%s", i ? ", " : "", s->hits.v[i].name);
	if (i < s->hits.n)
		ovl_buf_printf(&text, " and %zu more", s->hits.n - i);
	rc = ovl_err_set(
		err, OVL_EXIT_INPUT, -ENODEV,
		"interface %s exists in %zu network namespaces (%s): choose one with --netns",
		s->iface, s->hits.n, ovl_buf_str(&text));
	ovl_buf_fini(&text);
	return rc;
}

/* Index of the hit to take, or -ENODEV. */
static int choose(const struct search *s, int (*prefer)(const char *const *names, uint32_t n))
{
	const char **names;
	int at = -1;

	if (s->hits.n == 1)
		return 0;
	names = calloc(s->hits.n, sizeof(*names));
	for (size_t i = 0; names && i < s->hits.n; i++)
		names[i] = s->hits.v[i].name;
	if (names && prefer)
		at = prefer(names, (uint32_t)s->hits.n);
	free(names);
	return at >= 0 && (size_t)at < s->hits.n ? at : -ENODEV;
}

/* Not in the current namespace: search the others. A descriptor or -errno. */
static int locate_elsewhere(struct search *s, uint64_t here,
			    int (*prefer)(const char *const *names, uint32_t n),
			    struct ovl_target *target, struct ovl_err *err)
{
	const struct ovl_netns *ns;
	int at, fd;

	if (search_all(s, here))
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	if (!s->hits.n)
		return not_found(s, "any network namespace", err);
	at = choose(s, prefer);
	if (at < 0)
		return ambiguous(s, err);
	ns = &s->hits.v[at];
	fd = ovl_netns_open_path(ns->path);
	if (fd < 0 || ovl_netns_inode(fd) != ns->inode) {
		if (fd >= 0)
			close(fd);
		return ovl_err_set(
			err, OVL_EXIT_INPUT, -ENODEV,
			"network namespace %s, which had interface %s, has just vanished", ns->name,
			s->iface);
	}
	if (s->hits.n == 1)
		snprintf(target->said, sizeof(target->said),
			 "%s was found in network namespace %s.", s->iface, ns->name);
	else
		snprintf(target->said, sizeof(target->said),
			 "%s exists in %zu network namespaces; %s is taken (--netns chooses "
			 "another).",
			 s->iface, s->hits.n, ns->name);
	return fd;
}

/* The namespace that has the interface: a descriptor or -errno. */
static int locate(struct search *s, const char *netns,
		  int (*prefer)(const char *const *names, uint32_t n), struct ovl_target *target,
		  struct ovl_err *err)
{
	uint64_t inode;
	int fd = netns ? ovl_netns_open(netns, err) : ovl_netns_current();
	int rc;

	if (fd < 0 && netns)
		return fd;
	if (fd < 0)
		return ovl_err_set(
			err, OVL_EXIT_FAILED, fd,
			"/proc/thread-self/ns/net cannot be opened (%s): is /proc mounted?",
			strerror(-fd));
	rc = search_ns(s, fd);
	if (rc == 1)
		return fd;
	inode = ovl_netns_inode(fd);
	close(fd);
	if (rc == -EPERM)
		return ovl_err_set(
			err, OVL_EXIT_RIGHTS, rc,
			"network namespace %s may not be entered: run as root (CAP_SYS_ADMIN)",
			netns ? netns : "of this process");
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "interfaces could not be read: %s",
				   strerror(-rc));
	if (netns) {
		char where[OVL_TEXT_MAX];

		snprintf(where, sizeof(where), "network namespace %.200s", netns);
		return not_found(s, where, err);
	}
	return locate_elsewhere(s, inode, prefer, target, err);
}

/* Say what could not be taken in, after what was said already. */
static void say_left_out(const struct ovl_path *p, struct ovl_target *target)
{
	size_t n = strlen(target->said);

	if (p->left_out) {
		snprintf(target->said + n, sizeof(target->said) - n,
			 "%sAt most %zu network namespaces are looked into; pods left out: %u.",
			 n ? " " : "", OVL_PATH_FOUND_MAX, p->left_out);
		n = strlen(target->said);
	}
	if (p->unresolved)
		snprintf(target->said + n, sizeof(target->said) - n,
			 "%sVeth peers whose network namespace was not found: %u.", n ? " " : "",
			 p->unresolved);
}

static int build(const char *iface, int ns_fd, struct ovl_facts *facts, struct ovl_target *target,
		 struct ovl_err *err)
{
	const struct ovl_raw_link *raw;
	struct ovl_path path;
	int rc;

	ovl_path_init(&path, target, facts);
	rc = ovl_path_add_ns(&path, NULL, ns_fd, err);
	if (rc >= 0) {
		raw = ovl_links_by_name(&path.raw[0], iface);
		if (!raw)
			rc = ovl_err_set(err, OVL_EXIT_INPUT, -ENODEV,
					 "interface %s has just vanished", iface);
	}
	if (rc >= 0) {
		rc = ovl_path_follow(&path, 0, raw);
		if (rc < 0)
			ovl_err_set(err, OVL_EXIT_FAILED, rc, "out of memory");
	}
	if (rc >= 0) {
		facts->iface = 0; /* ovl_path_follow adds the interface first */
		ovl_path_vxlan(&path, 0, raw);
		rc = ovl_path_connect(&path, err);
	}
	if (rc >= 0)
		say_left_out(&path, target);
	ovl_path_fini(&path);
	return rc < 0 ? rc : 0;
}

int ovl_target_find(const char *iface, const char *netns,
		    int (*prefer)(const char *const *names, uint32_t n), struct ovl_facts *facts,
		    struct ovl_target *target, struct ovl_err *err)
{
	struct search search = {.iface = iface};
	int rc;

	memset(target, 0, sizeof(*target));
	for (size_t i = 0; i < OVL_PATH_NS_MAX; i++)
		target->ns_fd[i] = -1;
	facts->iface = -1;
	if (!*iface || strlen(iface) >= OVL_IF_MAX)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "\"%.64s\" cannot be an interface: its name has 1 to %d bytes",
				   iface, OVL_IF_MAX - 1);
	rc = locate(&search, netns, prefer, target, err);
	search_fini(&search);
	if (rc >= 0)
		rc = build(iface, rc, facts, target, err);
	if (rc)
		ovl_target_close(target);
	return rc;
}

int ovl_target_add_ns(struct ovl_target *target, struct ovl_facts *facts, const char *name,
		      int ns_fd, struct ovl_err *err)
{
	struct ovl_path path;
	int at, own = fcntl(ns_fd, F_DUPFD_CLOEXEC, 3);

	if (own < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "network namespace %s cannot be kept open: %s", name,
				   strerror(errno));
	ovl_path_init(&path, target, facts);
	at = ovl_path_add_ns(&path, name, own, err);
	for (size_t i = 0; at >= 0 && i < path.raw[at].n; i++) {
		int rc = ovl_path_add_link(&path, (uint32_t)at, &path.raw[at].v[i]);

		if (rc < 0)
			at = ovl_err_set(err, OVL_EXIT_FAILED, rc, "out of memory");
	}
	if (at >= 0) {
		int rc = ovl_path_connect(&path, err);

		at = rc ? rc : at;
	}
	ovl_path_fini(&path);
	if (at < 0)
		return at;
	close(ns_fd);
	return 0;
}

void ovl_target_close(struct ovl_target *target)
{
	for (uint32_t i = 0; i < target->n_ns; i++)
		if (target->ns_fd[i] >= 0)
			close(target->ns_fd[i]);
	target->n_ns = 0;
}

void ovl_target_host(struct ovl_facts *facts)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname host;
	struct timespec now;

	ovl_str_copy(facts->tool_version, sizeof(facts->tool_version), OVL_VERSION);
	facts->cpus = cpus > 0 ? (uint32_t)cpus : 1;
	if (!uname(&host)) {
		ovl_str_copy(facts->kernel, sizeof(facts->kernel), host.release);
		ovl_str_copy(facts->arch, sizeof(facts->arch), host.machine);
		ovl_str_copy(facts->nodename, sizeof(facts->nodename), host.nodename);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	facts->start_unix_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}
