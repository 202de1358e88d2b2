#include "model/sample.h"

#include <string.h>

static const char *const phases[OVL_PHASE_COUNT] = {"observe", "underlay", "overlay", "settle"};

void ovl_sample_clear(struct ovl_sample *s)
{
	struct ovl_sample kept = *s;

	memset(s, 0, sizeof(*s));
#define KEEP(member) \
	do { \
		s->member.v = kept.member.v; \
		s->member.cap = kept.member.cap; \
	} while (0)
	KEEP(cpus);
	KEEP(hits);
	KEEP(symbols);
	KEEP(links);
	KEEP(counters);
	KEEP(drops);
	KEEP(self);
	KEEP(readings);
	KEEP(flows);
	KEEP(attempts);
	KEEP(packets.hops);
	KEEP(packets.steps);
	KEEP(packets.waits);
	KEEP(packets.daemons);
	KEEP(packets.syscalls);
	KEEP(funcs);
#undef KEEP
}

void ovl_sample_fini(struct ovl_sample *s)
{
	ovl_vec_fini(&s->cpus);
	ovl_vec_fini(&s->hits);
	ovl_vec_fini(&s->symbols);
	ovl_vec_fini(&s->links);
	ovl_vec_fini(&s->counters);
	ovl_vec_fini(&s->drops);
	ovl_vec_fini(&s->self);
	ovl_vec_fini(&s->readings);
	ovl_vec_fini(&s->flows);
	ovl_vec_fini(&s->attempts);
	ovl_vec_fini(&s->packets.hops);
	ovl_vec_fini(&s->packets.steps);
	ovl_vec_fini(&s->packets.waits);
	ovl_vec_fini(&s->packets.daemons);
	ovl_vec_fini(&s->packets.syscalls);
	ovl_vec_fini(&s->funcs);
	memset(s, 0, sizeof(*s));
}

const char *ovl_phase_name(enum ovl_phase phase)
{
	return (unsigned)phase < OVL_PHASE_COUNT ? phases[phase] : "?";
}

int ovl_phase_find(const char *name)
{
	for (int i = 0; i < OVL_PHASE_COUNT; i++)
		if (!strcmp(phases[i], name))
			return i;
	return -1;
}
