#include "load/allow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/str.h"

#define SECOND_NS	 1000000000ull
#define AGAIN_NS	 (60 * SECOND_NS)
#define WINDOW_NS	 (10 * SECOND_NS)
#define LINES_PER_WINDOW 8
#define MAPPED_BITS	 96

static const uint8_t mapped[MAPPED_BITS / 8] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped(const uint8_t addr[16])
{
	return memcmp(addr, mapped, sizeof(mapped)) == 0;
}

static bool parse_net(const char *text, struct ovl_allow_net *out)
{
	char host[INET6_ADDRSTRLEN + 8];
	const char *slash = strchr(text, '/');
	unsigned long long prefix;
	uint32_t bits;
	size_t n;

	if (!ovl_str_copy(host, sizeof(host), text))
		return false;
	n = slash ? (size_t)(slash - text) : strlen(text);
	host[n] = '\0';
	*out = (struct ovl_allow_net){0};
	if (inet_pton(AF_INET, host, out->addr + sizeof(mapped)) == 1) {
		memcpy(out->addr, mapped, sizeof(mapped));
		out->v4 = true;
	} else if (inet_pton(AF_INET6, host, out->addr) != 1) {
		return false;
	}
	bits = out->v4 ? 32 : 128;
	prefix = bits;
	if (slash && !ovl_str_u64(slash + 1, 0, bits, &prefix))
		return false;
	out->prefix = (uint8_t)(prefix + (out->v4 ? MAPPED_BITS : 0));
	if (out->prefix >= MAPPED_BITS && is_mapped(out->addr))
		out->v4 = true;
	return true;
}

int ovl_allow_add(struct ovl_allow *allow, const char *list, struct ovl_err *err)
{
	char word[64];

	for (const char *at = list;; at++) {
		size_t n = strcspn(at, ",");

		if (allow->n == OVL_ALLOW_MAX)
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "--allow takes at most %d networks; give larger ones",
					   OVL_ALLOW_MAX);
		memcpy(word, at, n < sizeof(word) ? n : sizeof(word) - 1);
		word[n < sizeof(word) ? n : sizeof(word) - 1] = '\0';
		if (n >= sizeof(word) || !parse_net(word, &allow->net[allow->n]))
			return ovl_err_set(
				err, OVL_EXIT_USAGE, -EINVAL,
				"--allow '%s': no network: give ADDRESS or ADDRESS/PREFIX such as "
				"10.244.0.0/16 or fd00::/8, several with commas",
				word);
		allow->n++;
		at += n;
		if (!*at)
			return 0;
	}
}

/* Any address as one of IPv6. */
static void sixteen(const struct sockaddr_storage *sa, uint8_t out[16])
{
	if (sa->ss_family == AF_INET6) {
		memcpy(out, &((const struct sockaddr_in6 *)sa)->sin6_addr, 16);
		return;
	}
	memcpy(out, mapped, sizeof(mapped));
	memcpy(out + sizeof(mapped), &((const struct sockaddr_in *)sa)->sin_addr, 4);
}

static bool within(const struct ovl_allow_net *net, const uint8_t addr[16])
{
	const uint32_t bytes = net->prefix / 8, bits = net->prefix % 8;

	return net->v4 == is_mapped(addr) && memcmp(net->addr, addr, bytes) == 0 &&
	       (!bits || (net->addr[bytes] ^ addr[bytes]) >> (8 - bits) == 0);
}

bool ovl_allow_has(const struct ovl_allow *allow, const struct sockaddr_storage *sa)
{
	uint8_t addr[16];

	if (!allow || !allow->n)
		return true;
	sixteen(sa, addr);
	for (uint32_t i = 0; i < allow->n; i++)
		if (within(&allow->net[i], addr))
			return true;
	return false;
}

bool ovl_allow_due(struct ovl_allow_log *log, uint32_t most, uint64_t now_ns)
{
	if (!log->since_ns || now_ns >= log->since_ns + WINDOW_NS) {
		log->since_ns = now_ns;
		log->said = 0;
	}
	if (log->said >= most)
		return false;
	log->said++;
	return true;
}

bool ovl_allow_note(struct ovl_allow_log *log, const struct sockaddr_storage *sa, uint64_t now_ns,
		    char from[64])
{
	uint8_t addr[16];
	uint32_t at = 0;

	log->turned_away++;
	sixteen(sa, addr);
	inet_ntop(is_mapped(addr) ? AF_INET : AF_INET6,
		  is_mapped(addr) ? addr + sizeof(mapped) : addr, from, 64);
	/* the row of this address, else the one that was said longest ago */
	for (uint32_t i = 0; i < OVL_ALLOW_LOG_MAX; i++) {
		if (log->row[i].said_ns && memcmp(log->row[i].addr, addr, sizeof(addr)) == 0) {
			at = i;
			break;
		}
		if (log->row[i].said_ns < log->row[at].said_ns)
			at = i;
	}
	if (log->row[at].said_ns && memcmp(log->row[at].addr, addr, sizeof(addr)) == 0 &&
	    now_ns < log->row[at].said_ns + AGAIN_NS)
		return false;
	if (!ovl_allow_due(log, LINES_PER_WINDOW, now_ns))
		return false;
	memcpy(log->row[at].addr, addr, sizeof(addr));
	log->row[at].said_ns = now_ns;
	return true;
}
