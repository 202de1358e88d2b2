/*
 * A far end that is an iperf3 server, on one path: its control connection from the streams to the
 * results. Of the sender's thread.
 */
#ifndef OVL_LOAD_FAR_H
#define OVL_LOAD_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "load/client.h"
#include "load/iperf3_client.h"

struct ovl_far {
	int fd;	   /* control connection; -1: none */
	bool used; /* the path's far end is an iperf3 server */
	bool dead; /* it has ended the test by itself */
	/*
	 * called each few milliseconds while the server is waited for, returns whether that still
	 * makes sense; NULL: nothing to do meanwhile
	 */
	bool (*meanwhile)(void *arg);
	void *arg;
	struct ovl_iperf3_client proto;
};

void ovl_far_init(struct ovl_far *far);
/** Take the control connection on which the server has asked for the streams. */
void ovl_far_begin(struct ovl_far *far, int fd);
/** The streams stand: wait until the server says that the test runs. 0 or -errno with *err. */
int ovl_far_start(struct ovl_far *far, const struct ovl_client *client, struct ovl_err *err);
/** The control connection can be read while the test runs. 0, or -errno with *err: it is over. */
int ovl_far_read(struct ovl_far *far, const struct ovl_client *client, struct ovl_err *err);
/**
 * End the test and get the server's results into proto.theirs. 0, or -errno with *err; a bounded
 * wait.
 */
int ovl_far_end(struct ovl_far *far, const struct ovl_client *client,
		const struct ovl_iperf3_results *ours, struct ovl_err *err);
void ovl_far_fini(struct ovl_far *far);

#endif
