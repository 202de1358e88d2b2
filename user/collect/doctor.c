#include "collect/doctor_bpf.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/str.h"
#include "collect/counters.h"
#include "collect/doctor_say.h"
#include "collect/links.h"
#include "collect/netns.h"

static enum ovl_check_state check_kallsyms(const char *iface, struct btf *btf, char *text)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr = 0;
	char line[512];

	(void)iface;
	(void)btf;
	if (!f)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "/proc/kallsyms cannot be opened: %s", strerror(errno));
	/* per-CPU symbols may well be at 0: all of them at 0 means that they are hidden */
	while (!addr && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx", &addr) != 1)
			addr = 0;
	fclose(f);
	if (!addr)
		return ovl_doctor_say(
			OVL_CHECK_MISSING, text,
			"/proc/kallsyms hides all addresses: CAP_SYSLOG is missing or "
			"kernel.kptr_restrict is 2");
	return ovl_doctor_say(OVL_CHECK_OK, text, "/proc/kallsyms shows the symbols' addresses");
}

/* Several namespaces have the interface: for what it allows, any of them will do. */
static int take_first(const char *const *names, uint32_t n)
{
	(void)names;
	return n ? 0 : -1;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* What a thread found out in a namespace of its own: 0 or -errno each. */
struct private_ns {
	int unshared, lo_up, back;
};

/* In a thread of its own, so that this process cannot be left in another namespace. */
static void *try_private_ns(void *arg)
{
	struct private_ns *p = arg;
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int home = ovl_netns_current();
	int sock;

	if (home < 0) {
		p->unshared = home;
		return NULL;
	}
	p->unshared = unshare(CLONE_NEWNET) ? -errno : 0;
	if (!p->unshared) {
		sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		p->lo_up = sock < 0 || ioctl(sock, SIOCSIFFLAGS, &lo) ? -errno : 0;
		if (sock >= 0)
			close(sock);
		p->back = ovl_netns_run(home, nothing, NULL);
	}
	close(home);
	return NULL;
}

static int in_private_ns(struct private_ns *p)
{
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, try_private_ns, p);

	return rc ? -rc : -pthread_join(thread, NULL);
}

static enum ovl_check_state check_twin(const char *iface, struct btf *btf, char *text)
{
	struct private_ns p = {0};
	int rc = in_private_ns(&p);

	(void)iface;
	(void)btf;
	rc = rc ? rc : p.unshared;
	if (rc)
		return ovl_doctor_say(
			OVL_CHECK_MISSING, text,
			"a private network namespace could not be made (CAP_SYS_ADMIN): %s",
			strerror(-rc));
	if (p.lo_up)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "in a private network namespace a device could not be set up "
				      "(CAP_NET_ADMIN): %s",
				      strerror(-p.lo_up));
	return ovl_doctor_say(
		OVL_CHECK_OK, text,
		"a private network namespace was made, a device set up in it, and left");
}

static enum ovl_check_state check_setns(const char *iface, struct btf *btf, char *text)
{
	struct private_ns p = {0};
	int rc = in_private_ns(&p);

	(void)iface;
	(void)btf;
	if (rc || p.unshared)
		return ovl_doctor_say(OVL_CHECK_SKIPPED, text,
				      "there is no private network namespace to come back from");
	if (p.back)
		return ovl_doctor_say(
			OVL_CHECK_MISSING, text,
			"another network namespace may not be entered (CAP_SYS_ADMIN): %s",
			strerror(-p.back));
	return ovl_doctor_say(OVL_CHECK_OK, text, "another network namespace was entered");
}

static enum ovl_check_state check_namespaces(const char *iface, struct btf *btf, char *text)
{
	ovl_netns_vec all = {0};
	uint32_t refused = 0;
	size_t n;

