#include "lab/lab.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "lab/build.h"
#include "lab/fault.h"
#include "lab/labfile.h"
#include "lab/namespace.h"
#include "lab/program.h"
#include "lab/topology.h"

static int not_up(const char *topology, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
			   "lab %s is not up; make it with `ovltrace lab up %s`", topology,
			   topology);
}

/* Does this end have a namespace of its own? */
static bool is_place(const struct ovl_lab *lab, uint32_t i)
{
	return lab->ends[i].place == i;
}

/* Refuse what is up already, half-made, or not ours. */
static int check_free(const struct ovl_build *b, struct ovl_err *err)
{
	const char *topology = b->topo->name;
	struct ovl_labfile state;
	int rc = ovl_labfile_read(topology, &state, err);

	if (rc == 0)
		return ovl_err_set(
			err, OVL_EXIT_FAILED, -EEXIST,
			"lab %s is already %s (by %s); remove it with `ovltrace lab down %s`",
			topology, state.complete ? "up" : "there, half-made by an `up` that died",
			state.by, topology);
	if (rc != -ENOENT)
		return rc;
	for (uint32_t i = 0; i < b->lab->n_ends; i++) {
		const char *netns = b->lab->ends[i].netns;

		if (is_place(b->lab, i) && ovl_namespace_exists(netns))
			return ovl_err_set(err, OVL_EXIT_FAILED, -EEXIST,
					   "cannot make lab %s: a namespace %s exists that no lab "
					   "made; if it is not needed, `ip netns delete %s`",
					   topology, netns, netns);
	}
	return 0;
}

/* Undo an `up` that failed; its own reason stays in err. */
static void undo(const struct ovl_build *b)
{
	if (b->mark)
		ovl_program_kill(&(struct ovl_program_whose){.mark = b->mark}, NULL);
	for (uint32_t i = 0; i < b->n_made; i++) {
		if (is_place(b->lab, i))
			ovl_namespace_remove(b->lab->ends[i].netns, NULL);
	}
	ovl_lab_close(b->lab);
	ovl_labfile_remove(b->topo->name, NULL);
}

static int up_locked(struct ovl_build *b, struct ovl_err *err)
{
	struct ovl_labfile state = {
		.lab = *b->lab, .n_ends = b->lab->n_ends, .offloads = b->spec.offloads};
	int rc;

	rc = check_free(b, err);
	if (!rc)
		rc = ovl_namespace_prepare(err);
	if (rc < 0)
		return rc;
	ovl_labfile_sign(&state);
	b->mark = state.mark;
	rc = ovl_labfile_write(&state, err);
	if (rc < 0)
		return rc;
	rc = ovl_build_run(b, err);
	if (!rc) {
		state.complete = true;
		rc = ovl_labfile_write(&state, err);
	}
	if (rc < 0)
		undo(b);
	b->mark = NULL;
	return rc;
}

int ovl_lab_up(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_build b;
	int lock, rc;

	rc = ovl_build_init(&b, spec, true, lab, err);
	if (rc < 0)
		return rc;
	lock = ovl_labfile_lock(err);
	rc = lock;
	if (lock >= 0)
		rc = up_locked(&b, err);
	ovl_labfile_unlock(lock);
	ovl_build_fini(&b);
	return rc;
}

int ovl_lab_twin(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_build b;
	int rc;

	rc = ovl_build_init(&b, spec, false, lab, err);
	if (rc < 0)
		return rc;
	rc = ovl_build_run(&b, err);
	if (rc < 0)
		ovl_lab_close(lab);
	ovl_build_fini(&b);
	return rc;
}

static int open_place(struct ovl_lab *lab, uint32_t i, struct ovl_err *err)
{
	struct ovl_lab_end *end = &lab->ends[i];
	int fd = ovl_namespace_open(end->netns);

	if (fd < 0) {
		ovl_err_set(err, ovl_fault_exit(fd), fd,
			    "cannot open namespace %s of lab %s: %s; if it was deleted, "
			    "remove the rest with `ovltrace lab down %s`",
			    end->netns, lab->topology, strerror(-fd), lab->topology);
		ovl_lab_close(lab);
		return fd;
	}
	end->netns_fd = fd;
	return 0;
}

