#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "load/conn.h"
#include "load/load.h"
#include "load/receiver.h"
#include "load/sock.h"

/* Any address of both families, or of IPv4 alone where the kernel has no IPv6. */
static int listen_any(uint16_t port, struct ovl_err *err)
{
	struct ovl_addr addr;
	int fd = ovl_addr_resolve("::", port, false, &addr, err);

	if (!fd)
		fd = ovl_sock_listen(&addr, 0, err);
	if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL && fd != -EINVAL)
		return fd;
	fd = ovl_addr_resolve("0.0.0.0", port, false, &addr, err);
	return fd ? fd : ovl_sock_listen(&addr, 0, err);
}

static int listen_at(const struct ovl_peer_spec *spec, uint16_t port, struct ovl_err *err)
{
	struct ovl_addr addr;
	int rc;

	if (!spec->bind)
		return listen_any(port, err);
	rc = ovl_addr_resolve(spec->bind, port, false, &addr, err);
	return rc ? rc : ovl_sock_listen(&addr, 0, err);
}

int ovl_peer_serve(const struct ovl_peer_spec *spec, struct ovl_err *err)
{
	const uint16_t port = spec->port ? spec->port : OVL_LOAD_PORT;
	struct ovl_receiver_spec receiver = {
		.stop_fd = spec->stop_fd,
		.reports = true,
		.guests = true,
		.silence_ns = spec->silence_ns ? spec->silence_ns : OVL_CONN_SILENCE_NS,
		.served = spec->served,
		.allow = spec->allow,
		.turned_away = spec->turned_away,
		.arg = spec->arg,
	};
	int fd = listen_at(spec, port, err), rc;

	if (fd < 0)
		return fd;
	for (uint32_t i = 0; i < OVL_RECEIVER_LISTENERS; i++)
		receiver.listen_fd[i] = -1;
	receiver.crew = ovl_crew_new(ovl_thread_cpus());
	if (!receiver.crew) {
		close(fd);
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the receiver");
	}
	if (spec->ready)
		spec->ready(spec->arg, port);
	receiver.listen_fd[0] = fd;
	rc = ovl_receiver_run(&receiver, err);
	ovl_crew_free(receiver.crew);
	close(fd);
	return rc;
}
