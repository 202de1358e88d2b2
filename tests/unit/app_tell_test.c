/* What an iperf3 server is told of a load's time. */
#include "app/notrace.h"
#include "app/options.h"
#include "tap.h"

static void told(const char *args, uint32_t omit_s, uint32_t time_s, bool plain)
{
	char text[256], *argv[16] = {(char *)"ovltrace"};
	struct ovl_load_spec spec = {0};
	struct ovl_options o;
	struct ovl_err err = OVL_ERR_INIT;
	int argc = 1;

	snprintf(text, sizeof(text), "--no-trace --load iperf-like --peer x %s", args);
	for (char *word = strtok(text, " "); word && argc < 16; word = strtok(NULL, " "))
		argv[argc++] = word;
	ok(ovl_options_parse(OVL_CMD_RUN, argc, argv, &o, &err) == 0, "'%s' is understood %s", args,
	   err.text);
	spec.reverse = o.reverse;
	ovl_notrace_tell(&o, &spec);
	is_int(spec.omit_s, omit_s, "'%s': leave out %u s", args, omit_s);
	is_int(spec.time_s, time_s, "and send for %u s", time_s);
	is_int(spec.plain, plain, plain ? "in iperf3's words" : "in ours");
}

int main(void)
{
	told("", 0, 10, false);
	told("-t 2 -O 3", 3, 2, false);
	told("-t 2.2", 0, 3, false);
	told("--count 5 -d 0.5", 0, 3, false);
	told("-t 2 -R", 0, 2, true);
	/* what is left out here alone takes of the time that the server sends */
	told("-t 2 -O 0.5 -R", 0, 3, true);
	told("-t 10 -O 7.5 -R", 0, 18, true);
	told("-t 1.5 -O 0.5", 0, 2, false);
	told("-t 86400 -O 1.5", 0, 86400, false);
	told("-t 86400 -O 60", 60, 86400, false);
	return tap_done();
}
