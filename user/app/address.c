#include "app/address.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "base/str.h"

int ovl_address_resolve(const char *option, const char *word, char addr[64], uint16_t *port,
			struct ovl_err *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char host[256];
	const char *colon = strrchr(word, ':');
	unsigned long long v;
	int rc;

	if (!ovl_str_copy(host, sizeof(host), word))
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "%s: a host name has at most 253 characters", option);
	if (colon && (strchr(word, ':') == colon || colon[-1] == ']')) {
		if (!ovl_str_u64(colon + 1, 1, 65535, &v))
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "%s %s: the port after ':' is 1 to 65535", option, word);
		*port = (uint16_t)v;
		host[colon - word] = '\0';
	}
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	if (!*host)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "%s %s: the host is missing: give HOST or HOST:PORT", option,
				   word);
	rc = getaddrinfo(host, NULL, &hints, &found);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_PEER, -EHOSTUNREACH,
				   "%s %s: %s; give an address or a "
				   "name that resolves here",
				   option, word, gai_strerror(rc));
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, addr, 64, NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	return rc ? ovl_err_set(err, OVL_EXIT_PEER, -EINVAL, "%s %s: %s", option, word,
				gai_strerror(rc))
		  : 0;
}
