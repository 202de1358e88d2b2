#include "collect/classify.h"

#include <string.h>

#include "bpf/abi.h"
#include "model/sample.h"

/* functions that say something of the frames around them */
struct context_fn {
	const char *pattern;
	bool softirq, irq, through;
};

static const struct context_fn context_fns[] = {
#define SOFTIRQ_FN(name) {name, .softirq = true},
#define IRQ_FN(name)	 {name, .irq = true},
#define THROUGH_FN(name) {name, .through = true},
#include "../../bpf/stages.def"
};

/* Length of the match + 1, 0: none. An exact name counts more than any prefix. */
static size_t match(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return strncmp(name, pattern, n - 1) ? 0 : n;
	return strcmp(name, pattern) ? 0 : n + 2;
}

static void best(const struct ovl_stage_fn *fns, size_t n, const char *name, uint8_t out[2])
{
	size_t length[2] = {0, 0};

	out[0] = out[1] = OVL_CLASS_NONE;
	for (size_t i = 0; i < n; i++) {
		size_t m = match(fns[i].pattern, name);

		if (m > length[fns[i].weak]) {
			length[fns[i].weak] = m;
			out[fns[i].weak] = (uint8_t)fns[i].id;
		}
	}
	/* one function in both lists: the more precise pattern is meant */
	if (length[0] && length[1])
		out[length[0] < length[1] ? 0 : 1] = OVL_CLASS_NONE;
}

void ovl_classify_symbol(const char *name, struct ovl_symbol_class *out)
{
	const struct ovl_stage_fn *fns;
	uint8_t id[2];
	size_t n;

	memset(out, 0, sizeof(*out));
	fns = ovl_stage_fns(&n);
	best(fns, n, name, id);
	out->strong = id[0];
	out->weak = id[1];
	fns = ovl_work_fns(&n);
	best(fns, n, name, id);
	out->work = id[0];
	for (size_t i = 0; i < sizeof(context_fns) / sizeof(context_fns[0]); i++) {
		if (!match(context_fns[i].pattern, name))
			continue;
		out->softirq |= context_fns[i].softirq;
		out->irq |= context_fns[i].irq;
		out->through |= context_fns[i].through;
	}
}

void ovl_classify_stack(const struct ovl_symbol_class *const *frames, size_t n,
			struct ovl_stack_class *out)
{
	uint8_t weak = OVL_CLASS_NONE, work = OVL_CLASS_NONE, weak_work = OVL_CLASS_NONE;
	bool entered = false, leaf = true;

	*out = (struct ovl_stack_class){.stage = OVL_CLASS_NONE};
	for (size_t i = 0; i < n; i++) {
		const struct ovl_symbol_class *f = frames[i];

		if (!f)
			continue;
		out->softirq |= f->softirq;
		out->irq |= f->irq;
		if (leaf && !f->through) {
			out->edge = f->softirq || f->irq;
			leaf = false;
		}
		if (entered || out->stage != OVL_CLASS_NONE)
			continue;
		if (work == OVL_CLASS_NONE)
			work = f->work;
		if (f->strong != OVL_CLASS_NONE) {
			out->stage = f->strong;
		} else if (f->weak != OVL_CLASS_NONE && weak == OVL_CLASS_NONE) {
			weak = f->weak;
			weak_work = work;
		}
		entered = f->softirq || f->irq;
		if (entered && out->stage == OVL_CLASS_NONE && weak == OVL_CLASS_NONE) {
			weak = f->softirq ? OVL_STAGE_SOFTIRQ_OTHER : OVL_STAGE_IRQ_OTHER;
			weak_work = work;
		}
	}
	if (out->stage == OVL_CLASS_NONE) {
		out->stage = weak;
		if (weak != OVL_CLASS_NONE)
			work = weak_work;
	}
	out->work = work == OVL_CLASS_NONE ? OVL_WORK_OTHER : work;
}

static uint8_t user_stage(uint8_t task_class)
{
	switch (task_class) {
	case OVL_TASK_LOAD_TX:
	case OVL_TASK_LOAD_RX: return OVL_STAGE_APPLICATION;
	case OVL_TASK_DAEMON: return OVL_STAGE_USER_DAEMON;
	case OVL_TASK_PROXY: return OVL_STAGE_USER_PROXY;
	default: return OVL_STAGE_USER_OTHER;
	}
}

void ovl_classify_sample(const struct ovl_stack_class *stack, const struct ovl_sample_mode *mode,
			 struct ovl_class *out)
{
	bool ours = mode->task_class != OVL_TASK_OTHER && mode->task_class != OVL_TASK_SELF;

	*out = (struct ovl_class){.busy = true, .ctx = OVL_CTX_TASK, .work = OVL_WORK_OTHER};
	if (mode->user) {
		out->ctx = OVL_CTX_USER;
		out->stage = user_stage(mode->task_class);
		return;
	}
	if (!stack) {
		/* lost: the idle task's is taken for idle, which most of them are */
		out->busy = !mode->idle;
		out->stage = OVL_STAGE_UNCLASSIFIED;
		return;
	}
	if (mode->idle && !stack->softirq && !stack->irq)
		out->busy = false;
	if (stack->softirq)
		out->ctx = OVL_CTX_SOFTIRQ;
	else if (stack->irq)
		out->ctx = OVL_CTX_IRQ;
	/*
	 * A timer that expires while the CPU sleeps may be let in only behind the interrupt that
	 * wakes it (seen on virtual machines): the sample then lands on that interrupt's entry,
	 * although the time was idle.
	 */
	if (mode->idle && stack->edge)
		out->ctx = OVL_CTX_WAKE;
	out->work = stack->work;
	if (stack->stage != OVL_CLASS_NONE)
		out->stage = stack->stage;
	else if (ours || stack->softirq)
		out->stage = OVL_STAGE_UNCLASSIFIED;
	else
		out->stage = OVL_STAGE_KERNEL_OTHER;
}
