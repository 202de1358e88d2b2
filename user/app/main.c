/* ovltrace: its commands. Nothing else. */
#include <stddef.h>

#include "app/entry.h"
#include "app/matrix_suite.h"
#include "app/peer_command.h"
#include "app/run.h"
#include "lab/lab.h"

static const struct ovl_entry_command commands[] = {
	{"peer", OVL_CMD_PEER, ovl_cmd_peer, NULL},
	{"lab", OVL_CMD_LAB, ovl_cmd_lab, ovl_lab_topologies},
	{"matrix", OVL_CMD_MATRIX, ovl_cmd_matrix, ovl_matrix_suites},
	{"replay", OVL_CMD_REPLAY, ovl_cmd_replay, NULL},
	{"diff", OVL_CMD_DIFF, ovl_cmd_diff, NULL},
	{"doctor", OVL_CMD_DOCTOR, ovl_cmd_doctor, NULL},
	{"list", OVL_CMD_LIST, ovl_cmd_list, NULL},
	{"relay", OVL_CMD_RELAY, ovl_cmd_relay, NULL},
	{"", OVL_CMD_RUN, ovl_cmd_run, NULL},
};

int main(int argc, char **argv)
{
	return ovl_entry_main(commands, argc, argv);
}
