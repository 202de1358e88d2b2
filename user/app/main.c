/* Which command, and what its result means for the exit code. Nothing else. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "app/options.h"
#include "app/run.h"
#include "base/buf.h"
#include "base/version.h"

static const struct command {
	const char *name;
	enum ovl_command bit;
	int (*run)(const struct ovl_options *o, struct ovl_err *err);
} commands[] = {
	{"peer", OVL_CMD_PEER, ovl_cmd_peer},	    {"lab", OVL_CMD_LAB, ovl_cmd_lab},
	{"replay", OVL_CMD_REPLAY, ovl_cmd_replay}, {"doctor", OVL_CMD_DOCTOR, ovl_cmd_doctor},
	{"list", OVL_CMD_LIST, ovl_cmd_list},	    {"", OVL_CMD_RUN, ovl_cmd_run},
};

static const struct command *find(int argc, char **argv)
{
	const struct command *c = commands;

	while (*c->name && (argc < 2 || strcmp(argv[1], c->name) != 0))
		c++;
	return c;
}

static int help(enum ovl_command command)
{
	struct ovl_buf b = {0};

	ovl_options_help(command, &b);
	fputs(ovl_buf_str(&b), stdout);
	ovl_buf_fini(&b);
	return OVL_EXIT_OK;
}

int main(int argc, char **argv)
{
	const struct command *command = find(argc, argv);
	int words = *command->name ? 1 : 0;
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_options o;
	int rc;

	setlocale(LC_CTYPE, "");
	rc = ovl_options_parse(command->bit, argc - words, argv + words, &o, &err);
	if (!rc && o.version) {
		printf("ovltrace %s\n", OVL_VERSION);
		return OVL_EXIT_OK;
	}
	if (!rc && o.help)
		return help(command->bit);
	if (!rc)
		rc = command->run(&o, &err);
	if (rc >= 0)
		return OVL_EXIT_OK;
	fprintf(stderr, "ovltrace: %s\n", *err.text ? err.text : strerror(-rc));
	return err.exit;
}
