/*
 * Windows: a thread that attaches instruments for a short time, again and again, so that what they
 * cost stays within a budget; or keeps them attached all the time.
 */
#ifndef OVL_COLLECT_WINDOW_H
#define OVL_COLLECT_WINDOW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** The instruments, as the thread sees them; `with` is the caller's. */
struct ovl_window_ops {
	void *with;
	int (*attach)(void *with); /* 0, or -errno: this window is lost */
	void (*detach)(void *with);
	void (*set)(void *with, uint32_t window); /* number of the open window, 0: closed */
	uint64_t (*spent_ns)(void *with);	  /* by the instruments since the start */
};

struct ovl_window {
	struct ovl_window_ops ops;
	uint64_t length_ns; /* of a window; 0: open all the time */
	double budget_ratio;
	pthread_t thread;
	bool running;
	bool held; /* no new window for now; read by the thread */
	int stop_fd;
	pthread_mutex_t lock;	       /* of what follows */
	uint64_t open_ns, since_ts_ns; /* of closed windows; since_ts_ns 0: closed */
	uint32_t opened, failed;
};

/** How often and how long windows were open since the start. */
struct ovl_window_count {
	uint64_t open_ns;
	uint32_t opened, failed;
};

/**
 * Open the first window now, and then one whenever the last has cost no more than budget_ratio of
 * a CPU since it began, at least a second apart (length_ns 0: one window without end). One that
 * cannot be opened is counted as failed. 0, or -errno: there will be none.
 */
int ovl_window_start(struct ovl_window *w, const struct ovl_window_ops *ops, uint64_t length_ns,
		     double budget_ratio);
/** Open no new window until told otherwise; before the start, too. */
void ovl_window_hold(struct ovl_window *w, bool held);
/** Close the window and end the thread; idempotent, and harmless on a zeroed struct. */
void ovl_window_stop(struct ovl_window *w);
void ovl_window_read(struct ovl_window *w, struct ovl_window_count *out);

#endif
