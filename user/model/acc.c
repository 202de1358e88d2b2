#include "model/acc.h"

#include <string.h>

bool ovl_acc_path_stage(int stage)
{
	switch (stage) {
	case OVL_STAGE_APPLICATION:
	case OVL_STAGE_USER_DAEMON:
	case OVL_STAGE_USER_PROXY:
	case OVL_STAGE_USER_OTHER:
	case OVL_STAGE_OTHER_TASKS:
	case OVL_STAGE_OVLTRACE:
	case OVL_STAGE_WAKEUP:
	case OVL_STAGE_SYSCALL:
	case OVL_STAGE_SOFTIRQ_OTHER:
	case OVL_STAGE_IRQ_OTHER:
	case OVL_STAGE_KERNEL_OTHER:
	case OVL_STAGE_UNCLASSIFIED: return false;
	default: return true;
	}
}

void ovl_acc_clock(struct ovl_lane_acc *to, const struct ovl_cpu_clock *clock)
{
	to->wall_ns += clock->wall_ns;
	to->idle_ns += clock->idle_ns;
	to->steal_ns += clock->steal_ns;
}

void ovl_acc_lane_hit(struct ovl_lane_acc *to, const struct ovl_hit *hit, int row)
{
	if (hit->ctx == OVL_CTX_WAKE)
		to->wake[hit->stage] += hit->count;
	else
		to->n[row] += hit->count;
}

void ovl_acc_cpu_hit(struct ovl_cpu_acc *to, const struct ovl_hit *hit, int row, int stage)
{
	bool path = ovl_acc_path_stage(hit->stage);

	ovl_acc_lane_hit(&to->lane, hit, row);
	if (hit->ctx == OVL_CTX_WAKE)
		return;
	to->n_stage[stage] += hit->count;
	if (hit->ctx == OVL_CTX_TASK || hit->ctx == OVL_CTX_USER) {
		to->n_class[hit->task_class] += hit->count;
		to->n_path_task += path ? hit->count : 0;
	}
	if (hit->ctx != OVL_CTX_SOFTIRQ)
		return;
	to->n_softirq += hit->count;
	to->n_path_softirq += path ? hit->count : 0;
	if (!strcmp(ovl_stage_info((enum ovl_stage)hit->stage)->side, "rx"))
		to->n_softirq_rx += hit->count;
}

uint64_t ovl_acc_busy_ns(const struct ovl_lane_acc *a)
{
	uint64_t idle = a->idle_ns < a->wall_ns ? a->idle_ns : a->wall_ns;
	uint64_t rest = a->wall_ns - idle;

	return a->steal_ns < rest ? rest - a->steal_ns : 0;
}

uint64_t ovl_acc_samples(const struct ovl_lane_acc *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < OVL_ROWS_SAMPLED; i++)
		sum += a->n[i];
	return sum;
}

uint64_t ovl_acc_wakes(const struct ovl_lane_acc *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		sum += a->wake[i];
	return sum;
}

void ovl_acc_lane_add(struct ovl_lane_acc *to, const struct ovl_lane_acc *a)
{
	to->wall_ns += a->wall_ns;
	to->idle_ns += a->idle_ns;
	to->steal_ns += a->steal_ns;
	for (int i = 0; i < OVL_ROWS_SAMPLED; i++)
		to->n[i] += a->n[i];
	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		to->wake[i] += a->wake[i];
}

void ovl_acc_lane_sub(struct ovl_lane_acc *from, const struct ovl_lane_acc *a)
{
	from->wall_ns -= a->wall_ns;
	from->idle_ns -= a->idle_ns;
	from->steal_ns -= a->steal_ns;
	for (int i = 0; i < OVL_ROWS_SAMPLED; i++)
		from->n[i] -= a->n[i];
	for (int i = 0; i < OVL_STAGE_COUNT; i++)
		from->wake[i] -= a->wake[i];
}

void ovl_acc_conn_add(struct ovl_conn_acc *to, const struct ovl_conn_acc *c)
{
	to->wall_ns += c->wall_ns;
	to->bytes += c->bytes;
	to->retransmits += c->retransmits;
	to->busy_us += c->busy_us;
	to->rwnd_us += c->rwnd_us;
	to->sndbuf_us += c->sndbuf_us;
}

void ovl_acc_conn_sub(struct ovl_conn_acc *from, const struct ovl_conn_acc *c)
{
	from->wall_ns -= c->wall_ns;
	from->bytes -= c->bytes;
	from->retransmits -= c->retransmits;
	from->busy_us -= c->busy_us;
	from->rwnd_us -= c->rwnd_us;
	from->sndbuf_us -= c->sndbuf_us;
}
