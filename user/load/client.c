#include "load/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "load/iperf3_wire.h"
#include "load/jsonio.h"
#include "load/mover.h"

#define BUSY_TRIES    4
#define BACKEND_TRIES 32
#define BUSY_WAIT_NS  100000000ull /* first pause; doubles */

const char *ovl_load_which_name(enum ovl_load_which which)
{
	return which == OVL_LOAD_UNDERLAY ? "underlay" : "overlay";
}

const char *ovl_client_path(const struct ovl_client *client)
{
	static const char *const names[] = {" (underlay)", " (overlay)"};
	const struct ovl_load_path_spec *path = client->spec->path;

	return path[OVL_LOAD_UNDERLAY].used && path[OVL_LOAD_OVERLAY].used ? names[client->which]
									   : "";
}

/* Names of the congestion controls of this namespace, for the sentence. */
static void list_congestion(char *out, size_t size)
{
	int fd = open("/proc/sys/net/ipv4/tcp_available_congestion_control", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
}

static int set_congestion(int fd, const char *asked, struct ovl_err *err)
{
	const char *name = *asked ? asked : "cubic";
	char known[160];
	int rc;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
		return 0;
	rc = -errno;
	if (rc == -EPERM && !*asked)
		return 0;
	list_congestion(known, sizeof(known));
	if (rc == -EPERM)
		return ovl_err_set(
			err, OVL_EXIT_RIGHTS, rc,
			"cannot use congestion control \"%s\": not permitted; run as root, "
			"or add it to net.ipv4.tcp_allowed_congestion_control",
			name);
	return ovl_err_set(err, OVL_EXIT_USAGE, rc,
			   "cannot use congestion control \"%s\": this kernel does not have it; "
			   "available: %s",
			   name, known[0] ? known : "unknown");
}

static int set_options(int fd, const struct ovl_load_spec *spec, struct ovl_err *err)
{
	const int on = 1, mss = (int)spec->mss_bytes, half = (int)(spec->window_bytes / 2);
	const int unsent = (int)spec->block_bytes;
	int rc = set_congestion(fd, spec->congestion, err);

	if (rc)
		return rc;
	if (mss && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)))
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -errno,
			"cannot set the segment size to %d bytes: %s; the kernel takes %d to %d",
			mss, strerror(errno), OVL_LOAD_MSS_MIN, OVL_LOAD_MSS_MAX);
	if (half && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &half, sizeof(half)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
	if (half) /* as iperf3; before the connection, which fixes the window's scale */
		ovl_sock_rcvbuf(fd, spec->window_bytes);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	rc = ovl_mover_pace(fd, spec->rate_bps);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc,
				   "cannot bound a stream to %llu bit/s: %s",
				   (unsigned long long)spec->rate_bps, strerror(-rc));
	/* With much unsent data an acknowledgement releases a whole window in one softirq, and the
	 * interrupt that wakes the receiving CPU (RPS) leaves only after it: both CPUs then take
	 * turns
	 * and none is full. One write's worth unsent lets data leave write by write instead. */
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	ovl_sock_mortal(fd);
	return 0;
}

/* The connection stands, but what answers does not speak the load's protocol. */
static int not_ours(const struct ovl_client *client, int rc, struct ovl_err *err)
{
	const char *path = ovl_client_path(client), *name = client->addr.name;

	if (rc == -ETIMEDOUT)
		return ovl_err_set(err, OVL_EXIT_PEER, rc,
				   "%s%s accepts connections but says nothing within %u ms: it is "
				   "not `ovltrace peer`; start that there, or give its port",
				   name, path, client->spec->connect_timeout_ms);
	if (rc == -ECONNRESET || rc == -EPIPE)
		return ovl_err_set(
			err, OVL_EXIT_PEER, rc,
			"%s%s closed the connection during the handshake: it is not "
			"`ovltrace peer`, was ended, or its --allow leaves this host out; start "
			"that there, or give its port",
			name, path);
	return ovl_err_set(err, OVL_EXIT_PEER, rc, "the handshake with %s%s failed: %s", name, path,
			   strerror(-rc));
}

