#include "load/wire.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "load/iperf3_wire.h"
#include "load/jsonio.h"

#define PREFIX_CHARS   (sizeof(OVL_WIRE_PREFIX) - 1)
#define REPORT_MAGIC   0x4f564c52u /* "OVLR" */
#define REPORT_1_BYTES 32
#define RR_MAGIC       0x4f564c51u /* "OVLQ" */
#define PARAMS_VERSION 1

_Static_assert(PREFIX_CHARS + OVL_WIRE_SESSION_CHARS + OVL_WIRE_STREAM_CHARS + 1 ==
		       OVL_WIRE_COOKIE_BYTES,
	       "the parts fill iperf3's cookie");

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

static int alphabet_index(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

void ovl_wire_session_format(const uint8_t random[OVL_WIRE_SESSION_CHARS],
			     char out[OVL_WIRE_SESSION_CHARS + 1])
{
	for (int i = 0; i < OVL_WIRE_SESSION_CHARS; i++)
		out[i] = alphabet[random[i] & 31];
	out[OVL_WIRE_SESSION_CHARS] = 0;
}

void ovl_wire_cookie_format(const struct ovl_wire_cookie *cookie, char out[OVL_WIRE_COOKIE_BYTES])
{
	char *p = out;

	memcpy(p, OVL_WIRE_PREFIX, PREFIX_CHARS);
	p += PREFIX_CHARS;
	memcpy(p, cookie->session, OVL_WIRE_SESSION_CHARS);
	p += OVL_WIRE_SESSION_CHARS;
	*p++ = alphabet[cookie->stream >> 10 & 31];
	*p++ = alphabet[cookie->stream >> 5 & 31];
	*p++ = alphabet[cookie->stream & 31];
	*p = 0;
}

void ovl_wire_cookie_plain(const struct ovl_wire_cookie *cookie, char out[OVL_WIRE_COOKIE_BYTES])
{
	ovl_wire_cookie_format(cookie, out);
	memcpy(out, cookie->session, PREFIX_CHARS); /* as random as the rest */
}

int ovl_wire_cookie_parse(const char *s, size_t n, struct ovl_wire_cookie *out)
{
	const size_t text = OVL_WIRE_COOKIE_BYTES - 1;

	if (n > OVL_WIRE_COOKIE_BYTES)
		return -EPROTO;
	for (size_t i = 0; i < n && i < text; i++) {
		if (i < PREFIX_CHARS ? s[i] != OVL_WIRE_PREFIX[i] : alphabet_index(s[i]) < 0)
			return -EPROTO;
	}
	if (n < OVL_WIRE_COOKIE_BYTES)
		return -EAGAIN;
	if (s[text])
		return -EPROTO;
	memcpy(out->session, s + PREFIX_CHARS, OVL_WIRE_SESSION_CHARS);
	out->session[OVL_WIRE_SESSION_CHARS] = 0;
	out->stream = 0;
	for (size_t i = text - OVL_WIRE_STREAM_CHARS; i < text; i++)
		out->stream = out->stream << 5 | (uint32_t)alphabet_index(s[i]);
	return 0;
}

uint32_t ovl_wire_length_parse(const uint8_t head[4])
{
	uint64_t n = ovl_be_get(head, 4);

	return n >= 2 && n <= OVL_WIRE_JSON_MAX ? (uint32_t)n : 0;
}

static bool is_instance_char(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_printable(unsigned char c)
{
	return c > ' ' && c < 0x7f;
}

/*
 * A text of 1…size-1 characters that pass `good`, so that nothing of a peer reaches a terminal raw.
 */
static bool get_text(struct json_object *obj, const char *key, bool (*good)(unsigned char),
		     char *out, size_t size)
{
	struct json_object *v;
	const char *s;
	size_t n;

	if (!json_object_object_get_ex(obj, key, &v) || !json_object_is_type(v, json_type_string))
		return false;
	s = json_object_get_string(v);
	n = (size_t)json_object_get_string_len(v);
	if (!n || n >= size)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!good((unsigned char)s[i]))
			return false;
	}
	memcpy(out, s, n);
	out[n] = 0;
	return true;
}