static int open_ends(struct ovl_lab *lab, struct ovl_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < lab->n_ends; i++) {
		if (is_place(lab, i))
			rc = open_place(lab, i, err);
	}
	for (uint32_t i = 0; !rc && i < lab->n_ends; i++) {
		if (!is_place(lab, i) && lab->ends[i].place != OVL_LAB_NOWHERE)
			lab->ends[i].netns_fd = lab->ends[lab->ends[i].place].netns_fd;
	}
	return rc;
}

static int open_state(const struct ovl_labfile *state, struct ovl_lab *lab, struct ovl_err *err)
{
	const char *topology = state->lab.topology;

	if (!state->complete)
		return ovl_err_set(
			err, OVL_EXIT_FAILED, -EAGAIN,
			"lab %s is half-made: wait if an `up` is at work, else remove it "
			"with `ovltrace lab down %s`",
			topology, topology);
	*lab = state->lab;
	return open_ends(lab, err);
}

int ovl_lab_open(const char *topology, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_labfile state;
	int rc;

	if (!ovl_topo_find(topology))
		return ovl_topo_unknown(topology, err);
	rc = ovl_labfile_read(topology, &state, err);
	if (rc == -ENOENT)
		return not_up(topology, err);
	return rc < 0 ? rc : open_state(&state, lab, err);
}

static bool owns(const struct ovl_lab *lab, const char *netns)
{
	for (uint32_t i = 0; i < lab->n_ends; i++) {
		if (*netns && strcmp(lab->ends[i].netns, netns) == 0)
			return true;
	}
	return false;
}

int ovl_lab_open_by_netns(const char *netns, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_labfile_names names = {0};
	struct ovl_labfile state;
	int rc = -ENOENT;

	if (!ovl_str_starts(netns, OVL_LAB_PREFIX) || ovl_labfile_all(&names, NULL) < 0)
		return -ENOENT;
	ovl_vec_each(name, &names) {
		if (ovl_labfile_read(*name, &state, NULL) < 0 || !owns(&state.lab, netns))
			continue;
		rc = open_state(&state, lab, err);
		break;
	}
	ovl_vec_fini(&names);
	return rc;
}

void ovl_lab_close(struct ovl_lab *lab)
{
	for (uint32_t i = 0; i < lab->n_ends; i++) {
		if (is_place(lab, i) && lab->ends[i].netns_fd >= 0)
			close(lab->ends[i].netns_fd);
		lab->ends[i].netns_fd = -1;
	}
	lab->n_ends = 0;
}

/* Take one name away; says who is still inside. Counts it. */
static int remove_place(const char *netns, uint32_t *n, struct ovl_buf *out, struct ovl_err *err)
{
	int rc;

	ovl_namespace_users(netns, out);
	rc = ovl_namespace_remove(netns, err);
	*n += !rc;
	return rc;
}

/* What `down` took away. */
struct removed {
	uint32_t places;
	int daemons;
};

/* One namespace of a lab whose mark is lost, and its daemons in there. */
static int remove_found(const char *topology, const char *netns, struct removed *n,
			struct ovl_buf *out, struct ovl_err *err)
{
	struct stat st = {0};
	char mark[64];
	int fd = ovl_namespace_open(netns), killed = 0;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		snprintf(mark, sizeof(mark), "%s:", topology);
		killed = ovl_program_kill(&(struct ovl_program_whose){mark, st.st_ino}, err);
	}
	if (fd >= 0)
		close(fd);
	if (killed < 0)
		return killed;
	n->daemons += killed;
	return remove_place(netns, &n->places, out, err);
}

