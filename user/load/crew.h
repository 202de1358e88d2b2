/*
 * The receiving threads: the receiving engine's own, which is member 0, and helpers, which only
 * read payload of connections that the engine has admitted and gives them.
 */
#ifndef OVL_LOAD_CREW_H
#define OVL_LOAD_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "load/thread.h"

/** One connection in a helper's hands. */
struct ovl_crew_job {
	uint32_t member; /* whose; 0: nobody's */
	uint32_t slot;
	int fd;
	bool trunc;		  /* the kernel drops the bytes instead of copying them */
	uint64_t counted;	  /* of the helper */
	_Atomic uint64_t bytes;	  /* received */
	_Atomic uint64_t *shared; /* the same of many connections; may be NULL */
	_Atomic bool over;	  /* the connection has ended or failed */
};

struct ovl_crew;

/** A crew of at most `most` threads, the caller's included; no thread is made yet. NULL: -errno. */
struct ovl_crew *ovl_crew_new(uint32_t most);
/** End the helpers. */
void ovl_crew_free(struct ovl_crew *crew);
/** The calling thread is the engine's, from the first call on; its use. */
struct ovl_thread_use *ovl_crew_begin(struct ovl_crew *crew);
/** Readable when a job is over. */
int ovl_crew_fd(const struct ovl_crew *crew);
/** A job is over: whoever is told looks through the jobs. */
void ovl_crew_told(struct ovl_crew *crew);
/** Have so many members, if they can be had. How many there are. */
uint32_t ovl_crew_grow(struct ovl_crew *crew, uint32_t members);
/** Give a connection to member 1…; job has fd, trunc and shared. 0 or -errno. */
int ovl_crew_give(struct ovl_crew *crew, uint32_t member, struct ovl_crew_job *job);
/** Take it back: after that no other thread touches job and fd. Nobody's: nothing happens. */
void ovl_crew_take(struct ovl_crew *crew, struct ovl_crew_job *job);
/** What all members have used. */
struct ovl_thread_sum ovl_crew_use(const struct ovl_crew *crew);
/** Their kernel thread ids. */
uint32_t ovl_crew_tids(const struct ovl_crew *crew, pid_t *tids, uint32_t max);

#endif
