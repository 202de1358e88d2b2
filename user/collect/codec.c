/* Structs to JSON and back, driven by the tables. */
#include "collect/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "base/vec.h"

/* Unsigned member of 1, 2, 4 or 8 bytes. */
static uint64_t get_uint(const void *at, uint32_t size)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	switch (size) {
	case 1: memcpy(&u8, at, size); return u8;
	case 2: memcpy(&u16, at, size); return u16;
	case 4: memcpy(&u32, at, size); return u32;
	}
	memcpy(&u64, at, sizeof(u64));
	return u64;
}

static void put_uint(void *at, uint32_t size, uint64_t value)
{
	uint8_t u8 = (uint8_t)value;
	uint16_t u16 = (uint16_t)value;
	uint32_t u32 = (uint32_t)value;

	switch (size) {
	case 1: memcpy(at, &u8, size); return;
	case 2: memcpy(at, &u16, size); return;
	case 4: memcpy(at, &u32, size); return;
	}
	memcpy(at, &value, sizeof(value));
}

static int64_t get_int(const void *at, uint32_t size)
{
	uint64_t raw = get_uint(at, size);

	return size == sizeof(int32_t) ? (int32_t)(uint32_t)raw : (int64_t)raw;
}

static uint64_t uint_most(uint32_t size, uint32_t max)
{
	if (max)
		return max;
	/* sums and differences of such numbers are taken as signed ones: keep them in range */
	return size >= 8 ? INT64_MAX : (1ull << (size * 8)) - 1;
}

/* ---- writing ---- */

static struct json_object *write_vec(const struct ovl_codec_field *f, const void *at)
{
	struct json_object *array = json_object_new_array();
	struct ovl_codec_vec vec;

