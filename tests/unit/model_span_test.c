/* Exclusive times of nested calls: the code that BPF programs run (bpf/span.h). */
#include <linux/types.h>

#include "bpf/span.h"
#include "tap.h"

static struct ovl_span_stack stack;
static __u32 lost;

static void push(__u32 func, __u32 task, __u64 now_ns)
{
	struct ovl_span_frame *f = ovl_span_push(&stack, now_ns, &lost);

	f->func = f->row = func;
	f->task = task;
}

static struct ovl_span_times pop(__u32 func, __u32 task, __u64 now_ns)
{
	struct ovl_span_times t = {0};

	ok(ovl_span_pop(&stack, func, task, now_ns, &t) != NULL, "call %u of task %u is found",
	   func, task);
	return t;
}

static void nested(void)
{
	struct ovl_span_times t;

	push(1, 7, 1000);
	push(2, 7, 1100);
	push(3, 7, 1150);
	t = pop(3, 7, 1200);
	is_int(t.incl_ns, 50, "innermost: inclusive");
	is_int(t.excl_ns, 50, "innermost: exclusive");
	push(3, 7, 1210);
	pop(3, 7, 1240);
	t = pop(2, 7, 1300);
	is_int(t.incl_ns, 200, "middle: inclusive");
	is_int(t.excl_ns, 120, "middle: without both calls below");
	t = pop(1, 7, 2000);
	is_int(t.incl_ns, 1000, "outermost: inclusive");
	is_int(t.excl_ns, 800, "outermost: the middle one counts once");
	is_int(stack.depth, 0, "nothing is left");
	is_int(lost, 0, "nothing is lost");
}

static void recursion(void)
{
	struct ovl_span_times t;

	push(1, 7, 100);
	push(1, 7, 200);
	t = pop(1, 7, 300);
	is_int(t.incl_ns, 100, "recursion: the inner call returns first");
	t = pop(1, 7, 400);
	is_int(t.excl_ns, 200, "recursion: the outer one without it");
}

/* A call that was switched away in between, or whose return nobody saw. */
static void left_behind(void)
{
	struct ovl_span_times t;

	push(1, 7, 100);
	push(2, 7, 200);
	t = pop(1, 7, 300);
	is_int(t.lost, 1, "a frame above the one that returns is lost");
	is_int(stack.depth, 0, "and gone");
	push(4, 8, 100);
	ok(!ovl_span_pop(&stack, 4, 9, 200, &t), "another task's call is not taken for it");
	ok(!ovl_span_pop(&stack, 5, 8, 200, &t), "nor another function's");
	is_int(stack.depth, 1, "both leave the stack alone");
	push(5, 8, 100 + OVL_SPAN_OLD_NS + 1);
	is_int(lost, 1, "a call that is too old is lost at the next push");
	pop(5, 8, 100 + OVL_SPAN_OLD_NS + 50);
	is_int(stack.depth, 0, "and no longer on the stack");
}

static void too_deep(void)
{
	lost = 0;
	for (__u32 i = 0; i <= OVL_SPAN_DEPTH; i++)
		push(i, 7, 1000 + i);
	is_int(lost, OVL_SPAN_DEPTH, "deeper than is kept: counted as lost");
	is_int(stack.depth, 1, "and begun anew");
	pop(OVL_SPAN_DEPTH, 7, 2000);
	is_int(stack.depth, 0, "what is kept still returns");
}

int main(void)
{
	nested();
	recursion();
	left_behind();
	too_deep();
	return tap_done();
}
