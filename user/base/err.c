#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int ovl_err_set(struct ovl_err *err, enum ovl_exit exit, int rc, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->exit = exit;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return rc;
}

const char *ovl_exit_name(int code)
{
	switch (code) {
	case OVL_EXIT_OK: return "ok";
	case OVL_EXIT_FAILED: return "failed";
	case OVL_EXIT_USAGE: return "usage";
	case OVL_EXIT_LIMIT: return "limit";
	case OVL_EXIT_RIGHTS: return "rights";
	case OVL_EXIT_KERNEL: return "kernel";
	case OVL_EXIT_PEER: return "peer";
	case OVL_EXIT_INPUT: return "input";
	case OVL_EXIT_SKIPPED: return "skipped";
	}
	return "unknown";
}