/* Nobody listens: what to start there is what the load was to talk to. */
static int refused_connection(const struct ovl_client *client, int rc, struct ovl_err *err)
{
	const struct ovl_load_spec *spec = client->spec;
	const char *path = ovl_client_path(client), *name = client->addr.name;

	if (spec->path[client->which].was_iperf3)
		return ovl_err_set(
			err, OVL_EXIT_PEER, rc,
			"cannot connect to %s%s: refused; the iperf3 server there has ended "
			"after the first look, which is a test to it (`iperf3 -s -1`?): start it "
			"without -1",
			name, path);
	return ovl_err_set(err, OVL_EXIT_PEER, rc,
			   "cannot connect to %s%s: refused, nobody listens there; start "
			   "`%s %u` on that host",
			   name, path,
			   spec->raw	 ? "iperf -s -p"
			   : spec->plain ? "iperf3 -s -p"
					 : "ovltrace peer --port",
			   spec->port);
}

static int connect_failed(const struct ovl_client *client, int rc, struct ovl_err *err)
{
	const char *path = ovl_client_path(client), *name = client->addr.name;

	switch (rc) {
	case -ECONNRESET: /* one that hangs up at once may do so before we look */
		return not_ours(client, rc, err);
	case -ECONNREFUSED: return refused_connection(client, rc, err);
	case -ETIMEDOUT:
		return ovl_err_set(err, OVL_EXIT_PEER, rc,
				   "cannot connect to %s%s: no answer within %u ms; check the "
				   "address, the route and firewalls for TCP port %u",
				   name, path, client->spec->connect_timeout_ms,
				   client->spec->port);
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return ovl_err_set(err, OVL_EXIT_PEER, rc,
				   "cannot connect to %s%s: %s; check `ip route get` for it in the "
				   "client's network namespace",
				   name, path, strerror(-rc));
	default:
		return ovl_err_set(err, OVL_EXIT_PEER, rc, "cannot connect to %s%s: %s", name, path,
				   strerror(-rc));
	}
}

static int connect_by(int fd, const struct ovl_addr *addr, uint64_t deadline_ns)
{
	socklen_t len = sizeof(int);
	int rc, pending = 0;

	if (connect(fd, (const struct sockaddr *)&addr->sa, addr->len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	rc = ovl_sock_wait(fd, POLLOUT, deadline_ns);
	if (rc)
		return rc;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &pending, &len))
		return -errno;
	return -pending;
}

static int wrong_state(const struct ovl_client *client, uint8_t state, struct ovl_err *err)
{
	const char *path = ovl_client_path(client), *name = client->addr.name;

	if (state == OVL_WIRE_DENIED)
		return ovl_err_set(
			err, OVL_EXIT_PEER, -EBUSY,
			"%s%s is busy with another run (or, if it is an iperf3 server, wants "
			"a password); try again when that has ended",
			name, path);
	return ovl_err_set(err, OVL_EXIT_PEER, -EPROTO,
			   "%s%s answers in another protocol (first byte 0x%02x): it is not "
			   "`ovltrace peer` of a compatible version; start that there, or give its "
			   "port",
			   name, path, state);
}

int ovl_iperf3_said(const struct ovl_client *client, uint32_t error, struct ovl_err *err)
{
	const char *path = ovl_client_path(client), *name = client->addr.name;
	const char *why = ovl_iperf3_error_text(error);

	if (error == OVL_IPERF3_EAUTHTEST)
		return ovl_err_set(err, OVL_EXIT_PEER, -EACCES,
				   "the iperf3 server %s%s serves only users with a password, "
				   "which ovltrace does not send; start `ovltrace peer`, or iperf3 "
				   "without --authorized-users-path, on another port there",
				   name, path);
	if (!why)
		return ovl_err_set(err, OVL_EXIT_PEER, -EPROTO,
				   "the iperf3 server %s%s refuses the test with its error %u: "
				   "what it prints there says why; try fewer options, or `ovltrace "
				   "peer` there",
				   name, path, error);
	return ovl_err_set(err, OVL_EXIT_PEER, -EPROTO,
			   "the iperf3 server %s%s refuses the test: %s (its error %u)", name, path,
			   why, error);
}

/* An iperf3 server refuses the parameters: its error number follows (and errno, from most). */
static int refused(const struct ovl_client *client, int fd, uint64_t deadline_ns,
		   struct ovl_err *err)
{
	uint8_t number[4];
	int rc = ovl_sock_recv_all(fd, number, sizeof(number), deadline_ns);

