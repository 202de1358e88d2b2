#include "load/jsonio.h"

#include <errno.h>
#include <string.h>

void ovl_be_put(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
}

uint64_t ovl_be_get(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | p[i];
	return v;
}

struct json_object *ovl_jsonio_parse(const char *json, size_t n, size_t max)
{
	struct json_tokener *tok;
	struct json_object *obj;

	if (n < 2 || n > max)
		return NULL;
	tok = json_tokener_new_ex(OVL_JSONIO_DEPTH_MAX);
	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	obj = json_tokener_parse_ex(tok, json, (int)n);
	if (obj &&
	    (json_tokener_get_error(tok) != json_tokener_success ||
	     json_tokener_get_parse_end(tok) != n || !json_object_is_type(obj, json_type_object))) {
		json_object_put(obj);
		obj = NULL;
	}
	json_tokener_free(tok);
	return obj;
}

bool ovl_jsonio_u32(struct json_object *obj, const char *key, uint32_t min, uint32_t max,
		    uint32_t *out)
{
	struct json_object *v;
	int64_t n;

	if (!json_object_object_get_ex(obj, key, &v) || !json_object_is_type(v, json_type_int))
		return false;
	n = json_object_get_int64(v);
	if (n < (int64_t)min || n > (int64_t)max)
		return false;
	*out = (uint32_t)n;
	return true;
}

int ovl_jsonio_put(struct json_object *obj, struct ovl_buf *out)
{
	const char *s = obj ? json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PLAIN) : NULL;
	uint8_t head[4];

	if (s) {
		ovl_be_put(head, strlen(s), 4);
		ovl_buf_put(out, (const char *)head, sizeof(head));
		ovl_buf_puts(out, s);
	}
	json_object_put(obj);
	return s && !out->failed ? 0 : -ENOMEM;
}

void ovl_jsonio_add(struct json_object *obj, const char *key, int64_t v)
{
	json_object_object_add(obj, key, json_object_new_int64(v));
}
