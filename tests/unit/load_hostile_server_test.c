/*
 * Servers that go wrong at each byte, state and number of both protocols: each ends in one sentence
 * within its deadline, and takes no memory.
 */
#include "peer_kit.h"

#include "hostile_kit.h"
#include "load/iperf3_wire.h"
#include "load/jsonio.h"
#include "load/wire.h"

#define HELLO "{\"instance\":\"a\",\"version\":\"1.0.0\"}"
#define RESULTS \
	"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0," \
	"\"sender_has_retransmits\":0,\"streams\":[{\"id\":1,\"bytes\":7000,\"retransmits\":0," \
	"\"jitter\":0,\"errors\":0,\"packets\":0}]}"

/* What a server says, in the order in which it is due. */
struct script {
	bool iperf3;
	uint8_t text[300 * 1024];
	size_t n;
	size_t step[8]; /* where the bytes of each step end */
	size_t steps;
};

static void add(struct script *s, const void *p, size_t n)
{
	memcpy(s->text + s->n, p, n);
	s->n += n;
}

static void add_step(struct script *s, const void *p, size_t n)
{
	add(s, p, n);
	s->step[s->steps++] = s->n;
}

static void add_json(struct script *s, const char *json, size_t n)
{
	uint8_t head[4];

	ovl_be_put(head, n, 4);
	add(s, head, 4);
	add(s, json, n);
}

static void own_script(struct script *s, const char *hello)
{
	uint8_t report[OVL_WIRE_REPORT_BYTES];

	s->iperf3 = false;
	s->n = s->steps = 0;
	add_step(s, "\t", 1);
	add(s, "\x40", 1);
	add_json(s, hello, strlen(hello));
	s->step[s->steps++] = s->n;
	ovl_wire_report_format(&(struct ovl_wire_report){.ts_ns = 1}, report);
	add_step(s, report, sizeof(report));
}

static void iperf3_script(struct script *s, const char *results)
{
	s->iperf3 = true;
	s->n = s->steps = 0;
	add_step(s, "\t", 1);
	add_step(s, "\n", 1);
	add_step(s, "\1\2", 2);
	add_step(s, "\x0d", 1);
	add_json(s, results, strlen(results));
	add_step(s, "\x0e", 1);
}

struct server {
	const struct script *script;
	int listen_fd;
	size_t limit; /* bytes of the script that it sends */
	enum { RESET, SILENT, FLOOD } then;
};

static bool heard_text(int fd)
{
	char head[4], buf[4096];

	return recv(fd, head, 4, MSG_WAITALL) == 4 &&
	       recv(fd, buf, ovl_be_get((uint8_t *)head, 4), MSG_WAITALL) > 0;
}

/* Wait for what the client says before this step. */
static bool due(const struct server *s, size_t step, int fd, int *stream)
{
	char buf[64];

	if (step == 0)
		return recv(fd, buf, OVL_WIRE_COOKIE_BYTES, MSG_WAITALL) > 0;
	if (step == 1 || (s->script->iperf3 && step == 4))
		return heard_text(fd);
	if (s->script->iperf3 && step == 2) {
		*stream = accept(s->listen_fd, NULL, NULL);
		return recv(*stream, buf, OVL_WIRE_COOKIE_BYTES, MSG_WAITALL) > 0;
	}
	return !s->script->iperf3 || step != 3 || recv(fd, buf, 1, MSG_WAITALL) > 0;
}

static void finale(const struct server *s, int fd)
{
	static char much[1 << 20];
	const struct linger hard = {.l_onoff = 1};
	char buf[4096];

	if (s->then == RESET)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	while (s->then == SILENT && recv(fd, buf, sizeof(buf), 0) > 0)
		;
	for (int i = 0; s->then == FLOOD && i < 64; i++)
		if (send(fd, much, sizeof(much), MSG_NOSIGNAL) < 0)
			break;
}

static void *server_main(void *arg)
{
	const struct server *s = arg;
	int fd;

	while ((fd = accept(s->listen_fd, NULL, NULL)) >= 0) {
		int stream = -1;
		size_t at = 0;

		for (size_t i = 0; i < s->script->steps && at < s->limit; i++) {
			size_t end = s->script->step[i] < s->limit ? s->script->step[i] : s->limit;

			if (!due(s, i, fd, &stream) ||
			    send(fd, s->script->text + at, end - at, MSG_NOSIGNAL) < 0)
				break;
			at = end;
		}
		finale(s, fd);
		close(fd);
		if (stream >= 0)
			close(stream);
	}
	return NULL;
}

/*
 * A whole load against such a server: the error that it ends with, an empty text if none. A cut
 * after the handshake is told by a reading, or by the results that do not come.
 */
static struct ovl_err meet(const struct script *script, size_t limit, int then, uint64_t *took_ms)
{
	struct server s = {.script = script, .limit = limit, .then = then};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_load_counts counts;
	struct ovl_load_spec spec;
	uint64_t t = ovl_clock_ns();
	struct ovl_load *load;
	pthread_t thread;
	uint16_t port;

