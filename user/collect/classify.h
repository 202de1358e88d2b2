/*
 * From a kernel stack to a stage and a kind of work, by the tables bpf/stages.def and bpf/work.def.
 * Pure. Patterns are resolved once per symbol, stacks once per distinct stack.
 */
#ifndef OVL_COLLECT_CLASSIFY_H
#define OVL_COLLECT_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/stage.h"

#define OVL_CLASS_NONE 0xff /* no stage, or no kind of work, by this symbol */

/** What the tables say about one function. */
struct ovl_symbol_class {
	uint8_t strong; /* enum ovl_stage by FN, or OVL_CLASS_NONE */
	uint8_t weak;	/* enum ovl_stage by WEAK, or OVL_CLASS_NONE */
	uint8_t work;	/* enum ovl_work, or OVL_CLASS_NONE */
	bool softirq;	/* runs soft interrupts: what is nearer to the leaf is softirq context */
	bool irq;	/* entry of a hard interrupt */
	bool through;	/* as a leaf it stands for its caller */
};

/** What one kernel stack is, whoever's it is. */
struct ovl_stack_class {
	uint8_t stage; /* enum ovl_stage, or OVL_CLASS_NONE */
	uint8_t work;  /* enum ovl_work */
	bool softirq;  /* a softirq frame is on it */
	bool irq;      /* a hard interrupt's frame is on it */
	bool edge; /* the interrupt's or softirq's entry itself is the leaf: nothing has run yet */
};

/** Where one sample counts. */
struct ovl_class {
	bool busy;     /* false: idle time, never counted */
	uint8_t ctx;   /* enum ovl_ctx */
	uint8_t stage; /* enum ovl_stage */
	uint8_t work;  /* enum ovl_work */
};

/** How a sample was taken, apart from its stack. */
struct ovl_sample_mode {
	bool idle;	    /* the current task was the CPU's idle task */
	bool user;	    /* user mode was interrupted */
	uint8_t task_class; /* enum ovl_task_class of bpf/abi.h */
};

/**
 * Match one function name (without compiler suffixes) against the tables; the longest pattern wins.
 */
void ovl_classify_symbol(const char *name, struct ovl_symbol_class *out);

/**
 * Classify frames[0…n), leaf first (NULL: an unknown address). The nearest strong function decides,
 * else the nearest weak one; the search ends at the frame that entered a hard or soft interrupt,
 * because what was interrupted is not what runs.
 */
void ovl_classify_stack(const struct ovl_symbol_class *const *frames, size_t n,
			struct ovl_stack_class *out);

/**
 * Combine a stack's class (NULL: the stack was lost or is a user-mode one) with the sample's mode.
 */
void ovl_classify_sample(const struct ovl_stack_class *stack, const struct ovl_sample_mode *mode,
			 struct ovl_class *out);

#endif
