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
/**
 * Write the block again and again until the socket's buffer is full, so often a call that others
 * get their turn, and add to *bytes; stops between two writes when *gate is no longer `open` (gate
 * may be NULL). 0, or -errno.
 */
int ovl_mover_write(int fd, const void *block, size_t size, const _Atomic int *gate, int open,
		    uint64_t *bytes);
/** Bound what a connection sends, in bits per second of payload; 0: do not. 0 or -errno. */
int ovl_mover_pace(int fd, uint64_t bps);

#endif
