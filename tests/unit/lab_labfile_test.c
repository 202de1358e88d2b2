/* The state file of a lab: what is written is read back; what is damaged is refused. */
#include "lab/labfile.h"

#include <stdlib.h>

#include "base/str.h"
#include "tap.h"

#define HEAD "ovltrace-lab 1\n"

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
				 .offloads = OVL_LAB_OFFLOADS_NOGSO,
				 .cpu_sender = 3,
				 .cpu_receiver = 70,
				 .max_frames = 800,
				 .n_netns = 2};
	struct ovl_buf text = {0};
	struct ovl_labfile out;

	ovl_str_copy(in.topology, sizeof(in.topology), "flannel-vxlan");
	ovl_str_copy(in.tunnel, sizeof(in.tunnel), "flannel.1");
	ovl_str_copy(in.netns[0], sizeof(in.netns[0]), "ovl-flannel-vxlan-node1");
	ovl_str_copy(in.netns[1], sizeof(in.netns[1]), "ovl-flannel-vxlan-pod1");
	ovl_labfile_format(&in, &text);
	ok(parses(ovl_buf_str(&text), &out), "what is written can be read");
	is_str(out.topology, "flannel-vxlan", "topology");
	is_str(out.tunnel, "flannel.1", "tunnel");
	ok(out.complete, "complete");
	is_int(out.offloads, OVL_LAB_OFFLOADS_NOGSO, "offloads");
	is_int(out.cpu_sender, 3, "sender's CPU");
	is_int(out.cpu_receiver, 70, "receiver's CPU");
	is_int(out.max_frames, 800, "bound on frames");
	is_int(out.n_netns, 2, "number of namespaces");
	is_str(out.netns[1], "ovl-flannel-vxlan-pod1", "second namespace");
	ovl_buf_fini(&text);
}

static void damaged(void)
{
	struct ovl_labfile s;
	char many[2048] = HEAD "topology x\n", longest[200];

	ok(!parses("", &s), "empty file refused");
	ok(!parses("ovltrace-lab 2\ntopology x\nnetns ovl-x-a\n", &s), "other format refused");
	ok(!parses(HEAD "topology x\n", &s), "no namespaces refused");
	ok(!parses(HEAD "netns ovl-x-a\n", &s), "no topology refused");
	ok(!parses(HEAD "topology x\nnetns\n", &s), "key without value refused");
	ok(!parses(HEAD "topology x\nnetns production\n", &s),
	   "a namespace without the lab's prefix is never ours");
	ok(!parses(HEAD "topology x\nnetns ovl-../../etc/passwd\n", &s), "a path is no name");
	ok(!parses(HEAD "topology x\ncpu_sender -1\nnetns ovl-x-a\n", &s), "negative CPU refused");
	ok(!parses(HEAD "topology x\ncomplete 2\nnetns ovl-x-a\n", &s), "complete is 0 or 1");
	ok(!parses(HEAD "topology x\noffloads most\nnetns ovl-x-a\n", &s),
	   "unknown profile refused");
	for (int i = 0; i < OVL_LAB_ENDS_MAX + 1; i++)
		strcat(many, "netns ovl-x-a\n");
	ok(!parses(many, &s), "too many namespaces refused");
	snprintf(longest, sizeof(longest), HEAD "topology x\nnetns ovl-%0100d\n", 0);
	ok(!parses(longest, &s), "too long a name refused");
	ok(parses(HEAD "topology x\nlater thing\nnetns ovl-x-a\n", &s),
	   "a key of a later version is passed over");
	ok(!s.complete, "not complete unless it says so");
}

int main(void)
{
	round_trip();
	damaged();
	is_str(ovl_labfile_offloads_name(OVL_LAB_OFFLOADS_CLOUD), "cloud", "profile name");
	is_str(ovl_labfile_offloads_name((enum ovl_lab_offloads)99), "?", "no profile");
	return tap_done();
}