	return rc ? not_ours(client, rc, err)
		  : ovl_iperf3_said(client, (uint32_t)ovl_be_get(number, sizeof(number)), err);
}

static int send_params(const struct ovl_client *client, int fd, uint64_t deadline_ns)
{
	const struct ovl_load_spec *spec = client->spec;
	struct ovl_wire_params params = {
		.conns = client->conns,
		.streams = spec->streams,
		.block_bytes = spec->block_bytes,
		.window_bytes = spec->window_bytes,
		.max_frames = spec->max_frames,
		.report = OVL_WIRE_REPORT,
		.rx_trunc = spec->rx_trunc,
		.omit_s = spec->omit_s,
		.time_s = spec->time_s,
		.plain = spec->plain,
		.reverse = spec->reverse,
		.rate_bps = spec->rate_bps,
		.mss_bytes = spec->mss_bytes,
	};
	struct ovl_buf out = {0};
	int rc;

	/* only what was asked for: a server without rights may be allowed its default alone */
	ovl_str_copy(params.congestion, sizeof(params.congestion), spec->congestion);
	rc = ovl_wire_params_format(&params, &out);
	if (!rc)
		rc = ovl_sock_send_all(fd, ovl_buf_str(&out), out.n, deadline_ns);
	ovl_buf_fini(&out);
	return rc;
}

static int recv_hello(int fd, uint64_t deadline_ns, struct ovl_wire_hello *hello)
{
	char json[OVL_WIRE_JSON_MAX];
	uint8_t head[4];
	int rc = ovl_sock_recv_all(fd, head, sizeof(head), deadline_ns);
	uint32_t n;

	if (rc)
		return rc;
	n = ovl_wire_length_parse(head);
	if (!n)
		return -EPROTO;
	rc = ovl_sock_recv_all(fd, json, n, deadline_ns);
	return rc ? rc : ovl_wire_hello_parse(json, n, hello);
}

int ovl_client_older(const struct ovl_client *client, const char *lacks, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_PEER, -EOPNOTSUPP,
			   "the `ovltrace peer` at %s%s is of version %s, which %s: start a "
			   "newer one there",
			   client->addr.name, ovl_client_path(client), client->hello.version,
			   lacks);
}

static int check_instance(struct ovl_client *client, uint32_t stream, uint8_t state,
			  const struct ovl_wire_hello *hello, struct ovl_err *err)
{
	if (stream == 0) {
		client->hello = *hello;
		return client->spec->reverse && !hello->reverse
			       ? ovl_client_older(client, "does not send", err)
			       : 0;
	}
	if (state == OVL_WIRE_HELLO && strcmp(hello->instance, client->hello.instance) == 0)
		return 0;
	return ovl_err_set(err, OVL_EXIT_PEER, -EXDEV,
			   "connection %u to %s%s reached another `ovltrace peer` than the "
			   "first, %d times: "
			   "the address is shared by many; give the address of one of them",
			   stream + 1, client->addr.name, ovl_client_path(client), BACKEND_TRIES);
}

void ovl_client_cookie(const struct ovl_client *client, uint32_t stream,
		       char text[OVL_WIRE_COOKIE_BYTES])
{
	struct ovl_wire_cookie cookie = {.stream = client->first + stream};

	memcpy(cookie.session, client->session, sizeof(cookie.session));
	if (client->spec->plain)
		ovl_wire_cookie_plain(&cookie, text);
	else
		ovl_wire_cookie_format(&cookie, text);
}

void ovl_load_cookie(const struct ovl_load *load, enum ovl_load_which which, char out[40])
{
	const struct ovl_client *client = ovl_load_client(load, which);

	out[0] = '\0';
	if (client->far != OVL_CLIENT_RAW)
		ovl_client_cookie(client, 0, out);
}

static int handshake(struct ovl_client *client, int fd, uint32_t stream, uint64_t deadline_ns,
		     struct ovl_err *err)
{
	struct ovl_wire_hello hello = {0};
	char text[OVL_WIRE_COOKIE_BYTES];
	uint8_t state;
	int rc;

