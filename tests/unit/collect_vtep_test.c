/*
 * Which VTEP carries an overlay address: against tables made by iproute2 in a namespace of our own.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/netns.h"
#include "collect/vtep.h"
#include "collect/vtepstate.h"
#include "tap.h"

static int made;

/* Run a command in which the namespace's name stands where '@' does. */
static void sh(const char *ns, const char *command)
{
	const char *at = strchr(command, '@');
	char line[512];

	snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - command), command, ns, at + 1);
	made |= system(line);
}

static void test_find(const char *ns, int fd)
{
	struct ovl_err err = OVL_ERR_INIT;
	char vtep[46] = "";

	is_int(ovl_vtep_find(fd, "vx0", "10.9.1.7", vtep, &err), 0,
	       "an overlay address behind a VTEP");
	is_str(vtep, "192.0.2.7", "route, neighbour and forwarding entry lead to it");
	is_int(ovl_vtep_find(fd, "vx0", "10.9.2.7", vtep, &err), 0, "another subnet");
	is_str(vtep, "192.0.2.8", "has another VTEP");
	ok(ovl_vtep_find(fd, "vx0", "192.0.2.7", vtep, &err) < 0 && strstr(err.text, "route"),
	   "an address that goes elsewhere: %s", err.text);
	ok(ovl_vtep_find(fd, "vx0", "10.9.3.1", vtep, &err) < 0 && strstr(err.text, "neighbour"),
	   "no neighbour: %s", err.text);
	ok(ovl_vtep_find(fd, "novx", "10.9.1.7", vtep, &err) < 0 && strstr(err.text, "device"),
	   "no such device: %s", err.text);
	ok(ovl_vtep_find(fd, "vx0", "pod", vtep, &err) < 0, "no address: %s", err.text);
	sh(ns, "bridge -n @ fdb del 02:00:00:00:00:08 dev vx0 dst 192.0.2.8");
	ok(ovl_vtep_find(fd, "vx0", "10.9.2.7", vtep, &err) < 0 && strstr(err.text, "forwarding"),
	   "no forwarding entry: %s", err.text);
}

/* -1: not read. */
static int64_t hop(const struct ovl_sheet *s, const char *object, const char *name)
{
	ovl_vec_each(item, &s->items)
		if (!strcmp(item->r.kind, "vtep") && !strcmp(item->r.object, object) &&
		    !strcmp(item->r.name, name))
			return item->r.value;
	return -1;
}

/* After test_find: the second subnet has lost its forwarding entry. */
static void test_state(int fd)
{
	struct ovl_links *l = ovl_links_open(fd, NULL);
	struct ovl_sheet s = {.left_out = 0};

	ok(l && !ovl_vtepstate_read(l, &s), "the tables are read");
	is_int(hop(&s, "10.9.1.0 vx0", "neighbour"), 1, "a next hop has a neighbour");
	is_int(hop(&s, "10.9.1.0 vx0", "forwarding"), 1, "and a forwarding entry");
	is_int(hop(&s, "10.9.2.0 vx0", "neighbour"), 1, "another has a neighbour");
	is_int(hop(&s, "10.9.2.0 vx0", "forwarding"), 0, "but no forwarding entry");
	is_int(hop(&s, "10.9.3.0 vx0", "neighbour"), 0, "a third has none");
	is_int(s.left_out, 0, "and nothing was left out");
	ovl_sheet_fini(&s);
	ovl_links_close(l);
}

int main(void)
{
	char ns[32], line[64];
	int fd;

	if (geteuid() != 0) {
		printf("1..0 # SKIP needs root\n");
		return 0;
	}
	snprintf(ns, sizeof(ns), "ovlt%d-vtep", (int)getpid());
	sh(ns, "ip netns add @");
	sh(ns, "ip -n @ link add u0 type veth peer name u1");
	sh(ns, "ip -n @ addr add 192.0.2.1/24 dev u0");
	sh(ns, "ip -n @ link set u0 up");
	sh(ns,
	   "ip -n @ link add vx0 type vxlan id 7 dev u0 local 192.0.2.1 dstport 4789 nolearning");
	sh(ns, "ip -n @ link set vx0 up");
	sh(ns, "ip -n @ addr add 10.9.0.0/32 dev vx0");
	sh(ns, "ip -n @ route add 10.9.1.0/24 via 10.9.1.0 dev vx0 onlink");
	sh(ns, "ip -n @ route add 10.9.2.0/24 via 10.9.2.0 dev vx0 onlink");
	sh(ns, "ip -n @ route add 10.9.3.0/24 via 10.9.3.0 dev vx0 onlink");
	sh(ns, "ip -n @ neigh add 10.9.1.0 lladdr 02:00:00:00:00:07 dev vx0 nud permanent");
	sh(ns, "ip -n @ neigh add 10.9.2.0 lladdr 02:00:00:00:00:08 dev vx0 nud permanent");
	sh(ns, "bridge -n @ fdb add 02:00:00:00:00:07 dev vx0 dst 192.0.2.7");
	sh(ns, "bridge -n @ fdb add 02:00:00:00:00:08 dev vx0 dst 192.0.2.8");
	snprintf(line, sizeof(line), "/run/netns/%s", ns);
	fd = open(line, O_RDONLY | O_CLOEXEC);
	ok(!made && fd >= 0, "a namespace with a vxlan and its tables");
	if (!made && fd >= 0) {
		test_find(ns, fd);
		test_state(fd);
	}
	sh(ns, "ip netns del @");
	return tap_done();
}
