#include "lab/relay_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/sock_diag.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/str.h"
#include "lab/fault.h"

#define BATCH_BUFFER_BYTES (4 << 20) /* socket buffers with batch: some dozens of super-packets */
#define SEND_WAIT_US	   100000    /* for room in the socket's buffer, then the packet is lost */

static int tun_fail(struct ovl_err *err, const char *name, int rc)
{
	switch (rc) {
	case -EBUSY:
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "relay: the tun device %s is taken by another process, end that "
				   "first",
				   name);
	case -EINVAL:
		return ovl_err_set(err, OVL_EXIT_INPUT, rc,
				   "relay: the device %s is no tun device of one queue, make one "
				   "with ip tuntap add NAME mode tun and name that",
				   name);
	default:
		return ovl_err_set(err, ovl_fault_exit(rc), rc,
				   "relay: cannot open the tun device %s: %s%s", name,
				   strerror(-rc), ovl_fault_hint(rc));
	}
}

static int open_tun(const struct ovl_relay_spec *spec, struct ovl_err *err)
{
	struct ifreq ifr = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	unsigned long offloads = spec->batch ? TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 : 0;
	int header_bytes = sizeof(struct virtio_net_hdr);
	int fd, rc;

	/* TUNSETIFF would make what is not there */
	if (!ovl_str_copy(ifr.ifr_name, sizeof(ifr.ifr_name), spec->tun) ||
	    !if_nametoindex(spec->tun))
		return ovl_err_set(
			err, OVL_EXIT_INPUT, -ENODEV,
			"relay: there is no device %s in this network namespace, make it "
			"with ip tuntap add %s mode tun",
			spec->tun, spec->tun);
	if (spec->batch)
		ifr.ifr_flags |= IFF_VNET_HDR;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return ovl_err_set(err, ovl_fault_exit(-errno), -errno,
				   "relay: cannot open /dev/net/tun: %s%s", strerror(errno),
				   ovl_fault_hint(-errno));
	/* a persistent device keeps what an earlier owner asked for: set all of it */
	if (ioctl(fd, TUNSETIFF, &ifr) || ioctl(fd, TUNSETOFFLOAD, offloads) ||
	    (spec->batch && ioctl(fd, TUNSETVNETHDRSZ, &header_bytes))) {
		rc = tun_fail(err, spec->tun, -errno);
		close(fd);
		return rc;
	}
	return fd;
}

