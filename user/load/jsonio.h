/*
 * JSON of the load's protocols: parsing within bounds, reading members within ranges, and the
 * framing (u32be length, text) that iperf3 and its dialect share. Pure.
 */
#ifndef OVL_LOAD_JSONIO_H
#define OVL_LOAD_JSONIO_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define OVL_JSONIO_DEPTH_MAX 8

/** Big-endian number of `bytes` (at most 8) bytes. */
void ovl_be_put(uint8_t *p, uint64_t v, int bytes);
uint64_t ovl_be_get(const uint8_t *p, int bytes);

/**
 * The object that exactly these 2…max bytes are, nested at most OVL_JSONIO_DEPTH_MAX deep, valid
 * UTF-8; NULL if they are anything else. Release with json_object_put.
 */
struct json_object *ovl_jsonio_parse(const char *json, size_t n, size_t max);
/**
 * A whole number within [min, max] of an object; false if the member is missing or anything else.
 */
bool ovl_jsonio_u32(struct json_object *obj, const char *key, uint32_t min, uint32_t max,
		    uint32_t *out);
/**
 * Append u32be length and the text of obj, which is released in any case. 0, or -ENOMEM (also when
 * obj is NULL).
 */
int ovl_jsonio_put(struct json_object *obj, struct ovl_buf *out);
void ovl_jsonio_add(struct json_object *obj, const char *key, int64_t v);

#endif
