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

/* Does a rule of the packet filter translate this port? */
static bool is_translated(const struct ovl_diag *d, uint32_t port)
{
	ovl_vec_each(r, &d->m->readings) {
		const struct ovl_reading *words;

		if (strcmp(r->kind, "rule") != 0 || strcmp(r->name, "dport") != 0 ||
		    r->value != port)
			continue;
		words = ovl_diag_reading(d, r->ns, "rule", r->object, "words");
		if (words && strstr(words->text, " translates"))
			return true;
	}
	return false;
}

/* Ports that rules translate, as text. */
static void list_translated(const struct ovl_diag *d, struct ovl_buf *ports)
{
	long long last = 0;
	int n = 0;

	ovl_vec_each(r, &d->m->readings)
		if (!strcmp(r->kind, "rule") && !strcmp(r->name, "dport") && r->value != last &&
		    n < 4 && is_translated(d, (uint32_t)r->value)) {
			ovl_buf_printf(ports, "%s%lld", n++ ? ", " : "", (long long)r->value);
			last = r->value;
		}
}

/*
 * A port of this address that answers: of an attempt, or of a connection open before. One that a
 * rule translates comes first: it makes the address a Service's.
 */
static unsigned int port_answering(const struct ovl_diag *d, const struct ovl_attempt *a,
				   bool *translated)
{
	unsigned int any = 0;

	*translated = true;
	ovl_vec_each(other, &d->m->attempts) {
		if (other->ns != a->ns || other->port == a->port || !other->answered ||
		    strcmp(other->dst, a->dst) != 0)
			continue;
		if (is_translated(d, other->port))
			return other->port;
		any = other->port;
	}
	ovl_vec_each(f, &d->m->flows) {
		unsigned int port = port_of(f->f.dst);

		if (f->f.ns != a->ns || f->f.state != 1 || port == a->port ||
		    !ovl_diag_is_host(f->f.dst, a->dst))
			continue;
		if (is_translated(d, port))
			return port;
		any = port;
	}
	*translated = false;
	return any;
}

/* Does the address belong to an end of a connection that some namespace of the path has itself? */
static bool is_local(const struct ovl_diag *d, const char *addr)
{
	ovl_vec_each(f, &d->m->flows)
		if (ovl_diag_is_host(f->f.src, addr))
			return true;
	return false;
}

static void say(struct ovl_diag *d, const struct ovl_attempt *a, unsigned int open, bool sure)
{
	struct ovl_finding *f =
		ovl_diag_find(d, OVL_RULE_SERVICE_PORT_UNTRANSLATED, sure ? 0.9 : 0.4, a->ns, "");
	struct ovl_buf ports = {0};

	list_translated(d, &ports);
	if (sure)
		ovl_diag_title(
			f,
			"SYN to %s:%u gets no answer: the address is a Service's (its port %u "
			"answers, rules translate %s), but no rule translates this port (qperf's "
			"data port, or any other that the server chose at run time)",
			a->dst, a->port, open, ovl_buf_str(&ports));
	else
		ovl_diag_title(
			f,
			"SYN to %s:%u gets no answer, while its port %u answers: this one is "
			"blocked on the way, or not translated if the address is a Service's",
			a->dst, a->port, open);
	ovl_buf_fini(&ports);
	ovl_diag_evidence(f, "unanswered",
			  fmax((double)a->unanswered,
			       (double)a->tried - (double)a->answered - (double)a->refused),
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
	if (sure)
		ovl_diag_explains(d, f, OVL_SYMPTOM_DEAD);
	else
		f->level = OVL_LEVEL_WARNING;
}

void ovl_rule_service(struct ovl_diag *d)
{
	/* where not all of them were listed, one for this port may be among the others */
	const bool whole =
		!ovl_diag_reading(d, OVL_ANY_NS, "nf_tables", "all", "translating_left_out");

	ovl_vec_each(a, &d->m->attempts) {
		unsigned int open;
		bool translated;

		/* tried but neither answered nor refused: given up, or still waiting */
		if (a->answered || a->tried < a->refused + TRIES_LEAST ||
		    (!a->unanswered && !a->repeated_segs) || is_local(d, a->dst) ||
		    is_translated(d, a->port))
			continue;
		open = port_answering(d, a, &translated);
		if (open)
			say(d, a, open, translated && whole);
	}
}
