/*
 * Moving payload through a nonblocking socket: what every sender and receiver of the load does
 * when its socket is ready.
 */
#ifndef OVL_LOAD_MOVER_H
#define OVL_LOAD_MOVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Take what is there into block, so many bytes a call that other connections get their turn, and
 * add it to *bytes, and to *shared (may be NULL) that other threads read. trunc: the kernel drops
 * the bytes instead of copying them (MSG_TRUNC). 0, 1 at the end of the stream, or -errno.
 */
int ovl_mover_read(int fd, void *block, size_t size, bool trunc, uint64_t *bytes,
		   _Atomic uint64_t *shared);
/** What is written again and again. */
struct ovl_mover_source {
	void *block;
	size_t size;
	int file; /* holds the block, for sendfile; -1: it is copied at each write */
};

/**
 * A block of `size` bytes `fill`. zerocopy: the kernel sends its pages as they are (sendfile, as
 * iperf3 -Z) instead of copying them. 0 or -errno; close it in both cases.
 */
int ovl_mover_source_open(struct ovl_mover_source *source, size_t size, int fill, bool zerocopy);
void ovl_mover_source_close(struct ovl_mover_source *source);
/**
 * Write the block until the socket's buffer is full, so often a call that others get their turn,
 * and add to *bytes; stops between two writes when *gate is no longer `open` (gate may be NULL).
 * 0, or -errno. With a file SIGPIPE must be blocked or ignored (sendfile has no MSG_NOSIGNAL).
 */
int ovl_mover_write(int fd, const struct ovl_mover_source *source, const _Atomic int *gate,
		    int open, uint64_t *bytes);
/** Bound what a connection sends, in bits per second of payload; 0: do not. 0 or -errno. */
int ovl_mover_pace(int fd, uint64_t bps);

#endif
