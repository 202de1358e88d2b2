/* What a wrong command line is told: which help to read, which limit holds, what is missing. */
#include "app/address.h"
#include "app/options.h"
#include "tap.h"

static void hint(enum ovl_command command, const char *args, const char *word)
{
	char text[256], *argv[16] = {(char *)"ovltrace"};
	struct ovl_options o;
	struct ovl_err err = OVL_ERR_INIT;
	int argc = 1;

	snprintf(text, sizeof(text), "%s", args);
	for (char *at = strtok(text, " "); at && argc < 16; at = strtok(NULL, " "))
		argv[argc++] = at;
	ok(ovl_options_parse(command, argc, argv, &o, &err) < 0 && err.exit == OVL_EXIT_USAGE &&
		   strstr(err.text, word),
	   "'%s': %s", args, err.text);
}

static void test_hosts(void)
{
	static const char *const words[] = {":5201", "[]:5201", "[]", ":"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct ovl_err err = OVL_ERR_INIT;
		char addr[64];
		uint16_t port = 0;

		ok(ovl_address_resolve("--peer", words[i], addr, &port, &err) < 0 &&
			   err.exit == OVL_EXIT_USAGE,
		   "%s", err.text);
	}
}

int main(void)
{
	hint(OVL_CMD_PEER, "--port 0", "see ovltrace peer --help");
	hint(OVL_CMD_RELAY, "--port 0", "see ovltrace relay --help");
	hint(OVL_CMD_RUN, "--port 0", "see ovltrace --help");
	hint(OVL_CMD_LAB, "--nodes 9", "see ovltrace lab --help");
	hint(OVL_CMD_MATRIX, "--for x", "see ovltrace matrix --help");
	hint(OVL_CMD_REPLAY, "--render 1", "see ovltrace replay --help");
	hint(OVL_CMD_RUN, "--load iperf-like -M 32768", "88 to 32767");
	hint(OVL_CMD_RUN, "--load iperf-like -M 87", "88 to 32767");
	test_hosts();
	return tap_done();
}