	memcpy(&vec, at, sizeof(vec));
	for (size_t i = 0; array && i < vec.n; i++) {
		const char *element = (const char *)vec.v + i * f->table->size;
		struct json_object *obj = ovl_codec_write(f->table, element);

		if (!obj || json_object_array_add(array, obj)) {
			json_object_put(obj);
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}

static uint32_t array_n(const struct ovl_codec_field *f, const char *base)
{
	uint32_t n = f->max;

	if (f->type == OVL_CODEC_LIST) {
		n = (uint32_t)get_uint(base + f->count_offset, sizeof(n));
		return n < f->max ? n : f->max;
	}
	while (n && !get_uint(base + f->offset + (n - 1) * f->size, f->size))
		n--;
	return n;
}

static struct json_object *write_array(const struct ovl_codec_field *f, const char *base)
{
	struct json_object *array = json_object_new_array();
	uint32_t n = array_n(f, base);

	for (uint32_t i = 0; array && i < n; i++) {
		uint64_t value = get_uint(base + f->offset + i * f->size, f->size);
		struct json_object *number = json_object_new_uint64(value);

		if (!number || json_object_array_add(array, number)) {
			json_object_put(number);
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}

/* What missing members are read as may be left out. */
static bool can_omit(const struct ovl_codec_field *f, const char *base)
{
	const char *at = base + f->offset;
	struct ovl_codec_vec vec;

	switch (f->type) {
	case OVL_CODEC_UINT:
	case OVL_CODEC_BOOL:
	case OVL_CODEC_INT: return !get_uint(at, f->size);
	case OVL_CODEC_STR: return !*at;
	case OVL_CODEC_VEC: memcpy(&vec, at, sizeof(vec)); return !vec.n;
	case OVL_CODEC_ARRAY:
	case OVL_CODEC_LIST: return !array_n(f, base);
	case OVL_CODEC_KEY: return get_uint(at, f->size) >= f->keys->n;
	case OVL_CODEC_OPT:
	case OVL_CODEC_INDEX:
	case OVL_CODEC_STRUCT: break;
	}
	return false;
}

/* true with *value NULL is JSON's null */
static bool write_value(const struct ovl_codec_field *f, const char *base,
			struct json_object **value)
{
	const char *at = base + f->offset;
	bool null = false;

	*value = NULL;
	switch (f->type) {
	case OVL_CODEC_OPT:
		null = get_uint(at, f->size) == UINT64_MAX;
		if (null)
			break;
		/* fallthrough */
	case OVL_CODEC_UINT: *value = json_object_new_uint64(get_uint(at, f->size)); break;
	case OVL_CODEC_INDEX:
		null = get_int(at, f->size) < 0;
		if (null)
			break;
		/* fallthrough */
	case OVL_CODEC_INT: *value = json_object_new_int64(get_int(at, f->size)); break;
	case OVL_CODEC_BOOL: *value = json_object_new_boolean(get_uint(at, f->size) != 0); break;
	case OVL_CODEC_STR:
		*value = json_object_new_string_len(at, (int)strnlen(at, f->size));
		break;
	case OVL_CODEC_KEY:
		*value = json_object_new_string(f->keys->name((uint32_t)get_uint(at, f->size)));
		break;
	case OVL_CODEC_STRUCT: *value = ovl_codec_write(f->table, at); break;
	case OVL_CODEC_VEC: *value = write_vec(f, at); break;
	case OVL_CODEC_ARRAY:
	case OVL_CODEC_LIST: *value = write_array(f, base); break;
	}
	return *value || null;
}

struct json_object *ovl_codec_write(const struct ovl_codec_table *t, const void *from)
{
	struct json_object *obj = json_object_new_object();

	for (uint32_t i = 0; obj && i < t->n; i++) {
		const struct ovl_codec_field *f = &t->fields[i];
		struct json_object *value;

		if (can_omit(f, from))
			continue;
		if (!write_value(f, from, &value) ||
		    json_object_object_add_ex(obj, f->name, value,
					      JSON_C_OBJECT_ADD_KEY_IS_NEW |
						      JSON_C_OBJECT_ADD_CONSTANT_KEY)) {
			json_object_put(value);
			json_object_put(obj);
			return NULL;
		}
	}
	return obj;
}

/* ---- reading ---- */

struct reading {
	const struct ovl_codec_table *table;
	const struct ovl_codec_field *field;
	struct ovl_err *err;
};

static int refuse(const struct reading *r, const char *why)
{
	return ovl_err_set(r->err, OVL_EXIT_INPUT, -EINVAL, "\"%s\" of %s %s", r->field->name,
			   r->table->name, why);
}

static int read_uint(const struct reading *r, struct json_object *value, uint64_t most,
		     uint64_t *out)
{
	if (!json_object_is_type(value, json_type_int))
		return refuse(r, "is not a whole number");
	/* the signed view saturates at INT64_MAX, so its sign can be trusted */
	*out = json_object_get_uint64(value);
	if (json_object_get_int64(value) < 0 || *out > most)
		return refuse(r, "is out of range");
	return 0;
}

static int read_int(const struct reading *r, struct json_object *value, void *at)
{
	bool narrow = r->field->size == sizeof(int32_t);
	int64_t number;

	if (!json_object_is_type(value, json_type_int))
		return refuse(r, "is not a whole number");
	number = json_object_get_int64(value);
	if (narrow && (number < INT32_MIN || number > INT32_MAX))
		return refuse(r, "is out of range");
	if (r->field->type == OVL_CODEC_INDEX && number < -1)
		return refuse(r, "is out of range");
	put_uint(at, r->field->size, (uint64_t)number);
	return 0;
}

/* Bytes of the UTF-8 character at s that may stand on a screen, 0: none. */
static size_t utf8_char(const unsigned char *s, size_t left)
{
	size_t n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

	if (n == 1)
		return *s >= 0x20 && *s != 0x7f;
	if (*s < 0xc2 || *s > 0xf4 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xc2 && s[1] < 0xa0) || (*s == 0xe0 && s[1] < 0xa0) ||
	    (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] > 0x8f))
		return 0; /* C1 control, overlong, surrogate, beyond Unicode */
	return n;
}

/* Clip at a character; what could move a terminal's cursor or break JSON becomes '?'. */
static int read_str(const struct reading *r, struct json_object *value, char *at)
{
	const unsigned char *s;
	size_t left, n = 0;

	if (!json_object_is_type(value, json_type_string))
		return refuse(r, "is not a string");
	s = (const unsigned char *)json_object_get_string(value);
	left = (size_t)json_object_get_string_len(value);
	while (left) {
		size_t len = utf8_char(s, left), take = len ? len : 1;

		if (n + take >= r->field->size)
			break;
		memcpy(at + n, len ? (const char *)s : "?", take);
		n += take;
		s += take;
		left -= take;
	}
	memset(at + n, 0, r->field->size - n);
	return 0;
}

static int read_key(const struct reading *r, struct json_object *value, void *at)
{
	int found;

	if (!json_object_is_type(value, json_type_string))
		return refuse(r, "is not a name");
	found = r->field->keys->find(json_object_get_string(value));
	if (found < 0)
		found = r->field->keys->unknown;
	if (found < 0)
		return refuse(r, "is a name that this version does not know");
	put_uint(at, r->field->size, (uint64_t)found);
	return 0;
}

static int read_vec(const struct reading *r, struct json_object *value, void *at)
{
	const struct ovl_codec_table *table = r->field->table;
	struct ovl_codec_vec vec;
	size_t n;
	int rc = 0;

	if (!json_object_is_type(value, json_type_array))
		return refuse(r, "is not a list");
	n = json_object_array_length(value);
	if (n > r->field->max)
		return refuse(r, "has too many entries");
	memcpy(&vec, at, sizeof(vec));
	for (size_t i = 0; !rc && i < n; i++) {
		struct json_object *element = json_object_array_get_idx(value, i);
		void *to;

		if (!json_object_is_type(element, json_type_object)) {
			rc = refuse(r, "has an entry that is not an object");
			break;
		}
		to = ovl_vec_grow(&vec.v, &vec.n, &vec.cap, table->size);
		rc = to ? ovl_codec_read(table, element, to, r->err) : -ENOMEM;
	}
	memcpy(at, &vec, sizeof(vec));
	return rc;
}

static int read_array(const struct reading *r, struct json_object *value, char *base)
{
	const struct ovl_codec_field *f = r->field;
	uint64_t number;
	size_t n;

	if (!json_object_is_type(value, json_type_array))
		return refuse(r, "is not a list");
	n = json_object_array_length(value);
	if (n > f->max)
		return refuse(r, "has too many entries");
	for (size_t i = 0; i < n; i++) {
		int rc = read_uint(r, json_object_array_get_idx(value, i), uint_most(f->size, 0),
				   &number);

		if (rc)
			return rc;
		put_uint(base + f->offset + i * f->size, f->size, number);
	}
	if (f->type == OVL_CODEC_LIST)
		put_uint(base + f->count_offset, sizeof(uint32_t), n);
	return 0;
}

/* What a member is before, or without, its value. */
static void read_default(const struct ovl_codec_field *f, char *base)
{
	char *at = base + f->offset;
	struct ovl_codec_vec vec;

	switch (f->type) {
	case OVL_CODEC_OPT:
	case OVL_CODEC_INDEX: memset(at, 0xff, f->size); break;
	case OVL_CODEC_KEY:
		put_uint(at, f->size, f->keys->unknown > 0 ? (uint64_t)f->keys->unknown : 0);
		break;
	case OVL_CODEC_VEC:
		memcpy(&vec, at, sizeof(vec));
		vec.n = 0;
		memcpy(at, &vec, sizeof(vec));
		break;
	case OVL_CODEC_LIST:
		put_uint(base + f->count_offset, sizeof(uint32_t), 0);
		/* fallthrough */
	case OVL_CODEC_ARRAY: memset(at, 0, (size_t)f->size * f->max); break;
	case OVL_CODEC_UINT:
	case OVL_CODEC_INT:
	case OVL_CODEC_BOOL:
	case OVL_CODEC_STR: memset(at, 0, f->size); break;
	case OVL_CODEC_STRUCT: break; /* has members with defaults of their own */
	}
}

static int read_value(const struct reading *r, struct json_object *value, char *base)
{
	const struct ovl_codec_field *f = r->field;
	char *at = base + f->offset;
	uint64_t number;
	int rc;

	switch (f->type) {
	case OVL_CODEC_UINT:
	case OVL_CODEC_OPT:
		rc = read_uint(r, value, uint_most(f->size, f->max), &number);
		if (!rc)
			put_uint(at, f->size, number);
		return rc;
	case OVL_CODEC_INT:
	case OVL_CODEC_INDEX: return read_int(r, value, at);
	case OVL_CODEC_BOOL:
		if (!json_object_is_type(value, json_type_boolean))
			return refuse(r, "is neither true nor false");
		put_uint(at, f->size, json_object_get_boolean(value) ? 1 : 0);
		return 0;
	case OVL_CODEC_STR: return read_str(r, value, at);
	case OVL_CODEC_KEY: return read_key(r, value, at);
	case OVL_CODEC_VEC: return read_vec(r, value, at);
	case OVL_CODEC_ARRAY:
	case OVL_CODEC_LIST: return read_array(r, value, base);
	case OVL_CODEC_STRUCT:
		if (!json_object_is_type(value, json_type_object))
			return refuse(r, "is not an object");
		return ovl_codec_read(f->table, value, at, r->err);
	}
	return -EINVAL;
}

int ovl_codec_read(const struct ovl_codec_table *t, struct json_object *obj, void *to,
		   struct ovl_err *err)
{
	struct reading r = {.table = t, .err = err};

	for (uint32_t i = 0; i < t->n; i++)
		read_default(&t->fields[i], to);
	for (uint32_t i = 0; i < t->n; i++) {
		struct json_object *value = NULL;
		int rc = 0;

		r.field = &t->fields[i];
		if (obj)
			json_object_object_get_ex(obj, r.field->name, &value);
		if (value)
			rc = read_value(&r, value, to);
		else if (r.field->type == OVL_CODEC_STRUCT)
			rc = ovl_codec_read(r.field->table, NULL, (char *)to + r.field->offset,
					    err);
		if (rc)
			return rc;
	}
	return 0;
}
