/* The commands around labs: lab, and relay, the daemon that one topology needs. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/run.h"
#include "app/signals.h"
#include "base/buf.h"
#include "lab/lab.h"
#include "lab/relay.h"

#define RELAY_ROUTES_MAX 64

static int lab_offloads(const char *word, enum ovl_lab_offloads *out, struct ovl_err *err)
{
	static const char *const words[] = {[OVL_LAB_OFFLOADS_CLOUD] = "cloud",
					    [OVL_LAB_OFFLOADS_ALL] = "all",
					    [OVL_LAB_OFFLOADS_NOGSO] = "nogso"};

	for (int i = 0; word && i < 3; i++) {
		if (!strcmp(words[i], word)) {
			*out = (enum ovl_lab_offloads)i;
			return 0;
		}
	}
	if (!word)
		return 0;
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL, "--offloads '%s': cloud, all or nogso",
			   word);
}

/* A lab is not left half-made by ^C: making and removing one takes well under a second. */
static void hold_signals(bool hold)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* The commands that go on from here, exact: other labs or the host may have such a device too. */
static void say_up(const struct ovl_lab *lab, struct ovl_buf *b)
{
	const struct ovl_lab_pair *load = &lab->load[OVL_LAB_LOAD_OVERLAY];

	ovl_buf_printf(b, "%s is up:", lab->topology);
	for (uint32_t i = 0; i < lab->n_ends; i++)
		ovl_buf_printf(b, "%s %s%s%s", i ? "," : "", lab->ends[i].name,
			       *lab->ends[i].addr ? " " : "", lab->ends[i].addr);
	ovl_buf_printf(b, "\nlook:   ovltrace --load iperf-like --iface %s --netns %s", lab->iface,
		       lab->ends[lab->iface_end].netns);
	ovl_buf_printf(b,
		       "\nenter:  ovltrace lab exec %s %s -- CMD   (or ip netns exec %s CMD)\n"
		       "remove: ovltrace lab down %s\n",
		       lab->topology, lab->ends[load->from].name, lab->ends[load->from].netns,
		       lab->topology);
}

static int lab_up(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_lab_spec spec = {.topology = o->args[1],
				    .ipv6 = o->ipv6,
				    .underlay_mtu = o->mtu,
				    .overlay_mtu = o->overlay_mtu,
				    .nodes = o->nodes,
				    .pods = o->pods,
				    .vni = o->vni,
				    .rate_bps = o->link_bps,
				    .batch = o->batch};
	struct ovl_lab lab;
	struct ovl_buf b = {0};
	int rc = lab_offloads(o->offloads, &spec.offloads, err);

	if (rc)
		return rc;
	hold_signals(true);
	rc = ovl_lab_up(&spec, &lab, err);
	if (!rc) {
		say_up(&lab, &b);
		ovl_lab_close(&lab);
		if (ovl_cmd_print(&b, err))
			rc = ovl_err_set(err, OVL_EXIT_FAILED, -EIO,
					 "lab %s is up, but saying so on stdout failed",
					 o->args[1]);
	}
	/* a ^C meanwhile ends us only now that it has been said what there is */
	hold_signals(false);
	return rc;
}

int ovl_cmd_lab(const struct ovl_options *o, struct ovl_err *err)
{
	const char *verb = o->n_args ? o->args[0] : "";
	struct ovl_buf b = {0};
	int rc;

	if (!strcmp(verb, "up") && o->n_args == 2)
		return lab_up(o, err);
	if (!strcmp(verb, "exec") && o->n_args >= 4)
		return ovl_lab_exec(o->args[1], o->args[2], o->args + 3, err);
	if (!strcmp(verb, "down") && o->n_args <= 2) {
		hold_signals(true);
		rc = ovl_lab_down(o->n_args == 2 ? o->args[1] : NULL, &b, err);
		hold_signals(false);
	} else if (!strcmp(verb, "list") && o->n_args == 1) {
		rc = ovl_lab_list(&b, err);
		if (!rc && !b.n)
			fprintf(stderr, "ovltrace: no lab is up; make one with `ovltrace lab up "
					"flannel-vxlan`\n");
	} else {
		return ovl_err_set(
			err, OVL_EXIT_USAGE, -EINVAL,
			"lab wants: up TOPO | down [TOPO] | list | exec TOPO END -- CMD…; see "
			"ovltrace lab --help");
	}
	if (b.n && ovl_cmd_print(&b, rc ? NULL : err) && !rc)
		rc = -EIO;
	ovl_buf_fini(&b);
	return rc;
}