	(void)iface;
	(void)btf;
	if (ovl_netns_list(&all, &refused)) {
		ovl_vec_fini(&all);
		return ovl_doctor_say(OVL_CHECK_MISSING, text, "out of memory");
	}
	n = all.n;
	ovl_vec_fini(&all);
	if (refused)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "%zu network namespaces were found; processes whose "
				      "namespace is hidden (CAP_SYS_PTRACE): %u",
				      n, refused);
	return ovl_doctor_say(OVL_CHECK_OK, text,
			      "%zu network namespaces were found, by name and of every process", n);
}

static enum ovl_check_state check_rtnetlink(const char *iface, struct btf *btf, char *text)
{
	struct ovl_err err = OVL_ERR_INIT;
	int fd = ovl_netns_current();
	struct ovl_links *links = fd < 0 ? NULL : ovl_links_open(fd, &err);
	struct rtnl_link_stats64 stats;
	ovl_raw_links raw = {0};
	int rc = links ? ovl_links_read(links, &raw) : -EIO;
	size_t n = raw.n;

	(void)iface;
	(void)btf;
	if (!rc && n)
		rc = ovl_links_stats(links, raw.v[0].ifindex, &stats);
	ovl_vec_fini(&raw);
	ovl_links_close(links);
	if (fd >= 0)
		close(fd);
	if (rc)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "devices and their statistics could not be read: %s",
				      links ? strerror(-rc) : err.text);
	return ovl_doctor_say(OVL_CHECK_OK, text, "%zu devices and the statistics of one were read",
			      n);
}

static enum ovl_check_state check_interface(const char *iface, struct btf *btf, char *text)
{
	struct ovl_facts facts = {0};
	struct ovl_target target;
	struct ovl_err err = OVL_ERR_INIT;
	enum ovl_check_state state;
	const struct ovl_link *link;
	size_t on = 0;

	(void)btf;
	if (!iface)
		return ovl_doctor_say(OVL_CHECK_SKIPPED, text, "no --iface was given");
	if (ovl_target_find(iface, NULL, take_first, &facts, &target, &err)) {
		ovl_facts_fini(&facts);
		return ovl_doctor_say(OVL_CHECK_MISSING, text, "%.250s", err.text);
	}
	link = ovl_facts_iface(&facts);
	for (size_t i = 0; i < link->features.n; i++)
		on += link->features.v[i].on;
	if (link->features.n)
		state = ovl_doctor_say(OVL_CHECK_OK, text,
				       "%s (%s) in %s is %s; devices on its path: %zu; feature "
				       "bits that are on: %zu of %zu",
				       iface, *link->kind ? link->kind : "no virtual kind",
				       ovl_facts_ns(&facts, link->ns), link->up ? "up" : "down",
				       facts.links.n, on, link->features.n);
	else
		state = ovl_doctor_say(OVL_CHECK_MISSING, text,
				       "the feature bits of %s are unreadable", iface);
	ovl_target_close(&target);
	ovl_facts_fini(&facts);
	return state;
}

static enum ovl_check_state check_counters(const char *iface, struct btf *btf, char *text)
{
	struct ovl_facts none = {.iface = -1};
	struct ovl_sample sample = {0};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_counters *c = ovl_counters_open(&none, NULL, &err);
	int rc = c ? ovl_counters_end(c, &none, &sample, &err) : -EIO;
	size_t cpus = sample.cpus.n;

	(void)iface;
	(void)btf;
	ovl_counters_close(c);
	ovl_sample_fini(&sample);
	if (rc)
		return ovl_doctor_say(OVL_CHECK_MISSING, text, "%.250s", err.text);
	return ovl_doctor_say(OVL_CHECK_OK, text,
			      "the idle and steal clocks of %zu CPUs were read from /proc/stat",
			      cpus);
}

static enum ovl_check_state check_cubic(const char *iface, struct btf *btf, char *text)
{
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = sock < 0 || setsockopt(sock, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) ? -errno : 0;

	(void)iface;
	(void)btf;
	if (sock >= 0)
		close(sock);
	if (rc)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "a socket could not be set to congestion control cubic: %s",
				      strerror(-rc));
	return ovl_doctor_say(OVL_CHECK_OK, text, "a socket was set to congestion control cubic");
}

