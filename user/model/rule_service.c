/* Connections to a Service's address on a port that its rules do not translate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/diag.h"

#define TRIES_LEAST 1 /* SYNs that stayed unanswered; the same address answers on another port */

static unsigned int port_of(const char *end)
{
	const char *colon = strrchr(end, ':');

	return colon ? (unsigned int)atoi(colon + 1) : 0;
}

/* A port of this address that answers: of an attempt, or of a connection open before. */
static unsigned int port_answering(const struct ovl_diag *d, const struct ovl_attempt *a)
{
	ovl_vec_each(other, &d->m->attempts)
		if (other->ns == a->ns && other->port != a->port && other->answered &&
		    !strcmp(other->dst, a->dst))
			return other->port;
	ovl_vec_each(f, &d->m->flows)
		if (f->f.ns == a->ns && f->f.state == 1 && ovl_diag_is_host(f->f.dst, a->dst) &&
		    port_of(f->f.dst) != a->port)
			return port_of(f->f.dst);
	return 0;
}

/* Ports that the node's rules translate, as text; *hit: this one is among them. */
static void translated(const struct ovl_diag *d, uint32_t port, struct ovl_buf *ports, bool *hit)
{
	int n = 0;

	*hit = false;
	ovl_vec_each(r, &d->m->readings) {
		if (strcmp(r->kind, "rule") != 0 || strcmp(r->name, "dport") != 0)
			continue;
		*hit |= r->value == port;
		if (n++ < 4)
			ovl_buf_printf(ports, "%s%lld", n > 1 ? ", " : "", (long long)r->value);
	}
}

/* Does the address belong to an end of a connection that some namespace of the path has itself? */
static bool is_local(const struct ovl_diag *d, const char *addr)
{
	ovl_vec_each(f, &d->m->flows)
		if (ovl_diag_is_host(f->f.src, addr))
			return true;
	return false;
}

static void say(struct ovl_diag *d, const struct ovl_attempt *a, unsigned int open,
		const char *ports)
{
	struct ovl_finding *f =
		ovl_diag_find(d, OVL_RULE_SERVICE_PORT_UNTRANSLATED, 0.9, a->ns, "");

	ovl_diag_title(
		f,
		"SYN to %s:%u gets no answer: the address is a Service's (its port %u answers"
		"%s%s), but no rule translates this port (qperf's data port, or any other "
		"that the server chose at run time)",
		a->dst, a->port, open, *ports ? ", rules translate " : "", ports);
	ovl_diag_evidence(
		f, "unanswered",
		(double)(a->unanswered + a->tried - a->answered - a->refused - a->unanswered),
		"connections", "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "syn_repeated", (double)a->repeated_segs, "segs",
			  "tcp:tcp_retransmit_skb");
	ovl_diag_evidence(f, "port", a->port, "", "sock:inet_sock_set_state");
	ovl_diag_evidence(f, "port_that_answers", open, "", "sock:inet_sock_set_state, sock_diag");
	ovl_diag_fix(f, "qperf -lp 19765 -ip PORT on both sides, and PORT as a second port of the "
			"Service");
	ovl_diag_fix(f, "connect to the pod's own address, which needs no translation");
	ovl_diag_risk(f, "none: only the test's ports change");
	ovl_diag_verify(f, "the connection comes about: ovltrace lists it as answered");
	d->explained |= OVL_SYMPTOM_DEAD;
}

void ovl_rule_service(struct ovl_diag *d)
{
	ovl_vec_each(a, &d->m->attempts) {
		struct ovl_buf ports = {0};
		unsigned int open;
		bool hit;

		/* tried but neither answered nor refused: given up, or still waiting */
		if (a->answered || a->tried < a->refused + TRIES_LEAST ||
		    (!a->unanswered && !a->repeated_segs) || is_local(d, a->dst))
			continue;
		open = port_answering(d, a);
		translated(d, a->port, &ports, &hit);
		if (open && !hit)
			say(d, a, open, ovl_buf_str(&ports));
		ovl_buf_fini(&ports);
	}
}