/* The far end sends: its sockets are made as ours would be. */
static void ask_reverse(struct json_object *obj, const struct ovl_wire_params *params)
{
	json_object_object_add(obj, "reverse", json_object_new_boolean(true));
	if (params->rate_bps)
		ovl_jsonio_add(obj, "bandwidth", (int64_t)params->rate_bps);
	if (params->mss_bytes)
		ovl_jsonio_add(obj, "MSS", params->mss_bytes);
	if (*params->congestion)
		json_object_object_add(obj, "congestion",
				       json_object_new_string(params->congestion));
}

int ovl_wire_params_format(const struct ovl_wire_params *params, struct ovl_buf *out)
{
	struct json_object *obj = json_object_new_object(), *own = json_object_new_object();

	if (!obj || !own) {
		json_object_put(obj);
		json_object_put(own);
		return -ENOMEM;
	}
	/* the least that an iperf3 server accepts, so that it answers and can be told apart */
	json_object_object_add(obj, "tcp", json_object_new_boolean(true));
	ovl_jsonio_add(obj, "omit", params->omit_s);
	/* the client decides the end, but a server may cut off what lasts longer than it said */
	ovl_jsonio_add(obj, "time", params->time_s ? params->time_s : OVL_IPERF3_TIME_MAX_S);
	ovl_jsonio_add(obj, "num", 0);
	ovl_jsonio_add(obj, "blockcount", 0);
	ovl_jsonio_add(obj, "parallel", params->streams);
	ovl_jsonio_add(obj, "len", params->block_bytes);
	if (params->window_bytes)
		ovl_jsonio_add(obj, "window", params->window_bytes);
	ovl_jsonio_add(own, "v", PARAMS_VERSION);
	ovl_jsonio_add(own, "conns", params->conns);
	ovl_jsonio_add(own, "window_bytes", params->window_bytes);
	ovl_jsonio_add(own, "max_frames", params->max_frames);
	ovl_jsonio_add(own, "rx_trunc", params->rx_trunc);
	ovl_jsonio_add(own, "report", params->report);
	ovl_jsonio_add(own, "reverse", params->reverse);
	if (params->reverse)
		ask_reverse(obj, params);
	if (params->plain)
		json_object_put(own);
	else
		json_object_object_add(obj, "ovltrace", own);
	return ovl_jsonio_put(obj, out);
}

int ovl_wire_params_parse(const char *json, size_t n, struct ovl_wire_params *out)
{
	struct json_object *obj = ovl_jsonio_parse(json, n, OVL_WIRE_JSON_MAX), *own;
	uint32_t version, reverse = 0;
	bool good;

	if (!obj)
		return -EPROTO;
	good = ovl_jsonio_u32(obj, "parallel", 1, OVL_WIRE_CONNS_MAX, &out->streams) &&
	       ovl_jsonio_u32(obj, "len", 1, OVL_WIRE_BLOCK_MAX, &out->block_bytes) &&
	       json_object_object_get_ex(obj, "ovltrace", &own) &&
	       json_object_is_type(own, json_type_object) &&
	       ovl_jsonio_u32(own, "v", PARAMS_VERSION, PARAMS_VERSION, &version) &&
	       ovl_jsonio_u32(own, "conns", 1, OVL_WIRE_CONNS_MAX, &out->conns) &&
	       ovl_jsonio_u32(own, "window_bytes", 0, INT32_MAX, &out->window_bytes) &&
	       ovl_jsonio_u32(own, "max_frames", 0, INT32_MAX, &out->max_frames) &&
	       ovl_jsonio_u32(own, "rx_trunc", 0, 1, &out->rx_trunc);
	/* not said by older clients: */
	out->report = 1;
	if (good && json_object_object_get_ex(own, "report", NULL))
		good = ovl_jsonio_u32(own, "report", 1, INT32_MAX, &out->report);
	if (good && json_object_object_get_ex(own, "reverse", NULL))
		good = ovl_jsonio_u32(own, "reverse", 0, 1, &reverse);
	out->reverse = good && reverse;
	json_object_put(obj);
	return good ? 0 : -EPROTO;
}

