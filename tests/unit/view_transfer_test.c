/* iperf3's text and JSON from plain numbers, against what iperf3 3.12 itself has written. */
#include "view/transfer.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "tap.h"
#include "view/iperf3_text.h"
#include "view/json_iperf3.h"

#define GB (1024.0 * 1024 * 1024)
#define MB (1024.0 * 1024)

static struct ovl_transfer *make(uint32_t streams, bool reverse)
{
	struct ovl_transfer *t = malloc(sizeof(*t));

	ovl_transfer_init(t);
	snprintf(t->version, sizeof(t->version), "ovltrace 0.1.0");
	snprintf(t->system_info, sizeof(t->system_info), "Linux node 6.1.0 x86_64");
	snprintf(t->host, sizeof(t->host), "127.0.0.1");
	snprintf(t->cookie, sizeof(t->cookie), "ovltrace2aaaaaaaaaaaaaaaaaaaaaaaaaaa");
	snprintf(t->time, sizeof(t->time), "Mon, 30 Nov 2026 21:24:49 GMT");
	t->start_unix_s = 1796073889;
	t->port = 5301;
	t->block_bytes = 131072;
	t->mss_bytes = 32768;
	t->last_mss_bytes = 65483;
	t->rate_bps = t->window_bytes = 0;
	t->sndbuf_bytes = 16384;
	t->rcvbuf_bytes = 131072;
	t->omit_s = 1;
	t->duration_s = 2;
	t->reverse = reverse;
	t->keep = true;
	for (uint32_t i = 0; i < streams; i++) {
		struct ovl_transfer_stream *s = ovl_vec_push(&t->streams);

		s->socket = 5 + 2 * (int)i;
		snprintf(s->local_host, sizeof(s->local_host), "127.0.0.1");
		snprintf(s->remote_host, sizeof(s->remote_host), "127.0.0.1");
		s->local_port = (uint16_t)(35334 + 2 * i);
		s->remote_port = 5301;
		s->counted = ovl_transfer_unknown();
		s->far_bytes = s->far_retransmits = NAN;
	}
	return t;
}

/* One interval, written as text; the same numbers for all streams but for what is given. */
static void interval(struct ovl_transfer *t, struct ovl_buf *out, bool omitted, bool first,
		     const struct ovl_transfer_row *rows)
{
	struct ovl_transfer_interval in = {.omitted = omitted};

	for (size_t i = 0; i < t->streams.n; i++)
		*(struct ovl_transfer_row *)ovl_vec_push(&in.rows) = rows[i];
	ok(!ovl_transfer_add(t, &in), "an interval is added");
	ovl_iperf3_text_interval(out, t, &t->intervals.v[t->intervals.n - 1], first);
}

static void release(struct ovl_transfer *t)
{
	ovl_transfer_fini(t);
	free(t);
}

