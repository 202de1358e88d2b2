/*
 * Dumps over netlink that fail: what is left of them must not be taken for the next answer, and
 * what was counted before them must not be taken for one interval's.
 */
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collect/netns.h"
#include "collect/nldump.h"
#include "collect/tcpdiag.h"
#include "mnl_script.h"
#include "tap.h"

#define FIRST_BYTES  (512 * 1024)
#define SECOND_BYTES (64 * 1024)

static int taken, began_anew;

static int take(const struct nlmsghdr *nlh, void *arg)
{
	(void)nlh;
	(void)arg;
	taken++;
	return MNL_CB_OK;
}

static void again(void *arg)
{
	(void)arg;
	taken = 0;
	began_anew++;
}

static void test_interrupted(void)
{
	static _Alignas(struct nlmsghdr) char reply[8192], request[64];
	struct ovl_nldump d = {.reply = reply, .reply_bytes = sizeof(reply), .again = again};
	struct nlmsghdr *nlh;

	is_int(ovl_nldump_open(&d.nl, NETLINK_ROUTE), 0, "a socket");
	script.plays = true;
	script.interrupts = 1;
	nlh = mnl_nlmsg_put_header(request);
	is_int(ovl_nldump_run(&d, nlh, take, NULL), 0, "an inconsistent dump is tried again");
	is_int(began_anew, 1, "once");
	is_int(taken, SCRIPT_MSGS - 1, "and every message is taken once");
	script.interrupts = 1000;
	nlh = mnl_nlmsg_put_header(request);
	script.sends = 0;
	is_int(ovl_nldump_run(&d, nlh, take, NULL), -EINTR, "one that never is consistent fails");
	ok(script.sends > 1 && script.sends < 20, "after a few tries (%d)", script.sends);
	is_int(script.first, script.n, "and leaves nothing on the socket");
	script.interrupts = 0;
	taken = 0;
	nlh = mnl_nlmsg_put_header(request);
	is_int(ovl_nldump_run(&d, nlh, take, NULL), 0, "the next question is answered");
	is_int(taken, SCRIPT_MSGS - 1, "by its own answer alone");
	script.plays = false;
	mnl_socket_close(d.nl);
}

/* A connection over loopback; 0 when it was made. */
static int connect_pair(int *client, int *server)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	*client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&at, n) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &n) ||
	    connect(*client, (struct sockaddr *)&at, n))
		return -1;
	*server = accept(listener, NULL, NULL);
	close(listener);
	return *server < 0 ? -1 : ntohs(at.sin_port);
}

static void carry(int client, int server, size_t bytes)
{
	static char block[16384];

	for (size_t sent = 0; sent < bytes; sent += sizeof(block)) {
		if (write(client, block, sizeof(block)) != (ssize_t)sizeof(block))
			ok(0, "writing");
		for (size_t got = 0; got < sizeof(block);) {
			ssize_t n = read(server, block, sizeof(block));

			got += n > 0 ? (size_t)n : sizeof(block);
		}
	}
	/* until the last byte is acknowledged */
	for (int left = 1, tries = 0; left && tries < 1000; tries++, usleep(10000))
		if (ioctl(client, SIOCOUTQ, &left))
			break;
}

/* Bytes that connections to this port got acknowledged, by the sample. */
static uint64_t acked_to(const struct ovl_sample *s, int port)
{
	uint64_t bytes = 0;
	char end[24];

	snprintf(end, sizeof(end), "127.0.0.1:%d", port);
	ovl_vec_each(f, &s->flows)
		bytes += !strcmp(f->dst, end) ? f->acked_bytes : 0;
	return bytes;
}

static void test_gap(void)
{
	int fd = ovl_netns_current(), client = -1, server = -1;
	int port = connect_pair(&client, &server);
	struct ovl_tcpdiag *t = ovl_tcpdiag_open(fd, 0);
	struct ovl_sample s = {0};

	ok(t && port > 0, "a connection and a socket to ask for it");
	if (!t || port <= 0)
		return;
	carry(client, server, FIRST_BYTES);
	script.send_errno = EBUSY;
	is_int(ovl_tcpdiag_read(t, NULL), -EBUSY, "the first reading fails");
	script.send_errno = 0;
	is_int(ovl_tcpdiag_read(t, &s), 0, "the second does not");
	is_int(acked_to(&s, port), 0, "what was carried before it is no interval's");
	carry(client, server, SECOND_BYTES);
	ovl_sample_clear(&s);
	is_int(ovl_tcpdiag_read(t, &s), 0, "the third");
	is_int(acked_to(&s, port), SECOND_BYTES, "counts from the second on");
	carry(client, server, FIRST_BYTES);
	ovl_sample_clear(&s);
	script.send_errno = EBUSY;
	is_int(ovl_tcpdiag_read(t, &s), -EBUSY, "one between fails");
	script.send_errno = 0;
	is_int(ovl_tcpdiag_read(t, &s), 0, "the next does not");
	is_int(acked_to(&s, port), 0, "and what came since is not taken for the last interval's");
	ovl_sample_fini(&s);
	ovl_tcpdiag_close(t);
	close(client);
	close(server);
	close(fd);
}

int main(void)
{
	test_interrupted();
	test_gap();
	return tap_done();
}