/* SUBNET=REMOTE words in two; the words themselves stay whole for whoever looks with ps. */
struct relay_words {
	char subnet[RELAY_ROUTES_MAX][64];
	struct ovl_relay_route routes[RELAY_ROUTES_MAX];
	size_t n;
};

static int relay_routes(const struct ovl_options *o, struct relay_words *w, struct ovl_err *err)
{
	for (int i = 2; i < o->n_args; i++) {
		const char *word = o->args[i], *equals = strchr(word, '=');
		size_t n = equals ? (size_t)(equals - word) : 0;

		if (!n || n >= sizeof(w->subnet[0]) || !equals[1] || w->n == RELAY_ROUTES_MAX)
			return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
					   "relay: '%s' is no SUBNET=REMOTE, such as "
					   "10.244.2.0/24=192.168.77.2 (at most %d of them)",
					   word, RELAY_ROUTES_MAX);
		memcpy(w->subnet[w->n], word, n);
		w->subnet[w->n][n] = '\0';
		w->routes[w->n] = (struct ovl_relay_route){w->subnet[w->n], equals + 1};
		w->n++;
	}
	return 0;
}

/* Descriptor 3, if a lab started us and left a pipe there to hear of our start. */
static int ready_fd(void)
{
	struct stat st;

	return getenv("OVLTRACE_LAB") && fstat(OVL_RELAY_READY_FD, &st) == 0 && S_ISFIFO(st.st_mode)
		       ? OVL_RELAY_READY_FD
		       : -1;
}

/* What was moved and what was lost; a lab's daemons have nobody on stderr. */
static void relay_say(const struct ovl_relay_counts *c)
{
	fprintf(stderr,
		"ovltrace: relay: %" PRIu64 " packets to the wire, %" PRIu64
		" to the tun device; lost: "
		"%" PRIu64 " malformed, %" PRIu64 " without route, %" PRIu64 " expired, %" PRIu64
		" not sent, %" PRIu64 " refused by the tun device, %" PRIu64 " came too fast\n",
		c->to_wire_pkts, c->to_tun_pkts, c->malformed, c->no_route, c->expired,
		c->send_failed, c->tun_refused, c->overflowed);
}

int ovl_cmd_relay(const struct ovl_options *o, struct ovl_err *err)
{
	struct relay_words words = {.n = 0};
	struct ovl_relay_counts counts = {0};
	struct ovl_relay_spec spec = {.routes = words.routes,
				      .batch = o->batch,
				      .port = o->port ? o->port : OVL_RELAY_PORT,
				      .ready_fd = ready_fd(),
				      .cpu = -1,
				      .counts = &counts};
	int rc;

	if (o->n_args < 3)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "relay wants: TUN LOCAL SUBNET=REMOTE…, such as relay flannel0 "
				   "192.168.77.1 10.244.2.0/24=192.168.77.2");
	spec.tun = o->args[0];
	spec.local = o->args[1];
	rc = relay_routes(o, &words, err);
	if (rc)
		return rc;
	spec.n_routes = words.n;
	prctl(PR_SET_NAME, "ovl-relay");
	ovl_signals_early();
	spec.stop_fd = ovl_signals_open();
	if (spec.stop_fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, spec.stop_fd,
				   "cannot watch for signals: %s", strerror(-spec.stop_fd));
	rc = ovl_relay_run(&spec, err);
	close(spec.stop_fd);
	relay_say(&counts);
	return rc;
}
