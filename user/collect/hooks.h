/* Kernel functions of the table in the running kernel's BTF: that of the kernel and of modules. */
#ifndef OVL_COLLECT_HOOKS_H
#define OVL_COLLECT_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "bpf/abi.h"

/** Where a function's type is. */
struct ovl_hook_type {
	uint32_t id; /* 0: no BTF describes it */
	int btf_fd;  /* of the module's BTF, 0: the kernel's own */
};

struct ovl_hooks {
	struct ovl_hook_type type[OVL_FUNC_COUNT];
	OVL_VEC(int) fds; /* of modules' BTF */
};

/**
 * Look the functions up; those found before are looked up again. Needs the right to read the
 * kernel's BTF; of modules CAP_SYS_ADMIN. 0 or -errno.
 */
int ovl_hooks_resolve(struct ovl_hooks *h);
void ovl_hooks_fini(struct ovl_hooks *h);
/** Is this module among the lines of /proc/modules? */
bool ovl_hooks_module_loaded(const char *proc_modules, const char *module);
/** Read /proc/modules; empty where there are no modules. */
void ovl_hooks_modules(struct ovl_buf *out);

#endif
