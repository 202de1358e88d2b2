/* Finding the interface and its path, in namespaces of this test's own. */
#include "collect/collect.h"
#include "collect/links.h"
#include "collect/netns.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int id;			   /* of this run: in every name */
static char twice[16], thrice[16]; /* an interface that exists twice, and one that does not exist */

static int sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int sh(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command);
}

static const char *name(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *name(const char *fmt, ...)
{
	static char ring[8][64];
	static int at;
	char *s = ring[at++ % 8];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(ring[0]), fmt, ap);
	va_end(ap);
	return s;
}

static void clean_up(void)
{
	const char *const ns[] = {"node", "far", "pod1", "pod2", "two1", "two2"};

	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++)
		sh("ip netns del tgt-%d-%s 2>/dev/null", id, ns[i]);
	for (int i = 0; i < 14; i++)
		sh("ip netns del tgt-%d-m%d 2>/dev/null", id, i);
}

/*
 * A flannel-like node: eth0 (to "far"), flannel.1, cni0 with two pods that only routes connect to
 * it.
 */
static int make_node(void)
{
	int rc = 0;

	for (int i = 1; i <= 2; i++) {
		rc |= sh("ip netns add tgt-%d-pod%d && ip netns add tgt-%d-two%d", id, i, id, i);
		rc |= sh("ip -n tgt-%d-two%d link add %s type bridge", id, i, twice);
	}
	rc |= sh("ip netns add tgt-%d-node && ip netns add tgt-%d-far", id, id);
	rc |= sh("ip -n tgt-%d-node link add eth0 mtu 1400 type veth peer name eth0 netns "
		 "tgt-%d-far",
		 id, id);
	rc |= sh("ip -n tgt-%d-node addr add 192.0.2.1/24 dev eth0 && "
		 "ip -n tgt-%d-node link set eth0 up",
		 id, id);
	rc |= sh("ip -n tgt-%d-node link add ovl%d type vxlan id 7 dstport 8472 nolearning "
		 "local 192.0.2.1 dev eth0",
		 id, id);
	rc |= sh("ip -n tgt-%d-node link add vxaddr type vxlan id 8 dstport 8473 local 192.0.2.1",
		 id);
	rc |= sh("ip -n tgt-%d-node link add vxroute type vxlan id 9 dstport 8474 remote 192.0.2.9",
		 id);
	rc |= sh("ip -n tgt-%d-node link add vxfdb type vxlan id 10 dstport 8475 nolearning && "
		 "ip netns exec tgt-%d-node bridge fdb append 02:00:00:00:00:01 dev vxfdb "
		 "dst 192.0.2.8 self",
		 id, id);
	rc |= sh("ip -n tgt-%d-node link add cni0 type bridge", id);
	for (int i = 1; i <= 2; i++)
		rc |= sh("ip -n tgt-%d-node link add vethp%d type veth peer name eth0 netns "
			 "tgt-%d-pod%d "
			 "&& ip -n tgt-%d-node link set vethp%d master cni0",
			 id, i, id, i, id, i);
	return rc;
}

/* Index of a device in the facts by namespace name and device name, -1: none. */
static int link_at(const struct ovl_facts *f, const char *ns, const char *dev)
{
	for (size_t i = 0; i < f->links.n; i++)
		if (!strcmp(ovl_facts_ns(f, f->links.v[i].ns), ns) &&
		    !strcmp(f->links.v[i].name, dev))
			return (int)i;
	return -1;
}

static const char *lower_name(const struct ovl_facts *f, int link)
{
	int lower = link < 0 ? -1 : f->links.v[link].lower;

	return lower < 0 ? "none" : f->links.v[lower].name;
}

static const char *master_name(const struct ovl_facts *f, int link)
{
	int master = link < 0 ? -1 : f->links.v[link].master;

	return master < 0 ? "none" : f->links.v[master].name;
}

