/* Writing a recording: each line is compressed and handed to the kernel at once, so that a killed
 * run loses at most the interval it was in. */
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

#include "collect/codec.h"

#define PATH_SAID 200 /* bytes of a path that a sentence repeats */

struct ovl_recorder {
	gzFile gz;
	char *path; /* clipped, for sentences */
	uint64_t samples;
	int failed; /* -errno of the first failure: nothing is written after it */
};

static int fail(struct ovl_recorder *r, int rc, struct ovl_err *err)
{
	const char *next = rc == -ENOSPC || rc == -EDQUOT
				   ? "free some space or record to another file system"
				   : "what was written before can be replayed";

	r->failed = rc;
	return ovl_err_set(err, OVL_EXIT_FAILED, rc, "cannot write recording '%s': %s; %s", r->path,
			   strerror(-rc), next);
}

/* errno of the gz stream's last write, which zlib passes through. */
static int gz_errno(void)
{
	return errno ? -errno : -EIO;
}

static int write_line(struct ovl_recorder *r, struct json_object *obj, struct ovl_err *err)
{
	const char *text;
	size_t n;

	if (r->failed)
		return fail(r, r->failed, err);
	text = json_object_to_json_string_length(
		obj, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
	if (!text)
		return fail(r, -ENOMEM, err);
	if (n >= OVL_CODEC_LINE_MAX)
		return fail(r, -EFBIG, err);
	errno = 0;
	if (gzwrite(r->gz, text, (unsigned)n) != (int)n || gzputc(r->gz, '\n') < 0 ||
	    gzflush(r->gz, Z_SYNC_FLUSH) != Z_OK)
		return fail(r, gz_errno(), err);
	return 0;
}

/* {"name":value} with the members of `head` before; takes value over. */
static int write_record(struct ovl_recorder *r, const char *name, struct json_object *value,
			struct json_object *head, struct ovl_err *err)
{
	int rc;

	if (!value || !head || json_object_object_add(head, name, value)) {
		json_object_put(value);
		rc = fail(r, -ENOMEM, err);
	} else {
		rc = write_line(r, head, err);
	}
	json_object_put(head);
	return rc;
}

static int write_facts(struct ovl_recorder *r, const struct ovl_facts *facts, struct ovl_err *err)
{
	struct json_object *head = json_object_new_object();

	if (head)
		json_object_object_add(head, "ovltrace_recording",
				       json_object_new_int(OVL_CODEC_VERSION));
	return write_record(r, "facts", ovl_codec_write(&ovl_codec_facts, facts), head, err);
}

/*
 * Symbolic links are not followed: the tool often runs as root, and the name may lie in a directory
 * others can write to. O_NONBLOCK: opening a FIFO must not wait for its reader.
 */
static int open_file(const char *path, struct ovl_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	const char *why = NULL;
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		why = "it is a symbolic link; name the file itself";
	else if (fd < 0 && errno == EISDIR)
		why = "it is a directory; name a file in it";
	else if ((fd < 0 && errno == ENXIO) ||
		 (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))))
		why = "it exists and is not a regular file; name another file";
	else if (fd < 0)
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno,
				   "cannot create recording '%.*s': %s; give another file",
				   PATH_SAID, path, strerror(errno));
	else if (ftruncate(fd, 0))
		why = strerror(errno);
	if (why) {
		if (fd >= 0)
			close(fd);
		return ovl_err_set(err, OVL_EXIT_FAILED, -EINVAL, "cannot record to '%.*s': %s",
				   PATH_SAID, path, why);
	}
	return fd;
}

struct ovl_recorder *ovl_recorder_open(const char *path, const struct ovl_facts *facts,
				       struct ovl_err *err)
{
	struct ovl_recorder *r;
	int fd = open_file(path, err);

	if (fd < 0)
		return NULL;
	r = calloc(1, sizeof(*r));
	if (r)
		r->path = strndup(path, PATH_SAID);
	if (r && r->path)
		r->gz = gzdopen(fd, "wb6");
	if (!r || !r->gz) {
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "cannot record to '%.*s': out of memory",
			    PATH_SAID, path);
		close(fd);
	}
	if (r && r->gz && !write_facts(r, facts, err))
		return r;
	if (r) {
		if (r->gz)
			gzclose(r->gz);
		free(r->path);
	}
	free(r);
	return NULL;
}

int ovl_recorder_add(struct ovl_recorder *r, const struct ovl_sample *s, struct ovl_err *err)
{
	int rc = write_record(r, "sample", ovl_codec_write(&ovl_codec_sample, s),
			      json_object_new_object(), err);

	if (!rc)
		r->samples++;
	return rc;
}

int ovl_recorder_close(struct ovl_recorder *r, struct ovl_err *err)
{
	struct json_object *end;
	int rc;

	if (!r)
		return 0;
	end = json_object_new_object();
	if (end)
		json_object_object_add(end, "samples", json_object_new_uint64(r->samples));
	rc = write_record(r, "end", end, json_object_new_object(), err);
	errno = 0;
	if (gzclose(r->gz) != Z_OK && !rc)
		rc = fail(r, gz_errno(), err);
	free(r->path);
	free(r);
	return rc;
}
