/*
 * A whole synthetic run for the model's tests: ABBA slices of a fast underlay and a slow overlay.
 */
#ifndef OVL_TESTS_MODEL_RUN_H
#define OVL_TESTS_MODEL_RUN_H

#include "model_scene.h"

#define GB UINT64_C(1000000000)

static const struct scene_slice run_underlay = {
	.cpu = {{.idle_ms = 200,
		 .task = 700,
		 .task_stage = OVL_STAGE_TCP_TX,
		 .softirq = 80,
		 .softirq_stage = OVL_STAGE_XMIT,
		 .other = 20},
		{.idle_ms = 100,
		 .task = 500,
		 .task_stage = OVL_STAGE_COPY_TO_USER,
		 .softirq = 400,
		 .softirq_stage = OVL_STAGE_TCP_RX}},
	.bytes = GB * 5 / 2,
	.busy_ms = 1000,
	.rwnd_ms = 50,
};
static const struct scene_slice run_overlay = {
	.cpu = {{.idle_ms = 10,
		 .task = 500,
		 .task_stage = OVL_STAGE_TCP_TX,
		 .softirq = 470,
		 .softirq_stage = OVL_STAGE_GSO,
		 .other = 20},
		{.idle_ms = 300,
		 .task = 300,
		 .task_stage = OVL_STAGE_COPY_TO_USER,
		 .softirq = 400,
		 .softirq_stage = OVL_STAGE_GRO}},
	.bytes = GB,
	.busy_ms = 1000,
	.rwnd_ms = 50,
	.retransmits = 3,
};

/* ABBA pairs with a settling interval before each slice; jitter varies bytes from pair to pair. */
static inline void run_pairs(struct ovl_model_state *state, const struct ovl_facts *f,
			     uint32_t pairs, uint64_t jitter)
{
	struct ovl_sample s = {0};

	for (uint32_t i = 0; i < pairs * 2; i++) {
		bool u = i % 4 == 0 || i % 4 == 3;
		struct scene_slice d = u ? run_underlay : run_overlay;

		scene_begin(&s, OVL_PHASE_SETTLE, 0);
		scene_clock(&s, 0, 1000, 500, 0);
		scene_hit(&s, 0, OVL_STAGE_TUN, OVL_CTX_TASK, OVL_TASK_LOAD_TX, 500);
		scene_self(&s, 0, MS, 1000);
		scene_drop(&s, "NO_SOCKET", "tcp_v4_rcv", true, 2, 2);
		ovl_model_add(state, f, &s);
		d.bytes += jitter * (i / 2 % 3);
		scene_slice(&s, u ? OVL_PHASE_UNDERLAY : OVL_PHASE_OVERLAY, i / 2, &d);
		scene_self(&s, 0, MS, 1000);
		scene_link(&s, 1000, 10, d.bytes, 50000);
		ovl_model_add(state, f, &s);
	}
	ovl_sample_fini(&s);
}

static inline const struct ovl_stage_time *run_stage(const struct ovl_model *m, int stage)
{
	ovl_vec_each(t, &m->cpu.stages)
		if (t->stage == stage)
			return t;
	return NULL;
}

#endif
