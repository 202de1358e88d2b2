/*
 * A thread of the sending side: writes to its share of the connections, takes the receiver's
 * reports on them (reverse: reads them), and the sockets' TCP_INFO as it goes. Internal to the
 * sender.
 */
#ifndef OVL_LOAD_WORKER_H
#define OVL_LOAD_WORKER_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"
#include "load/thread.h"

struct ovl_sender;

struct ovl_worker {
	struct ovl_sender *sender;
	pthread_t thread; /* 0 is the sender's own thread */
	uint32_t index;
	struct ovl_thread_use use;
	int epoll_fd, wake_fd;
	void *block; /* reverse: OVL_WIRE_BLOCK_MAX to receive into */
};

/** Files and memory of the worker with this index. 0 or -errno; ovl_worker_fini in both cases. */
int ovl_worker_init(struct ovl_worker *w, struct ovl_sender *sender, uint32_t index);
void ovl_worker_fini(struct ovl_worker *w);
/** Which worker a connection is of; its path's first one has been opened. */
struct ovl_worker *ovl_worker_of(struct ovl_sender *s, uint32_t stream);
/** A connection stands: watch it. 0 or -errno. */
int ovl_worker_watch(struct ovl_sender *s, uint32_t stream);
/** The control connection of a path's iperf3 server is watched by worker 0. 0 or -errno. */
int ovl_worker_watch_far(struct ovl_sender *s, uint32_t which);
/** Carry what is selected until the sender's stop is set and the worker woken. */
void ovl_worker_loop(struct ovl_worker *w);
/** Make the worker look at what is selected, and at stop. */
void ovl_worker_wake(const struct ovl_worker *w);
/** The run is broken; the first reason is kept. */
void ovl_worker_broken(struct ovl_sender *s, const struct ovl_err *err);

#endif
