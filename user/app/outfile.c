#include "app/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ovl_outfile_open(struct ovl_outfile *f, const char *path, struct ovl_err *err)
{
	const int flags =
		O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK; /* a FIFO without reader: ENXIO */

	*f = (struct ovl_outfile){.fd = STDOUT_FILENO, .path = path};
	if (!path)
		return 0;
	f->fd = open(path, flags | O_EXCL, 0666);
	f->created = f->fd >= 0;
	if (f->fd < 0 && errno == EEXIST)
		f->fd = open(path, flags, 0666);
	if (f->fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot write %s: %s; give another file (nothing was started)",
				   path, strerror(errno));
	return 0;
}

/* Wait until a small write will not block: 0, or -EPIPE when a signal came first. */
static int wait_room(int fd, int signal_fd)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT}, {.fd = signal_fd, .events = POLLIN}};

	for (;;) {
		int n = poll(fds, 2, -1);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && (fds[0].revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)))
			return 0;
		if (n > 0 && fds[1].revents)
			return -EPIPE;
	}
}

static int write_all(int fd, const char *s, size_t n, int signal_fd)
{
	while (n) {
		int rc = wait_room(fd, signal_fd);
		ssize_t done;

		if (rc)
			return rc;
		/* a pipe that is writable takes PIPE_BUF bytes without blocking */
		done = write(fd, s, n < PIPE_BUF ? n : PIPE_BUF);
		if (done < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (done < 0)
			return -errno;
		s += done;
		n -= (size_t)done;
	}
	return 0;
}

int ovl_outfile_failed(const char *path, int rc, struct ovl_err *err)
{
	if (!path && rc == -EBADF)
		return ovl_err_set(
			err, OVL_EXIT_FAILED, rc,
			"cannot write to stdout: it is closed; start it with one that can "
			"be written to (a file, /dev/null)");
	return ovl_err_set(err, OVL_EXIT_FAILED, rc,
			   "cannot write to %s: %s; free some space or give another file",
			   path ? path : "stdout", strerror(-rc));
}

int ovl_outfile_write(struct ovl_outfile *f, struct ovl_buf *buf, int signal_fd,
		      struct ovl_err *err)
{
	struct stat st;
	int rc = 0;

	if (buf->failed)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM,
				   "out of memory while writing results");
	if (f->path && !f->written && !fstat(f->fd, &st) && S_ISREG(st.st_mode) &&
	    ftruncate(f->fd, 0))
		rc = -errno;
	f->written = true;
	if (!rc)
		rc = write_all(f->fd, ovl_buf_str(buf), buf->n, signal_fd);
	ovl_buf_clear(buf);
	if (!rc || rc == -EPIPE)
		return rc;
	return ovl_outfile_failed(f->path, rc, err);
}

bool ovl_outfile_same(const char *a, const char *b)
{
	struct stat x, y;

	return a && b && !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && S_ISREG(x.st_mode);
}

void ovl_outfile_close(struct ovl_outfile *f)
{
	if (f->path && f->created && !f->written)
		unlink(f->path);
	if (f->path && f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
