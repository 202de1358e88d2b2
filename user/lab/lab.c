#include "lab/lab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "lab/build.h"
#include "lab/fault.h"
#include "lab/labfile.h"
#include "lab/namespace.h"
#include "lab/topology.h"

static int unknown_topology(const char *topology, struct ovl_err *err)
{
	struct ovl_buf known = {0};

	ovl_topo_names(&known);
	ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "unknown topology '%s'; known: %s", topology,
		    ovl_buf_str(&known));
	ovl_buf_fini(&known);
	return -EINVAL;
}

static int not_up(const char *topology, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
			   "lab %s is not up; make it with `ovltrace lab up %s`", topology,
			   topology);
}

/* What the state file of a plan says. */
static void plan_state(const struct ovl_build *b, struct ovl_labfile *state)
{
	memset(state, 0, sizeof(*state));
	ovl_str_copy(state->topology, sizeof(state->topology), b->topo->name);
	ovl_str_copy(state->tunnel, sizeof(state->tunnel), b->spec.tunnel_name);
	state->offloads = b->spec.offloads;
	state->cpu_sender = b->spec.cpu_sender;
	state->cpu_receiver = b->spec.cpu_receiver;
	state->max_frames = b->lab->max_frames;
	state->n_netns = b->lab->n_ends;
	for (uint32_t i = 0; i < b->lab->n_ends; i++)
		ovl_str_copy(state->netns[i], sizeof(state->netns[i]), b->lab->ends[i].netns);
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
			"lab %s is already %s; remove it with `ovltrace lab down %s`", topology,
			state.complete ? "up" : "there, half-made by an `up` that died", topology);
	if (rc != -ENOENT)
		return rc;
	for (uint32_t i = 0; i < b->lab->n_ends; i++) {
		const char *netns = b->lab->ends[i].netns;

		if (ovl_namespace_exists(netns))
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
	for (uint32_t i = 0; i < b->n_made; i++)
		ovl_namespace_remove(b->lab->ends[i].netns, NULL);
	ovl_lab_close(b->lab);
	ovl_labfile_remove(b->topo->name, NULL);
}

static int up_locked(struct ovl_build *b, struct ovl_err *err)
{
	struct ovl_labfile state;
	int rc;

	ovl_build_ends(b->topo, true, b->lab);
	rc = check_free(b, err);
	if (!rc)
		rc = ovl_namespace_prepare(err);
	if (rc < 0)
		return rc;
	plan_state(b, &state);
	rc = ovl_labfile_write(&state, err);
	if (rc < 0)
		return rc;
	b->named = true;
	rc = ovl_build_run(b, err);
	if (!rc) {
		state.complete = true;
		rc = ovl_labfile_write(&state, err);
	}
	if (rc < 0)
		undo(b);
	return rc;
}

int ovl_lab_up(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_build b;
	int lock, rc;

	rc = ovl_build_init(&b, spec, lab, err);
	if (rc < 0)
		return rc;
	lock = ovl_labfile_lock(err);
	if (lock < 0)
		return lock;
	rc = up_locked(&b, err);
	ovl_labfile_unlock(lock);
	return rc;
}

int ovl_lab_twin(const struct ovl_lab_spec *spec, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_build b;
	int rc;

	rc = ovl_build_init(&b, spec, lab, err);
	if (rc < 0)
		return rc;
	rc = ovl_build_run(&b, err);
	if (rc < 0)
		ovl_lab_close(lab);
	return rc;
}

static int open_ends(struct ovl_lab *lab, struct ovl_err *err)
{
	for (uint32_t i = 0; i < lab->n_ends; i++) {
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
	}
	return 0;
}

static int open_state(const struct ovl_labfile *state, struct ovl_lab *lab, struct ovl_err *err)
{
	const struct ovl_topo *topo = ovl_topo_find(state->topology);

	if (!topo)
		return unknown_topology(state->topology, err);
	if (!state->complete)
		return ovl_err_set(
			err, OVL_EXIT_FAILED, -EAGAIN,
			"lab %s is half-made: wait if an `up` is at work, else remove it "
			"with `ovltrace lab down %s`",
			state->topology, state->topology);
	memset(lab, 0, sizeof(*lab));
	ovl_build_ends(topo, true, lab);
	ovl_str_copy(lab->tunnel_name, sizeof(lab->tunnel_name), state->tunnel);
	lab->cpu_sender = state->cpu_sender;
	lab->cpu_receiver = state->cpu_receiver;
	lab->max_frames = state->max_frames;
	return open_ends(lab, err);
}

int ovl_lab_open(const char *topology, struct ovl_lab *lab, struct ovl_err *err)
{
	struct ovl_labfile state;
	int rc;

	if (!ovl_topo_find(topology))
		return unknown_topology(topology, err);
	rc = ovl_labfile_read(topology, &state, err);
	if (rc == -ENOENT)
		return not_up(topology, err);
	return rc < 0 ? rc : open_state(&state, lab, err);
}

