/*
 * Arguments and result of a probed function in the registers that a kprobe sees. Part of each
 * architecture's calling convention, so not looked up in BTF.
 */
#ifndef OVL_REGS_H
#define OVL_REGS_H

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs;
#elif defined(__TARGET_ARCH_riscv)
struct user_regs_struct {
	unsigned long pc, ra, sp, gp, tp, t0, t1, t2, s0, s1, a0, a1, a2, a3, a4, a5, a6, a7;
};
struct pt_regs;
#elif defined(__TARGET_ARCH_powerpc)
struct pt_regs {
	unsigned long gpr[32];
};
#endif

#endif
