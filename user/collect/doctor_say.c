#include "collect/doctor_say.h"

#include <stdarg.h>
#include <stdio.h>

enum ovl_check_state ovl_doctor_say(enum ovl_check_state state, char *text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, OVL_TEXT_MAX, fmt, ap);
	va_end(ap);
	return state;
}