static void check_node(const struct ovl_facts *f, const struct ovl_target *t)
{
	const char *node = name("tgt-%d-node", id);
	const struct ovl_link *iface = ovl_facts_iface(f);
	int dev = link_at(f, node, name("ovl%d", id));
	bool has_tso = false;

	is_str(ovl_facts_ns(f, 0), node, "the first namespace is the interface's, by name");
	ok(iface && dev >= 0 && iface == &f->links.v[dev], "the interface is the one asked for");
	is_str(iface->kind, "vxlan", "its kind");
	is_int(iface->mtu, 1350, "its MTU");
	ok(!iface->up, "it is down");
	is_str(lower_name(f, dev), "eth0", "its underlay");
	ok(f->vxlan.valid && f->vxlan.vni == 7 && f->vxlan.port == 8472, "vxlan: VNI and port");
	is_str(f->vxlan.local, "192.0.2.1", "vxlan: local address");
	is_str(f->vxlan.dev, "eth0", "vxlan: device");
	ok(link_at(f, node, "cni0") >= 0, "the bridge that only routes lead to is there");
	for (int i = 1; i <= 2; i++) {
		const char *pod = name("tgt-%d-pod%d", id, i);
		int port = link_at(f, node, name("vethp%d", i)), eth = link_at(f, pod, "eth0");

		ok(port >= 0 && eth >= 0, "pod %d: port and pod device found", i);
		ok(port >= 0 && eth >= 0 && f->links.v[port].lower == eth &&
			   f->links.v[eth].lower == port,
		   "pod %d: they are each other's peer", i);
		is_str(master_name(f, port), "cni0", "pod %d: its port's bridge", i);
		is_str(master_name(f, eth), "none", "pod %d: its device is no port", i);
	}
	ok(link_at(f, name("tgt-%d-far", id), "eth0") < 0,
	   "the far end of the underlay is not part of this node");
	is_int(f->ns.n, 3, "three namespaces: node and two pods");
	is_int(t->n_ns, 3, "with a descriptor each");
	for (uint32_t i = 0; i < t->n_ns; i++)
		ok(ovl_netns_inode(t->ns_fd[i]) == f->ns.v[i].inode, "descriptor %u fits its facts",
		   i);
	ovl_vec_each(feature, &f->links.v[link_at(f, node, "eth0")].features)
		has_tso |= !strcmp(feature->name, "tx-tcp-segmentation") && feature->on;
	ok(has_tso, "a veth has TSO on, by ethtool's name");
}

static void test_node(void)
{
	struct ovl_facts f = {0};
	struct ovl_target t;
	struct ovl_err err = OVL_ERR_INIT;
	const uint64_t before = ovl_netns_inode(open("/proc/thread-self/ns/net", O_RDONLY));
	int fd;

	is_int(ovl_target_find(name("ovl%d", id), NULL, NULL, &f, &t, &err), 0,
	       "unique elsewhere: %s", err.text);
	ok(strstr(t.said, name("tgt-%d-node", id)), "said: %s", t.said);
	check_node(&f, &t);
	fd = ovl_netns_open(name("tgt-%d-far", id), &err);
	is_int(ovl_target_add_ns(&t, &f, "twin:a-node", fd, &err), 0, "another namespace is added");
	ok(link_at(&f, "twin:a-node", "eth0") >= 0 && link_at(&f, "twin:a-node", "lo") >= 0,
	   "with all its devices under the name given");
	is_str(lower_name(&f, link_at(&f, "twin:a-node", "eth0")), "eth0",
	       "and both ends of the underlay know each other");
	fd = ovl_netns_open(name("tgt-%d-pod1", id), &err);
	is_int(ovl_target_add_ns(&t, &f, "other", fd, &err), 0,
	       "a namespace that is known already");
	is_int(f.ns.n, 4, "is not there twice");
	ok(link_at(&f, name("tgt-%d-pod1", id), "lo") >= 0, "its other devices are added");
	ok(ovl_netns_inode(open("/proc/thread-self/ns/net", O_RDONLY)) == before,
	   "the thread is in its own namespace again");
	ovl_target_close(&t);
	ovl_facts_fini(&f);
}

