/*
 * The static program for pods (`make static`): it makes and answers loads, and sees nothing of the
 * kernel. Of the archives only what that needs is linked: no BPF, no labs, no terminal.
 */
#include <errno.h>
#include <stddef.h>

#include "app/entry.h"
#include "app/notrace.h"
#include "app/peer_command.h"

static int load(const struct ovl_options *o, struct ovl_err *err)
{
	if (o->no_trace && o->peer)
		return ovl_notrace_peer(o, err);
	return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
			   "this static program only makes and answers loads: ovltrace --no-trace "
			   "--load iperf-like --peer HOST, or ovltrace peer");
}

static const struct ovl_entry_command commands[] = {
	{"peer", OVL_CMD_PEER, ovl_cmd_peer, NULL},
	{"", OVL_CMD_POD, load, NULL},
};

int main(int argc, char **argv)
{
	return ovl_entry_main(commands, argc, argv);
}