	s.listen_fd = listen_loopback(&port);
	pthread_create(&thread, NULL, server_main, &s);
	spec = remote_spec(port, 1, false);
	spec.plain = script->iperf3;
	if (then == SILENT)
		spec.connect_timeout_ms = BRIEF_MS;
	load = ovl_load_start(&spec, &err);
	if (load && !script->iperf3)
		read_broken(load, &err);
	else if (load && !ovl_load_read(load, OVL_LOAD_OVERLAY, &counts, &err))
		ovl_load_finish(load, &err);
	ovl_load_stop(load);
	*took_ms = (ovl_clock_ns() - t) / 1000000;
	shutdown(s.listen_fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(s.listen_fd);
	return err;
}

static bool sentence(const struct ovl_err *err)
{
	size_t n = strlen(err->text);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)err->text[i] < ' ')
			return false;
	return n > 20 && err->exit == OVL_EXIT_PEER;
}

/* Gone, or silent for ever, after each byte. */
static void test_cut(const struct script *s, const char *name, int then, size_t every)
{
	size_t clear = 0, n = 0;
	uint64_t ms, most = 0;

	for (size_t i = 0; i < s->n; i += every, n++) {
		struct ovl_err err = meet(s, i, then, &ms);

		if (sentence(&err))
			clear++;
		else
			printf("# after %zu bytes: \"%s\"\n", i, err.text);
		most = ms > most ? ms : most;
	}
	ok(clear == n, "%s, %s after each of %zu bytes: a sentence for %zu", name,
	   then == RESET ? "reset" : "silent", n, clear);
	ok(most < 10000, "the longest took %llu ms", (unsigned long long)most);
}

/* Each value where a state is due. Those that a server may say there lead on to the next step. */
static void test_states(struct script *s, const char *name, size_t at)
{
	const uint8_t was = s->text[at];
	uint64_t ms, most = 0;
	int clear = 0;

	for (int v = 0; v < 256; v++) {
		struct ovl_err err;

		s->text[at] = (uint8_t)v;
		err = meet(s, at + 1, RESET, &ms);
		clear += sentence(&err);
		most = ms > most ? ms : most;
	}
	s->text[at] = was;
	is_int(clear, 256, "%s: 256 states at byte %zu: a sentence for each", name, at);
	ok(most < 10000, "the longest took %llu ms", (unsigned long long)most);
}

static void test_texts(struct script *s, bool iperf3)
{
	static char deep[4000], longest[8100];
	const char *const texts[] = {
		"{}",
		"[]",
		"nonsense",
		"{\"instance\":1,\"version\":2}",
		"{\"instance\":\"\\u001b[31m\",\"version\":\"1\"}",
		"{\"cpu_util_total\":1e999,\"streams\":[]}",
		"{\"cpu_util_total\":-1,\"cpu_util_user\":0,\"cpu_util_system\":0,"
		"\"sender_has_retransmits\":0,\"streams\":[]}",
		"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0,"
		"\"sender_has_retransmits\":0,\"streams\":[{\"id\":-1,\"bytes\":-5,"
		"\"retransmits\":0,\"jitter\":0,\"errors\":0,\"packets\":0}]}",
		"{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0,"
		"\"sender_has_retransmits\":0,\"streams\":{}}",
		"{\"a\":\"\xff\xfe\"}",
		deep,
		longest};
	uint64_t ms;

	memset(deep, '[', sizeof(deep) - 1);
	memset(longest, ' ', sizeof(longest) - 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ovl_err err;

		if (iperf3)
			iperf3_script(s, texts[i]);
		else
			own_script(s, texts[i]);
		err = meet(s, s->n, RESET, &ms);
		ok(sentence(&err), "%.40s: %s", texts[i], err.text);
	}
}

/* A text's length that cannot be: refused before anything is read or taken. */
static void test_lengths(struct script *s, size_t at)
{
	static const uint32_t lengths[] = {0,	       1,	   256 * 1024 + 1,
					   0x7fffffff, 0x80000000, 0xffffffff};
	uint64_t ms;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct ovl_err err;

		ovl_be_put(s->text + at, lengths[i], 4);
		err = meet(s, at + 4, FLOOD, &ms);
		ok(sentence(&err) && ms < 5000, "a text of %u bytes: %s", lengths[i], err.text);
	}
}

int main(void)
{
	static struct script s;
	size_t before;

	own_script(&s, HELLO);
	test_cut(&s, "ovltrace peer", RESET, 1);
	before = rss_bytes();
	test_cut(&s, "ovltrace peer", SILENT, 23);
	test_states(&s, "ovltrace peer", 0);
	test_states(&s, "ovltrace peer", 1);
	test_texts(&s, false);
	own_script(&s, HELLO);
	test_lengths(&s, 2);
	iperf3_script(&s, RESULTS);
	test_cut(&s, "iperf3 server", RESET, 1);
	test_cut(&s, "iperf3 server", SILENT, 61);
	test_states(&s, "iperf3 server", 0);
	test_states(&s, "iperf3 server", 1);
	test_states(&s, "iperf3 server", 2);
	test_texts(&s, true);
	iperf3_script(&s, RESULTS);
	test_lengths(&s, 5);
	rss_bounded(before);
	return tap_done();
}
