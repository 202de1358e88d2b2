#include "collect/funcs_attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "collect/instruments.h"
#include "funcs.skel.h"

#define ENOTSUPP_KERNEL 524 /* the kernel's own ENOTSUPP, which libc does not name */
#define PROBED		"netif_receive_skb" /* exported: a function of its own in every kernel */

enum { BEGIN = 0, END = 1 };

static const char all_lost[] = "calls, bytes and times of kernel functions; of the copies ledger: "
			       "header copies, passes for checksums, copies within the kernel";

/* r0 = 0; exit */
static const struct bpf_insn nothing[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
	{.code = BPF_JMP | BPF_EXIT},
};

/* Can a program be attached to a function's entry? By doing it. */
static int try_fentry(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int id = libbpf_find_vmlinux_btf_id(PROBED, BPF_TRACE_FENTRY), prog, link;

	if (id < 0)
		return id;
	opts.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "ovl_try", "GPL", nothing,
			     sizeof(nothing) / sizeof(*nothing), &opts);
	if (prog < 0)
		return prog;
	link = bpf_link_create(prog, 0, BPF_TRACE_FENTRY, NULL);
	if (link >= 0)
		close(link);
	close(prog);
	return link < 0 ? link : 0;
}

static int try_kprobe(const struct funcs_bpf *skel)
{
	/* a cookie beyond the table: the program counts nothing */
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = OVL_FUNC_COUNT);
	struct bpf_link *link =
		bpf_program__attach_kprobe_opts(skel->progs.ovl_func_kprobe, PROBED, &opts);

	if (!link)
		return -errno;
	bpf_link__destroy(link);
	return 0;
}

static int load(struct ovl_funcs_attach *a, int devices_fd, bool fentry, bool kprobe)
{
	struct funcs_bpf *skel = funcs_bpf__open();
	struct btf *btf;
	int rc;

	if (!skel)
		return -errno;
	btf = btf__load_vmlinux_btf();
	bpf_program__set_autoload(skel->progs.ovl_func_entry, fentry);
	bpf_program__set_autoload(skel->progs.ovl_func_exit, fentry);
	bpf_program__set_autoload(skel->progs.ovl_func_kprobe, kprobe);
	bpf_program__set_autoload(skel->progs.ovl_func_kretprobe, kprobe);
	bpf_program__set_autoload(skel->progs.ovl_copy_out,
				  ovl_instruments_tracepoint(btf, "skb_copy_datagram_iovec"));
	bpf_program__set_autoload(skel->progs.ovl_copy_in,
				  ovl_instruments_tracepoint(btf, "sock_send_length"));
	skel->rodata->ovl_recv_counted = ovl_instruments_tracepoint(btf, "sock_recv_length");
	bpf_program__set_autoload(skel->progs.ovl_copy_recv, skel->rodata->ovl_recv_counted);
	btf__free(btf);
	/* templates: the copies that are attached get their own function */
	rc = bpf_map__reuse_fd(skel->maps.devices, devices_fd);
	rc = rc ? rc : bpf_program__set_attach_target(skel->progs.ovl_func_entry, 0, PROBED);
	rc = rc ? rc : bpf_program__set_attach_target(skel->progs.ovl_func_exit, 0, PROBED);
	rc = rc ? rc : funcs_bpf__load(skel);
	if (rc) {
		funcs_bpf__destroy(skel);
		return rc;
	}
	a->skel = skel;
	return 0;
}

/* One tier cannot be used here. */
static int refuse(enum ovl_tier asked, enum ovl_tier tier, int why, struct ovl_facts *facts,
		  struct ovl_err *err)
{
	char text[OVL_TEXT_MAX];

