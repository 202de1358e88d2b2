/*
 * Exclusive times of nested calls, by one stack per CPU. Plain C for both sides: programs run it,
 * the unit test runs it.
 *
 * A soft interrupt nests in what it interrupted: its time is not that function's own. A call that
 * migrates or is switched away in between leaves a frame behind that nobody takes off: it is found
 * by age or when a call below it returns, and counted as lost.
 */
#ifndef OVL_SPAN_H
#define OVL_SPAN_H

#define OVL_SPAN_DEPTH 16 /* calls nested in one another; a power of two */
#define OVL_SPAN_OLD_NS \
	100000000ull /* a call that began so long ago has ended elsewhere: none of them sleeps */

struct ovl_span_frame {
	__u64 start_ns;
	__u64 below_ns; /* time of the calls nested directly in this one */
	__u64 netns;
	__u32 ifindex;
	__u32 func;
	__u32 row;  /* that the call is counted in, func's own or another */
	__u32 task; /* that was current */
};

struct ovl_span_stack {
	__u32 depth;
	__u32 pad;
	struct ovl_span_frame frame[OVL_SPAN_DEPTH];
};

struct ovl_span_times {
	__u64 incl_ns, excl_ns;
	__u32 lost; /* frames that were thrown away */
};

/**
 * A frame for a call that begins now, to be filled but for below_ns and start_ns. *lost grows by
 * the frames that had to be thrown away.
 */
static inline __attribute__((always_inline)) struct ovl_span_frame *
ovl_span_push(struct ovl_span_stack *s, __u64 now_ns, __u32 *lost)
{
	__u32 depth = s->depth;
	struct ovl_span_frame *f;

	if (depth &&
	    (depth >= OVL_SPAN_DEPTH ||
	     now_ns - s->frame[(depth - 1) & (OVL_SPAN_DEPTH - 1)].start_ns > OVL_SPAN_OLD_NS)) {
		*lost += depth;
		depth = 0;
	}
	/* depth first: what interrupts this program uses the frames above */
	*(volatile __u32 *)&s->depth = depth + 1;
	f = &s->frame[depth & (OVL_SPAN_DEPTH - 1)];
	f->start_ns = now_ns;
	f->below_ns = 0;
	return f;
}

/**
 * The frame of the innermost call of this function by this task, which returns now, or NULL. It
 * stays valid until the next push.
 */
static inline __attribute__((always_inline)) struct ovl_span_frame *
ovl_span_pop(struct ovl_span_stack *s, __u32 func, __u32 task, __u64 now_ns,
	     struct ovl_span_times *out)
{
	__u32 depth = s->depth;

	out->lost = 0;
	for (__u32 i = 0; i < OVL_SPAN_DEPTH; i++) {
		struct ovl_span_frame *f, *outer;

		if (i >= depth)
			break;
		f = &s->frame[(depth - 1 - i) & (OVL_SPAN_DEPTH - 1)];
		if (f->func != func || f->task != task)
			continue;
		out->lost = i;
		out->incl_ns = now_ns - f->start_ns;
		out->excl_ns = out->incl_ns > f->below_ns ? out->incl_ns - f->below_ns : 0;
		depth -= i + 1;
		*(volatile __u32 *)&s->depth = depth;
		if (depth) {
			outer = &s->frame[(depth - 1) & (OVL_SPAN_DEPTH - 1)];
			outer->below_ns += out->incl_ns;
		}
		return f;
	}
	return (struct ovl_span_frame *)0;
}

#endif
