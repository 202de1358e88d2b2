#include "load/local.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "load/receiver.h"
#include "load/sock.h"

#define USUAL_MSS	   1200
#define FIRST_WINDOW_BYTES 65536

/* Runs on a thread that ends afterwards: the caller's thread never changes its namespace. */
struct listen_job {
	struct ovl_local *local;
	const struct ovl_load_spec *spec;
	struct ovl_client *clients;
	bool any_port;
	int home_fd; /* the program's own namespace */
	bool away;   /* the thread is in another one */
	struct ovl_err err;
	int rc;
};

/*
 * The window that an accepted socket offers before its segment size is known and bounds it: 64 KiB
 * by default. Only where that is already too much the listener is bounded; not otherwise, because a
 * socket accepted with a small window never gets a window scale that allows a larger one.
 */
static uint32_t listener_rcvbuf(const struct ovl_load_spec *spec)
{
	uint64_t bytes = (uint64_t)spec->max_frames * USUAL_MSS / spec->streams;

	return bytes < FIRST_WINDOW_BYTES ? (uint32_t)bytes : 0;
}

/* Into a namespace; -1: the program's own. Who never leaves that needs no rights. */
static int go(struct listen_job *job, int netns_fd)
{
	int rc;

	if (netns_fd < 0 && !job->away)
		return 0;
	rc = ovl_netns_enter(netns_fd < 0 ? job->home_fd : netns_fd,
			     netns_fd < 0 ? "program itself" : "load's receiver", &job->err);
	if (!rc)
		job->away = netns_fd >= 0;
	return rc;
}

/* Behind an address that is translated: where the packets will really arrive. */
static int listen_behind(struct listen_job *job, int which)
{
	const struct ovl_load_spec *spec = job->spec;
	const struct ovl_load_path_spec *path = &spec->path[which];
	int rc = 0;

	for (uint32_t i = 0; !rc && i < path->n_behind; i++) {
		int *fd = &job->local->listen_fd[(int)i * OVL_LOAD_PATHS + which];
		struct ovl_addr addr;

		rc = go(job, path->behind[i].netns_fd);
		if (!rc)
			rc = ovl_addr_resolve(path->behind[i].addr, spec->port, false, &addr,
					      &job->err);
		if (!rc)
			rc = ovl_sock_listen(&addr, listener_rcvbuf(spec), &job->err);
		*fd = rc < 0 ? -1 : rc;
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

/* Where the user did not ask for a port and the usual one is taken, any free one does. */
static int listen_path(struct listen_job *job, int which)
{
	struct ovl_addr *addr = &job->clients[which].addr;
	int fd;

	if (job->spec->path[which].n_behind)
		return listen_behind(job, which);
	fd = go(job, job->spec->path[which].server_netns_fd);
	if (fd)
		return fd;
	fd = ovl_sock_listen(addr, listener_rcvbuf(job->spec), &job->err);
	if (fd == -EADDRINUSE && job->any_port) {
		int rc = ovl_addr_resolve(job->spec->path[which].addr, 0, false, addr, &job->err);

		fd = rc ? rc : ovl_sock_listen(addr, listener_rcvbuf(job->spec), &job->err);
	}
	job->local->listen_fd[which] = fd < 0 ? -1 : fd;
	if (fd < 0)
		return fd;
	ovl_addr_of_socket(fd, addr);
	return 0;
}

static void *listen_main(void *arg)
{
	struct listen_job *job = arg;
	const struct ovl_load_spec *spec = job->spec;

	job->home_fd = ovl_sock_netns();
	for (int which = 0; which < OVL_LOAD_PATHS && !job->rc; which++)
		if (spec->path[which].used)
			job->rc = listen_path(job, which);
	if (job->home_fd >= 0)
		close(job->home_fd);
	return NULL; /* and with the thread ends its stay elsewhere */
}

static int open_listeners(struct listen_job *job, struct ovl_err *err)
{
	pthread_t thread;
	int rc = ovl_thread_make(&thread, listen_main, job, err);

	if (rc)
		return rc;
	pthread_join(thread, NULL);
	if (job->rc && err)
		*err = job->err;
	return job->rc;
}

static void *receiver_main(void *arg)
{
	struct ovl_local *r = arg;
	struct ovl_receiver_spec spec = {.stop_fd = r->stop_fd, .crew = r->crew, .bytes = r->bytes};

	memcpy(spec.listen_fd, r->listen_fd, sizeof(spec.listen_fd));
	pthread_setname_np(pthread_self(), "ovl-recv");
	ovl_crew_begin(r->crew); /* ids are asked for as soon as the load has started */
	r->rc = ovl_cpu_pin(r->cpu, "load's receiver", &r->err);
	sem_post(&r->begun);
	/*
	 * when this fails its connections close, none is accepted any more, and the sender says so
	 */
	if (!r->rc && ovl_receiver_run(&spec, NULL)) {
		for (int i = 0; i < OVL_RECEIVER_LISTENERS; i++)
			shutdown(r->listen_fd[i], SHUT_RDWR);
	}
	return NULL;
}

int ovl_local_start(struct ovl_local *r, const struct ovl_load_spec *spec,
		    struct ovl_client *clients, bool any_port, uint32_t threads,
		    struct ovl_err *err)
{
	struct listen_job job = {.local = r,
				 .spec = spec,
				 .clients = clients,
				 .any_port = any_port,
				 .err = OVL_ERR_INIT};
	int rc = open_listeners(&job, err);

	if (rc)
		return rc;
	r->cpu = spec->cpu_receiver;
	r->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->crew = ovl_crew_new(threads);
	if (r->stop_fd < 0 || !r->crew)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot prepare the load's receiver: %s", strerror(errno));
	rc = ovl_thread_make(&r->thread, receiver_main, r, err);
	r->started = rc == 0;
	while (r->started && sem_wait(&r->begun) && errno == EINTR)
		;
	if (!rc && r->rc) {
		rc = r->rc;
		if (err)
			*err = r->err;
	}
	return rc;
}

void ovl_local_init(struct ovl_local *r)
{
	memset(r, 0, sizeof(*r));
	sem_init(&r->begun, 0, 0);
	for (int i = 0; i < OVL_RECEIVER_LISTENERS; i++)
		r->listen_fd[i] = -1;
	r->stop_fd = -1;
}

uint64_t ovl_local_bytes(const struct ovl_local *r, enum ovl_load_which which)
{
	return atomic_load_explicit(&r->bytes[which], memory_order_relaxed);
}

struct ovl_thread_sum ovl_local_use(const struct ovl_local *r)
{
	return ovl_crew_use(r->crew);
}

uint32_t ovl_local_tids(const struct ovl_local *r, pid_t *tids, uint32_t max)
{
	return r->crew ? ovl_crew_tids(r->crew, tids, max) : 0;
}

void ovl_local_stop(struct ovl_local *r)
{
	const uint64_t one = 1;

	if (r->started) {
		while (write(r->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
		pthread_join(r->thread, NULL);
	}
	ovl_crew_free(r->crew);
	for (int i = 0; i < OVL_RECEIVER_LISTENERS; i++) {
		if (r->listen_fd[i] >= 0)
			close(r->listen_fd[i]);
	}
	if (r->stop_fd >= 0)
		close(r->stop_fd);
	sem_destroy(&r->begun);
}