int ovl_wire_hello_format(const struct ovl_wire_hello *hello, struct ovl_buf *out)
{
	struct json_object *obj = json_object_new_object();
	const char state = OVL_WIRE_HELLO;

	if (!obj)
		return -ENOMEM;
	json_object_object_add(obj, "instance", json_object_new_string(hello->instance));
	json_object_object_add(obj, "version", json_object_new_string(hello->version));
	ovl_jsonio_add(obj, "rr", hello->rr);
	ovl_jsonio_add(obj, "reverse", hello->reverse);
	ovl_buf_put(out, &state, 1);
	return ovl_jsonio_put(obj, out);
}

int ovl_wire_hello_parse(const char *json, size_t n, struct ovl_wire_hello *out)
{
	struct json_object *obj = ovl_jsonio_parse(json, n, OVL_WIRE_JSON_MAX);
	uint32_t one;
	bool good;

	if (!obj)
		return -EPROTO;
	good = get_text(obj, "instance", is_instance_char, out->instance, sizeof(out->instance)) &&
	       get_text(obj, "version", is_printable, out->version, sizeof(out->version));
	/* older peers do not say it, and what newer ones may say instead is not this */
	out->rr = ovl_jsonio_u32(obj, "rr", 1, 1, &one);
	out->reverse = ovl_jsonio_u32(obj, "reverse", 1, 1, &one);
	json_object_put(obj);
	return good ? 0 : -EPROTO;
}

void ovl_wire_rr_format(uint32_t message_bytes, uint8_t out[OVL_WIRE_RR_HEAD_BYTES])
{
	ovl_be_put(out, RR_MAGIC, 4);
	ovl_be_put(out + 4, message_bytes, 4);
}

uint32_t ovl_wire_rr_parse(const uint8_t in[OVL_WIRE_RR_HEAD_BYTES])
{
	uint64_t bytes = ovl_be_get(in + 4, 4);

	return ovl_be_get(in, 4) == RR_MAGIC && bytes <= OVL_WIRE_RR_BYTES_MAX ? (uint32_t)bytes
									       : 0;
}

uint32_t ovl_wire_report_format(const struct ovl_wire_report *report,
				uint8_t out[OVL_WIRE_REPORT_BYTES])
{
	ovl_be_put(out, REPORT_MAGIC, 4);
	ovl_be_put(out + 4, report->switches ? OVL_WIRE_REPORT : 1, 4);
	ovl_be_put(out + 8, report->bytes, 8);
	ovl_be_put(out + 16, report->cpu_ns, 8);
	ovl_be_put(out + 24, report->ts_ns, 8);
	if (!report->switches)
		return REPORT_1_BYTES;
	ovl_be_put(out + 32, report->voluntary, 8);
	ovl_be_put(out + 40, report->involuntary, 8);
	return OVL_WIRE_REPORT_BYTES;
}

int ovl_wire_report_length(const uint8_t head[OVL_WIRE_REPORT_HEAD])
{
	if (ovl_be_get(head, 4) != REPORT_MAGIC)
		return -EPROTO;
	switch (ovl_be_get(head + 4, 4)) {
	case 1: return REPORT_1_BYTES;
	case OVL_WIRE_REPORT: return OVL_WIRE_REPORT_BYTES;
	default: return -EPROTO;
	}
}

int ovl_wire_report_parse(const uint8_t *in, struct ovl_wire_report *out)
{
	int n = ovl_wire_report_length(in);

	if (n < 0)
		return n;
	*out = (struct ovl_wire_report){.bytes = ovl_be_get(in + 8, 8),
					.cpu_ns = ovl_be_get(in + 16, 8),
					.ts_ns = ovl_be_get(in + 24, 8),
					.switches = n == OVL_WIRE_REPORT_BYTES};
	if (out->switches) {
		out->voluntary = ovl_be_get(in + 32, 8);
		out->involuntary = ovl_be_get(in + 40, 8);
	}
	/* half the range is 292 years or 9 EB: arithmetic on what passes here cannot overflow */
	return (out->bytes | out->cpu_ns | out->ts_ns | out->voluntary | out->involuntary) >> 63
		       ? -EPROTO
		       : 0;
}
