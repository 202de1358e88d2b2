#include "model/wake.h"
#include "tap.h"

static void cpu(struct ovl_sample *s, uint32_t number, uint64_t wall_ms, uint64_t idle_ms)
{
	struct ovl_cpu_clock *c = ovl_vec_push(&s->cpus);

	c->cpu = number;
	c->wall_ns = wall_ms * 1000000;
	c->idle_ns = idle_ms * 1000000;
}

static void hit(struct ovl_sample *s, uint32_t number, uint8_t ctx, uint32_t count)
{
	struct ovl_hit *h = ovl_vec_push(&s->hits);

	h->cpu = number;
	h->ctx = ctx;
	h->count = count;
}

/* Busy wake samples of one CPU with this idle time, of 300 certain and 100 wake ones at 500 Hz. */
static uint32_t settled(uint64_t idle_ms, uint32_t hz)
{
	struct ovl_sample s = {0};
	struct ovl_wake wake[4];
	uint32_t n, taken = 0;

	cpu(&s, 3, 1000, idle_ms);
	hit(&s, 3, OVL_CTX_SOFTIRQ, 200);
	hit(&s, 3, OVL_CTX_WAKE, 60);
	hit(&s, 3, OVL_CTX_USER, 100);
	hit(&s, 3, OVL_CTX_WAKE, 40);
	n = ovl_wake_budget(&s, hz, wake, 4);
	ovl_vec_each(h, &s.hits)
		taken += h->ctx == OVL_CTX_WAKE ? ovl_wake_take(wake, n, h) : 0;
	ovl_sample_fini(&s);
	return taken;
}

static void test_clock_decides(void)
{
	is_int(settled(200, 500), 100, "busy for 400 samples: all wake samples were busy");
	is_int(settled(300, 500), 50, "busy for 350: half of them");
	is_int(settled(400, 500), 0, "busy for 300: none");
	is_int(settled(900, 500), 0, "busy for less than the certain ones: none, and no underflow");
	is_int(settled(0, 500), 100, "busy for more than there are: no more than there are");
	is_int(settled(2000, 500), 0, "more idle than wall time: none");
	is_int(settled(400, 0), 100, "without a sampling rate all count");
}

static void test_others(void)
{
	struct ovl_sample s = {0};
	struct ovl_wake wake[2];
	uint32_t n;

	cpu(&s, 0, 1000, 1000);
	hit(&s, 0, OVL_CTX_TASK, 7);
	hit(&s, 1, OVL_CTX_WAKE, 5);
	hit(&s, 0, OVL_CTX_WAKE, 5);
	hit(&s, 2, OVL_CTX_WAKE, 5);
	n = ovl_wake_budget(&s, 500, wake, 2);
	is_int(n, 2, "no more CPUs than there is room for");
	is_int(ovl_wake_take(wake, n, &s.hits.v[0]), 7, "other samples are not touched");
	is_int(ovl_wake_take(wake, n, &s.hits.v[1]), 5,
	       "a CPU without a clock keeps its wake samples");
	is_int(ovl_wake_take(wake, n, &s.hits.v[2]), 0, "an idle CPU loses them");
	is_int(ovl_wake_take(wake, n, &s.hits.v[3]), 5, "a CPU beyond the room keeps them");
	ovl_sample_fini(&s);
}

int main(void)
{
	test_clock_decides();
	test_others();
	return tap_done();
}
