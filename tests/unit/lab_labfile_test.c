/* The state file of a lab: what is written is read back; what is damaged is refused. */
#include "lab/labfile.h"

#include <stdlib.h>

#include "base/str.h"
#include "tap.h"

#define HEAD "ovltrace-lab 2\nmark x:1\n"
#define END  "ends 1\nend node1 ovl-x-node1 10.0.0.1 a 1 0 0 1 0\n"

static bool parses(const char *text, struct ovl_labfile *state)
{
	char *copy = strdup(text);
	bool good = copy && ovl_labfile_parse(copy, state);

	free(copy);
	return good;
}

static void round_trip(void)
{
	struct ovl_labfile in = {.complete = true,
				 .n_ends = 3,
				 .offloads = OVL_LAB_OFFLOADS_NOGSO,
				 .at_unix_s = 1700000000,
				 .lab = {.cpu_sender = 3,
					 .cpu_receiver = 70,
					 .max_frames = 800,
					 .n_ends = 3,
					 .load = {[OVL_LAB_LOAD_OVERLAY] = {true, 0, 2}}}};
	const struct ovl_lab_end ends[] = {
		{"node1", "ovl-k8s-node1", 0, 0, 1, 0, -1, "fd00:192:168:77::1", 'a', true},
		{"switch", "ovl-k8s-switch", 1, 1, 1, 1, -1, "", 'b', true},
		{"service", "", OVL_LAB_NOWHERE, 0, 2, 0, -1, "10.96.0.10", 'a', false},
	};
	struct ovl_buf text = {0};
	struct ovl_labfile out;

	memcpy(in.lab.ends, ends, sizeof(ends));
	ovl_str_copy(in.lab.topology, sizeof(in.lab.topology), "k8s");
	ovl_str_copy(in.lab.iface, sizeof(in.lab.iface), "flannel.1");
	ovl_str_copy(in.mark, sizeof(in.mark), "k8s:00ff");
	ovl_str_copy(in.by, sizeof(in.by), "root for anna, process 12 on pts/0");
	ovl_labfile_format(&in, &text);
	ok(parses(ovl_buf_str(&text), &out), "what is written can be read");
	is_str(out.lab.topology, "k8s", "topology");
	is_str(out.lab.iface, "flannel.1", "interface");
	is_str(out.by, in.by, "by whom");
	is_str(out.mark, "k8s:00ff", "mark");
	is_int(out.at_unix_s, 1700000000, "when");
	ok(out.complete, "complete");
	is_int(out.offloads, OVL_LAB_OFFLOADS_NOGSO, "offloads");
	is_int(out.lab.cpu_sender, 3, "sender's CPU");
	is_int(out.lab.cpu_receiver, 70, "receiver's CPU");
	is_int(out.lab.max_frames, 800, "bound on frames");
	is_int(out.lab.n_ends, 3, "number of ends");
	ok(!memcmp(&out.lab.load, &in.lab.load, sizeof(in.lab.load)), "load");
	for (uint32_t i = 0; i < 3; i++) {
		const struct ovl_lab_end *e = &out.lab.ends[i];

		ok(!strcmp(e->name, ends[i].name) && !strcmp(e->netns, ends[i].netns) &&
			   !strcmp(e->addr, ends[i].addr) && e->place == ends[i].place &&
			   e->server == ends[i].server && e->servers == ends[i].servers &&
			   e->host == ends[i].host && e->side == ends[i].side &&
			   e->node == ends[i].node && e->netns_fd == -1,
		   "end %s", ends[i].name);
	}
	ovl_buf_fini(&text);
}

static void damaged(void)
{
	static const struct {
		const char *text, *what;
	} rows[] = {
		{"", "empty file"},
		{"ovltrace-lab 1\ntopology x\n" END, "other format"},
		{HEAD "topology x\n", "no ends"},
		{HEAD END, "no topology"},
		{"ovltrace-lab 2\ntopology x\n" END, "no mark"},
		{HEAD "topology x\nend\n", "key without value"},
		{HEAD "topology x\nends 1\nend node1 production 10.0.0.1 a 1 0 0 1 0\n",
		 "a namespace without the lab's prefix is never ours"},
		{HEAD "topology x\nends 1\nend node1 ovl-mine 10.0.0.1 a 1 0 0 1 0\n",
		 "nor is another one with it"},
		{HEAD "topology x\nends 2\nend node1 ovl-x-node1 10.0.0.1 a 1 0 0 1 0\n",
		 "an end is missing"},
		{HEAD "topology x\nends 1\nend node1 ovl-../../etc/passwd 10.0.0.1 a 1 0 0 1 0\n",
		 "a path is no name"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 c 1 0 0 1 0\n",
		 "no such side"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 a 2 0 0 1 0\n",
		 "a node or not"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 a 1 7 0 1 0\n",
		 "no such place"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 a 1 0 7 1 0\n",
		 "no such server"},
		{HEAD "topology x\nends 1\nend node1 - 10.0.0.1 a 1 0 0 1 0\n",
		 "a place without namespace"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 a 1 255 0 1 0\n",
		 "no place but a namespace"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 a 1 0\n",
		 "too short an end"},
		{HEAD "topology x\nends 1\nend node1 ovl-x-node1 10.0.0.1 a 1 0 0 1 9\n",
		 "too long an end"},
		{HEAD "topology x\nload 9 0 0\n" END, "no such load"},
		{HEAD "topology x\nload 1 0 3\n" END, "load to no end"},
		{HEAD "topology x\niface_end 5\n" END, "interface at no end"},
		{HEAD "topology x\ncpu_sender -1\n" END, "negative CPU"},
		{HEAD "topology x\ncomplete 2\n" END, "complete is 0 or 1"},
		{HEAD "topology x\noffloads most\n" END, "unknown profile"},
	};
	struct ovl_labfile s;
	char many[4096] = HEAD "topology x\n", longest[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ok(!parses(rows[i].text, &s), "refused: %s", rows[i].what);
	for (int i = 0; i < OVL_LAB_ENDS_MAX + 1; i++)
		strcat(many, strchr(END, '\n') + 1);
	ok(!parses(many, &s), "too many ends refused");
	snprintf(longest, sizeof(longest),
		 HEAD "topology x\nends 1\nend node1 ovl-%0100d 1.1.1.1 a 1 0 0 1 0\n", 0);
	ok(!parses(longest, &s), "too long a name refused");
	ok(parses(HEAD "topology x\nlater thing\n" END, &s),
	   "a key of a later version is passed over");
	ok(!s.complete, "not complete unless it says so");
}

/* Who made it comes from the environment, and the file is read by lines. */
static void signature(void)
{
	struct ovl_labfile a = {.lab = {.topology = "host"}}, b = a;

	setenv("SUDO_USER", "anna\nmax_frames 1", 1);
	ovl_labfile_sign(&a);
	ovl_labfile_sign(&b);
	ok(!strchr(a.by, '\n') && strstr(a.by, "for anna?max_frames"), "by: %s", a.by);
	ok(!strncmp(a.mark, "host:", 5) && strcmp(a.mark, b.mark), "marks differ: %s, %s", a.mark,
	   b.mark);
	ok(a.at_unix_s > 1600000000, "when");
}

int main(void)
{
	signature();
	round_trip();
	damaged();
	is_str(ovl_labfile_offloads_name(OVL_LAB_OFFLOADS_CLOUD), "cloud", "profile name");
	is_str(ovl_labfile_offloads_name((enum ovl_lab_offloads)99), "?", "no profile");
	return tap_done();
}
