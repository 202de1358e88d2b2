/* What is read of packet filter rules, against rules made by nft in a namespace of our own. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/netns.h"
#include "collect/nftrules.h"
#include "mnl_script.h"
#include "tap.h"

static int made;
static struct ovl_sheet sheet;
static struct ovl_sample sample;

static const char rules[] =
	"table ip t {\n"
	" chain none { }\n"
	" chain f { type filter hook forward priority 0;\n"
	"  ct state invalid counter packets 50 bytes 50 drop comment \"invalid\"\n"
	"  ct state new,invalid counter packets 51 bytes 50 drop\n"
	"  ct state established ip saddr 10.0.0.0/9 counter packets 52 bytes 50 drop\n"
	"  ip saddr 11.0.0.0/9 counter packets 53 bytes 50 drop\n"
	"  ct state != invalid ip daddr 1.2.3.4 counter packets 54 bytes 50 drop\n"
	"  tcp flags syn tcp option maxseg size set 1200\n"
	"  tcp flags syn tcp option maxseg size set rt mtu\n"
	"  udp dport 8472 counter packets 55 bytes 50 drop\n"
	"  udp dport != 8473 counter packets 56 bytes 50 drop\n"
	"  tcp sport 44 tcp dport 45 counter packets 57 bytes 50 drop\n"
	"  tcp dport & 0xff == 46 counter packets 58 bytes 50 drop\n"
	" }\n"
	"}\n"
	"table ip n {\n"
	" chain svc { meta l4proto tcp counter dnat to 10.244.1.2:8080; }\n"
	" chain p { type nat hook prerouting priority -100; policy accept;\n"
	"  ip daddr 10.96.0.10 tcp dport 443 counter jump svc\n"
	" }\n"
	"}\n";

static void nft(const char *ns, const char *text)
{
	char line[96];
	FILE *f;

	snprintf(line, sizeof(line), "ip netns exec %s nft -f -", ns);
	f = popen(line, "w");
	if (!f || fputs(text, f) < 0)
		made |= 1;
	made |= f ? pclose(f) : 1;
}

/* The rule whose counter stands at `pkts`, by its object; NULL: none. */
static const char *rule_of(int64_t pkts)
{
	ovl_vec_each(r, &sample.readings)
		if (!strcmp(r->kind, "rule") && !strcmp(r->name, "drops") && r->value == pkts)
			return r->object;
	return NULL;
}

/* -1: not read. */
static int64_t value_of(const char *kind, const char *object, const char *name)
{
	ovl_vec_each(r, &sample.readings)
		if (object && !strcmp(r->kind, kind) && !strcmp(r->object, object) &&
		    !strcmp(r->name, name))
			return r->value;
	return -1;
}

static int count_of(const char *name, int64_t *last)
{
	int n = 0;

	ovl_vec_each(r, &sample.readings)
		if (!strcmp(r->kind, "rule") && !strcmp(r->name, name)) {
			n++;
			*last = r->value;
		}
	return n;
}

/* The next reading that really reads. */
static int read_rules(struct ovl_nftrules *n, bool into)
{
	const int sends = script.sends;
	int rc = 0;

	/* a call too soon after the last reading asks nothing */
	for (int tries = 0; tries < 3000 && script.sends == sends; tries++) {
		usleep(10000);
		ovl_sheet_open(&sheet);
		rc = ovl_nftrules_read(n, &sheet);
		if (ovl_sheet_close(&sheet, into ? &sample : NULL))
			ok(0, "the sheet is closed");
	}
	return rc;
}

static void test_expressions(void)
{
	int64_t mss = 0;

	is_int(value_of("rule", rule_of(50), "ct_invalid"), 1, "a rule for INVALID packets");
	is_int(value_of("rule", rule_of(51), "ct_invalid"), -1, "one that is for new ones too");
	is_int(value_of("rule", rule_of(52), "ct_invalid"), -1,
	       "an address's mask after another state's");
	is_int(value_of("rule", rule_of(53), "ct_invalid"), -1, "an address's mask alone");
	is_int(value_of("rule", rule_of(54), "ct_invalid"), -1, "one for all but INVALID packets");
	is_int(count_of("mss", &mss), 1, "one rule clamps to a number, the other to the route's");
	is_int(mss, 1200, "the number");
	is_int(value_of("rule", rule_of(55), "dport"), 8472, "a port");
	is_int(value_of("rule", rule_of(56), "dport"), -1, "all ports but one");
	is_int(value_of("rule", rule_of(57), "dport"), 45, "both ports in one comparison");
	is_int(value_of("rule", rule_of(58), "dport"), -1, "a part of a port");
	is_int(value_of("chain", "ip t f", "rules"), 11, "rules of a chain that all packets pass");
	is_int(value_of("chain", "ip n p", "rules"), -1, "not those of first packets alone");
	is_int(value_of("chain", "ip n svc", "rules"), -1, "nor of a chain behind them");
	is_int(value_of("nf_tables", "all", "rules"), 13, "all rules are listed");
}

static void test_services(void)
{
	const char *object = NULL;

	ovl_vec_each(r, &sample.readings)
		if (!strcmp(r->kind, "rule") && !strcmp(r->name, "dport") && r->value == 443)
			object = r->object;
	ok(value_of("rule", object, "translates") >= 0,
	   "the port of a Service whose translation is a chain further");
}

static void test_read(const char *ns, int fd)
{
	struct ovl_nftrules *n = ovl_nftrules_open(fd);

	ok(n != NULL, "a socket");
	if (!n)
		return;
	script.send_errno = EBUSY;
	is_int(read_rules(n, false), -EBUSY, "the first reading fails");
	script.send_errno = 0;
	is_int(read_rules(n, true), 0, "the second does not");
	ovl_vec_each(r, &sample.readings)
		if (r->delta)
			ok(0, "%s %s: %lld before the first whole list is no interval's", r->object,
			   r->name, (long long)r->delta);
	test_expressions();
	test_services();
	nft(ns, "add rule ip t f udp dport 9999 counter packets 7 bytes 50 drop\n");
	ovl_sample_clear(&sample);
	is_int(read_rules(n, true), 0, "the third");
	ovl_vec_each(r, &sample.readings)
		if (!strcmp(r->name, "drops") && r->value == 7)
			is_int(r->delta, 7, "a rule that began to count since");
	ok(rule_of(7) != NULL, "is read");
	ovl_nftrules_close(n);
}

int main(void)
{
	char ns[32], line[64];
	int fd;

	if (geteuid() != 0 || system("command -v nft >/dev/null 2>&1")) {
		printf("1..0 # SKIP needs root and nft\n");
		return 0;
	}
	snprintf(ns, sizeof(ns), "ovlt%d-nft", (int)getpid());
	snprintf(line, sizeof(line), "ip netns add %s", ns);
	made |= system(line);
	nft(ns, rules);
	snprintf(line, sizeof(line), "/run/netns/%s", ns);
	fd = open(line, O_RDONLY | O_CLOEXEC);
	ok(!made && fd >= 0, "a namespace with rules");
	if (!made && fd >= 0)
		test_read(ns, fd);
	ovl_sheet_fini(&sheet);
	ovl_sample_fini(&sample);
	if (fd >= 0)
		close(fd);
	snprintf(line, sizeof(line), "ip netns del %s", ns);
	made |= system(line);
	return tap_done();
}
