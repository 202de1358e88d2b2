/*
 * Recordings: what is written comes back, and whatever a file holds, reading it ends in a sentence.
 */
#include "collect/codec.h"
#include "collect/recording.h"
#include "model/stage.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "recording_kit.h"

static void test_roundtrip(void)
{
	const char *where = NULL;
	int cases = 0;

	for (; cases < 200 && !where; cases++) {
		struct ovl_err err = OVL_ERR_INIT;
		struct ovl_facts facts, back;
		struct ovl_sample s[3], got = {0};
		struct ovl_replay *r;
		bool cut;

		rnd_facts(&facts);
		for (int i = 0; i < 3; i++)
			rnd_sample(&s[i], &facts);
		if (!write_recording(in_dir("random"), &facts, s, 3, &err))
			where = "writing";
		r = where ? NULL : ovl_replay_open(in_dir("random"), &back, &err);
		if (!r && !where)
			where = "opening";
		if (r && differs(&ovl_codec_facts, (char *)&facts, (char *)&back))
			where = differs(&ovl_codec_facts, (char *)&facts, (char *)&back);
		for (int i = 0; r && i < 3 && !where; i++) {
			if (ovl_replay_next(r, &got, &cut, &err) != 1)
				where = "reading";
			else
				where = differs(&ovl_codec_sample, (char *)&s[i], (char *)&got);
		}
		if (r && !where && (ovl_replay_next(r, &got, &cut, &err) || cut))
			where = "end";
		if (where)
			printf("# case %d: %s: %s\n", cases, where, err.text);
		ovl_replay_close(r);
		if (r)
			ovl_facts_fini(&back);
		ovl_facts_fini(&facts);
		ovl_sample_fini(&got);
		for (int i = 0; i < 3; i++)
			ovl_sample_fini(&s[i]);
	}
	ok(!where && cases == 200, "200 random recordings come back equal (%d did)", cases);
}

static void small_recording(const char *path)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_facts facts;
	struct ovl_sample s[3];

	rnd_state = 4711;
	vec_most = 1;
	rnd_facts(&facts);
	for (int i = 0; i < 3; i++)
		rnd_sample(&s[i], &facts);
	ok(write_recording(path, &facts, s, 3, &err), "a small recording: %s", err.text);
	for (int i = 0; i < 3; i++)
		ovl_sample_fini(&s[i]);
	ovl_facts_fini(&facts);
}

/*
 * Is this a length to cut at? Each one costs a reading of all before it: so every 7th byte (a
 * prime: it meets every kind of place), and all near both ends and where lines end.
 */
static bool worth_cutting(const char *data, size_t n, size_t at, bool lines)
{
	if (at % 7 == 0 || at < 256 || at + 256 > n)
		return true;
	for (size_t i = at - 8; lines && i < at + 8; i++)
		if (data[i] == '\n')
			return true;
	return false;
}

static void test_truncation(bool inflate)
{
	int bad = 0, cut = 0, refused = 0, last = 3, tried = 0;
	size_t n;
	char *data;

	small_recording(in_dir("whole"));
	data = load(in_dir("whole"), &n, inflate);
	save(in_dir("cut"), data, n);
	for (size_t i = n; i-- > 0;) {
		struct outcome o;

		if (!worth_cutting(data, n, i, inflate))
			continue;
		tried++;
		if (truncate(in_dir("cut"), (off_t)i))
			abort();
		o = play(in_dir("cut"));
		if (o.samples < 0 ? !is_sentence(&o) : o.rc || o.samples > last)
			bad++;
		/* only gzip's trailer and the last newline can be lost without a loss */
		if (o.samples != 3 || n - i > 20)
			bad += o.samples >= 0 && !o.cut;
		refused += o.samples < 0;
		cut += o.cut;
		last = o.samples;
	}
	free(data);
	is_int(bad, 0, "%s of %zu bytes cut at %d: a sentence, or whole samples and truncated",
	       inflate ? "plain text" : "gzip", n, tried);
	ok(refused > 10 && cut > 100 && last < 0, "%d refused, %d truncated of %d", refused, cut,
	   tried);
}

static void test_flips(bool inflate)
{
	int bad = 0, whole = 0;
	size_t n;
	char *data;

	data = load(in_dir("whole"), &n, inflate);
	rnd_state = 42;
	for (int i = 0; i < 1000; i++) {
		size_t at[3] = {rnd() % n, rnd() % n, rnd() % n};
		int flips = 1 + (int)(rnd() % 3);
		char kept[3];
		struct outcome o;

		for (int k = 0; k < flips; k++) {
			kept[k] = data[at[k]];
			data[at[k]] ^= (char)(1 << (rnd() % 8));
		}
		save(in_dir("flipped"), data, n);
		o = play(in_dir("flipped"));
		bad += o.rc && !is_sentence(&o);
		whole += !o.rc;
		for (int k = flips - 1; k >= 0; k--)
			data[at[k]] = kept[k];
	}
	free(data);
	is_int(bad, 0, "1000 × up to 3 flipped bits in %s: a sentence or a recording (%d)",
	       inflate ? "plain text" : "gzip", whole);
}