	snprintf(text, sizeof(text),
		 "the kernel does not let a program attach to its functions: %s", strerror(-why));
	if (asked == OVL_TIER_AUTO) {
		ovl_instruments_missing(
			facts, ovl_tier_name(tier), text,
			tier == OVL_TIER_FENTRY ? all_lost : "the same, where fentry is refused");
		return 0;
	}
	return ovl_err_set(
		err, OVL_EXIT_KERNEL, why,
		"tier %s is not possible here: %s; `--tier auto` takes what is possible, "
		"`ovltrace doctor` says what that is",
		ovl_tier_name(tier), text);
}

int ovl_funcs_load(struct ovl_funcs_attach *a, enum ovl_tier tier, int devices_fd,
		   struct ovl_facts *facts, struct ovl_err *err)
{
	bool fentry = tier == OVL_TIER_AUTO || tier == OVL_TIER_FENTRY;
	bool kprobe = tier == OVL_TIER_AUTO || tier == OVL_TIER_KPROBE;
	int rc = fentry ? try_fentry() : 0;

	if (rc) {
		fentry = false;
		rc = refuse(tier, OVL_TIER_FENTRY, rc, facts, err);
		if (rc)
			return rc;
	}
	rc = load(a, devices_fd, fentry, kprobe);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_KERNEL, rc,
				   "the kernel refuses the programs that count calls: %s",
				   strerror(-rc));
	a->fentry = fentry;
	rc = kprobe ? try_kprobe(a->skel) : 0;
	a->kprobe = kprobe && !rc;
	/* where functions can be probed by fentry nobody needs the other tier */
	if (rc && !fentry)
		return refuse(tier, OVL_TIER_KPROBE, rc, facts, err);
	return 0;
}

/* Which of the two programs a function needs: see bpf/funcs/funcs.bpf.c. */
static void parts(uint32_t func, bool kprobe, bool want[2])
{
	static const uint8_t bytes[OVL_FUNC_COUNT] = {
#define FUNC(KEY, key, symbol, module, place, p, skb, bytes, b, touch, side, flags, lost) \
	OVL_BYTES_##bytes,
#include "../../bpf/hooks.def"
	};
	bool at_return = bytes[func] == OVL_BYTES_RET || bytes[func] == OVL_BYTES_RETLEN;
	bool sleeps = ovl_func_info(func)->sleeps;

	want[BEGIN] = !sleeps || !at_return || kprobe;
	want[END] = !sleeps || at_return;
}

static void detach(struct ovl_funcs_probe *p)
{
	for (int part = BEGIN; part <= END; part++) {
		if (p->link_fd[part])
			close(p->link_fd[part]);
		if (p->prog_fd[part])
			close(p->prog_fd[part]);
		bpf_link__destroy(p->link[part]);
		p->link_fd[part] = p->prog_fd[part] = 0;
		p->link[part] = NULL;
	}
	p->tier = OVL_TIER_AUTO;
}

/* A copy of a template for one function, attached with the function's number as cookie. */
static int fentry_part(const struct ovl_funcs_attach *a, uint32_t func, int part,
		       struct ovl_funcs_probe *p)
{
	const struct bpf_program *of =
		part == BEGIN ? a->skel->progs.ovl_func_entry : a->skel->progs.ovl_func_exit;
	const enum bpf_attach_type type = part == BEGIN ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT;
	LIBBPF_OPTS(bpf_prog_load_opts, load_opts, .expected_attach_type = type,
		    .attach_btf_id = a->hooks.type[func].id,
		    .attach_btf_obj_fd = (__u32)a->hooks.type[func].btf_fd);
	LIBBPF_OPTS(bpf_link_create_opts, link_opts, .tracing.cookie = func);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(of), "GPL",
			       bpf_program__insns(of), bpf_program__insn_cnt(of), &load_opts);

	if (fd < 0)
		return fd;
	p->prog_fd[part] = fd;
	fd = bpf_link_create(fd, 0, type, &link_opts);
	if (fd < 0)
		return fd;
	p->link_fd[part] = fd;
	return 0;
}

