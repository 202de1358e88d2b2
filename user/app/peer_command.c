#include "app/peer_command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/signals.h"
#include "base/units.h"
#include "load/load.h"

static void peer_ready(void *arg, uint16_t port)
{
	const char *bind = arg;

	fprintf(stderr, "ovltrace: peer listens on %s port %u; ^C ends it\n",
		bind ? bind : "all addresses", port);
}

static void peer_served(void *arg, const struct ovl_peer_served *what)
{
	char sent[OVL_UNITS_MAX], rate[OVL_UNITS_MAX];
	const double bits = (double)what->bytes * 8;
	const double bps = what->duration_s > 0 ? bits / what->duration_s : NAN;

	(void)arg;
	if (what->untold)
		fprintf(stderr, "ovltrace: %llu more raw connection%s came and went\n",
			(unsigned long long)what->untold, what->untold > 1 ? "s" : "");
	if (!what->from)
		return;
	fprintf(stderr, "ovltrace: %s %s: %u stream%s, %s %s bytes in %.1f s, %s%s\n", what->kind,
		what->from, what->streams, what->streams > 1 ? "s" : "",
		what->reverse ? "sent" : "received",
		ovl_units_text(sent, (double)what->bytes, ovl_units_count((double)what->bytes),
			       false),
		what->duration_s, ovl_units_text(rate, bps, ovl_units_rate(bps), false),
		what->complete ? "" : " (not ended well)");
}

static void peer_turned_away(void *arg, const char *from, uint64_t n)
{
	(void)arg;
	if (from)
		fprintf(stderr,
			"ovltrace: closed a connection from %s, which --allow does not name (%llu "
			"so far)\n",
			from, (unsigned long long)n);
	else
		fprintf(stderr,
			"ovltrace: %llu connection%s from addresses that --allow does not name "
			"%s closed\n",
			(unsigned long long)n, n > 1 ? "s" : "", n > 1 ? "were" : "was");
}

int ovl_cmd_peer(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_peer_spec spec = {.bind = o->bind,
				     .port = o->port,
				     .ready = peer_ready,
				     .served = peer_served,
				     .allow = &o->allow,
				     .turned_away = peer_turned_away,
				     .arg = (void *)o->bind};
	int rc;

	ovl_signals_early();
	spec.stop_fd = ovl_signals_open();
	if (spec.stop_fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, spec.stop_fd,
				   "cannot watch for signals: %s", strerror(-spec.stop_fd));
	rc = ovl_peer_serve(&spec, err);
	close(spec.stop_fd);
	return rc;
}
