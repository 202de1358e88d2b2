#include "view/json_self.h"

#include <stdio.h>

#include "bpf/abi.h"

static void put_probes(ovl_json self, const struct ovl_facts *f, const struct ovl_probes *probes)
{
	ovl_json part = ovl_json_object(self, "probes");

	ovl_json_u64(part, "attached", probes->all);
	ovl_json_u64(part, "missing", f->missing.n);
	ovl_json_u64(part, "tracepoint", probes->tracepoint);
	ovl_json_u64(part, "fentry", probes->fentry);
	ovl_json_u64(part, "kprobe", probes->kprobe);
	ovl_json_u64(part, "sampler", probes->sampler);
	part = ovl_json_array(self, "missing");
	ovl_vec_each(miss, &f->missing) {
		ovl_json one = ovl_json_element(part);

		ovl_json_text(one, "hook", miss->hook);
		ovl_json_text(one, "reason", miss->reason);
		ovl_json_text(one, "lost", miss->lost);
	}
}

/* Of programs at packets and functions; before 6.7 the kernel does not count those of kprobes. */
static bool misses_counted(const struct ovl_facts *f, const struct ovl_probes *probes)
{
	unsigned major, minor;

	if (!probes->kprobe)
		return f->packets.valid || f->funcs.n;
	return sscanf(f->kernel, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 7));
}

static void put_lost(ovl_json self, const struct ovl_facts *f, const struct ovl_model *m,
		     const struct ovl_probes *probes)
{
	const uint64_t *lost = m->self.lost_events;
	ovl_json part = ovl_json_object(self, "lost");

	ovl_json_null(part, "ring"); /* there is no ring buffer to lose from */
	ovl_json_u64(part, "map",
		     lost[OVL_LOST_SAMPLE_MAP] + lost[OVL_LOST_DROP_MAP] +
			     lost[OVL_LOST_CONNECT_MAP] + lost[OVL_LOST_FUNC_MAP] +
			     lost[OVL_LOST_PACKET_MAP]);
	ovl_json_u64(part, "stack", lost[OVL_LOST_STACK]);
	if (f->packets.valid) {
		ovl_json_u64(part, "window", m->packets.windows_lost);
		ovl_json_u64(part, "skb_span", lost[OVL_LOST_PACKET_SPAN]);
		ovl_json_u64(part, "nesting", lost[OVL_LOST_PACKET_DEPTH]);
	} else {
		ovl_json_null(part, "window");
		ovl_json_null(part, "skb_span");
		ovl_json_null(part, "nesting");
	}
	if (misses_counted(f, probes))
		ovl_json_u64(part, "run", lost[OVL_LOST_RUN]);
	else
		ovl_json_null(part, "run");
	ovl_json_u64(part, "drop_budget", lost[OVL_LOST_DROP_BUDGET]);
	ovl_json_u64(part, "func_time", lost[OVL_LOST_FUNC_SPAN]);
	ovl_json_u64(part, "table", m->table_overflow);
	ovl_json_u64(part, "damaged_records", m->damaged_records);
}

void ovl_json_self(ovl_json o, const struct ovl_facts *f, const struct ovl_model *m)
{
	const struct ovl_probes probes = ovl_facts_probes(f);
	ovl_json self = ovl_json_object(o, "self");

	ovl_json_number(self, "cpu_ratio", m->self.cpu_ratio);
	if (m->self.cpu >= 0)
		ovl_json_i64(self, "cpu", m->self.cpu);
	else
		ovl_json_null(self, "cpu");
	if (m->self.effect.valid) {
		ovl_json_number(self, "effect_ratio", m->self.effect.change_ratio);
		ovl_json_number(self, "effect_stderr_ratio", m->self.effect.stderr_ratio);
	} else {
		ovl_json_null(self, "effect_ratio");
		ovl_json_null(self, "effect_stderr_ratio");
	}
	put_probes(self, f, &probes);
	put_lost(self, f, m, &probes);
}
