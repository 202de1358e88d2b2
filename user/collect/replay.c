/*
 * Reading a recording. Anybody may have written the file: lengths, depths and counts are bounded,
 * and each way of being broken has its own sentence.
 */
#include "collect/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/str.h"
#include "collect/codec.h"

#define CHUNK_BYTES 65536
#define PATH_SAID   200 /* bytes of a path that a sentence repeats */

struct ovl_replay {
	gzFile gz;
	char *path; /* clipped, for sentences */
	const struct ovl_facts *facts;
	struct json_tokener *tok;
	struct ovl_buf line;
	char chunk[CHUNK_BYTES];
	size_t at, n; /* unread part of chunk */
	bool cut;     /* the compressed stream ended too early */
	bool whole;   /* the line has its newline */
	uint64_t lines, samples;
};

static int damaged(const struct ovl_replay *r, const char *why, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_INPUT, -EBADMSG,
			   "recording '%s' is damaged in line %" PRIu64 ": %s", r->path, r->lines,
			   why);
}

static int no_memory(const struct ovl_replay *r, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM,
			   "cannot read recording '%s': out of memory", r->path);
}

/* Refill the chunk: 1 there is more, 0 the file is over (r->cut: too early), -errno. */
static int refill(struct ovl_replay *r, struct ovl_err *err)
{
	int got, code = Z_OK;
	const char *why;

	errno = 0;
	got = gzread(r->gz, r->chunk, sizeof(r->chunk));
	r->at = 0;
	r->n = got > 0 ? (size_t)got : 0;
	if (got > 0)
		return 1;
	why = gzerror(r->gz, &code);
	if (code == Z_BUF_ERROR) {
		r->cut = true;
		return 0;
	}
	if (got == 0 && code == Z_OK)
		return 0;
	if (code == Z_ERRNO)
		return ovl_err_set(err, OVL_EXIT_INPUT, errno ? -errno : -EIO,
				   "cannot read recording '%s': %s", r->path,
				   strerror(errno ? errno : EIO));
	if (code == Z_MEM_ERROR)
		return no_memory(r, err);
	return ovl_err_set(err, OVL_EXIT_INPUT, -EBADMSG,
			   "recording '%s' is damaged after line %" PRIu64 ": %s", r->path,
			   r->lines, why && *why ? why : "its compressed data is not valid");
}

/* Next line without its newline into r->line: 1, 0 at the end, -errno. */
static int next_line(struct ovl_replay *r, struct ovl_err *err)
{
	ovl_buf_clear(&r->line);
	r->whole = false;
	while (!r->whole) {
		const char *from, *newline;
		size_t take;

		if (r->at == r->n) {
			int rc = refill(r, err);

			if (rc < 0)
				return rc;
			if (!rc)
				break;
		}
		from = r->chunk + r->at;
		newline = memchr(from, '\n', r->n - r->at);
		r->whole = newline != NULL;
		take = newline ? (size_t)(newline - from) : r->n - r->at;
		ovl_buf_put(&r->line, from, take);
		r->at += take + (newline ? 1 : 0);
		if (r->line.failed)
			return no_memory(r, err);
		if (r->line.n > OVL_CODEC_LINE_MAX) {
			r->lines++;
			return damaged(r, "it is longer than any line of a recording", err);
		}
	}
	if (!r->whole && !r->line.n)
		return 0;
	r->lines++;
	return 1;
}

/* Bound what parsing this line can cost before it is parsed. */
static bool is_modest(const struct ovl_buf *line)
{
	size_t values = 0, groups = 0;
	bool in_string = false;

	for (size_t i = 0; i < line->n; i++) {
		char c = line->s[i];

		if (c == '\\' && in_string)
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && c == ',')
			values++;
		else if (!in_string && (c == '{' || c == '['))
			groups++;
	}
	return values <= OVL_CODEC_VALUES_MAX && groups <= OVL_CODEC_GROUPS_MAX;
}

/* The object in r->line: 1, 0 the file ends within the line, -errno. */
static int parse_line(struct ovl_replay *r, struct json_object **obj, struct ovl_err *err)
{
	enum json_tokener_error code;

	*obj = NULL;
	if (!is_modest(&r->line))
		return damaged(r, "it holds more values than any line of a recording", err);
	json_tokener_reset(r->tok);
	*obj = json_tokener_parse_ex(r->tok, ovl_buf_str(&r->line), (int)r->line.n);
	code = json_tokener_get_error(r->tok);
	if (code == json_tokener_continue && !r->whole)
		return 0;
	if (code == json_tokener_continue)
		return damaged(r, "it ends too early", err);
	if (code == json_tokener_success && json_object_is_type(*obj, json_type_object) &&
	    json_tokener_get_parse_end(r->tok) == r->line.n)
		return 1;
	json_object_put(*obj);
	*obj = NULL;
	return damaged(r,
		       code == json_tokener_success ? "it is not one JSON object"
						    : json_tokener_error_desc(code),
		       err);
}

static int not_ours(const struct ovl_replay *r, struct ovl_err *err)
{
	return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
			   "'%s' is not an ovltrace recording; make one with --record FILE",
			   r->path);
}

static int read_head(struct ovl_replay *r, struct json_object *head, struct ovl_facts *facts,
		     struct ovl_err *err)
{
	struct json_object *value = NULL;
	struct ovl_err why = OVL_ERR_INIT;
	int rc;

