/* Who is there, by the first bytes, and the answer to a health probe. */
#include "tap.h"

#include <errno.h>

#include "load/sniff.h"

#define COOKIE "abcdefghijklmnopqrstuvwxyz2345677654"

static void is_guest(const char *s, size_t n, enum ovl_guest want, const char *name)
{
	size_t early = 0;

	is_int(ovl_sniff(s, n), want, "%s", name);
	for (size_t i = 0; i < n; i++)
		early += ovl_sniff(s, i) != OVL_GUEST_UNKNOWN;
	is_int(early, 0, "and not before byte %zu", n);
}

static void test_sniff(void)
{
	static const char iperf2[] = {0x40, 0x01, 0x00, 0x78};
	char cookie[37] = COOKIE;

	is_guest(COOKIE, 37, OVL_GUEST_IPERF3, "iperf3's cookie");
	is_guest("ovltrace2aaaaaaaaaaaaaaaaaaaaaaaaaaa", 37, OVL_GUEST_OWN, "a cookie of ours");
	is_guest("ovltrace3aaaaaaaaaaaaaaaaaaaaaaaaaaa", 37, OVL_GUEST_IPERF3,
		 "nearly one of ours");
	is_guest("GET ", 4, OVL_GUEST_HTTP, "GET");
	is_guest("HEAD ", 5, OVL_GUEST_HTTP, "HEAD");
	is_guest("GEx", 3, OVL_GUEST_RAW, "nearly GET");
	is_guest(iperf2, 1, OVL_GUEST_RAW, "iperf2");
	is_guest("", 1, OVL_GUEST_RAW, "a zero");
	is_guest("hello\n", 6, OVL_GUEST_RAW, "a line of text");
	cookie[36] = 'a';
	is_guest(cookie, 37, OVL_GUEST_RAW, "37 letters without an end");
}

static void is_answer(const char *request, const char *begin, const char *end, const char *name)
{
	struct ovl_buf out = {0};

	is_int(ovl_http_answer(request, strlen(request), &out), 0, "%s", name);
	ok(strncmp(ovl_buf_str(&out), begin, strlen(begin)) == 0, "is answered by %s", begin);
	ok(out.n > strlen(end) && strcmp(out.s + out.n - strlen(end), end) == 0, "and its body");
	ovl_buf_fini(&out);
}

static void test_http(void)
{
	static const char probe[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
	char big[OVL_SNIFF_HTTP_MAX];
	struct ovl_buf out = {0};
	size_t more = 0;

	is_answer(probe, "HTTP/1.1 200 ", "\r\n\r\nok\n", "a probe");
	is_answer("GET /healthz?x=1 HTTP/1.1\n\n", "HTTP/1.1 200 ", "ok\n", "one with a query");
	is_answer("HEAD /healthz HTTP/1.0\r\n\r\n", "HTTP/1.1 200 ", "\r\n\r\n", "HEAD");
	is_answer("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "not found\n", "another page");
	is_answer("GET /healthzz HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ", "not found\n",
		  "a longer name");
	is_answer("GET /healthz\r\n\r\n", "HTTP/1.1 200 ", "ok\n", "HTTP/0.9");
	is_answer("GET \r\n\r\n", "HTTP/1.1 404 ", "not found\n", "no page at all");
	for (size_t n = 4; n < sizeof(probe) - 1; n++)
		more += ovl_http_answer(probe, n, &out) == -EAGAIN;
	is_int(more, sizeof(probe) - 5, "each beginning of it wants more");
	memset(big, 'a', sizeof(big));
	memcpy(big, "GET ", 4);
	is_int(ovl_http_answer(big, sizeof(big), &out), -EPROTO, "a head without end");
	is_int(out.n, 0, "is not answered");
	ovl_buf_fini(&out);
}

int main(void)
{
	test_sniff();
	test_http();
	return tap_done();
}
