/* ovltrace: its commands. Nothing else. */
#include <stddef.h>

#include "app/entry.h"
#include "app/peer_command.h"
#include "app/run.h"
#include "lab/lab.h"

static const struct ovl_entry_command commands[] = {
	{"peer", OVL_CMD_PEER, ovl_cmd_peer},	    {"lab", OVL_CMD_LAB, ovl_cmd_lab},
	{"replay", OVL_CMD_REPLAY, ovl_cmd_replay}, {"diff", OVL_CMD_DIFF, ovl_cmd_diff},
	{"doctor", OVL_CMD_DOCTOR, ovl_cmd_doctor}, {"list", OVL_CMD_LIST, ovl_cmd_list},
	{"relay", OVL_CMD_RELAY, ovl_cmd_relay},    {"", OVL_CMD_RUN, ovl_cmd_run},
};

int main(int argc, char **argv)
{
	const struct ovl_entry entry = {commands, ovl_lab_topologies};

	return ovl_entry_main(&entry, argc, argv);
}