	json_object_object_get_ex(head, "ovltrace_recording", &value);
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 1)
		return not_ours(r, err);
	if (json_object_get_int64(value) > OVL_CODEC_VERSION)
		return ovl_err_set(err, OVL_EXIT_INPUT, -EPROTONOSUPPORT,
				   "recording '%s' has format %" PRId64
				   ", this ovltrace reads format %d: replay it with a newer one",
				   r->path, json_object_get_int64(value), OVL_CODEC_VERSION);
	json_object_object_get_ex(head, "facts", &value);
	if (!json_object_is_type(value, json_type_object))
		return damaged(r, "it has no facts", err);
	rc = ovl_codec_read(&ovl_codec_facts, value, facts, &why);
	if (!rc)
		rc = ovl_codec_facts_check(facts, &why);
	if (rc == -ENOMEM)
		return no_memory(r, err);
	return rc ? damaged(r, why.text, err) : 0;
}

/* Line 1, which also tells recordings from other files. */
static int read_facts(struct ovl_replay *r, struct ovl_facts *facts, struct ovl_err *err)
{
	static const char start[] = "{\"ovltrace_recording\"";
	struct json_object *head = NULL;
	int rc = next_line(r, err);

	if (rc == 0 && !r->cut)
		return ovl_err_set(err, OVL_EXIT_INPUT, -ENODATA, "recording '%s' is empty",
				   r->path);
	if (r->line.n >= strlen(start) && !ovl_str_starts(r->line.s, start))
		return not_ours(r, err);
	if (rc < 0)
		return rc;
	if (rc > 0)
		rc = parse_line(r, &head, err);
	if (rc < 0)
		return r->line.n < strlen(start) ? not_ours(r, err) : rc;
	if (rc == 0)
		return ovl_err_set(err, OVL_EXIT_INPUT, -ENODATA,
				   "recording '%s' is cut off within its first line: nothing in it "
				   "can be used",
				   r->path);
	rc = read_head(r, head, facts, err);
	json_object_put(head);
	return rc;
}

/* A regular file only: a FIFO or a terminal would make replay wait. */
static int open_file(const char *path, struct ovl_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return ovl_err_set(err, OVL_EXIT_INPUT, -errno, "cannot open recording '%.*s': %s",
				   PATH_SAID, path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	if (S_ISDIR(st.st_mode))
		return ovl_err_set(err, OVL_EXIT_INPUT, -EISDIR,
				   "'%.*s' is a directory, not a recording", PATH_SAID, path);
	return ovl_err_set(err, OVL_EXIT_INPUT, -EINVAL,
			   "'%.*s' is not a regular file; save it and replay the file", PATH_SAID,
			   path);
}

struct ovl_replay *ovl_replay_open(const char *path, struct ovl_facts *facts, struct ovl_err *err)
{
	struct ovl_replay *r;
	int fd = open_file(path, err);

	memset(facts, 0, sizeof(*facts));
	facts->iface = -1;
	if (fd < 0)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->path = strndup(path, PATH_SAID);
		r->tok = json_tokener_new_ex(OVL_CODEC_DEPTH_MAX);
		if (r->tok)
			json_tokener_set_flags(r->tok, JSON_TOKENER_STRICT);
		r->facts = facts;
	}
	if (r && r->path && r->tok)
		r->gz = gzdopen(fd, "rb");
	if (!r || !r->gz) {
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM,
			    "cannot read recording '%.*s': out of memory", PATH_SAID, path);
		close(fd);
	} else if (!read_facts(r, facts, err)) {
		return r;
	}
	ovl_replay_close(r);
	ovl_facts_fini(facts);
	return NULL;
}

static int read_sample(struct ovl_replay *r, struct json_object *value, struct ovl_sample *s,
		       struct ovl_err *err)
{
	struct ovl_err why = OVL_ERR_INIT;
	int rc;

	if (!json_object_is_type(value, json_type_object))
		return damaged(r, "its sample is not an object", err);
	rc = ovl_codec_read(&ovl_codec_sample, value, s, &why);
	if (!rc)
		rc = ovl_codec_sample_check(s, r->facts, &why);
	if (rc == -ENOMEM)
		return no_memory(r, err);
	if (rc)
		return damaged(r, why.text, err);
	r->samples++;
	return 1;
}

static int read_end(const struct ovl_replay *r, struct json_object *end, struct ovl_err *err)
{
	struct json_object *value = NULL;

	if (json_object_is_type(end, json_type_object))
		json_object_object_get_ex(end, "samples", &value);
	if (!json_object_is_type(value, json_type_int) ||
	    json_object_get_uint64(value) != r->samples)
		return damaged(r, "its end does not count the samples before it", err);
	return 0;
}

int ovl_replay_next(struct ovl_replay *r, struct ovl_sample *s, bool *truncated,
		    struct ovl_err *err)
{
	ovl_sample_clear(s);
	*truncated = false;
	for (;;) {
		struct json_object *obj = NULL, *value;
		int rc = next_line(r, err);
		bool known = true;

		if (rc > 0)
			rc = parse_line(r, &obj, err);
		if (rc == 0)
			*truncated = true;
		if (rc <= 0)
			return rc;
		if (json_object_object_get_ex(obj, "sample", &value))
			rc = read_sample(r, value, s, err);
		else if (json_object_object_get_ex(obj, "end", &value))
			rc = read_end(r, value, err);
		else
			known = false; /* a kind of record that a newer minor version added */
		json_object_put(obj);
		if (known)
			return rc;
	}
}

void ovl_replay_close(struct ovl_replay *r)
{
	if (!r)
		return;
	if (r->gz)
		gzclose(r->gz);
	if (r->tok)
		json_tokener_free(r->tok);
	ovl_buf_fini(&r->line);
	free(r->path);
	free(r);
}