#define HEAD "{\"ovltrace_recording\":1,\"facts\":{\"ns\":[{\"name\":\"n\"}]}}\n"

static void test_hostile(void)
{
	static const struct {
		const char *text, *want; /* want: part of the sentence */
	} cases[] = {
		{"", "is empty"},
		{"\n", "is not an ovltrace recording"},
		{"hello\n", "is not an ovltrace recording"},
		{"[1,2,3]\n", "is not an ovltrace recording"},
		{"{\"start\":{}}\n", "is not an ovltrace recording"},
		{"{\"ovltrace_recording\":1,\"facts\":", "cut off within its first line"},
		{"{\"ovltrace_recording\":\"1\",\"facts\":{}}\n", "is not an ovltrace recording"},
		{"{\"ovltrace_recording\":2,\"facts\":{}}\n", "has format 2"},
		{"{\"ovltrace_recording\":1}\n", "it has no facts"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"cpus\":\"2\"}}\n",
		 "\"cpus\" of the facts is not a"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"cpus\":8193}}\n", "out of range"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"cpus\":-1}}\n", "out of range"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"cpus\":1.5}}\n", "not a whole number"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"iface\":0}}\n",
		 "its interface is link 0 of 0"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"iface\":-2}}\n", "out of range"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"links\":[{\"name\":\"x\"}]}}\n",
		 "namespace 0 of 0"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"links\":[7]}}\n", "not an object"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"ns\":[{\"name\":\"n\"}],\"links\":"
		 "[{\"name\":\"p\",\"lower\":1}]}}\n",
		 "link 'p' names link 1 of 1"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"ns\":[{\"name\":\"n\"}],\"links\":"
		 "[{\"name\":\"p\",\"master\":1}]}}\n",
		 "link 'p' is a port of link 1 of 1"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"links\":[{\"master\":-2}]}}\n",
		 "\"master\" of a link is out of range"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"vxlan\":[]}}\n", "not an object"},
		{"{\"ovltrace_recording\":1,\"facts\":{\"arch\":7}}\n", "not a string"},
		{"{\"ovltrace_recording\":1,\"facts\":[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]}\n",
		 "line 1"},
		{HEAD "\n" HEAD, "line 2: it ends too early"},
		{HEAD "{} {}\n", "line 2"},
		{HEAD "{\"sample\":[]}\n", "its sample is not an object"},
		{HEAD "{\"sample\":{\"phase\":\"x\"}}\n", "\"phase\" of the sample is a name"},
		{HEAD "{\"sample\":{\"phase\":1}}\n", "\"phase\" of the sample is not a name"},
		{HEAD "{\"sample\":{\"start_ts_ns\":2,\"end_ts_ns\":1}}\n",
		 "time runs from 2 to 1"},
		{HEAD "{\"sample\":{\"end_ts_ns\":99999999999999999}}\n", "time runs from 0"},
		{HEAD "{\"sample\":{\"end_ts_ns\":18446744073709551615}}\n", "out of range"},
		{HEAD "{\"sample\":{\"hits\":{}}}\n", "not a list"},
		{HEAD "{\"sample\":{\"hits\":[{\"cpu\":8192}]}}\n",
		 "\"cpu\" of a hit is out of range"},
		{HEAD "{\"sample\":{\"hits\":[{\"count\":4294967296}]}}\n", "out of range"},
		{HEAD "{\"sample\":{\"hits\":[{\"ctx\":\"nmi\"}]}}\n", "\"ctx\" of a hit"},
		{HEAD "{\"sample\":{\"links\":[{\"link\":0}]}}\n", "link 0 of 0"},
		{HEAD "{\"sample\":{\"drops\":[{\"ns\":1}]}}\n", "a drop names namespace 1 of 1"},
		{HEAD "{\"sample\":{\"counters\":[{\"ns\":9}]}}\n", "a counter names namespace 9"},
		{HEAD "{\"sample\":{\"readings\":[{\"ns\":9}]}}\n", "a reading names namespace 9"},
		{HEAD "{\"sample\":{\"flows\":[{\"ns\":9}]}}\n", "a flow names namespace 9"},
		{HEAD "{\"sample\":{\"attempts\":[{\"ns\":9}]}}\n",
		 "an attempt to connect names namespace 9"},
		{HEAD "{\"sample\":{\"lost\":[1,2,3,4,5,6,7,8,9,10,11,12]}}\n", "too many entries"},
		{HEAD "{\"sample\":{\"lost\":[true]}}\n", "not a whole number"},
		{HEAD "{\"sample\":{\"retransmits_valid\":1}}\n", "neither true nor false"},
		{HEAD "{\"end\":{\"samples\":7}}\n", "does not count"},
		{HEAD "{\"end\":null}\n", "does not count"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome o;

		save(in_dir("hostile"), cases[i].text, strlen(cases[i].text));
		o = play(in_dir("hostile"));
		ok(is_sentence(&o) && strstr(o.err.text, cases[i].want), "refused: %s", o.err.text);
	}
}

static void test_floods(void)
{
	size_t n = OVL_CODEC_LINE_MAX + 4096, head = strlen(HEAD);
	char *data = malloc(n);
	struct outcome o;

	memset(data, 'x', n);
	save(in_dir("long"), data, n);
	o = play(in_dir("long"));
	ok(is_sentence(&o) && strstr(o.err.text, "is not an ovltrace"), "8 MiB without a line: %s",
	   o.err.text);
	memcpy(data, HEAD, head);
	save(in_dir("long"), data, n);
	o = play(in_dir("long"));
	ok(is_sentence(&o) && strstr(o.err.text, "longer than"), "a line too long: %s", o.err.text);
	for (size_t i = head; i + 3 < n; i += 3)
		memcpy(data + i, "[],", 3);
	save(in_dir("long"), data, OVL_CODEC_LINE_MAX);
	o = play(in_dir("long"));
	ok(is_sentence(&o) && strstr(o.err.text, "more values"), "a flood of lists: %s",
	   o.err.text);
	free(data);
}

static void test_tolerance(void)
{
	static const char text[] = HEAD
		"{\"note\":\"of a newer minor version\"}\n"
		"{\"sample\":{\"new\":[1],\"end_ts_ns\":5,\"hits\":[{\"stage\":\"warp\",\"work\":"
		"\"warp\",\"ctx\":\"task\",\"task_class\":\"warp\",\"count\":3,\"more\":{}}],"
		"\"drops\":[{\"reason\":\"a\\u001b[2Jb\\u0000c\\u009bd\",\"ns\":0,\"symbol\":"
		"\"0123456789012345678901234567890123456789012345678901234567890\xc3\xa4\xc3\xa4\"}"
		"],"
		"\"self\":[{\"cpu\":1}]}}\n{\"end\":{\"samples\":1}}";
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_sample s = {0};
	struct ovl_facts facts;
	struct ovl_replay *r;
	bool cut = true;

	save(in_dir("newer"), text, strlen(text));
	r = ovl_replay_open(in_dir("newer"), &facts, &err);
	ok(r && ovl_replay_next(r, &s, &cut, &err) == 1, "unknown members and records are skipped");
	is_int(facts.iface, -1, "a missing interface is none, not the first link");
	is_int(facts.load.cpu_sender, -1, "a missing CPU is none");
	is_int(s.hits.n, 1, "the hit is there");
	is_int(s.hits.v[0].stage, OVL_STAGE_UNCLASSIFIED, "an unknown stage is unclassified");
	is_int(s.hits.v[0].work, OVL_WORK_OTHER, "an unknown kind of work is other");
	is_str(s.drops.v[0].reason, "a?[2Jb?c??d", "control characters cannot reach a terminal");
	is_int(strlen(s.drops.v[0].symbol), 63, "a long name is clipped at a character");
	ok(s.self.v[0].user_ns == UINT64_MAX, "a time that is missing is unknown");
	is_int(ovl_replay_next(r, &s, &cut, &err), 0, "the end, without a newline");
	ok(!cut, "is the end");
	is_int(s.hits.n, 0, "no sample is left over at the end");
	ovl_replay_close(r);
	ovl_facts_fini(&facts);
	ovl_sample_fini(&s);
}

/* A recording of before `master`: its devices are ports of nothing that is known. */
static void test_older(void)
{
	static const char text[] =
		"{\"ovltrace_recording\":1,\"facts\":{\"ns\":[{\"name\":\"n\"}],\"iface\":0,"
		"\"links\":[{\"name\":\"br0\",\"kind\":\"bridge\"},{\"name\":\"p\"},"
		"{\"name\":\"q\",\"master\":0}]}}\n";
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_facts facts;
	struct ovl_replay *r;

	save(in_dir("older"), text, strlen(text));
	r = ovl_replay_open(in_dir("older"), &facts, &err);
	ok(r && facts.links.n == 3, "links without a master: %s", err.text);
	is_int(r ? facts.links.v[1].master : 0, -1, "have none");
	is_int(r ? facts.links.v[2].master : -1, 0, "one with a master keeps it");
	ovl_replay_close(r);
	if (r)
		ovl_facts_fini(&facts);
}

static void test_open_errors(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_facts facts = {0};
	struct outcome o;
	int fd;

	o = play(in_dir("absent"));
	ok(is_sentence(&o) && strstr(o.err.text, "No such file"), "%s", o.err.text);
	o = play(dir);
	ok(is_sentence(&o) && strstr(o.err.text, "is a directory"), "%s", o.err.text);
	mkfifo(in_dir("fifo"), 0600);
	o = play(in_dir("fifo"));
	ok(is_sentence(&o) && strstr(o.err.text, "not a regular file"), "%s", o.err.text);
	ok(!ovl_recorder_open(in_dir("fifo"), &facts, &err), "no recording into a FIFO: %s",
	   err.text);
	ok(!ovl_recorder_open("/dev/full", &facts, &err), "nor a device: %s", err.text);
	ok(!ovl_recorder_open(dir, &facts, &err), "nor a directory: %s", err.text);
	ok(!ovl_recorder_open(in_dir("no/where"), &facts, &err), "nor nowhere: %s", err.text);
	symlink("target", in_dir("link"));
	ok(!ovl_recorder_open(in_dir("link"), &facts, &err), "nor through a link: %s", err.text);
	ok(access(in_dir("target"), F_OK), "whose target is not made");
	save(in_dir("secret"), "x", 1);
	chmod(in_dir("secret"), 0);
	if (geteuid() == 0 && seteuid(65534))
		abort();
	o = play(in_dir("secret"));
	ok(is_sentence(&o) && strstr(o.err.text, "Permission denied"), "%s", o.err.text);
	if (getuid() == 0 && seteuid(0))
		abort();
	fd = open(in_dir("over"), O_CREAT | O_WRONLY, 0600);
	ok(fd >= 0 && !ftruncate(fd, 100000) && !close(fd), "an old file of 100000 bytes");
	small_recording(in_dir("over"));
	o = play(in_dir("over"));
	ok(!o.rc && o.samples == 3 && !o.cut, "is overwritten as a whole");
}

/* Without a close, as after kill -9: every sample that was added is there. */
static void test_killed(void)
{
	pid_t pid = fork();
	struct outcome o;
	int status;

	if (!pid) {
		struct ovl_err err = OVL_ERR_INIT;
		struct ovl_sample s = {.end_ts_ns = 1};
		struct ovl_facts facts = {.iface = -1};
		struct ovl_recorder *r = ovl_recorder_open(in_dir("killed"), &facts, &err);

		for (int i = 0; r && i < 5; i++)
			ovl_recorder_add(r, &s, &err);
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	o = play(in_dir("killed"));
	ok(o.samples == 5 && !o.rc && o.cut, "kill -9 after 5 samples: 5 samples, truncated (%d)",
	   o.samples);
}

static int fill_disk(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_facts facts = {.iface = -1};
	struct ovl_sample s = {.end_ts_ns = 1};
	struct ovl_recorder *r;
	struct outcome o;
	int rc = 0, n = 0;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=16k"))
		return 77;
	r = ovl_recorder_open(in_dir("full"), &facts, &err);
	for (; r && !rc && n < 5000; n++) {
		struct ovl_drop *drop = ovl_vec_push(&s.drops);

		rnd_string(drop->reason, sizeof(drop->reason));
		drop->ns = OVL_NS_MACHINE;
		s.drops.n = s.drops.n > 64 ? 1 : s.drops.n;
		rc = ovl_recorder_add(r, &s, &err);
	}
	ovl_sample_fini(&s);
	if (!r || rc != -ENOSPC || !strstr(err.text, "No space left"))
		return 1;
	if (ovl_recorder_close(r, &err) != -ENOSPC)
		return 2;
	o = play(in_dir("full"));
	printf("# %d added, %d read, cut %d, rc %d: %s\n", n, o.samples, o.cut, o.rc, o.err.text);
	fflush(stdout);
	/* the last of the n failed, but its text may have found room just before its end did not */
	return o.rc || !o.cut || o.samples < n - 1 || o.samples > n ? 3 : 0;
}

static void test_disk_full(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(fill_disk());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("disk full: mounting a small tmpfs is not allowed here");
	else
		is_int(status, 0, "disk full: a sentence, and what was written can be read");
}

int main(void)
{
	char command[160];

	if (!mkdtemp(dir))
		return 1;
	ok(uncovered(&ovl_codec_facts) < 8, "every member of the facts has its line in the table");
	ok(uncovered(&ovl_codec_sample) < 8, "and every member of a sample");
	test_roundtrip();
	test_truncation(false);
	test_flips(false);
	test_truncation(true);
	test_flips(true);
	test_hostile();
	test_floods();
	test_tolerance();
	test_older();
	test_open_errors();
	test_killed();
	test_disk_full();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!system(command), "cleaned up");
	return tap_done();
}