/* Every namespace with this lab's prefix: for when its state file is damaged. */
static int remove_by_prefix(const char *topology, struct removed *n, struct ovl_buf *out,
			    struct ovl_err *err)
{
	char prefix[64];
	struct dirent *entry;
	DIR *dir = opendir(OVL_NAMESPACE_DIR);
	int rc = 0;

	snprintf(prefix, sizeof(prefix), OVL_LAB_PREFIX "%s-", topology);
	while (dir && (entry = readdir(dir))) {
		if (ovl_str_starts(entry->d_name, prefix)) {
			int one = remove_found(topology, entry->d_name, n, out, err);

			rc = rc ? rc : one;
		}
	}
	if (dir)
		closedir(dir);
	return rc;
}

static int remove_known(const struct ovl_labfile *state, struct removed *n, struct ovl_buf *out,
			struct ovl_err *err)
{
	const struct ovl_lab *lab = &state->lab;
	int rc = ovl_program_kill(&(struct ovl_program_whose){.mark = state->mark}, err);

	if (rc < 0)
		return rc;
	n->daemons = rc;
	rc = 0;
	/* one that cannot be removed must not keep the others */
	for (uint32_t i = 0; i < lab->n_ends; i++) {
		if (is_place(lab, i)) {
			int one = remove_place(lab->ends[i].netns, &n->places, out, err);

			rc = rc ? rc : one;
		}
	}
	return rc;
}

static int down_one(const char *topology, struct ovl_buf *out, struct ovl_err *err)
{
	struct removed n = {0};
	struct ovl_labfile state;
	int rc = ovl_labfile_read(topology, &state, err);

	if (rc == -ENOENT) {
		ovl_labfile_remove(topology, NULL); /* half a file of an `up` killed at its start */
		return not_up(topology, err);
	}
	if (rc < 0 && (rc != -EBADMSG || !ovl_topo_find(topology)))
		return rc;
	rc = rc < 0 ? remove_by_prefix(topology, &n, out, err) : remove_known(&state, &n, out, err);
	if (!rc)
		rc = ovl_labfile_remove(topology, err);
	if (!rc) {
		ovl_buf_printf(out, "lab %s removed (%u namespaces", topology, n.places);
		if (n.daemons)
			ovl_buf_printf(out, ", %d daemon%s", n.daemons, n.daemons == 1 ? "" : "s");
		ovl_buf_puts(out, ")\n");
	}
	return rc;
}

static int down_all(struct ovl_buf *out, struct ovl_err *err)
{
	struct ovl_labfile_names names = {0};
	int rc = ovl_labfile_all(&names, err);
	bool found = false;

	ovl_vec_each(name, &names) {
		int one;

		if (!ovl_topo_find(*name))
			continue;
		found = true;
		/* one that cannot be removed must not keep the others */
		one = down_one(*name, out, err);
		if (!rc)
			rc = one;
	}
	if (!rc && !found)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
				 "no lab is up, so there is nothing to remove");
	ovl_vec_fini(&names);
	return rc;
}

int ovl_lab_down(const char *topology, struct ovl_buf *out, struct ovl_err *err)
{
	int lock, rc;

	if (topology && !ovl_topo_find(topology))
		return ovl_topo_unknown(topology, err);
	lock = ovl_labfile_lock(err);
	if (lock < 0)
		return lock;
	rc = topology ? down_one(topology, out, err) : down_all(out, err);
	ovl_labfile_unlock(lock);
	return rc;
}

static void list_end(const struct ovl_lab *lab, const struct ovl_lab_end *e, struct ovl_buf *out)
{
	ovl_buf_printf(out, "  %-10s %-20s ", e->name, *e->addr ? e->addr : "-");
	if (e->place != OVL_LAB_NOWHERE)
		ovl_buf_printf(out, "%s%s\n", e->netns,
			       ovl_namespace_exists(e->netns) ? "" : " (deleted)");
	else if (e->servers > 1)
		ovl_buf_printf(out, "port %d leads to %s or %u other%s\n", OVL_LAB_SERVED_PORT,
			       lab->ends[e->server].name, e->servers - 1u,
			       e->servers > 2 ? "s" : "");
	else
		ovl_buf_printf(out, "port %d leads to %s\n", OVL_LAB_SERVED_PORT,
			       lab->ends[e->server].name);
}

