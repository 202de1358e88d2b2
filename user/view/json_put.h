/*
 * json-c in the contract's terms: what is unknown is null, text is valid UTF-8, numbers keep
 * their value.
 */
#ifndef OVL_VIEW_JSON_PUT_H
#define OVL_VIEW_JSON_PUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/facts.h"

typedef struct json_object *ovl_json;

/** Text; broken UTF-8 becomes U+FFFD. */
void ovl_json_text(ovl_json o, const char *key, const char *text);
/** Text, null when empty. */
void ovl_json_text_or_null(ovl_json o, const char *key, const char *text);
/** An integer; values above INT64_MAX are not made by any counter and become it. */
void ovl_json_u64(ovl_json o, const char *key, uint64_t v);
void ovl_json_i64(ovl_json o, const char *key, int64_t v);
/** A number without exponent, nine significant digits; null for NAN and infinities. */
void ovl_json_number(ovl_json o, const char *key, double v);
/** A whole number; null for NAN. */
void ovl_json_count(ovl_json o, const char *key, double n);
/** A rate in whole bit/s; null for NAN. */
void ovl_json_bps(ovl_json o, const char *key, double bps);
void ovl_json_bool(ovl_json o, const char *key, bool v);
void ovl_json_null(ovl_json o, const char *key);
/** A new object or array inside o. */
ovl_json ovl_json_object(ovl_json o, const char *key);
ovl_json ovl_json_array(ovl_json o, const char *key);
/** A new object at the end of an array. */
ovl_json ovl_json_element(ovl_json array);
/** Name of a namespace as "netns"; null when it is not known. */
void ovl_json_netns(ovl_json o, const struct ovl_facts *f, uint32_t ns);

#endif