static int kprobe_part(const struct ovl_funcs_attach *a, uint32_t func, int part,
		       struct ovl_funcs_probe *p)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = func, .retprobe = part == END);
	const struct bpf_program *of =
		part == BEGIN ? a->skel->progs.ovl_func_kprobe : a->skel->progs.ovl_func_kretprobe;

	p->link[part] = bpf_program__attach_kprobe_opts(of, ovl_func_info(func)->symbol, &opts);
	return p->link[part] ? 0 : -errno;
}

static int attach_by(struct ovl_funcs_attach *a, uint32_t func, enum ovl_tier tier)
{
	struct ovl_funcs_probe *p = &a->probe[func];
	bool want[2];
	int rc = 0;

	parts(func, tier == OVL_TIER_KPROBE, want);
	/* the end first: a begin without its end would leave a frame behind */
	for (int part = END; part >= BEGIN && !rc; part--) {
		if (!want[part])
			continue;
		rc = tier == OVL_TIER_FENTRY ? fentry_part(a, func, part, p)
					     : kprobe_part(a, func, part, p);
	}
	if (rc)
		detach(p);
	else
		p->tier = (uint8_t)tier;
	return rc;
}

static void note(struct ovl_facts *facts, uint32_t func, uint8_t tier)
{
	struct ovl_func_probe *probe = ovl_vec_push(&facts->funcs);

	if (probe)
		*probe = (struct ovl_func_probe){(uint8_t)func, tier};
}

/* Rows without a symbol of their own are counted where their calls come from. */
static void note_sorted(struct ovl_facts *facts, uint32_t func, uint8_t tier)
{
	note(facts, func, tier);
	if (func == OVL_FUNC_COPY_OUT)
		note(facts, OVL_FUNC_TUN_READ, tier);
	if (func == OVL_FUNC_PULL)
		note(facts, OVL_FUNC_LINEARISE, tier);
}

static void attach_one(struct ovl_funcs_attach *a, uint32_t func, struct ovl_facts *facts)
{
	const struct ovl_func_info *info = ovl_func_info(func);
	struct ovl_funcs_probe *p = &a->probe[func];
	char text[OVL_TEXT_MAX];
	int rc = -ENOENT;

	if (!*info->symbol || p->tier != OVL_TIER_AUTO)
		return;
	if (a->fentry && a->hooks.type[func].id)
		rc = attach_by(a, func, OVL_TIER_FENTRY);
	if (rc && a->kprobe)
		rc = attach_by(a, func, OVL_TIER_KPROBE);
	if (!rc) {
		note_sorted(facts, func, p->tier);
		return;
	}
	/* a module that is not loaded calls nothing: nothing is lost until it is */
	if (p->told || (*info->module && !a->hooks.type[func].id &&
			!ovl_hooks_module_loaded(ovl_buf_str(&a->modules), info->module)))
		return;
	p->told = true;
	if (rc == -ENOENT)
		snprintf(text, sizeof(text), "this kernel has no function of that name");
	else if (rc == -ENOTSUPP_KERNEL)
		snprintf(text, sizeof(text),
			 "this kernel's trampolines do not support it: it has more arguments than "
			 "registers pass");
	else
		snprintf(text, sizeof(text), "the kernel refuses a program there: %s",
			 strerror(-rc));
	ovl_instruments_missing(facts, info->symbol, text, info->lost);
}

void ovl_funcs_attach_all(struct ovl_funcs_attach *a, struct ovl_facts *facts)
{
	ovl_hooks_modules(&a->modules);
	/* for kprobes this only tells whether a function is built in */
	if (ovl_hooks_resolve(&a->hooks))
		a->fentry = false;
	for (uint32_t i = 0; i < OVL_FUNC_COUNT; i++)
		attach_one(a, i, facts);
}