static void test_underlay(const char *iface)
{
	struct ovl_facts f = {0};
	struct ovl_target t;
	struct ovl_err err = OVL_ERR_INIT;

	is_int(ovl_target_find(iface, name("tgt-%d-node", id), NULL, &f, &t, &err), 0,
	       "%s found: %s", iface, err.text);
	is_str(lower_name(&f, f.iface), "eth0", "%s: underlay without `dev`", iface);
	is_str(f.vxlan.dev, "", "%s: no device set", iface);
	is_str(t.said, "", "%s: nothing to say when the namespace was given", iface);
	ovl_target_close(&t);
	ovl_facts_fini(&f);
}

/* More pods than there is room for: what is left out is said, and a twin still finds room. */
static void test_many(void)
{
	struct ovl_facts f = {0};
	struct ovl_target t;
	struct ovl_err err = OVL_ERR_INIT;

	for (int i = 0; i < 14; i++)
		sh("ip netns add tgt-%d-m%d && ip -n tgt-%d-far link add many%d type veth "
		   "peer name eth0 netns tgt-%d-m%d",
		   id, i, id, i, id, i);
	sh("ip -n tgt-%d-far link add ovlm%d type vxlan id 11 dstport 8476 dev eth0", id, id);
	is_int(ovl_target_find(name("ovlm%d", id), NULL, NULL, &f, &t, &err), 0, "routed pods: %s",
	       err.text);
	is_int(f.ns.n, 12, "12 namespaces: the node and 11 of 14 pods");
	ok(strstr(t.said, "pods left out: 3"), "said: %s", t.said);
	is_int(ovl_target_add_ns(&t, &f, "twin:a-node",
				 ovl_netns_open(name("tgt-%d-pod1", id), &err), &err),
	       0, "a twin finds room");
	ovl_target_close(&t);
	ovl_facts_fini(&f);
}

/* All ports of a bridge count, however many; without their pods where they are too many. */
static void test_ports(void)
{
	struct ovl_facts f = {0};
	struct ovl_target t;
	struct ovl_err err = OVL_ERR_INIT;
	int ports = 0, others = 0;

	sh("(echo link add brp%d type bridge; for i in $(seq 70); do echo link add bp$i master "
	   "brp%d type veth peer name bq$i; done) | ip -n tgt-%d-far -batch -",
	   id, id, id);
	is_int(ovl_target_find(name("brp%d", id), NULL, NULL, &f, &t, &err), 0,
	       "a bridge with 70 ports: %s", err.text);
	ovl_vec_each(link, &f.links) {
		ports += link->master == f.iface;
		others += link->name[1] == 'q';
	}
	is_int(ports, 70, "each port is there and knows its bridge");
	is_int(others, 64, "64 of them are followed");
	ok(strstr(t.said, "left out: 6"), "said: %s", t.said);
	ovl_target_close(&t);
	ovl_facts_fini(&f);
}

/* A pod on a bridge that a veth pair joins to another bridge, looked at from each of them. */
static void test_nested(void)
{
	const char *const ifaces[] = {"outer", "inner", "eth9"};
	const char *node = name("tgt-%d-node", id), *pod = name("tgt-%d-pod1", id);

	sh("(echo link add outer type bridge; echo link add inner type bridge; "
	   "echo link add up0 master inner type veth peer name down0; "
	   "echo link set down0 master outer; "
	   "echo link add podv master inner type veth peer name eth9 netns tgt-%d-pod1) | "
	   "ip -n tgt-%d-node -batch -",
	   id, id);
	for (size_t i = 0; i < sizeof(ifaces) / sizeof(*ifaces); i++) {
		struct ovl_facts f = {0};
		struct ovl_target t;
		struct ovl_err err = OVL_ERR_INIT;

		is_int(ovl_target_find(ifaces[i], i < 2 ? node : pod, NULL, &f, &t, &err), 0,
		       "%s found: %s", ifaces[i], err.text);
		ok(link_at(&f, node, "outer") >= 0 && link_at(&f, node, "inner") >= 0 &&
			   link_at(&f, pod, "eth9") >= 0,
		   "%s: both bridges and the pod are on its path", ifaces[i]);
		is_str(master_name(&f, link_at(&f, node, "down0")), "outer",
		       "%s: one end of the pair", ifaces[i]);
		is_str(master_name(&f, link_at(&f, node, "up0")), "inner", "%s: the other end",
		       ifaces[i]);
		ovl_target_close(&t);
		ovl_facts_fini(&f);
	}
}

