#include "lab/relay.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lab/relay_batch.h"
#include "lab/relay_ends.h"

#define ROUNDS 64 /* packets each way before looking whether it is time to end */

enum { POLL_TUN, POLL_SOCK, POLL_STOP, N_POLL };

struct relay {
	struct ovl_relay_ends ends;
	struct ovl_relay_batch *batch; /* NULL: one packet a system call */
	uint8_t packet[OVL_RELAY_PACKET_MAX];
};

static int single_to_wire(struct relay *r, struct ovl_err *err)
{
	struct iovec iov = {.iov_base = r->packet};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	const struct ovl_relay_addr *to;
	struct ovl_relay_packet p;
	ssize_t n;

	r->ends.counts->tun_reads++;
	n = read(r->ends.tun, r->packet, sizeof(r->packet));
	if (n < 0)
		return ovl_relay_ends_tun_fault(&r->ends, errno, err);
	if (!ovl_relay_ends_check(&r->ends, r->packet, (size_t)n, &p))
		return 1;
	to = ovl_relay_ends_route(&r->ends, &p);
	if (!to)
		return 1;
	iov.iov_len = p.bytes;
	msg.msg_name = (void *)&to->sa;
	msg.msg_namelen = to->len;
	if (ovl_relay_ends_send(&r->ends, &msg)) {
		r->ends.counts->send_failed++;
		return 1;
	}
	r->ends.counts->to_wire_pkts++;
	r->ends.counts->to_wire_bytes += p.bytes;
	return 1;
}

static int single_to_tun(struct relay *r, struct ovl_err *err)
{
	struct ovl_relay_packet p;
	ssize_t n;
	int rc;

	r->ends.counts->udp_recvs++;
	n = recv(r->ends.sock, r->packet, sizeof(r->packet), MSG_DONTWAIT);
	if (n < 0)
		return ovl_relay_ends_recv_fault(&r->ends, errno, err);
	if (!ovl_relay_ends_check(&r->ends, r->packet, (size_t)n, &p))
		return 1;
	r->ends.counts->to_tun_pkts++;
	r->ends.counts->to_tun_bytes += p.bytes;
	rc = ovl_relay_ends_write(&r->ends, &(struct iovec){p.data, p.bytes}, 1, err);
	return rc ? rc : 1;
}

/* One packet (with batch: one system call's worth) each way, until both are dry. */
static int drain(struct relay *r, struct ovl_err *err)
{
	/* a send that has waited in vain: time to look whether this is to end */
	const uint64_t failed = r->ends.counts->send_failed;

	for (int round = 0; round < ROUNDS && r->ends.counts->send_failed == failed; round++) {
		int out, in;

		out = r->batch ? ovl_relay_batch_to_wire(r->batch, err) : single_to_wire(r, err);
		if (out < 0)
			return out;
		in = r->batch ? ovl_relay_batch_to_tun(r->batch, err) : single_to_tun(r, err);
		if (in < 0)
			return in;
		if (!out && !in)
			return 0;
	}
	return 0;
}

static int forward(struct relay *r, int stop_fd, struct ovl_err *err)
{
	struct pollfd fds[N_POLL] = {
		[POLL_TUN] = {.fd = r->ends.tun, .events = POLLIN},
		[POLL_SOCK] = {.fd = r->ends.sock, .events = POLLIN},
		[POLL_STOP] = {.fd = stop_fd, .events = POLLIN}, /* poll() skips −1 */
	};
	int rc;

	for (;;) {
		r->ends.counts->polls++;
		if (poll(fds, N_POLL, -1) < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
					   "relay: cannot wait for packets: %s", strerror(errno));
		}
		if (fds[POLL_STOP].revents)
			return 0;
		rc = drain(r, err);
		if (rc)
			return rc;
	}
}

static int pin(int cpu, struct ovl_err *err)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "relay: cannot run on CPU %d: %s, choose one that is online",
				   cpu, strerror(errno));
	return 0;
}

static int prepare(struct relay *r, const struct ovl_relay_spec *spec,
		   struct ovl_relay_counts *counts, struct ovl_err *err)
{
	int rc = pin(spec->cpu, err);

	if (!rc)
		rc = ovl_relay_ends_open(&r->ends, spec, counts, err);
	if (rc || !spec->batch)
		return rc;
	r->batch = ovl_relay_batch_new(&r->ends);
	if (r->batch)
		return 0;
	ovl_relay_ends_close(&r->ends);
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "relay: no memory for its buffers");
}

/* Nothing can be done about a reader that has gone: it forwards all the same. */
static void tell(int fd, int rc, const struct ovl_err *err)
{
	if (fd < 0)
		return;
	if (rc)
		dprintf(fd, "1\n%s\n", err->text);
	else
		dprintf(fd, "0\n");
}

int ovl_relay_run(const struct ovl_relay_spec *spec, struct ovl_err *err)
{
	struct ovl_relay_counts unwanted, *counts = spec->counts ? spec->counts : &unwanted;
	struct ovl_err own = OVL_ERR_INIT;
	struct relay *r;
	int rc;

	err = err ? err : &own;
	*counts = (struct ovl_relay_counts){0};
	r = calloc(1, sizeof(*r));
	if (!r)
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "relay: no memory to begin with");
	else
		rc = prepare(r, spec, counts, err);
	tell(spec->ready_fd, rc, err);
	if (!rc) {
		rc = forward(r, spec->stop_fd, err);
		ovl_relay_batch_free(r->batch);
		ovl_relay_ends_close(&r->ends);
	}
	free(r);
	return rc;
}
