#include "load/sniff.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "load/wire.h"

static bool begins(const char *s, size_t n, const char *word)
{
	size_t m = strlen(word);

	return memcmp(s, word, n < m ? n : m) == 0;
}

enum ovl_guest ovl_sniff(const char *s, size_t n)
{
	const size_t text = OVL_WIRE_COOKIE_BYTES - 1;

	if (begins(s, n, "GET ") || begins(s, n, "HEAD "))
		return n >= (*s == 'G' ? 4 : 5) ? OVL_GUEST_HTTP : OVL_GUEST_UNKNOWN;
	for (size_t i = 0; i < n && i < text; i++) {
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '2' && s[i] <= '7')))
			return OVL_GUEST_RAW;
	}
	if (n <= text)
		return OVL_GUEST_UNKNOWN;
	if (s[text])
		return OVL_GUEST_RAW;
	return begins(s, n, OVL_WIRE_PREFIX) ? OVL_GUEST_OWN : OVL_GUEST_IPERF3;
}

int ovl_http_answer(const char *request, size_t n, struct ovl_buf *out)
{
	static const char path[] = "/healthz";
	const char *at = memchr(request, ' ', n), *body;
	bool head = *request == 'H', found;

	if (!memmem(request, n, "\r\n\r\n", 4) && !memmem(request, n, "\n\n", 2))
		return n < OVL_SNIFF_HTTP_MAX ? -EAGAIN : -EPROTO;
	at++; /* the sniffer saw the space */
	found = (size_t)(request + n - at) >= sizeof(path) && begins(at, sizeof(path) - 1, path) &&
		strchr(" ?\r\n", at[sizeof(path) - 1]);
	body = found ? "ok\n" : "not found\n";
	ovl_buf_printf(out,
		       "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
		       "Connection: close\r\n\r\n%s",
		       found ? "200 OK" : "404 Not Found", strlen(body), head ? "" : body);
	return out->failed ? -ENOMEM : 0;
}
