#include "load/crew.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/conn.h"
#include "load/mover.h"

#define EVENTS_MAX 64
#define TAG_END	   UINT64_MAX

/* An event may be older than its connection's end: the turn tells whether it still is of it. */
struct slot {
	struct ovl_crew_job *job; /* NULL: free */
	uint32_t turn;
};

struct helper {
	struct ovl_crew *crew;
	pthread_t thread;
	struct ovl_thread_use use;
	int epoll_fd, end_fd;
	void *block;
	pthread_mutex_t lock; /* held while a batch is served: slots and their jobs */
	/*
	 * A helper with much to do gives the lock back and has it again before the engine, which
	 * waits for it, is awake: it steps back when the engine wants it.
	 */
	_Atomic bool wanted;
	pthread_mutex_t turn; /* held by the engine while it wants or has the lock */
	struct slot slot[OVL_WIRE_CONNS_MAX];
};

struct ovl_crew {
	struct ovl_thread_use engine;
	int told_fd;
	uint32_t most;
	_Atomic uint32_t members;			 /* those that exist, the engine too */
	struct helper *helper[OVL_LOAD_STREAMS_MAX + 1]; /* of member 1… */
};

static void say(int fd)
{
	const uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

struct ovl_crew *ovl_crew_new(uint32_t most)
{
	struct ovl_crew *crew = calloc(1, sizeof(*crew));

	if (!crew)
		return NULL;
	crew->most = most < OVL_LOAD_STREAMS_MAX ? most : OVL_LOAD_STREAMS_MAX;
	crew->members = 1;
	crew->told_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (crew->told_fd >= 0)
		return crew;
	free(crew);
	return NULL;
}

static void helper_free(struct helper *h)
{
	if (h->epoll_fd >= 0)
		close(h->epoll_fd);
	if (h->end_fd >= 0)
		close(h->end_fd);
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->turn);
	free(h->block);
	free(h);
}

void ovl_crew_free(struct ovl_crew *crew)
{
	if (!crew)
		return;
	for (uint32_t i = 1; i < crew->members; i++) {
		say(crew->helper[i]->end_fd);
		pthread_join(crew->helper[i]->thread, NULL);
		helper_free(crew->helper[i]);
	}
	close(crew->told_fd);
	free(crew);
}

struct ovl_thread_use *ovl_crew_begin(struct ovl_crew *crew)
{
	if (!atomic_load(&crew->engine.begun))
		ovl_thread_begin(&crew->engine, NULL);
	return &crew->engine;
}

int ovl_crew_fd(const struct ovl_crew *crew)
{
	return crew->told_fd;
}

void ovl_crew_told(struct ovl_crew *crew)
{
	uint64_t n;

	if (read(crew->told_fd, &n, sizeof(n)) < 0)
		return; /* told before */
}

static void serve(struct helper *h, uint64_t tag)
{
	struct slot *slot = &h->slot[tag % OVL_WIRE_CONNS_MAX];
	struct ovl_crew_job *job = slot->job;
	int rc;

	if (!job || slot->turn != tag / OVL_WIRE_CONNS_MAX)
		return;
	rc = ovl_mover_read(job->fd, h->block, OVL_CONN_READ_BYTES, job->trunc, &job->counted,
			    job->shared);
	atomic_store_explicit(&job->bytes, job->counted, memory_order_relaxed);
	if (!rc)
		return;
	epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, job->fd, NULL);
	atomic_store(&job->over, true);
	say(h->crew->told_fd);
}

/* The engine gets the lock after the batch that is served and at most one more. */
static void engine_lock(struct helper *h)
{
	pthread_mutex_lock(&h->turn);
	atomic_store(&h->wanted, true);
	pthread_mutex_lock(&h->lock);
}

static void engine_unlock(struct helper *h)
{
	pthread_mutex_unlock(&h->lock);
	atomic_store(&h->wanted, false);
	pthread_mutex_unlock(&h->turn);
}

