#include "collect/reasons.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "base/str.h"
#include "base/vec.h"
#include "model/facts.h"
#include "model/stage.h"

#define SUBSYS_SHIFT 16 /* SKB_DROP_REASON_SUBSYS_SHIFT: reasons above belong to a subsystem */

struct reason {
	uint32_t value;
	char name[OVL_NAME_MAX];
};

struct ovl_reasons {
	OVL_VEC(struct reason) known;
	uint32_t kfree_skb_args, retransmit_args;
};

static int add_reason(struct ovl_reasons *r, uint32_t value, const char *name)
{
	static const char prefix[] = "SKB_DROP_REASON_";
	struct reason *one = ovl_vec_push(&r->known);

	if (!one)
		return -ENOMEM;
	if (ovl_str_starts(name, prefix))
		name += sizeof(prefix) - 1;
	one->value = value;
	ovl_str_copy(one->name, sizeof(one->name), name);
	return 0;
}

/* enum skb_drop_reason, and those of subsystems: "ovs_drop_reason", "mac80211_drop_reason" */
static int add_enum(struct ovl_reasons *r, const struct btf *btf, const struct btf_type *t)
{
	const char *type = btf__name_by_offset(btf, t->name_off);
	bool core = type && !strcmp(type, "skb_drop_reason");
	size_t n = type ? strlen(type) : 0, tail = strlen("_drop_reason");
	const struct btf_enum *e = btf_enum(t);
	int rc = 0;

	if (!core && (n <= tail || strcmp(type + n - tail, "_drop_reason")))
		return 0;
	for (uint16_t i = 0; i < btf_vlen(t) && !rc; i++) {
		uint32_t value = (uint32_t)e[i].val;

		if (core ? value >> SUBSYS_SHIFT == 0 : value >> SUBSYS_SHIFT != 0)
			rc = add_reason(r, value, btf__name_by_offset(btf, e[i].name_off));
	}
	return rc;
}

/*
 * "btf_trace_NAME" is a typedef of a pointer to a prototype whose first parameter is not an
 * argument.
 */
static void add_prototype(struct ovl_reasons *r, const struct btf *btf, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(btf, t->name_off);
	uint32_t *args;

	if (!name)
		return;
	if (!strcmp(name, "btf_trace_kfree_skb"))
		args = &r->kfree_skb_args;
	else if (!strcmp(name, "btf_trace_tcp_retransmit_skb"))
		args = &r->retransmit_args;
	else
		return;
	t = btf__type_by_id(btf, t->type);
	if (t && btf_is_ptr(t))
		t = btf__type_by_id(btf, t->type);
	if (t && btf_is_func_proto(t) && btf_vlen(t))
		*args = btf_vlen(t) - 1u;
}

static int scan(struct ovl_reasons *r, const struct btf *btf, uint32_t first)
{
	uint32_t n = btf__type_cnt(btf);
	int rc = 0;

	for (uint32_t id = first; id < n && !rc; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (btf_is_enum(t))
			rc = add_enum(r, btf, t);
		else if (btf_is_typedef(t))
			add_prototype(r, btf, t);
	}
	return rc;
}

/* Reasons of subsystems that Debian builds as modules. One that is not loaded drops nothing. */
static int scan_modules(struct ovl_reasons *r, struct btf *base)
{
	static const char *const modules[] = {"openvswitch", "mac80211"};
	int rc = 0;

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]) && !rc; i++) {
		char path[64];
		struct btf *btf;

		snprintf(path, sizeof(path), "/sys/kernel/btf/%s", modules[i]);
		if (access(path, R_OK))
			continue;
		btf = btf__load_module_btf(modules[i], base);
		if (!btf)
			continue;
		rc = scan(r, btf, btf__type_cnt(base));
		btf__free(btf);
	}
	return rc;
}

struct ovl_reasons *ovl_reasons_open(struct ovl_err *err)
{
	struct ovl_reasons *r;
	struct btf *btf;
	int rc;

	btf = btf__load_vmlinux_btf();
	if (!btf) {
		ovl_err_set(err, OVL_EXIT_KERNEL, -errno,
			    "cannot read the kernel's type information from "
			    "/sys/kernel/btf/vmlinux (%s): a kernel built with "
			    "CONFIG_DEBUG_INFO_BTF=y is needed",
			    strerror(errno));
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	rc = r ? scan(r, btf, 1) : -ENOMEM;
	if (!rc)
		rc = scan_modules(r, btf);
	btf__free(btf);
	if (rc) {
		ovl_err_set(err, OVL_EXIT_FAILED, rc, "no memory for the kernel's drop reasons");
		ovl_reasons_close(r);
		return NULL;
	}
	return r;
}

void ovl_reasons_close(struct ovl_reasons *r)
{
	if (!r)
		return;
	ovl_vec_fini(&r->known);
	free(r);
}

const char *ovl_reasons_name(const struct ovl_reasons *r, uint32_t value, char *buf, size_t n)
{
	for (size_t i = 0; i < r->known.n; i++)
		if (r->known.v[i].value == value)
			return r->known.v[i].name;
	snprintf(buf, n, "%u", value);
	return buf;
}

uint32_t ovl_reasons_kfree_skb_args(const struct ovl_reasons *r)
{
	return r->kfree_skb_args;
}

uint32_t ovl_reasons_retransmit_args(const struct ovl_reasons *r)
{
	return r->retransmit_args;
}

struct benign {
	const char *reason, *symbol;
	uint16_t protocol;
	uint64_t max_pkts;
};

static const struct benign benign[] = {
#define BENIGN(reason, symbol, protocol, max) {reason, symbol, protocol, max},
#include "benign.def"
};

static bool matches(const char *pattern, const char *s)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '*')
		return !strncmp(pattern, s, n - 1);
	return !strcmp(pattern, s);
}

static const struct drop_stage {
	const char *reason, *symbol;
	uint8_t stage;
} drop_stages[] = {
#define DROP_STAGE(reason, symbol, stage) {reason, symbol, OVL_STAGE_##stage},
#include "drop_stages.def"
};

int ovl_reasons_stage(const char *reason, const char *symbol)
{
	for (size_t i = 0; i < sizeof(drop_stages) / sizeof(drop_stages[0]); i++)
		if (matches(drop_stages[i].reason, reason) &&
		    matches(drop_stages[i].symbol, symbol))
			return drop_stages[i].stage;
	return -1;
}

bool ovl_reasons_benign(const char *reason, const char *symbol, uint16_t protocol, uint64_t pkts)
{
	for (size_t i = 0; i < sizeof(benign) / sizeof(benign[0]); i++) {
		const struct benign *b = &benign[i];

		if (matches(b->reason, reason) && matches(b->symbol, symbol) &&
		    (!b->protocol || b->protocol == protocol) &&
		    (!b->max_pkts || pkts <= b->max_pkts))
			return true;
	}
	return false;
}