static int find(const char *iface, const char *netns, int (*prefer)(const char *const *, uint32_t),
		struct ovl_err *err, char ns[OVL_NAME_MAX])
{
	struct ovl_facts f = {0};
	struct ovl_target t;
	int rc;

	*err = OVL_ERR_INIT;
	rc = ovl_target_find(iface, netns, prefer, &f, &t, err);
	if (ns)
		snprintf(ns, OVL_NAME_MAX, "%s", rc ? "" : ovl_facts_ns(&f, 0));
	if (!rc)
		ovl_target_close(&t);
	ovl_facts_fini(&f);
	return rc;
}

static int take_two2(const char *const *names, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (strstr(names[i], "two2"))
			return (int)i;
	return -1;
}

static int take_none(const char *const *names, uint32_t n)
{
	(void)names;
	return n == 2 ? -1 : 99;
}

static void test_several(void)
{
	struct ovl_err err;
	char ns[OVL_NAME_MAX];

	is_int(find(twice, NULL, NULL, &err, NULL), -ENODEV, "twice and nobody to decide");
	is_int(err.exit, OVL_EXIT_INPUT, "exit code 7");
	ok(strstr(err.text, name("tgt-%d-two1", id)) && strstr(err.text, name("tgt-%d-two2", id)) &&
		   strstr(err.text, "--netns"),
	   "%s", err.text);
	is_int(find(twice, NULL, take_none, &err, NULL), -ENODEV, "no preference");
	is_int(find(twice, NULL, take_two2, &err, ns), 0, "a preference decides");
	is_str(ns, name("tgt-%d-two2", id), "for the one preferred");
	is_int(find(twice, name("tgt-%d-two1", id), NULL, &err, ns), 0, "--netns decides");
	is_str(ns, name("tgt-%d-two1", id), "for the one named");
	is_int(find(twice, name("/run/netns/tgt-%d-two2", id), NULL, &err, ns), 0, "by path");
	is_str(ns, name("tgt-%d-two2", id), "with its name");
}

static void test_bad_input(void)
{
	struct ovl_err err;

	is_int(find(thrice, NULL, NULL, &err, NULL), -ENODEV, "unknown interface");
	is_int(err.exit, OVL_EXIT_INPUT, "exit code 7");
	ok(strstr(err.text, "similar: ") && strstr(err.text, twice), "%s", err.text);
	is_int(find(twice, name("tgt-%d-pod1", id), NULL, &err, NULL), -ENODEV,
	       "only the given namespace is searched");
	ok(strstr(err.text, name("tgt-%d-pod1", id)), "%s", err.text);
	is_int(find("", NULL, NULL, &err, NULL), -EINVAL, "empty name");
	is_int(err.exit, OVL_EXIT_USAGE, "is a usage error");
	is_int(find("sixteen-letters-", NULL, NULL, &err, NULL), -EINVAL, "16 bytes are too long");
	is_int(err.exit, OVL_EXIT_USAGE, "and a usage error");
	is_int(find("lo", "tgt-there-is-none", NULL, &err, NULL), -ENOENT, "unknown namespace");
	is_int(err.exit, OVL_EXIT_INPUT, "exit code 7");
	ok(strstr(err.text, "tgt-there-is-none"), "%s", err.text);
	is_int(find("lo", "/proc/self/ns/uts", NULL, &err, NULL), -EINVAL,
	       "another kind of namespace");
	is_int(find("lo", "/dev/null", NULL, &err, NULL), -EINVAL, "no namespace at all");
	is_int(find("lo", "", NULL, &err, NULL), -EINVAL, "empty namespace");
	ok(find("lo", "2147483647", NULL, &err, NULL) < 0, "no such process: %s", err.text);
	ok(find("lo", "../../etc/passwd", NULL, &err, NULL) < 0, "a path that is no namespace");
}

