/*
 * Who may use `ovltrace peer`: networks of both families, and what is said of those that may not.
 * Pure.
 */
#ifndef OVL_LOAD_ALLOW_H
#define OVL_LOAD_ALLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define OVL_ALLOW_MAX	  64
#define OVL_ALLOW_LOG_MAX 32 /* addresses remembered */

struct ovl_allow_net {
	uint8_t addr[16]; /* an IPv4 address as ::ffff:a.b.c.d, its prefix counted from there */
	uint8_t prefix;	  /* leading bits that must be equal */
	bool v4;
};

/** Zero-initialised: everybody. */
struct ovl_allow {
	struct ovl_allow_net net[OVL_ALLOW_MAX];
	uint32_t n;
};

/** Add a comma list of addresses and ADDRESS/PREFIX. 0, or -EINVAL with OVL_EXIT_USAGE. */
int ovl_allow_add(struct ovl_allow *allow, const char *list, struct ovl_err *err);
/**
 * May this address connect? IPv4 clients of a socket that serves both families count as IPv4, and
 * only as that: ::/0 does not let them in.
 */
bool ovl_allow_has(const struct ovl_allow *allow, const struct sockaddr_storage *sa);

/** Who was turned away, or told of, lately; zero-initialised: nobody. */
struct ovl_allow_log {
	uint64_t turned_away; /* in all */
	struct {
		uint8_t addr[16];
		uint64_t said_ns; /* 0: free */
	} row[OVL_ALLOW_LOG_MAX];
	uint64_t since_ns; /* of the present ten seconds */
	uint32_t said;	   /* lines in them */
};

/** Is one more line of this log due? So many are in ten seconds. */
bool ovl_allow_due(struct ovl_allow_log *log, uint32_t most, uint64_t now_ns);
/**
 * Count one that was turned away. Is it to be said? Once a minute of each address, and of all
 * together at most eight times in ten seconds. from gets the address as text.
 */
bool ovl_allow_note(struct ovl_allow_log *log, const struct sockaddr_storage *sa, uint64_t now_ns,
		    char from[64]);

#endif
