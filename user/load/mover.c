#include "load/mover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define READS_PER_CALL	16
#define WRITES_PER_CALL 4

int ovl_mover_read(int fd, void *block, size_t size, bool trunc, uint64_t *bytes,
		   _Atomic uint64_t *shared)
{
	const int flags = MSG_DONTWAIT | (trunc ? MSG_TRUNC : 0);

	for (int i = 0; i < READS_PER_CALL; i++) {
		ssize_t n = recv(fd, block, size, flags);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (n == 0)
			return 1;
		*bytes += (uint64_t)n;
		if (shared)
			atomic_fetch_add_explicit(shared, (uint64_t)n, memory_order_relaxed);
		/* a short read has emptied the queue: no second call to be told so */
		if ((size_t)n < size)
			return 0;
	}
	return 0;
}

int ovl_mover_source_open(struct ovl_mover_source *source, size_t size, int fill, bool zerocopy)
{
	*source = (struct ovl_mover_source){.size = size, .file = -1};
	if (posix_memalign(&source->block, 4096, size)) {
		source->block = NULL;
		return -ENOMEM;
	}
	memset(source->block, fill, size);
	if (!zerocopy)
		return 0;
	source->file = memfd_create("ovl-block", MFD_CLOEXEC);
	if (source->file < 0)
		return -errno;
	return write(source->file, source->block, size) == (ssize_t)size ? 0 : -EIO;
}

void ovl_mover_source_close(struct ovl_mover_source *source)
{
	free(source->block);
	source->block = NULL;
	if (source->file >= 0)
		close(source->file);
	source->file = -1;
}

int ovl_mover_write(int fd, const struct ovl_mover_source *source, const _Atomic int *gate,
		    int open, uint64_t *bytes)
{
	for (int i = 0; i < WRITES_PER_CALL; i++) {
		off_t at = 0;
		ssize_t n;

		if (gate && atomic_load_explicit(gate, memory_order_relaxed) != open)
			return 0;
		n = source->file < 0
			    ? send(fd, source->block, source->size, MSG_NOSIGNAL | MSG_DONTWAIT)
			    : sendfile(fd, source->file, &at, source->size);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		*bytes += (uint64_t)n;
		/* a short write has filled the buffer: no second call to be told so */
		if ((size_t)n < source->size)
			return 0;
	}
	return 0;
}

int ovl_mover_pace(int fd, uint64_t bps)
{
	const uint64_t bytes = bps / 8 ? bps / 8 : 1;

	if (!bps)
		return 0;
	/* TCP paces by itself; fq need not be there (4.13, commit 218af599fa63) */
	return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes, sizeof(bytes)) ? -errno : 0;
}
