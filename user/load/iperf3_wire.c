#include "load/iperf3_wire.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "load/jsonio.h"

#define OMIT_MAX_S  600
#define BLOCK_MAX   (1024 * 1024)
#define MSS_MAX	    (9 * 1024)
#define WINDOW_MAX  (512u * 1024 * 1024)
#define CPU_MAX	    1e6
#define JSON_DIGITS "%.6f"

uint32_t ovl_iperf3_stream_id(uint32_t index)
{
	return index ? index + 2 : 1;
}

/* Is the member there with a value that means yes (true, or a number other than 0)? */
static bool yes(struct json_object *obj, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(obj, key, &v) &&
			       (json_object_is_type(v, json_type_boolean) ||
				json_object_is_type(v, json_type_int))
		       ? json_object_get_int64(v) != 0
		       : false;
}

static bool has(struct json_object *obj, const char *key)
{
	return json_object_object_get_ex(obj, key, NULL);
}

/* A whole number from 0, however large; -1 comes as 2^64 - 1 from iperf3 up to 3.13. */
static bool get_u64(struct json_object *obj, const char *key, uint64_t *out)
{
	struct json_object *v;
	double d;

	if (!json_object_object_get_ex(obj, key, &v))
		return false;
	if (json_object_is_type(v, json_type_int)) {
		*out = json_object_get_uint64(v); /* negative ones become 0 */
		return json_object_get_int64(v) >= 0;
	}
	d = json_object_is_type(v, json_type_double) ? json_object_get_double(v) : -1;
	if (!(d >= 0 && d < 0x1p63))
		return false;
	*out = (uint64_t)d;
	return true;
}

static bool get_i64(struct json_object *obj, const char *key, int64_t *out)
{
	struct json_object *v;
	uint64_t u;

	if (json_object_object_get_ex(obj, key, &v) && json_object_is_type(v, json_type_int) &&
	    json_object_get_int64(v) < 0) {
		*out = json_object_get_int64(v);
		return true;
	}
	if (!get_u64(obj, key, &u))
		return false;
	*out = (int64_t)u;
	return true;
}

static bool get_double(struct json_object *obj, const char *key, double min, double max,
		       double *out)
{
	struct json_object *v;

	if (!json_object_object_get_ex(obj, key, &v) ||
	    !(json_object_is_type(v, json_type_double) || json_object_is_type(v, json_type_int)))
		return false;
	*out = json_object_get_double(v);
	return *out >= min && *out <= max;
}

