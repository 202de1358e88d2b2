/*
 * The codec of recordings: one table per struct describes each member once; JSON is written from it
 * and read into it. A new member is one line in codec_facts.c or codec_sample.c.
 *
 * Reading takes hostile input: every number, string, key and count is checked against the table.
 * A missing or null member gets its default (0, "", empty, -1 for an index, unknown), members that
 * no table names are ignored: recordings of a newer minor version can be read.
 */
#ifndef OVL_COLLECT_CODEC_H
#define OVL_COLLECT_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/facts.h"
#include "model/sample.h"

struct json_object;
struct ovl_codec_table;

#define OVL_CODEC_VERSION    1		/* "ovltrace_recording" of line 1 */
#define OVL_CODEC_LINE_MAX   (8u << 20) /* bytes of one line */
#define OVL_CODEC_DEPTH_MAX  12		/* of nested objects and arrays in one line */
#define OVL_CODEC_VALUES_MAX (1u << 20) /* values in one line: bounds the memory of a parsed line */
#define OVL_CODEC_GROUPS_MAX (1u << 18) /* objects and arrays in one line, for the same reason */
#define OVL_CODEC_CPUS_MAX   8192	/* CPU numbers of Debian's x86 kernel */

enum ovl_codec_type {
	OVL_CODEC_UINT, /* uint8_t…uint64_t by size, at most `max` (0: what fits, and INT64_MAX) */
	OVL_CODEC_OPT,	/* uint64_t, UINT64_MAX: unknown, written as null */
	OVL_CODEC_INT,	/* int or int64_t */
	OVL_CODEC_INDEX, /* int, -1: none, written as null */
	OVL_CODEC_BOOL,
	OVL_CODEC_STR,	  /* char[size], clipped */
	OVL_CODEC_KEY,	  /* uint8_t of an enum, written as its name */
	OVL_CODEC_STRUCT, /* a struct of its own */
	OVL_CODEC_VEC,	  /* OVL_VEC of structs, at most `max` */
	OVL_CODEC_ARRAY,  /* uint32_t[max] or uint64_t[max]; trailing zeros are not written */
	OVL_CODEC_LIST, /* uint32_t[max] of which a uint32_t at count_offset says how many count */
};

/** Names of an enum's values. */
struct ovl_codec_keys {
	uint32_t n;
	const char *(*name)(uint32_t value);
	int (*find)(const char *name); /* -1: no such name */
	/* value for a name that this version does not know, -1: the recording is refused */
	int unknown;
};

struct ovl_codec_field {
	const char *name;
	enum ovl_codec_type type;
	uint32_t offset, size; /* of the member; size of one element for arrays and lists */
	uint32_t max;
	uint32_t count_offset;
	const struct ovl_codec_table *table;
	const struct ovl_codec_keys *keys;
};

struct ovl_codec_table {
	const char *name;
	uint32_t size; /* of the struct */
	uint32_t n;
	const struct ovl_codec_field *fields;
};

/* Rows of a table for struct T: one member, one line. */
#define OVL_CODEC_ROW(T, m, kind) \
	.name = #m, .type = OVL_CODEC_##kind, .offset = offsetof(T, m), .size = sizeof(((T *)0)->m)
#define OVL_F(T, m, kind) \
	{ \
		OVL_CODEC_ROW(T, m, kind) \
	}
#define OVL_F_MAX(T, m, most) \
	{ \
		OVL_CODEC_ROW(T, m, UINT), .max = (most) \
	}
#define OVL_F_KEY(T, m, k) \
	{ \
		OVL_CODEC_ROW(T, m, KEY), .keys = &(k) \
	}
#define OVL_F_SUB(T, m, t) \
	{ \
		OVL_CODEC_ROW(T, m, STRUCT), .table = &(t) \
	}
#define OVL_F_VEC(T, m, t, most) \
	{ \
		OVL_CODEC_ROW(T, m, VEC), .table = &(t), .max = (most) \
	}
#define OVL_F_ARRAY(T, m) \
	{ \
		.name = #m, .type = OVL_CODEC_ARRAY, .offset = offsetof(T, m), \
		.size = sizeof(((T *)0)->m[0]), \
		.max = sizeof(((T *)0)->m) / sizeof(((T *)0)->m[0]) \
	}
#define OVL_F_LIST(T, m, count) \
	{ \
		.name = #m, .type = OVL_CODEC_LIST, .offset = offsetof(T, m), \
		.size = sizeof(((T *)0)->m[0]), \
		.max = sizeof(((T *)0)->m) / sizeof(((T *)0)->m[0]), \
		.count_offset = offsetof(T, count) \
	}
#define OVL_CODEC_TABLE(T, what, rows) \
	{ \
		.name = (what), .size = sizeof(T), .n = sizeof(rows) / sizeof((rows)[0]), \
		.fields = (rows) \
	}

/** How an OVL_VEC of any type lies in memory; copied in and out, never aliased. */
struct ovl_codec_vec {
	void *v;
	size_t n, cap;
};

extern const struct ovl_codec_keys ovl_codec_funcs;
extern const struct ovl_codec_table ovl_codec_facts;
extern const struct ovl_codec_table ovl_codec_sample;
extern const struct ovl_codec_table ovl_codec_packets; /* of a sample */

/**
 * The JSON object of the struct at `from`; members that are zero or empty are left out. NULL: no
 * memory.
 */
struct json_object *ovl_codec_write(const struct ovl_codec_table *t, const void *from);
/**
 * Fill the struct at `to` from obj (NULL: all defaults). Vectors are refilled, their memory is
 * kept; where their elements hold vectors themselves (facts), `to` must be zeroed before. 0,
 * -ENOMEM, or -EINVAL with a half-sentence in err->text ("\"count\" of a hit is not a number").
 * After a failure `to` is incomplete but can be released.
 */
int ovl_codec_read(const struct ovl_codec_table *t, struct json_object *obj, void *to,
		   struct ovl_err *err);

/** Do the indices within the facts point into them? 0, or -EINVAL with a half-sentence. */
int ovl_codec_facts_check(const struct ovl_facts *f, struct ovl_err *err);
/** Do the sample's indices point into the facts, and does its time run forward? The same errors. */
int ovl_codec_sample_check(const struct ovl_sample *s, const struct ovl_facts *f,
			   struct ovl_err *err);

/** The same for the packets of a sample. */
int ovl_codec_packets_check(const struct ovl_packets_delta *p, const struct ovl_facts *f,
			    struct ovl_err *err);

#endif
