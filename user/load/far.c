#include "load/far.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/sock.h"

#define END_NS	     2000000000ull
#define MEANWHILE_NS 5000000ull

void ovl_far_init(struct ovl_far *far)
{
	memset(far, 0, sizeof(*far));
	far->fd = -1;
}

void ovl_far_begin(struct ovl_far *far, int fd)
{
	far->fd = fd;
	far->used = true;
	ovl_iperf3_client_init(&far->proto);
}

void ovl_far_fini(struct ovl_far *far)
{
	const uint8_t terminate = OVL_IPERF3_CLIENT_TERMINATE;

	/* left before its end: said, or older servers take it for an error of theirs */
	if (far->fd >= 0 && !far->dead && far->proto.phase <= OVL_IPERF3_CLIENT_RUNNING)
		send(far->fd, &terminate, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (far->fd >= 0)
		close(far->fd);
	far->fd = -1;
	if (far->used)
		ovl_iperf3_client_fini(&far->proto);
}

static int failed(const struct ovl_far *far, const struct ovl_client *client, const char *doing,
		  int rc, struct ovl_err *err)
{
	const struct ovl_iperf3_client *proto = &far->proto;
	const char *path = ovl_client_path(client), *name = client->addr.name;

	if (proto->phase == OVL_IPERF3_CLIENT_FAILED && proto->error)
		return ovl_iperf3_said(client, proto->error, err);
	if (proto->phase == OVL_IPERF3_CLIENT_FAILED && proto->state == OVL_IPERF3_SERVER_TERMINATE)
		return ovl_err_set(err, OVL_EXIT_PEER, -ECONNRESET,
				   "the iperf3 server %s%s was ended while %s: start it again "
				   "there, then the run here",
				   name, path, doing);
	if (proto->phase == OVL_IPERF3_CLIENT_FAILED)
		return ovl_err_set(err, OVL_EXIT_PEER, -EPROTO,
				   "the iperf3 server %s%s says what it should not while %s "
				   "(state %u): take another version of it, or `ovltrace peer`",
				   name, path, doing, proto->state);
	if (rc == -ETIMEDOUT)
		return ovl_err_set(err, OVL_EXIT_PEER, rc,
				   "the iperf3 server %s%s says nothing while %s: if its address "
				   "stands for several servers, the streams may have reached "
				   "another; give the address of one of them",
				   name, path, doing);
	return ovl_err_set(err, OVL_EXIT_PEER, rc,
			   "the iperf3 server %s%s has gone away while %s (%s): see there why it "
			   "ended, start it again, then the run here",
			   name, path, doing, strerror(-rc));
}

/* Take what the server has said, without waiting; 0 or -errno. */
static int take(struct ovl_far *far)
{
	uint8_t bytes[4096];
	ssize_t n = recv(far->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n ? ovl_iperf3_client_input(&far->proto, bytes, (size_t)n) : -ECONNRESET;
}

static int say(struct ovl_far *far, uint64_t deadline_ns)
{
	struct ovl_buf *out = &far->proto.out;
	int rc = out->failed ? -ENOMEM
			     : ovl_sock_send_all(far->fd, ovl_buf_str(out), out->n, deadline_ns);

	ovl_buf_clear(out);
	return rc;
}

/* Until the server says something. A server that still sends must find a reader, or it hangs. */
static int wait_word(const struct ovl_far *far, uint64_t deadline_ns)
{
	int rc;

	if (!far->meanwhile)
		return ovl_sock_wait(far->fd, POLLIN, deadline_ns);
	do {
		if (!far->meanwhile(far->arg))
			return -EXDEV;
		rc = ovl_sock_wait(far->fd, POLLIN, ovl_clock_ns() + MEANWHILE_NS);
	} while (rc == -ETIMEDOUT && ovl_clock_ns() < deadline_ns);
	return rc;
}

/* Talk until the phase is reached. */
static int talk(struct ovl_far *far, enum ovl_iperf3_client_phase until, uint64_t deadline_ns)
{
	int rc = say(far, deadline_ns);

	while (!rc && far->proto.phase < until) {
		rc = wait_word(far, deadline_ns);
		if (!rc)
			rc = take(far);
		if (!rc)
			rc = say(far, deadline_ns);
	}
	return rc;
}

int ovl_far_start(struct ovl_far *far, const struct ovl_client *client, struct ovl_err *err)
{
	const uint64_t limit_ns = client->spec->connect_timeout_ms * 1000000ull;
	int rc = talk(far, OVL_IPERF3_CLIENT_RUNNING, ovl_clock_ns() + limit_ns);

	return rc ? failed(far, client, "its streams are connected", rc, err) : 0;
}

int ovl_far_read(struct ovl_far *far, const struct ovl_client *client, struct ovl_err *err)
{
	int rc = take(far);

	far->dead = rc != 0;
	return rc ? failed(far, client, "the test runs", rc, err) : 0;
}

int ovl_far_end(struct ovl_far *far, const struct ovl_client *client,
		const struct ovl_iperf3_results *ours, struct ovl_err *err)
{
	int rc;

	ovl_iperf3_client_end(&far->proto, ours);
	rc = talk(far, OVL_IPERF3_CLIENT_OVER, ovl_clock_ns() + END_NS);
	return rc ? failed(far, client, "results are exchanged", rc, err) : 0;
}
