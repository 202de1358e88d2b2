/*
 * The load without a profiler, for tests: load HOST PORT STREAMS MS [raw|plain|reverse] [RATE]
 * Prints who answered, what the sender's TCP saw acknowledged, and what the far end says it got.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "load/load.h"

static int fail(const struct ovl_err *err)
{
	fprintf(stderr, "load: %s\n", err->text);
	return (int)err->exit;
}

int main(int argc, char **argv)
{
	struct ovl_load_spec spec = {.remote = true, .cpu_sender = -1, .cpu_receiver = -1};
	struct ovl_load_path_spec *path = &spec.path[OVL_LOAD_OVERLAY];
	struct ovl_load_counts counts = {0};
	struct ovl_load_agreement both = {0};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load *load;
	int rc;

	if (argc < 5)
		return OVL_EXIT_USAGE;
	path->used = true;
	path->client_netns_fd = path->server_netns_fd = -1;
	snprintf(path->addr, sizeof(path->addr), "%s", argv[1]);
	spec.port = (uint16_t)atoi(argv[2]);
	spec.streams = (uint32_t)atoi(argv[3]);
	spec.raw = argc > 5 && !strcmp(argv[5], "raw");
	spec.reverse = argc > 5 && !strcmp(argv[5], "reverse");
	spec.plain = argc > 5 && !strcmp(argv[5], "plain");
	spec.rate_bps = argc > 6 ? strtoull(argv[6], NULL, 10) : 0;
	load = ovl_load_start(&spec, &err);
	if (!load)
		return fail(&err);
	ovl_load_select(load, OVL_LOAD_OVERLAY);
	nanosleep(&(struct timespec){.tv_sec = atoi(argv[4]) / 1000,
				     .tv_nsec = atoi(argv[4]) % 1000 * 1000000},
		  NULL);
	ovl_load_select(load, OVL_LOAD_PATHS);
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	rc = ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err);
	if (!rc)
		rc = ovl_load_finish(load, &err);
	printf("%s acked %llu counted %llu", ovl_load_peer_kind(load, OVL_LOAD_OVERLAY),
	       (unsigned long long)counts.acked_bytes, (unsigned long long)counts.bytes);
	if (!rc && ovl_load_agreement(load, OVL_LOAD_OVERLAY, &both))
		printf(" far %llu", (unsigned long long)both.received_bytes);
	printf("\n");
	ovl_load_stop(load);
	return rc ? fail(&err) : 0;
}
