#include "load/stream.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* An IPv4 address of a socket that serves both families is written as such. */
static void name_end(const struct sockaddr_storage *sa, socklen_t len, char host[64],
		     uint16_t *port)
{
	char name[INET6_ADDRSTRLEN + 20] = "", service[8] = "";

	if (getnameinfo((const struct sockaddr *)sa, len, name, sizeof(name), service,
			sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	ovl_str_copy(host, 64, ovl_str_starts(name, "::ffff:") ? name + 7 : name);
	*port = (uint16_t)strtoul(service, NULL, 10);
}

static uint32_t buffer_bytes(int fd, int option)
{
	int v = 0;
	socklen_t len = sizeof(v);

	return getsockopt(fd, SOL_SOCKET, option, &v, &len) || v < 0 ? 0 : (uint32_t)v;
}

/* Addresses, buffers and TCP_INFO of a connected socket. 0 or -errno. */
static int read_socket(int fd, struct ovl_load_stream *out)
{
	struct tcp_info ti = {0}; /* older kernels fill less of it */
	struct sockaddr_storage local = {0}, remote = {0};
	socklen_t n = sizeof(ti), local_n = sizeof(local), remote_n = sizeof(remote);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &n))
		return -errno;
	if (getsockname(fd, (struct sockaddr *)&local, &local_n) == 0)
		name_end(&local, local_n, out->local, &out->local_port);
	if (getpeername(fd, (struct sockaddr *)&remote, &remote_n) == 0)
		name_end(&remote, remote_n, out->remote, &out->remote_port);
	out->fd = fd;
	out->bytes = ti.tcpi_bytes_acked;
	out->retransmits = ti.tcpi_total_retrans;
	out->rtt_us = ti.tcpi_rtt;
	out->rttvar_us = ti.tcpi_rttvar;
	out->cwnd_bytes = ti.tcpi_snd_cwnd * ti.tcpi_snd_mss;
	out->snd_wnd_bytes = ti.tcpi_snd_wnd;
	out->pmtu_bytes = ti.tcpi_pmtu;
	out->mss_bytes = ti.tcpi_snd_mss;
	out->sndbuf_bytes = buffer_bytes(fd, SO_SNDBUF);
	out->rcvbuf_bytes = buffer_bytes(fd, SO_RCVBUF);
	return 0;
}

/* What the receiver has reported of a connection as of an instant. */
static uint64_t reported_bytes(struct ovl_sender *s, const struct ovl_sender_stream *stream,
			       uint64_t ts_ns)
{
	const struct ovl_track_clock *clock = &s->clock[stream->which];
	uint64_t bytes = UINT64_MAX;

	pthread_mutex_lock(&s->lock);
	if (stream->track.n)
		bytes = ovl_track_at(&stream->track, ovl_track_clock_map(clock, ts_ns)).bytes;
	pthread_mutex_unlock(&s->lock);
	return bytes;
}

int ovl_stream_look(struct ovl_sender *s, const struct ovl_sender_stream *stream, uint64_t ts_ns,
		    struct ovl_load_stream *out)
{
	int rc;

	*out = (struct ovl_load_stream){.received_bytes = reported_bytes(s, stream, ts_ns)};
	rc = read_socket(stream->fd, out);
	if (rc)
		return rc;
	if (s->spec.reverse)
		out->bytes = atomic_load(&stream->received_bytes);
	else
		out->bytes -= stream->acked_base_bytes;
	return 0;
}

void ovl_stream_mark(struct ovl_sender *s, struct ovl_sender_stream *stream,
		     const struct ovl_load_stream *at)
{
	pthread_mutex_lock(&s->lock);
	stream->mark_bytes = at->bytes;
	stream->mark_retransmits = at->retransmits;
	s->marked = true;
	pthread_mutex_unlock(&s->lock);
}
