/*
 * A twin lives in its process only: made as the spec says, gone after kill -9.
 * needs: root
 */
#include "lab/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/netlink.h"
#include "tap.h"

#define VANISH_TRIES 300 /* × 100 ms: the kernel takes namespaces down in the background */

static ino_t own_netns(void)
{
	struct stat st = {0};

	stat("/proc/thread-self/ns/net", &st);
	return st.st_ino;
}

/* Ask one thing about a device of the calling thread's namespace; -1 if it cannot be asked. */
static int ask(const char *dev, unsigned long request, void *data)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {.ifr_data = data};
	int rc;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	rc = ioctl(fd, request, &ifr);
	close(fd);
	if (rc < 0)
		return -1;
	return request == SIOCGIFMTU ? ifr.ifr_mtu : 0;
}

static int mtu_of(const char *dev)
{
	return ask(dev, SIOCGIFMTU, NULL);
}

/* ETHTOOL_GTSO: is any kind of TCP segmentation on? */
static int tso_of(const char *dev)
{
	struct ethtool_value v = {.cmd = ETHTOOL_GTSO};

	return ask(dev, SIOCETHTOOL, &v) < 0 ? -1 : !!v.data;
}

static void enter(const struct ovl_lab *lab, const char *end)
{
	ok(setns(ovl_lab_end(lab, end)->netns_fd, CLONE_NEWNET) == 0, "%s can be entered", end);
}

static void as_specified(void)
{
	static const char *const off[] = {"tx-tcp-segmentation",	  "tx-tcp-ecn-segmentation",
					  "tx-tcp-mangleid-segmentation", "tx-tcp6-segmentation",
					  "tx-tcp-accecn-segmentation",	  "no-such-feature"};
	const struct ovl_lab_spec spec = {.topology = "flannel-vxlan",
					  .tunnel_name = "cilium_vxlan",
					  .vni = 77,
					  .port = 4789,
					  .underlay_mtu = 9000,
					  .overlay_mtu = 1400,
					  .features_off = off,
					  .n_features_off = 6,
					  .tunnel_features_off = off,
					  .n_tunnel_features_off = 6};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_lab lab;
	ino_t before = own_netns();
	bool cloexec = true;

	ok(ovl_lab_twin(&spec, &lab, &err) == 0, "a twin of another kind is made");
	if (err.text[0])
		printf("# %s\n", err.text);
	ok(own_netns() == before, "the caller stays in its namespace");
	for (uint32_t i = 0; i < lab.n_ends; i++)
		cloexec = cloexec && (fcntl(lab.ends[i].netns_fd, F_GETFD) & FD_CLOEXEC);
	ok(lab.n_ends == 4 && cloexec, "four handles, none inherited by programs it starts");
	ok(lab.max_frames > 0, "the bound on frames in flight is known");
	enter(&lab, "node2");
	is_int(mtu_of("eth0"), 9000, "underlay MTU");
	is_int(mtu_of("cilium_vxlan"), 1400, "overlay MTU, tunnel's name");
	is_int(tso_of("eth0"), 0, "TSO is off on the far side's underlay too");
	is_int(tso_of("cilium_vxlan"), 0, "TSO is off on the tunnel");
	is_int(tso_of("vethpod2"), 1, "TSO is on where nothing was said");
	ovl_lab_close(&lab);
	is_int(lab.n_ends, 0, "closed");
}

/* An overlay as large as its underlay: outer packets are fragmented, and still it works. */
static void with_fragments(void)
{
	const struct ovl_lab_spec spec = {.topology = "flannel-vxlan", .overlay_mtu = 1500};
	const struct ovl_lab_spec largest = {.topology = "flannel-vxlan", .underlay_mtu = 65535};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_lab lab;

	ok(ovl_lab_twin(&spec, &lab, &err) == 0, "overlay 1500 on underlay 1500: %s", err.text);
	enter(&lab, "node1");
	is_int(mtu_of("flannel.1"), 1500, "its tunnel has that MTU");
	ovl_lab_close(&lab);
	ok(ovl_lab_twin(&largest, &lab, &err) == 0, "underlay 65535: %s", err.text);
	enter(&lab, "pod1");
	is_int(mtu_of("eth0"), 65485, "the pod's MTU is 50 less");
	ovl_lab_close(&lab);
}

/* In the child: make a twin, say where, wait to be killed. */
static void hold(int to)
{
	const struct ovl_lab_spec spec = {.topology = "flannel-vxlan"};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_lab lab = {0};

	ovl_lab_twin(&spec, &lab, &err);
	if (write(to, &lab, sizeof(lab)) != sizeof(lab))
		_exit(1);
	for (;;)
		pause();
}

/* A veth whose far end is in the namespace: it vanishes with the namespace, not before. */
static bool tie(pid_t pid, const struct ovl_lab_end *end, const char *name)
{
	struct ovl_netlink_dev dev = {.kind = "veth", .name = name, .peer_name = "tied"};
	struct ovl_netlink nl;
	char path[64];
	bool tied;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, end->netns_fd);
	dev.peer_netns_fd = open(path, O_RDONLY | O_CLOEXEC);
	tied = dev.peer_netns_fd >= 0 && ovl_netlink_open(&nl) == 0;
	if (tied) {
		tied = ovl_netlink_dev_add(&nl, &dev) == 0;
		ovl_netlink_close(&nl);
	}
	close(dev.peer_netns_fd);
	return tied;
}

static void killed(void)
{
	const struct timespec step = {.tv_nsec = 100000000};
	struct ovl_lab lab = {0};
	char name[IFNAMSIZ];
	int fds[2];
	pid_t pid;

	ok(unshare(CLONE_NEWNET) == 0 && pipe(fds) == 0, "a namespace to look from");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		hold(fds[1]);
	ok(read(fds[0], &lab, sizeof(lab)) == sizeof(lab) && lab.n_ends == 4, "a child has a twin");
	for (uint32_t i = 0; i < lab.n_ends; i++) {
		snprintf(name, sizeof(name), "tie%u", i);
		ok(tie(pid, &lab.ends[i], name) && if_nametoindex(name), "%s is there",
		   lab.ends[i].netns);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (uint32_t i = 0; i < lab.n_ends; i++) {
		snprintf(name, sizeof(name), "tie%u", i);
		for (int k = 0; k < VANISH_TRIES && if_nametoindex(name); k++)
			nanosleep(&step, NULL);
		ok(!if_nametoindex(name), "after kill -9 %s is gone", lab.ends[i].netns);
	}
}

int main(void)
{
	if (geteuid() != 0) {
		tap_skip("needs root");
		return tap_done();
	}
	as_specified();
	with_fragments();
	killed();
	return tap_done();
}
