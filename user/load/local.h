/*
 * The receiver beside the sender: the receiving engine on threads of this process, listening in
 * the paths' server namespaces.
 */
#ifndef OVL_LOAD_LOCAL_H
#define OVL_LOAD_LOCAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "load/client.h"
#include "load/crew.h"
#include "load/load.h"
#include "load/receiver.h"

struct ovl_local {
	/* on a line of its own: written at each receive, read by whoever asks */
	_Alignas(64) _Atomic uint64_t bytes[OVL_LOAD_PATHS];
	pthread_t thread;
	bool started;
	int listen_fd[OVL_RECEIVER_LISTENERS]; /* as in struct ovl_receiver_spec */
	int stop_fd;
	int cpu;
	struct ovl_crew *crew;
	int rc; /* of the thread's start */
	struct ovl_err err;
	sem_t begun;
};

void ovl_local_init(struct ovl_local *local);
/**
 * Listen at the clients' addresses (their ports are filled in; any_port: another one if it is
 * taken) and start the first of at most `threads` threads. 0, or -errno with *err; ovl_local_stop
 * is due in both cases.
 */
int ovl_local_start(struct ovl_local *local, const struct ovl_load_spec *spec,
		    struct ovl_client *clients, bool any_port, uint32_t threads,
		    struct ovl_err *err);
/** Payload received on a path up to now: exact at this instant. */
uint64_t ovl_local_bytes(const struct ovl_local *local, enum ovl_load_which which);
/** What its threads have used. */
struct ovl_thread_sum ovl_local_use(const struct ovl_local *local);
/** Their kernel thread ids. */
uint32_t ovl_local_tids(const struct ovl_local *local, pid_t *tids, uint32_t max);
/** End and join the threads, close what is open; once, after ovl_local_init. */
void ovl_local_stop(struct ovl_local *local);

#endif