/* Room for whole super-packets; beyond net.core.[rw]mem_max where that is allowed. */
static void set_buffers(int sock)
{
	int bytes = BATCH_BUFFER_BYTES;

	if (setsockopt(sock, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void set_batch(int sock, struct ovl_relay_counts *counts)
{
	int off = 0, on = 1;

	set_buffers(sock);
	counts->no_gso = setsockopt(sock, SOL_UDP, UDP_SEGMENT, &off, sizeof(off)) != 0;
	counts->no_gro = setsockopt(sock, SOL_UDP, UDP_GRO, &on, sizeof(on)) != 0;
}

static int open_sock(const struct ovl_relay_spec *spec, const struct ovl_relay_addr *local,
		     struct ovl_relay_counts *counts, struct ovl_err *err)
{
	struct timeval wait = {.tv_usec = SEND_WAIT_US};
	int on = 1, fd, rc;

	fd = socket(local->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ovl_err_set(err, ovl_fault_exit(-errno), -errno,
				   "relay: cannot make a UDP socket for %s: %s", spec->local,
				   strerror(errno));
	if (local->sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* a full buffer holds the tun device's queue back, but must not keep this from ending */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (spec->batch)
		set_batch(fd, counts);
	if (bind(fd, &local->sa, local->len)) {
		rc = -errno;
		close(fd);
		return ovl_err_set(err, ovl_fault_exit(rc), rc,
				   "relay: cannot bind UDP %s port %u: %s%s", spec->local,
				   spec->port, strerror(-rc),
				   rc == -EADDRINUSE ? ", end what uses it first" : "");
	}
	return fd;
}

int ovl_relay_ends_open(struct ovl_relay_ends *ends, const struct ovl_relay_spec *spec,
			struct ovl_relay_counts *counts, struct ovl_err *err)
{
	struct ovl_relay_addr local;
	int rc;

	*ends = (struct ovl_relay_ends){
		.tun_name = spec->tun, .tun = -1, .sock = -1, .counts = counts};
	if (spec->port == 0)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "relay: 0 is no UDP port to meet on, give one such as 8285");
	rc = ovl_relay_route_addr(spec->local, spec->port, &local, err);
	if (!rc)
		rc = ovl_relay_route_init(&ends->table, spec, &local, err);
	if (!rc)
		rc = ends->tun = open_tun(spec, err);
	if (rc >= 0)
		rc = ends->sock = open_sock(spec, &local, counts, err);
	if (rc >= 0)
		return 0;
	ovl_relay_ends_close(ends);
	return rc;
}

static void count_overflow(struct ovl_relay_ends *ends)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(info);

	if (!getsockopt(ends->sock, SOL_SOCKET, SO_MEMINFO, info, &len))
		ends->counts->overflowed = info[SK_MEMINFO_DROPS];
}

void ovl_relay_ends_close(struct ovl_relay_ends *ends)
{
	if (ends->tun >= 0)
		close(ends->tun);
	if (ends->sock >= 0) {
		count_overflow(ends);
		close(ends->sock);
	}
	ends->tun = ends->sock = -1;
	ovl_relay_route_fini(&ends->table);
}

bool ovl_relay_ends_check(struct ovl_relay_ends *ends, uint8_t *data, size_t n,
			  struct ovl_relay_packet *p)
{
	if (ovl_relay_wire_parse(data, n, p)) {
		ends->counts->malformed++;
		return false;
	}
	if (!ovl_relay_wire_hop(p)) {
		ends->counts->expired++;
		return false;
	}
	return true;
}

const struct ovl_relay_addr *ovl_relay_ends_route(struct ovl_relay_ends *ends,
						  const struct ovl_relay_packet *p)
{
	const struct ovl_relay_addr *to = ovl_relay_route_find(&ends->table, p);

	if (!to)
		ends->counts->no_route++;
	return to;
}

static int gone(const struct ovl_relay_ends *ends, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENODEV,
			   "relay: the tun device %s was deleted while in use, make it again and "
			   "restart the relay",
			   ends->tun_name);
}

int ovl_relay_ends_tun_fault(struct ovl_relay_ends *ends, int rc, struct ovl_err *err)
{
	switch (rc) {
	case EAGAIN: return 0;
	case EINTR:
	case ENOMEM:
	case ENOBUFS: return 1;
	case EBADFD: /* tun_get() finds no device behind the handle */
	case ENODEV: return gone(ends, err);
	default:
		return ovl_err_set(err, OVL_EXIT_FAILED, -rc,
				   "relay: cannot read from the tun device %s: %s", ends->tun_name,
				   strerror(rc));
	}
}

int ovl_relay_ends_recv_fault(struct ovl_relay_ends *ends, int rc, struct ovl_err *err)
{
	(void)ends;
	switch (rc) {
	case EAGAIN: return 0;
	case EBADF:
	case EFAULT:
	case EINVAL:
	case ENOTCONN:
	case ENOTSOCK:
		return ovl_err_set(err, OVL_EXIT_FAILED, -rc,
				   "relay: cannot receive from the UDP socket: %s", strerror(rc));
	default: return 1; /* a signal, want of memory, or an ICMP error now taken off the socket */
	}
}

int ovl_relay_ends_send(struct ovl_relay_ends *ends, const struct msghdr *msg)
{
	bool late = false;

	for (;;) {
		ends->counts->udp_sends++;
		if (sendmsg(ends->sock, msg, 0) >= 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (late || (errno != ECONNREFUSED && errno != EHOSTUNREACH))
			return -errno;
		late = true;
	}
}

int ovl_relay_ends_write(struct ovl_relay_ends *ends, const struct iovec *iov, size_t n_iov,
			 struct ovl_err *err)
{
	ssize_t n;

	do {
		ends->counts->tun_writes++;
		n = writev(ends->tun, iov, (int)n_iov);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EBADFD || errno == ENODEV))
		return gone(ends, err);
	if (n < 0)
		ends->counts->tun_refused++;
	return 0;
}