	ovl_client_cookie(client, stream, text);
	rc = ovl_sock_send_all(fd, text, sizeof(text), deadline_ns);
	if (!rc)
		rc = ovl_sock_recv_all(fd, &state, 1, deadline_ns);
	if (!rc && stream && state == OVL_WIRE_DENIED) /* that of another session's */
		return check_instance(client, stream, state, &hello, err);
	/* an idle server asks for the parameters; one that has this session already says hello */
	if (!rc && state == OVL_WIRE_PARAM_EXCHANGE) {
		if (stream)
			return check_instance(client, stream, state, &hello, err);
		rc = send_params(client, fd, deadline_ns);
		if (!rc)
			rc = ovl_sock_recv_all(fd, &state, 1, deadline_ns);
	}
	if (rc)
		return not_ours(client, rc, err);
	if (stream == 0 && state == OVL_WIRE_CREATE_STREAMS) {
		client->far = OVL_CLIENT_IPERF3;
		return 0;
	}
	if (state == OVL_IPERF3_SERVER_ERROR)
		return refused(client, fd, deadline_ns, err);
	if (state != OVL_WIRE_HELLO)
		return wrong_state(client, state, err);
	rc = recv_hello(fd, deadline_ns, &hello);
	if (rc == -EPROTO)
		return wrong_state(client, state, err);
	if (rc)
		return not_ours(client, rc, err);
	return check_instance(client, stream, state, &hello, err);
}

/* A connected socket; nothing is said yet. */
static int open_socket(const struct ovl_client *client, uint64_t deadline_ns, struct ovl_err *err)
{
	int fd = socket(client->addr.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot make a socket for the load: %s", strerror(errno));
	rc = set_options(fd, client->spec, err);
	if (!rc) {
		rc = connect_by(fd, &client->addr, deadline_ns);
		if (rc)
			rc = connect_failed(client, rc, err);
	}
	if (!rc)
		return fd;
	ovl_sock_abort(fd);
	return rc;
}

static int open_once(struct ovl_client *client, uint32_t stream, uint64_t deadline_ns,
		     struct ovl_err *err)
{
	int fd = open_socket(client, deadline_ns, err), rc;

	if (fd < 0 || client->far == OVL_CLIENT_RAW)
		return fd;
	rc = handshake(client, fd, stream, deadline_ns, err);
	if (!rc)
		return fd;
	ovl_sock_abort(fd);
	return rc;
}

int ovl_client_open_stream(struct ovl_client *client, struct ovl_err *err)
{
	const uint64_t deadline_ns = ovl_clock_ns() + client->spec->connect_timeout_ms * 1000000ull;
	int fd = open_socket(client, deadline_ns, err), rc;
	char text[OVL_WIRE_COOKIE_BYTES];

	if (fd < 0)
		return fd;
	ovl_client_cookie(client, 0, text);
	rc = ovl_sock_send_all(fd, text, sizeof(text), deadline_ns);
	if (!rc)
		return fd;
	ovl_sock_abort(fd);
	return not_ours(client, rc, err);
}

int ovl_client_open(struct ovl_client *client, uint32_t stream, struct ovl_err *err)
{
	const uint64_t limit_ns = client->spec->connect_timeout_ms * 1000000ull;
	uint64_t deadline_ns = ovl_clock_ns() + limit_ns, pause_ns = BUSY_WAIT_NS;
	int rc = -EBUSY;

	/* a peer may not yet have noticed that the run before has ended; an iperf3 server is not
	 * there for a moment between two tests */
	for (int i = 0; i < BUSY_TRIES; i++, pause_ns *= 2) {
		const struct timespec pause = {.tv_nsec = (long)pause_ns};

		rc = open_once(client, stream, deadline_ns, err);
		/* a Kubernetes Service picks an endpoint for each connection: until it is ours */
		for (int k = 1; rc == -EXDEV && k < BACKEND_TRIES; k++)
			rc = open_once(client, stream, deadline_ns, err);
		if ((rc != -EBUSY && rc != -ECONNREFUSED) ||
		    ovl_clock_ns() + pause_ns >= deadline_ns)
			break;
		if (i + 1 < BUSY_TRIES)
			nanosleep(&pause, NULL);
	}
	return rc;
}