/* The name of a congestion control: letters, digits, '_' and '-'. Missing is as good. */
static bool get_name(struct json_object *obj, const char *key, char *out, size_t size)
{
	struct json_object *v;
	const char *s;
	size_t n;

	out[0] = 0;
	if (!json_object_object_get_ex(obj, key, &v))
		return true;
	if (!json_object_is_type(v, json_type_string))
		return false;
	s = json_object_get_string(v);
	n = (size_t)json_object_get_string_len(v);
	if (n >= size || strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-") != n)
		return false;
	memcpy(out, s, n + 1);
	return true;
}

/* A member that may be missing (then 0) but must be in range if it is there. */
static bool maybe_u32(struct json_object *obj, const char *key, uint32_t max, uint32_t *out)
{
	*out = 0;
	return !has(obj, key) || ovl_jsonio_u32(obj, key, 0, max, out);
}

static bool maybe_u64(struct json_object *obj, const char *key, uint64_t *out)
{
	*out = 0;
	return !has(obj, key) || get_u64(obj, key, out);
}

/* What is asked for that is not done here; 0: nothing. */
static enum ovl_iperf3_error not_done(struct json_object *obj)
{
	struct json_object *affinity;

	if (yes(obj, "sctp"))
		return OVL_IPERF3_ENOSCTP;
	if (has(obj, "authtoken"))
		return OVL_IPERF3_EAUTHTEST;
	if (json_object_object_get_ex(obj, "server_affinity", &affinity) &&
	    json_object_get_int64(affinity) >= 0)
		return OVL_IPERF3_EAFFINITY;
	/* zerocopy asks for sendfile; it is the client's own business unless we send */
	if (yes(obj, "udp") || !yes(obj, "tcp") || yes(obj, "bidirectional") ||
	    (yes(obj, "reverse") && yes(obj, "zerocopy")))
		return OVL_IPERF3_EUNIMP;
	return 0;
}

/* The members with limits of iperf3's own; 0, or what to say. */
static enum ovl_iperf3_error limited(struct json_object *obj, struct ovl_iperf3_params *p)
{
	if (!maybe_u32(obj, "omit", OMIT_MAX_S, &p->omit_s))
		return OVL_IPERF3_EOMIT;
	if (!maybe_u32(obj, "time", OVL_IPERF3_TIME_MAX_S, &p->time_s))
		return OVL_IPERF3_EDURATION;
	if (!ovl_jsonio_u32(obj, "parallel", 1, OVL_IPERF3_STREAMS_MAX, &p->streams))
		return OVL_IPERF3_ENUMSTREAMS;
	if (!ovl_jsonio_u32(obj, "len", 1, BLOCK_MAX, &p->block_bytes))
		return OVL_IPERF3_EBLOCKSIZE;
	if (!maybe_u32(obj, "MSS", MSS_MAX, &p->mss_bytes))
		return OVL_IPERF3_EMSS;
	return 0;
}

static bool others(struct json_object *obj, struct ovl_iperf3_params *p)
{
	uint64_t fq_bps;
	uint32_t tos;

	if (!maybe_u64(obj, "num", &p->total_bytes) || !maybe_u64(obj, "blockcount", &p->blocks) ||
	    !maybe_u32(obj, "window", WINDOW_MAX, &p->window_bytes) ||
	    !maybe_u64(obj, "bandwidth", &p->rate_bps) || !maybe_u64(obj, "fqrate", &fq_bps) ||
	    !maybe_u32(obj, "TOS", UINT8_MAX, &tos) ||
	    !get_name(obj, "congestion", p->congestion, sizeof(p->congestion)))
		return false;
	if (fq_bps && (!p->rate_bps || fq_bps < p->rate_bps))
		p->rate_bps = fq_bps;
	p->tos = (uint8_t)tos;
	p->reverse = yes(obj, "reverse");
	p->nodelay = yes(obj, "nodelay");
	p->skip_rx_copy = yes(obj, "skip_rx_copy");
	return true;
}

int ovl_iperf3_params_parse(const char *json, size_t n, struct ovl_iperf3_params *out,
			    enum ovl_iperf3_error *error)
{
	struct json_object *obj = ovl_jsonio_parse(json, n, OVL_IPERF3_PARAMS_MAX);
	int rc = 0;

	memset(out, 0, sizeof(*out));
	*error = OVL_IPERF3_ERECVPARAMS;
	if (!obj)
		return -EPROTO;
	if ((*error = not_done(obj)))
		rc = -EOPNOTSUPP;
	else if ((*error = limited(obj, out)))
		rc = -ERANGE;
	else if (!others(obj, out)) {
		*error = OVL_IPERF3_ERECVPARAMS;
		rc = -EPROTO;
	}
	json_object_put(obj);
	return rc;
}

static void add_double(struct json_object *obj, const char *key, double v)
{
	struct json_object *d = json_object_new_double(v);

	json_object_set_serializer(d, json_object_double_to_json_string, (void *)JSON_DIGITS, NULL);
	json_object_object_add(obj, key, d);
}

static struct json_object *stream_object(const struct ovl_iperf3_stream *stream)
{
	struct json_object *obj = json_object_new_object();

	if (!obj)
		return NULL;
	ovl_jsonio_add(obj, "id", stream->id);
	ovl_jsonio_add(obj, "bytes", (int64_t)stream->bytes);
	ovl_jsonio_add(obj, "retransmits", stream->retransmits);
	/* of UDP, but the peer fails without them */
	ovl_jsonio_add(obj, "jitter", 0);
	ovl_jsonio_add(obj, "errors", 0);
	ovl_jsonio_add(obj, "packets", 0);
	ovl_jsonio_add(obj, "start_time", 0);
	add_double(obj, "end_time", stream->end_s);
	return obj;
}

int ovl_iperf3_results_format(const struct ovl_iperf3_results *results, struct ovl_buf *out)
{
	struct json_object *obj = json_object_new_object(), *streams = json_object_new_array();

	if (!obj || !streams) {
		json_object_put(obj);
		json_object_put(streams);
		return -ENOMEM;
	}
	add_double(obj, "cpu_util_total", results->cpu_total);
	add_double(obj, "cpu_util_user", results->cpu_user);
	add_double(obj, "cpu_util_system", results->cpu_system);
	ovl_jsonio_add(obj, "sender_has_retransmits", results->sender ? 1 : -1);
	if (results->congestion[0])
		json_object_object_add(obj, "congestion_used",
				       json_object_new_string(results->congestion));
	for (uint32_t i = 0; i < results->n; i++)
		json_object_array_add(streams, stream_object(&results->stream[i]));
	json_object_object_add(obj, "streams", streams);
	return ovl_jsonio_put(obj, out);
}

static bool parse_stream(struct json_object *obj, struct ovl_iperf3_stream *out)
{
	int64_t packets, errors;
	double jitter;

	if (!get_double(obj, "end_time", 0, INFINITY, &out->end_s))
		out->end_s = NAN; /* 3.1 and before */
	return get_u64(obj, "bytes", &out->bytes) && out->bytes <= OVL_IPERF3_COUNT_MAX &&
	       get_i64(obj, "retransmits", &out->retransmits) &&
	       out->retransmits <= (int64_t)OVL_IPERF3_COUNT_MAX &&
	       get_double(obj, "jitter", -INFINITY, INFINITY, &jitter) &&
	       get_i64(obj, "errors", &errors) && get_i64(obj, "packets", &packets);
}

/* Each stream of the test once, by its id. */
static bool parse_streams(struct json_object *list, uint32_t streams,
			  struct ovl_iperf3_results *out)
{
	if (streams > OVL_IPERF3_STREAMS_MAX || json_object_array_length(list) != streams)
		return false;
	for (uint32_t i = 0; i < streams; i++) {
		struct json_object *obj = json_object_array_get_idx(list, i);
		uint32_t id, at = 0;

		if (!json_object_is_type(obj, json_type_object) ||
		    !ovl_jsonio_u32(obj, "id", 1, INT32_MAX, &id))
			return false;
		while (at < streams && ovl_iperf3_stream_id(at) != id)
			at++;
		if (at == streams || out->stream[at].id || !parse_stream(obj, &out->stream[at]))
			return false;
		out->stream[at].id = id;
	}
	out->n = streams;
	return true;
}

int ovl_iperf3_results_parse(const char *json, size_t n, uint32_t streams,
			     struct ovl_iperf3_results *out)
{
	struct json_object *obj = ovl_jsonio_parse(json, n, OVL_IPERF3_RESULTS_MAX), *list;
	int64_t has_retransmits = -1;
	bool good;

	memset(out, 0, sizeof(*out));
	if (!obj)
		return -EPROTO;
	good = get_double(obj, "cpu_util_total", 0, CPU_MAX, &out->cpu_total) &&
	       get_double(obj, "cpu_util_user", 0, CPU_MAX, &out->cpu_user) &&
	       get_double(obj, "cpu_util_system", 0, CPU_MAX, &out->cpu_system) &&
	       get_i64(obj, "sender_has_retransmits", &has_retransmits) &&
	       get_name(obj, "congestion_used", out->congestion, sizeof(out->congestion)) &&
	       json_object_object_get_ex(obj, "streams", &list) &&
	       json_object_is_type(list, json_type_array) && parse_streams(list, streams, out);
	out->sender = has_retransmits >= 0;
	json_object_put(obj);
	return good ? 0 : -EPROTO;
}

void ovl_iperf3_refusal_format(enum ovl_iperf3_error error, int err_no,
			       uint8_t out[OVL_IPERF3_REFUSAL])
{
	out[0] = OVL_IPERF3_SERVER_ERROR;
	ovl_be_put(out + 1, error, 4);
	ovl_be_put(out + 5, (uint64_t)err_no, 4);
}

const char *ovl_iperf3_error_text(uint32_t error)
{
	switch (error) {
	case OVL_IPERF3_EDURATION: return "the test is too long";
	case OVL_IPERF3_ENUMSTREAMS: return "too many streams";
	case OVL_IPERF3_EBLOCKSIZE: return "the block size is not allowed";
	case OVL_IPERF3_ERECVPARAMS: return "it could not read the parameters";
	case OVL_IPERF3_ERECVRESULTS: return "it could not read the results";
	case OVL_IPERF3_ESETCONGESTION: return "it lacks the congestion control";
	case OVL_IPERF3_EAUTHTEST: return "it wants a user and a password";
	case OVL_IPERF3_ENOMSG: return "it got no data for too long";
	}
	return NULL;
}