static bool owns(const struct ovl_labfile *state, const char *netns)
{
	for (uint32_t i = 0; i < state->n_netns; i++) {
		if (strcmp(state->netns[i], netns) == 0)
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
		if (ovl_labfile_read(*name, &state, NULL) < 0 || !owns(&state, netns))
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
		if (lab->ends[i].netns_fd >= 0)
			close(lab->ends[i].netns_fd);
		lab->ends[i].netns_fd = -1;
	}
	lab->n_ends = 0;
}

/* The namespaces a lab has by its tables: for when its state file is damaged. */
static void expected_state(const struct ovl_topo *topo, struct ovl_labfile *state)
{
	struct ovl_lab lab = {0};

	memset(state, 0, sizeof(*state));
	ovl_build_ends(topo, true, &lab);
	ovl_str_copy(state->topology, sizeof(state->topology), topo->name);
	state->n_netns = lab.n_ends;
	for (uint32_t i = 0; i < lab.n_ends; i++)
		ovl_str_copy(state->netns[i], sizeof(state->netns[i]), lab.ends[i].netns);
}

static int down_one(const char *topology, struct ovl_buf *out, struct ovl_err *err)
{
	const struct ovl_topo *topo = ovl_topo_find(topology);
	struct ovl_labfile state;
	int rc = ovl_labfile_read(topology, &state, err);

	if (rc == -ENOENT) {
		ovl_labfile_remove(topology, NULL); /* half a file of an `up` killed at its start */
		return not_up(topology, err);
	}
	if (rc == -EBADMSG && topo)
		expected_state(topo, &state);
	else if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < state.n_netns; i++) {
		ovl_namespace_users(state.netns[i], out);
		rc = ovl_namespace_remove(state.netns[i], err);
		if (rc < 0)
			return rc;
	}
	rc = ovl_labfile_remove(topology, err);
	if (!rc)
		ovl_buf_printf(out, "lab %s removed (%u namespaces)\n", topology, state.n_netns);
	return rc;
}

static int down_all(struct ovl_buf *out, struct ovl_err *err)
{
	struct ovl_labfile_names names = {0};
	int rc = ovl_labfile_all(&names, err);

	if (!rc && !names.n)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOENT,
				 "no lab is up, so there is nothing to remove");
	ovl_vec_each(name, &names) {
		/* one that cannot be removed must not keep the others */
		int one = down_one(*name, out, err);

		if (!rc)
			rc = one;
	}
	ovl_vec_fini(&names);
	return rc;
}

int ovl_lab_down(const char *topology, struct ovl_buf *out, struct ovl_err *err)
{
	int lock, rc;

	if (topology && !ovl_topo_find(topology))
		return unknown_topology(topology, err);
	lock = ovl_labfile_lock(err);
	if (lock < 0)
		return lock;
	rc = topology ? down_one(topology, out, err) : down_all(out, err);
	ovl_labfile_unlock(lock);
	return rc;
}

static void list_one(const char *name, struct ovl_buf *out)
{
	struct ovl_labfile state;
	int rc = ovl_labfile_read(name, &state, NULL);

	if (rc == -ENOENT)
		return; /* removed since the directory was read */
	if (rc < 0 || !state.complete) {
		ovl_buf_printf(out, "%s  %s; remove: ovltrace lab down %s\n", name,
			       rc < 0 ? "damaged" : "half-made", name);
		return;
	}
	ovl_buf_printf(out, "%s  up, offloads %s; namespaces:", name,
		       ovl_labfile_offloads_name(state.offloads));
	for (uint32_t i = 0; i < state.n_netns; i++)
		ovl_buf_printf(out, " %s", state.netns[i]);
	ovl_buf_printf(out,
		       "; use: ovltrace lab exec %s END -- CMD, or ip netns exec NAMESPACE CMD; "
		       "remove: ovltrace lab down %s\n",
		       name, name);
}

int ovl_lab_list(struct ovl_buf *out, struct ovl_err *err)
{
	struct ovl_labfile_names names = {0};
	int rc = ovl_labfile_all(&names, err);

	ovl_vec_each(name, &names)
		list_one(*name, out);
	ovl_vec_fini(&names);
	return rc;
}

static int unknown_end(const char *topology, const char *end, struct ovl_err *err)
{
	struct ovl_buf known = {0};

	ovl_topo_end_names(ovl_topo_find(topology), &known);
	ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "lab %s has no endpoint '%s'; it has: %s",
		    topology, end, ovl_buf_str(&known));
	ovl_buf_fini(&known);
	return -EINVAL;
}

int ovl_lab_exec(const char *topology, const char *end, char *const argv[], struct ovl_err *err)
{
	const struct ovl_topo *topo = ovl_topo_find(topology);
	const struct ovl_lab_end *e;
	struct ovl_lab lab = {0};
	int rc;

	if (!topo)
		return unknown_topology(topology, err);
	if (ovl_topo_end(topo, end) < 0)
		return unknown_end(topology, end, err);
	rc = ovl_lab_open(topology, &lab, err);
	if (rc < 0)
		return rc;
	e = ovl_lab_end(&lab, end);
	rc = ovl_namespace_become(e->netns_fd, err);
	if (!rc) {
		execvp(argv[0], argv);
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -errno, "cannot run '%s' in %s: %s", argv[0],
				 e->netns, strerror(errno));
	}
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