static void list_one(const char *name, struct ovl_buf *out)
{
	struct ovl_labfile state;
	const struct ovl_lab *lab = &state.lab;
	int rc = ovl_labfile_read(name, &state, NULL);
	time_t at = (time_t)state.at_unix_s;
	char when[32] = "";
	struct tm tm;

	if (rc == -ENOENT)
		return; /* removed since the directory was read */
	if (rc < 0) {
		ovl_buf_printf(out, "%s  %s\n  remove: ovltrace lab down %s\n", name,
			       rc == -EBADMSG ? "damaged" : strerror(-rc), name);
		return;
	}
	if (localtime_r(&at, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	ovl_buf_printf(out, "%s  %s since %s, by %s; offloads %s; look at %s\n", name,
		       state.complete ? "up" : "half-made", when, state.by,
		       ovl_labfile_offloads_name(state.offloads), lab->iface);
	for (uint32_t i = 0; i < lab->n_ends; i++)
		list_end(lab, &lab->ends[i], out);
	ovl_buf_printf(out,
		       "  use:    ovltrace lab exec %s END -- CMD, or ip netns exec NAMESPACE CMD\n"
		       "  remove: ovltrace lab down %s\n",
		       name, name);
}

int ovl_lab_list(struct ovl_buf *out, struct ovl_err *err)
{
	struct ovl_labfile_names names = {0};
	int rc = ovl_labfile_all(&names, err);

	ovl_vec_each(name, &names)
		if (ovl_topo_find(*name))
			list_one(*name, out);
	ovl_vec_fini(&names);
	return rc;
}

static int unknown_end(const struct ovl_lab *lab, const char *end, struct ovl_err *err)
{
	struct ovl_buf known = {0};

	for (uint32_t i = 0; i < lab->n_ends; i++)
		ovl_buf_printf(&known, "%s%s", i ? ", " : "", lab->ends[i].name);
	ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "lab %s has no endpoint '%s'; it has: %s",
		    lab->topology, end, ovl_buf_str(&known));
	ovl_buf_fini(&known);
	return -EINVAL;
}

static int exec_in(const struct ovl_lab *lab, const char *name, char *const argv[],
		   struct ovl_err *err)
{
	const struct ovl_lab_end *e = ovl_lab_end(lab, name);
	int rc;

	if (!e)
		return unknown_end(lab, name, err);
	if (e->place == OVL_LAB_NOWHERE)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "'%s' of lab %s is an address (%s), not a place: run the "
				   "command in %s, where it is served",
				   name, lab->topology, e->addr, lab->ends[e->server].name);
	rc = ovl_namespace_become(e->netns_fd, err);
	if (rc)
		return rc;
	execvp(argv[0], argv);
	return ovl_err_set(err, OVL_EXIT_FAILED, -errno, "cannot run '%s' in %s: %s", argv[0],
			   e->netns, strerror(errno));
}

int ovl_lab_exec(const char *topology, const char *end, char *const argv[], struct ovl_err *err)
{
	struct ovl_lab lab = {0};
	int rc = ovl_lab_open(topology, &lab, err);

	if (rc < 0)
		return rc;
	rc = exec_in(&lab, end, argv, err);
	ovl_lab_close(&lab);
	return rc;
}

const struct ovl_lab_end *ovl_lab_end(const struct ovl_lab *lab, const char *name)
{
	for (uint32_t i = 0; i < lab->n_ends; i++) {
		if (strcmp(lab->ends[i].name, name) == 0)
			return &lab->ends[i];
	}
	return NULL;
}