/* A CPU list of sysfs, "" when there is none. */
static void cpu_list(const char *name, char *list, size_t n)
{
	char path[64];
	FILE *f;

	list[0] = '\0';
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", name);
	f = fopen(path, "re");
	if (f && !fgets(list, (int)n, f))
		list[0] = '\0';
	if (f)
		fclose(f);
	list[strcspn(list, "\n")] = '\0';
	if (!strcmp(list, "(null)")) /* how the kernel prints an empty nohz_full list */
		list[0] = '\0';
}

static enum ovl_check_state check_quiet_cpus(const char *iface, struct btf *btf, char *text)
{
	char isolated[80], nohz[80];

	(void)iface;
	(void)btf;
	cpu_list("isolated", isolated, sizeof(isolated));
	cpu_list("nohz_full", nohz, sizeof(nohz));
	if (*isolated || *nohz)
		return ovl_doctor_say(OVL_CHECK_MISSING, text,
				      "isolated CPUs: %s; nohz_full CPUs: %s",
				      *isolated ? isolated : "none", *nohz ? nohz : "none");
	return ovl_doctor_say(OVL_CHECK_OK, text, "no CPU is isolated or nohz_full");
}

static enum ovl_check_state check_preemption(const char *iface, struct btf *btf, char *text)
{
	struct utsname host;

	(void)iface;
	(void)btf;
	if (uname(&host))
		return ovl_doctor_say(OVL_CHECK_SKIPPED, text, "uname: %s", strerror(errno));
	if (strstr(host.version, "PREEMPT_RT"))
		return ovl_doctor_say(OVL_CHECK_MISSING, text, "the kernel is a PREEMPT_RT one");
	return ovl_doctor_say(OVL_CHECK_OK, text, "the kernel is no PREEMPT_RT one");
}

static const struct ovl_doctor_check host_checks[] = {
	{"kallsyms", "names of kernel functions, and so all stages", check_kallsyms},
	{"setns", "interfaces and pods in other network namespaces", check_setns},
	{"namespaces", "interfaces and pods in the namespaces of other users' processes",
	 check_namespaces},
	{"twin", "load on a private twin (--load without --peer), and labs", check_twin},
	{"rtnetlink", "devices, their statistics and the path", check_rtnetlink},
	{"interface", "everything about this interface", check_interface},
	{"cpu_clocks", "busy and idle time of CPUs", check_counters},
	{"cubic", "a load that compares with others: it runs with the default congestion control",
	 check_cubic},
	{"quiet_cpus", "these CPUs' quiet: the sampler interrupts them while it runs",
	 check_quiet_cpus},
	{"preemption", "contexts of samples: softirqs run in threads here", check_preemption},
};

static int run_checks(const struct ovl_doctor_check *checks, size_t n, const char *iface,
		      struct btf *btf, ovl_checks *out)
{
	for (size_t i = 0; i < n; i++) {
		struct ovl_check *check = ovl_vec_push(out);

		if (!check)
			return -ENOMEM;
		ovl_str_copy(check->key, sizeof(check->key), checks[i].key);
		check->state = checks[i].run(iface, btf, check->text);
		if (check->state == OVL_CHECK_MISSING)
			ovl_str_copy(check->lost, sizeof(check->lost), checks[i].lost);
	}
	return 0;
}

int ovl_doctor_run(const char *iface, ovl_checks *out)
{
	/* libbpf would write its own complaints to stderr */
	const libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct btf *btf = btf__load_vmlinux_btf();
	const struct ovl_doctor_check *checks;
	size_t n;
	int rc;

	checks = ovl_doctor_bpf_checks(&n);
	rc = run_checks(checks, n, iface, btf, out);
	if (!rc)
		rc = run_checks(host_checks, sizeof(host_checks) / sizeof(*host_checks), iface, btf,
				out);
	btf__free(btf);
	libbpf_set_print(print);
	return rc;
}