/* The line that begins with `head`, its n-th occurrence; "" if there is none. */
static const char *line_of(const struct ovl_buf *b, const char *head, int n)
{
	static char line[200];
	const char *p = ovl_buf_str(b);

	line[0] = '\0';
	while (p && *p) {
		if (!strncmp(p, head, strlen(head)) && n-- == 0) {
			snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
			break;
		}
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	return line;
}

/* As iperf3 3.12 wrote it, but for RTT and blanks at the ends of lines. */
static void test_text_two(void)
{
	const struct ovl_transfer_row omitted[2] = {
		{0, 1, 3.41 * GB, 3, 8.49 * MB, 2e7, 45, 8, 65535},
		{0, 1, 3.40 * GB, 6, 3.50 * MB, 2e7, 1234, 8, 65535}};
	const struct ovl_transfer_row rows[2] = {
		{0, 2, 5.15 * GB, 0, 107 * 1024, 2e7, NAN, 8, 1500},
		{0, 2, 5.17 * GB, 2, 3.81 * MB, 2e7, 99960, 8, 1500}};
	struct ovl_transfer *t = make(2, false);
	struct ovl_buf b = {0};

	ovl_iperf3_text_start(&b, t);
	interval(t, &b, true, true, omitted);
	interval(t, &b, false, false, rows);
	t->streams.v[0].far_bytes = 5.14 * GB;
	t->streams.v[1].far_bytes = 5.16 * GB;
	t->far_bytes = 10.3 * GB;
	t->sender = (struct ovl_transfer_side){177.56, 0.25, 1.07};
	t->receiver.cpu_ns_per_kib = 129.5;
	t->rwnd_ratio = 0.03;
	t->sndbuf_ratio = 0;
	strcpy(t->sender_congestion, "cubic");
	strcpy(t->disagreement, "sender and receiver disagree by 3.1 %");
	ovl_iperf3_text_end(&b, t);
	is_str(ovl_buf_str(&b),
	       "Connecting to host 127.0.0.1, port 5301\n"
	       "[  5] local 127.0.0.1 port 35334 connected to 127.0.0.1 port 5301\n"
	       "[  7] local 127.0.0.1 port 35336 connected to 127.0.0.1 port 5301\n"
	       "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd         RTT\n"
	       "[  5]   0.00-1.00   sec  3.41 GBytes  29.3 Gbits/sec    3   8.49 MBytes    45 us  "
	       "(omitted)\n"
	       "[  7]   0.00-1.00   sec  3.40 GBytes  29.2 Gbits/sec    6   3.50 MBytes  1.23 ms  "
	       "(omitted)\n"
	       "[SUM]   0.00-1.00   sec  6.81 GBytes  58.5 Gbits/sec    9                         "
	       "(omitted)\n"
	       "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
	       "[  5]   0.00-2.00   sec  5.15 GBytes  22.1 Gbits/sec    0    107 KBytes     -\n"
	       "[  7]   0.00-2.00   sec  5.17 GBytes  22.2 Gbits/sec    2   3.81 MBytes   100 ms\n"
	       "[SUM]   0.00-2.00   sec  10.3 GBytes  44.3 Gbits/sec    2\n"
	       "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
	       "[ ID] Interval           Transfer     Bitrate         Retr\n"
	       "[  5]   0.00-2.00   sec  5.15 GBytes  22.1 Gbits/sec    0             sender\n"
	       "[  5]   0.00-2.00   sec  5.14 GBytes  22.1 Gbits/sec                  receiver\n"
	       "[  7]   0.00-2.00   sec  5.17 GBytes  22.2 Gbits/sec    2             sender\n"
	       "[  7]   0.00-2.00   sec  5.16 GBytes  22.2 Gbits/sec                  receiver\n"
	       "[SUM]   0.00-2.00   sec  10.3 GBytes  44.3 Gbits/sec    2             sender\n"
	       "[SUM]   0.00-2.00   sec  10.3 GBytes  44.2 Gbits/sec                  receiver\n"
	       "sender    CPU 177.6 ns/KiB, context switches per MiB: 0.25 voluntary, 1.07 "
	       "involuntary\n"
	       "receiver  CPU 129.5 ns/KiB, context switches per MiB: - voluntary, - "
	       "involuntary\n"
	       "TCP       cubic, MSS 65483; limited by the receiver's window 3.0 %, by the send "
	       "buffer 0.0 % of the time\n"
	       "sender and receiver disagree by 3.1 %\n",
	       "two streams, one omitted interval: iperf3's lines");
	ovl_buf_fini(&b);
	release(t);
}

static void test_text_receiving(void)
{
	const struct ovl_transfer_row row = {1, 2, 3.13 * GB, NAN, NAN, NAN, NAN, NAN, NAN};
	struct ovl_transfer *t = make(1, true);
	struct ovl_buf b = {0};

	ovl_iperf3_text_start(&b, t);
	interval(t, &b, true, true, &row);
	interval(t, &b, false, false, &row);
	t->far_bytes = t->streams.v[0].far_bytes = 3.14 * GB;
	t->far_retransmits = t->streams.v[0].far_retransmits = 5;
	ovl_iperf3_text_end(&b, t);
	is_str(ovl_buf_str(&b),
	       "Connecting to host 127.0.0.1, port 5301\n"
	       "Reverse mode, remote host 127.0.0.1 is sending\n"
	       "[  5] local 127.0.0.1 port 35334 connected to 127.0.0.1 port 5301\n"
	       "[ ID] Interval           Transfer     Bitrate\n"
	       "[  5]   1.00-2.00   sec  3.13 GBytes  26.9 Gbits/sec                  (omitted)\n"
	       "[  5]   1.00-2.00   sec  3.13 GBytes  26.9 Gbits/sec\n"
	       "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
	       "[ ID] Interval           Transfer     Bitrate         Retr\n"
	       "[  5]   1.00-2.00   sec  3.14 GBytes  27.0 Gbits/sec    5             sender\n"
	       "[  5]   1.00-2.00   sec  3.13 GBytes  26.9 Gbits/sec                  receiver\n"
	       "sender    CPU - ns/KiB, context switches per MiB: - voluntary, - involuntary\n"
	       "receiver  CPU - ns/KiB, context switches per MiB: - voluntary, - involuntary\n"
	       "TCP       -, MSS 65483\n",
	       "reverse: no Retr, Cwnd and RTT while receiving");
	ovl_buf_fini(&b);
	release(t);
}

static void test_units(void)
{
	static const struct {
		double bytes;
		const char *transfer, *rate;
	} cases[] = {{0, "0.00 Bytes", "0.00 bits/sec"},
		     {1, "1.00 Bytes", "8.00 bits/sec"},
		     {1023, "1023 Bytes", "8.18 Kbits/sec"},
		     {1024, "1.00 KBytes", "8.19 Kbits/sec"},
		     {1.25 * MB, "1.25 MBytes", "10.5 Mbits/sec"},
		     {1012 * MB, "1012 MBytes", "8.49 Gbits/sec"},
		     {99.96 * MB, " 100 MBytes", " 839 Mbits/sec"},
		     {9.996 * MB, "10.0 MBytes", "83.9 Mbits/sec"},
		     {2000 * GB, "1.95 TBytes", "17.2 Tbits/sec"},
		     {NAN, "   - ", "   - "}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ovl_transfer_row row = {0, 1, cases[i].bytes, 0, NAN, NAN, NAN, NAN, NAN};
		struct ovl_transfer *t = make(1, true);
		struct ovl_buf b = {0};
		char want[100];

		interval(t, &b, false, true, &row);
		snprintf(want, sizeof(want), "[  5]   0.00-1.00   sec  %-11s  %s",
			 cases[i].transfer, cases[i].rate);
		while (want[strlen(want) - 1] == ' ')
			want[strlen(want) - 1] = '\0';
		is_str(line_of(&b, "[  5]", 0), want, "%g bytes in a second", cases[i].bytes);
		ovl_buf_fini(&b);
		release(t);
	}
}

static void test_nothing(void)
{
	struct ovl_transfer *t = make(1, false);
	struct ovl_buf b = {0};

	ovl_iperf3_text_end(&b, t);
	is_str(ovl_buf_str(&b), "nothing was measured: it ended before that began\n",
	       "ended during the omitted time: said, no zeros");
	ovl_buf_clear(&b);
	t->error = "the peer has gone";
	ovl_json_iperf3(&b, t);
	ok(strstr(ovl_buf_str(&b), "\"error\":\"the peer has gone\""), "and JSON has the error");
	ovl_buf_fini(&b);
	release(t);
}

static void test_totals(void)
{
	const struct ovl_transfer_row a = {0, 1, 100, 2, 10, 70, 40, 1, 1500};
	const struct ovl_transfer_row c = {1, 2.5, 50, 3, 30, 60, NAN, 1, 1500};
	const struct ovl_transfer_row d = {2.5, 3, 1, NAN, 5, 1, 20, 1, 1500};
	struct ovl_transfer *t = make(1, false);
	const struct ovl_transfer_stream *s = &t->streams.v[0];
	struct ovl_buf b = {0};

	t->keep = false;
	interval(t, &b, true, true, &a);
	ok(isnan(s->counted.bytes) && isnan(t->sum.bytes), "what is omitted counts for nothing");
	interval(t, &b, false, false, &a);
	interval(t, &b, false, false, &c);
	ok(s->counted.bytes == 150 && s->counted.retransmits == 5 && s->counted.start_s == 0 &&
		   s->counted.end_s == 2.5 && t->sum.bytes == 150,
	   "intervals add up");
	ok(s->max_cwnd_bytes == 30 && s->max_snd_wnd_bytes == 70 && s->max_rtt_us == 40 &&
		   s->min_rtt_us == 40 && s->rtt_n == 1,
	   "what is not known of one is that of the others");
	interval(t, &b, false, false, &d);
	ok(s->counted.bytes == 151 && isnan(s->counted.retransmits) && s->min_rtt_us == 20 &&
		   s->rtt_n == 2,
	   "a sum with an unknown part is unknown");
	ok(t->intervals.n == 1 && t->intervals.v[0].sum.bytes == 1,
	   "only the last interval is kept unless all are asked for");
	ovl_buf_fini(&b);
	release(t);
}

static int wrong_members;

static const char *kind(json_type type)
{
	/* iperf3 writes whole numbers without a point, so both are one kind */
	return type == json_type_double ? "int" : json_type_to_name(type);
}

/* Every member of `theirs` is in `ours`, with the same kind of value. */
static void compare(const char *path, struct json_object *theirs, struct json_object *ours)
{
	char deeper[256];

	if (strcmp(kind(json_object_get_type(theirs)), kind(json_object_get_type(ours))) != 0) {
		printf("# %s: iperf3 has %s, ours is %s\n", path,
		       json_type_to_name(json_object_get_type(theirs)),
		       json_type_to_name(json_object_get_type(ours)));
		wrong_members++;
	} else if (json_object_is_type(theirs, json_type_object)) {
		json_object_object_foreach(theirs, key, value)
		{
			struct json_object *mine = NULL;

			snprintf(deeper, sizeof(deeper), "%.200s.%s", path, key);
			if (json_object_object_get_ex(ours, key, &mine)) {
				compare(deeper, value, mine);
			} else {
				printf("# %s is missing\n", deeper);
				wrong_members++;
			}
		}
	} else if (json_object_is_type(theirs, json_type_array)) {
		size_t n = json_object_array_length(theirs);

		snprintf(deeper, sizeof(deeper), "%.200s[]", path);
		if (!json_object_array_length(ours))
			wrong_members++;
		for (size_t i = 0; i < n && i < json_object_array_length(ours); i++)
			compare(deeper, json_object_array_get_idx(theirs, i),
				json_object_array_get_idx(ours, i));
	}
}

static void test_json(const char *file, uint32_t streams, bool reverse)
{
	const struct ovl_transfer_row rows[2] = {{0, 1, 5 * GB, 3, 8 * MB, 2e7, 45, 8, 65535},
						 {0, 1, 5 * GB, 2, 4 * MB, 2e7, 46, 8, 65535}};
	struct ovl_transfer *t = make(streams, reverse);
	struct json_object *theirs = json_object_from_file(file), *ours;
	struct ovl_buf b = {0};

	interval(t, &b, true, true, rows);
	interval(t, &b, false, false, rows);
	for (uint32_t i = 0; i < streams; i++)
		t->streams.v[i].far_bytes = t->streams.v[i].far_retransmits = 1;
	t->far_bytes = t->far_retransmits = streams;
	t->host_cpu = t->host_user_cpu = t->host_system_cpu = 30.5;
	t->remote_cpu = t->remote_user_cpu = t->remote_system_cpu = 21.25;
	snprintf(t->sender_congestion, sizeof(t->sender_congestion), "cubic");
	snprintf(t->receiver_congestion, sizeof(t->receiver_congestion), "bbr");
	if (reverse) /* a receiver knows none, iperf3 writes 0 */
		for (uint32_t i = 0; i < streams; i++)
			t->streams.v[i].max_cwnd_bytes = t->streams.v[i].max_snd_wnd_bytes = 1;
	ovl_buf_clear(&b);
	ovl_json_iperf3(&b, t);
	ours = json_tokener_parse(ovl_buf_str(&b));
	wrong_members = 0;
	ok(theirs && ours, "%s: both are JSON", file);
	compare("", theirs, ours);
	is_int(wrong_members, 0, "%s: each member of iperf3's is in ours, of the same kind", file);
	json_object_put(theirs);
	json_object_put(ours);
	ovl_buf_fini(&b);
	release(t);
}

/* What is not known is null and not 0. */
static void test_json_unknown(void)
{
	const struct ovl_transfer_row row = {0, 1, 5 * GB, NAN, NAN, NAN, NAN, NAN, NAN};
	struct ovl_transfer *t = make(1, false);
	struct ovl_buf b = {0};

	interval(t, &b, false, true, &row);
	ovl_buf_clear(&b);
	ovl_json_iperf3(&b, t);
	ok(strstr(ovl_buf_str(&b), "\"rtt\":null") &&
		   strstr(ovl_buf_str(&b), "\"mean_rtt\":null") &&
		   strstr(ovl_buf_str(&b), "\"remote_total\":null") &&
		   strstr(ovl_buf_str(&b), "\"retransmits\":null"),
	   "what is not known is null");
	ovl_buf_fini(&b);
	release(t);
}

int main(void)
{
	test_text_two();
	test_text_receiving();
	test_units();
	test_nothing();
	test_totals();
	test_json("tests/golden/iperf3_p2.json", 2, false);
	test_json("tests/golden/iperf3_r1.json", 1, true);
	test_json_unknown();
	return tap_done();
}
