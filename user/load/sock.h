/*
 * Sockets of the load: addresses, namespaces, listening, waiting with a deadline, TCP_INFO.
 * All sockets are close-on-exec and nonblocking.
 */
#ifndef OVL_LOAD_SOCK_H
#define OVL_LOAD_SOCK_H

#include <stdbool.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

/** An address with its port, and how to name it to a human ("10.0.0.2:5201", "[::1]:5201"). */
struct ovl_addr {
	struct sockaddr_storage sa;
	socklen_t len;
	char name[96];
};

/** What TCP_INFO says of one connection; cumulative members since it was made. */
struct ovl_sock_info {
	uint64_t acked_bytes;		      /* tcpi_bytes_acked, SYN included */
	uint64_t busy_us, rwnd_us, sndbuf_us; /* tcpi_busy_time … */
	uint64_t retransmits;		      /* tcpi_total_retrans, segments */
	uint32_t rtt_us, cwnd_segs, mss_bytes;
	uint32_t unacked_segs; /* in flight */
	uint32_t unsent_bytes; /* tcpi_notsent_bytes */
};

/**
 * Host (numeric, or a name if names) and port to an address. Names are asked in the caller's
 * network namespace, within the resolver's own time limits.
 */
int ovl_addr_resolve(const char *host, uint16_t port, bool names, struct ovl_addr *out,
		     struct ovl_err *err);
/** Refresh port and name of an address from a bound socket. */
int ovl_addr_of_socket(int fd, struct ovl_addr *out);
/** The other side's address of a connection. 0 or -errno. */
int ovl_addr_of_peer(int fd, struct ovl_addr *out);

/** File descriptor of the calling thread's network namespace, or -errno. */
int ovl_sock_netns(void);
/**
 * Move the calling thread (only it) into a namespace. `what` names it in the sentence.
 * CAP_SYS_ADMIN.
 */
int ovl_netns_enter(int netns_fd, const char *what, struct ovl_err *err);

/** Block all signals in the calling thread; *old is for ovl_signals_restore. */
void ovl_signals_block(sigset_t *old);
void ovl_signals_restore(const sigset_t *old);

/** Pin the calling thread to a CPU; cpu < 0: do nothing. */
int ovl_cpu_pin(int cpu, const char *what, struct ovl_err *err);

/**
 * A listening socket in the calling thread's namespace: fd, or -errno (-EADDRINUSE and what to do).
 * IPv6 wildcards take IPv4 too. rcvbuf_bytes: locked receive buffer of accepted sockets; 0:
 * autotuned.
 */
int ovl_sock_listen(const struct ovl_addr *addr, uint32_t rcvbuf_bytes, struct ovl_err *err);
/** Lock the receive buffer, past net.core.rmem_max where CAP_NET_ADMIN allows it. */
void ovl_sock_rcvbuf(int fd, uint32_t bytes);
/** Give up a dead peer after a while instead of never: user timeout and keepalive. */
void ovl_sock_mortal(int fd);
/** Close with a reset: nothing stays queued, so that nothing holds the namespace. */
void ovl_sock_abort(int fd);

/**
 * Wait until fd is ready for the poll events, or until deadline_ns (-ETIMEDOUT); 0 or -errno.
 */
int ovl_sock_wait(int fd, short events, uint64_t deadline_ns);
/**
 * Send or receive exactly n bytes by deadline_ns: 0, -ETIMEDOUT, -ECONNRESET at an early end,
 * -errno.
 */
int ovl_sock_send_all(int fd, const void *p, size_t n, uint64_t deadline_ns);
int ovl_sock_recv_all(int fd, void *p, size_t n, uint64_t deadline_ns);

/** Let recv and send wait by themselves from now on. 0 or -errno. */
int ovl_sock_blocking(int fd);
/**
 * The same on a blocking socket without a deadline: for a thread that is ended by a shutdown of the
 * socket.
 */
int ovl_sock_send_blocking(int fd, const void *p, size_t n);
int ovl_sock_recv_blocking(int fd, void *p, size_t n);

/** TCP_INFO; members that the kernel does not know stay 0 (none on 4.19 and later). 0 or -errno. */
int ovl_sock_info(int fd, struct ovl_sock_info *out);

#endif