/* Rows that a tracepoint's program counts. */
static void note_tracepoint(struct ovl_facts *facts, const char *name, bool recv_counted)
{
	const uint8_t tier = OVL_TIER_TRACEPOINT;

	if (!strcmp(name, "sock_send_length")) {
		note(facts, OVL_FUNC_TCP_SEND, tier);
		note(facts, OVL_FUNC_UDP_SEND, tier);
		note(facts, OVL_FUNC_UDP6_SEND, tier);
	} else if (!strcmp(name, "sock_recv_length")) {
		note(facts, OVL_FUNC_COPY_OUT, tier);
		note(facts, OVL_FUNC_UDP_RECV, tier);
		note(facts, OVL_FUNC_UDP6_RECV, tier);
	} else {
		note(facts, OVL_FUNC_TUN_READ, tier);
		if (!recv_counted)
			note(facts, OVL_FUNC_COPY_OUT, tier);
	}
}

void ovl_funcs_attach_copies(struct ovl_funcs_attach *a, struct ovl_facts *facts)
{
	const bool recv_counted = bpf_program__fd(a->skel->progs.ovl_copy_recv) >= 0;
	const struct {
		const struct bpf_program *prog;
		const char *name, *lost;
	} points[] = {
		{a->skel->progs.ovl_copy_out, "skb_copy_datagram_iovec",
		 "payload copied to tun daemons, and to processes where nothing else counts it"},
		{a->skel->progs.ovl_copy_in, "sock_send_length", "payload copied from processes"},
		{a->skel->progs.ovl_copy_recv, "sock_recv_length",
		 "payload copied to processes by UDP"},
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		char hook[OVL_NAME_MAX];

		snprintf(hook, sizeof(hook), "tp_btf/%s", points[i].name);
		if (bpf_program__fd(points[i].prog) < 0) {
			ovl_instruments_missing(facts, hook, "this kernel has no such tracepoint",
						points[i].lost);
			continue;
		}
		a->copy[i] = bpf_program__attach(points[i].prog);
		if (!a->copy[i]) {
			ovl_instruments_missing(facts, hook, strerror(errno), points[i].lost);
			continue;
		}
		facts->progs_attached++;
		note_tracepoint(facts, points[i].name, recv_counted);
	}
}

/*
 * From include/uapi/linux/bpf.h, part of the kernel's ABI: struct bpf_link_info of a kprobe, to its
 * member `missed` (since 6.7), which older headers do not have.
 */
struct kprobe_info {
	uint32_t type, id, prog_id, pad;
	uint32_t event, event_pad;
	uint64_t func_name;
	uint32_t name_len, offset;
	uint64_t addr, missed;
};
#define LINK_PERF_EVENT 7 /* BPF_LINK_TYPE_PERF_EVENT */
#define EVENT_KPROBE	3 /* BPF_PERF_EVENT_KPROBE */
#define EVENT_KRETPROBE 4 /* BPF_PERF_EVENT_KRETPROBE */

static uint64_t missed_at(const struct bpf_link *link)
{
	struct kprobe_info info = {0};
	uint32_t len = sizeof(info);

	if (!link || bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &len) ||
	    len < sizeof(info) || info.type != LINK_PERF_EVENT)
		return 0;
	return info.event == EVENT_KPROBE || info.event == EVENT_KRETPROBE ? info.missed : 0;
}

uint64_t ovl_funcs_kprobes_missed(const struct ovl_funcs_attach *a)
{
	uint64_t sum = 0;

	for (int i = 0; i < OVL_FUNC_COUNT; i++)
		sum += missed_at(a->probe[i].link[BEGIN]) + missed_at(a->probe[i].link[END]);
	return sum;
}

void ovl_funcs_detach(struct ovl_funcs_attach *a)
{
	for (int i = 0; i < OVL_FUNC_COUNT; i++)
		detach(&a->probe[i]);
	for (size_t i = 0; i < sizeof(a->copy) / sizeof(*a->copy); i++)
		bpf_link__destroy(a->copy[i]);
	ovl_hooks_fini(&a->hooks);
	ovl_buf_fini(&a->modules);
	funcs_bpf__destroy(a->skel);
	a->skel = NULL;
}
