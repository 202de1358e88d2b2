/* Who may connect to a peer: networks, families, and how often it is said who may not. */
#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "load/allow.h"

#define SECOND 1000000000ull

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage sa = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&sa;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&sa;

	sa.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	inet_pton(sa.ss_family, text,
		  sa.ss_family == AF_INET ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr);
	return sa;
}

static void test_networks(void)
{
	static const struct {
		const char *list, *client;
		bool may;
	} rows[] = {
		{"10.244.0.0/16", "10.244.3.4", true},
		{"10.244.0.0/16", "10.245.0.1", false},
		{"10.244.0.0/16", "::ffff:10.244.3.4", true},
		{"10.244.7.7/16", "10.244.3.4", true}, /* bits behind the prefix do not matter */
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.128/25", "192.0.2.127", false},
		{"192.0.2.128/25", "192.0.2.255", true},
		{"0.0.0.0/0", "203.0.113.9", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"::/0", "2001:db8::1", true},
		{"::/0", "203.0.113.9", false},
		{"::/0", "::ffff:203.0.113.9", false},
		{"::ffff:10.0.0.0/104", "10.9.9.9", true},
		{"fd00::/8", "fdff::1", true},
		{"fd00::/8", "fe80::1", false},
		{"2001:db8::1", "2001:db8::2", false},
		{"10.0.0.0/8,fd00::/8,192.0.2.1", "192.0.2.1", true},
		{"10.0.0.0/8,fd00::/8,192.0.2.1", "192.0.2.3", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sockaddr_storage sa = address(rows[i].client);
		struct ovl_allow allow = {0};
		struct ovl_err err = OVL_ERR_INIT;

		ok(ovl_allow_add(&allow, rows[i].list, &err) == 0 &&
			   ovl_allow_has(&allow, &sa) == rows[i].may,
		   "%s: %s %s", rows[i].list, rows[i].client, rows[i].may ? "may" : "may not");
	}
}

static void test_bad(void)
{
	static const char *const lists[] = {
		"",
		",",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/",
		"10.0.0",
		"fd00::/129",
		"fd00::/8x",
		"10.0.0.1,,",
		"example.org",
		"::ffff:10.0.0.0/",
		"1111:2222:3333:4444:5555:6666:7777:8888/128/128/128/1"};
	struct sockaddr_storage sa = address("203.0.113.9");
	struct ovl_allow allow = {0};
	struct ovl_err err = OVL_ERR_INIT;
	int rc = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct ovl_allow one = {0};

		err = OVL_ERR_INIT;
		ok(ovl_allow_add(&one, lists[i], &err) < 0 && err.exit == OVL_EXIT_USAGE, "%s",
		   err.text);
	}
	ok(ovl_allow_has(NULL, &sa) && ovl_allow_has(&allow, &sa), "no list: everybody");
	for (int i = 0; i <= OVL_ALLOW_MAX; i++)
		rc = ovl_allow_add(&allow, "10.0.0.0/8", &err);
	ok(rc < 0, "%s", err.text);
}

static void test_words(void)
{
	struct ovl_allow_log log = {0};
	struct sockaddr_storage sa = address("::ffff:192.0.2.7");
	uint64_t now = 1000 * SECOND;
	char from[64], text[32];
	int said = 0;

	ok(ovl_allow_note(&log, &sa, now, from), "the first time it is said");
	is_str(from, "192.0.2.7", "of whom, an IPv4 address as such");
	for (int i = 0; i < 1000; i++)
		said += ovl_allow_note(&log, &sa, now += SECOND / 100, from);
	is_int(said, 0, "not again within a minute");
	ok(ovl_allow_note(&log, &sa, now += 60 * SECOND, from), "but after it");
	now += 60 * SECOND;
	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "2001:db8::%x", i + 1);
		sa = address(text);
		said += ovl_allow_note(&log, &sa, now, from);
	}
	is_int(said, 8, "of ten thousand addresses at once eight are said");
	is_int(log.turned_away, 11002, "and all are counted");
	log = (struct ovl_allow_log){0};
	for (int i = said = 0; i < 1000; i++)
		said += ovl_allow_due(&log, 8, now);
	is_int(said, 8, "eight lines at once");
	ok(ovl_allow_due(&log, 8, now + 10 * SECOND), "and more ten seconds later");
}

int main(void)
{
	test_networks();
	test_bad();
	test_words();
	return tap_done();
}