static void step_back(struct helper *h)
{
	pthread_mutex_lock(&h->turn);
	pthread_mutex_unlock(&h->turn);
}

static void *helper_main(void *arg)
{
	struct helper *h = arg;
	bool end = false;

	ovl_thread_begin(&h->use, "ovl-recv");
	while (!end) {
		struct epoll_event ev[EVENTS_MAX];
		int n = epoll_wait(h->epoll_fd, ev, EVENTS_MAX, -1);

		if (atomic_load_explicit(&h->wanted, memory_order_relaxed))
			step_back(h);
		pthread_mutex_lock(&h->lock);
		for (int i = 0; i < n; i++) {
			if (ev[i].data.u64 == TAG_END)
				end = true;
			else
				serve(h, ev[i].data.u64);
		}
		pthread_mutex_unlock(&h->lock);
		ovl_thread_note(&h->use, ovl_clock_ns());
	}
	return NULL;
}

static struct helper *helper_new(struct ovl_crew *crew)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = TAG_END};
	struct helper *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->crew = crew;
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->turn, NULL);
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	h->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (posix_memalign(&h->block, 4096, OVL_CONN_READ_BYTES))
		h->block = NULL;
	if (h->block && h->epoll_fd >= 0 && h->end_fd >= 0 &&
	    !epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->end_fd, &ev) &&
	    !ovl_thread_make(&h->thread, helper_main, h, NULL))
		return h;
	helper_free(h);
	return NULL;
}

uint32_t ovl_crew_grow(struct ovl_crew *crew, uint32_t members)
{
	uint32_t have = crew->members;

	for (; have < members && have < crew->most; have++) {
		crew->helper[have] = helper_new(crew);
		if (!crew->helper[have])
			break;
		/* its id is known when it has begun */
		while (!atomic_load(&crew->helper[have]->use.begun))
			sched_yield();
		atomic_store(&crew->members, have + 1);
	}
	return have < members ? have : members;
}

int ovl_crew_give(struct ovl_crew *crew, uint32_t member, struct ovl_crew_job *job)
{
	struct helper *h = crew->helper[member];
	struct epoll_event ev = {.events = EPOLLIN};
	uint32_t i = 0;
	int rc = 0;

	engine_lock(h);
	while (i < OVL_WIRE_CONNS_MAX && h->slot[i].job)
		i++;
	if (i == OVL_WIRE_CONNS_MAX) {
		rc = -ENOSPC;
	} else {
		ev.data.u64 = (uint64_t)h->slot[i].turn * OVL_WIRE_CONNS_MAX + i;
		rc = epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, job->fd, &ev) ? -errno : 0;
	}
	if (!rc) {
		h->slot[i].job = job;
		job->slot = i;
		job->member = member;
	}
	engine_unlock(h);
	return rc;
}

void ovl_crew_take(struct ovl_crew *crew, struct ovl_crew_job *job)
{
	struct helper *h;

	if (!job->member)
		return;
	h = crew->helper[job->member];
	engine_lock(h);
	epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, job->fd, NULL); /* or it was over before */
	h->slot[job->slot].job = NULL;
	h->slot[job->slot].turn++;
	engine_unlock(h);
	job->member = 0;
}

struct ovl_thread_sum ovl_crew_use(const struct ovl_crew *crew)
{
	struct ovl_thread_sum sum = {0};

	ovl_thread_add(&crew->engine, &sum);
	for (uint32_t i = 1; i < crew->members; i++)
		ovl_thread_add(&crew->helper[i]->use, &sum);
	return sum;
}

uint32_t ovl_crew_tids(const struct ovl_crew *crew, pid_t *tids, uint32_t max)
{
	uint32_t n = 0;

	if (max && atomic_load(&crew->engine.begun))
		tids[n++] = crew->engine.tid;
	for (uint32_t i = 1; i < crew->members && n < max; i++)
		tids[n++] = crew->helper[i]->use.tid;
	return n;
}