static void test_current(void)
{
	struct ovl_facts f = {0};
	struct ovl_target t;
	struct ovl_err err = OVL_ERR_INIT;

	is_int(ovl_target_find("lo", NULL, NULL, &f, &t, &err), 0,
	       "found in the current namespace");
	is_str(t.said, "", "nothing to say");
	ok(f.iface >= 0 && !strcmp(ovl_facts_iface(&f)->name, "lo"), "lo it is");
	is_str(f.iface >= 0 ? ovl_facts_iface(&f)->kind : "", "loopback", "its kind");
	ok(!f.vxlan.valid, "no vxlan");
	ok(strncmp(ovl_facts_ns(&f, 0), "net:[", 5) == 0 || *ovl_facts_ns(&f, 0), "named %s",
	   ovl_facts_ns(&f, 0));
	ovl_target_host(&f);
	ok(f.cpus > 0 && *f.kernel && *f.arch && *f.tool_version && f.start_unix_ns, "host facts");
	ovl_target_close(&t);
	ovl_facts_fini(&f);
}

/* A namespace that only a process holds. */
static void test_process(void)
{
	struct ovl_err err;
	char ns[OVL_NAME_MAX], want[OVL_NAME_MAX], byte;
	const char *dev = name("ovlp%d", id);
	int ready[2];
	pid_t pid;

	if (pipe(ready))
		return;
	pid = fork();
	if (!pid) {
		int rc = unshare(CLONE_NEWNET) || sh("ip link add %s type bridge", dev);

		if (write(ready[1], rc ? "n" : "y", 1) == 1)
			pause();
		_exit(1);
	}
	ok(read(ready[0], &byte, 1) == 1 && byte == 'y', "a process with a namespace of its own");
	close(ready[0]);
	close(ready[1]);
	is_int(find(dev, NULL, NULL, &err, ns), 0, "found through /proc: %s", err.text);
	ok(!strncmp(ns, "net:[", 5), "named by its inode: %s", ns);
	snprintf(want, sizeof(want), "%s", ns);
	is_int(find(dev, name("%d", (int)pid), NULL, &err, ns), 0, "by process id");
	is_str(ns, want, "the same");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(find(dev, NULL, NULL, &err, NULL), -ENODEV, "gone with its process");
}

/* Without any right, in a child. */
static void test_nobody(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct ovl_err elsewhere, named, here;
		bool good = !setgroups(0, NULL) && !setgid(65534) && !setuid(65534);

		good &= find("lo", NULL, NULL, &here, NULL) == 0;
		good &= find(twice, NULL, NULL, &elsewhere, NULL) == -ENODEV &&
			strstr(elsewhere.text, "lack of rights");
		good &= find(twice, name("tgt-%d-two1", id), NULL, &named, NULL) < 0 &&
			named.exit == OVL_EXIT_RIGHTS;
		printf("# nobody: %s\n# nobody: %s\n# nobody: %s\n", here.text, elsewhere.text,
		       named.text);
		fflush(stdout);
		_exit(good ? 0 : 1);
	}
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	   "without rights: the current namespace works, others are refused with a sentence");
}

int main(void)
{
	id = (int)getpid();
	snprintf(twice, sizeof(twice), "ovlw%d", id);
	snprintf(thrice, sizeof(thrice), "ovlx%d", id);
	test_current();
	if (geteuid()) {
		tap_skip("namespaces of our own need root");
		return tap_done();
	}
	atexit(clean_up);
	if (make_node()) {
		ok(false, "namespaces, veth, vxlan and bridge can be made");
		return tap_done();
	}
	test_node();
	test_underlay("vxaddr");
	test_nested();
	test_underlay("vxroute");
	test_underlay("vxfdb");
	test_many();
	test_ports();
	test_several();
	test_bad_input();
	test_process();
	test_nobody();
	return tap_done();
}
