/* The small commands: doctor, list. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "app/outfile.h"
#include "app/run.h"
#include "base/buf.h"
#include "collect/collect.h"
#include "model/metrics.h"
#include "model/func.h"
#include "model/stage.h"
#include "view/findings.h"

int ovl_cmd_print(struct ovl_buf *b, struct ovl_err *err)
{
	int rc = 0;

	if (fwrite(ovl_buf_str(b), 1, b->n, stdout) != b->n || fflush(stdout))
		rc = ovl_outfile_failed(NULL, -errno, err);
	ovl_buf_fini(b);
	return rc;
}

static const char *const check_words[] = {
	[OVL_CHECK_OK] = "ok", [OVL_CHECK_MISSING] = "missing", [OVL_CHECK_SKIPPED] = "skipped"};

static void doctor_json(const ovl_checks *checks, struct ovl_buf *b)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();

	ovl_vec_each(c, checks) {
		struct json_object *row = json_object_new_object();

		json_object_object_add(row, "check", json_object_new_string(c->key));
		json_object_object_add(row, "state", json_object_new_string(check_words[c->state]));
		json_object_object_add(row, "text", json_object_new_string(c->text));
		json_object_object_add(row, "lost",
				       *c->lost ? json_object_new_string(c->lost) : NULL);
		json_object_array_add(list, row);
	}
	json_object_object_add(root, "schema", json_object_new_string("ovltrace-doctor/1"));
	json_object_object_add(root, "checks", list);
	ovl_buf_printf(b, "%s\n", json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY));
	json_object_put(root);
}

int ovl_cmd_doctor(const struct ovl_options *o, struct ovl_err *err)
{
	ovl_checks checks = {0};
	struct ovl_buf b = {0};
	FILE *f = stdout;
	int rc = ovl_doctor_run(o->iface, &checks), not_found = 0;

	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "doctor ran out of memory");
	if (o->json.on) {
		doctor_json(&checks, &b);
	} else {
		ovl_vec_each(c, &checks) {
			ovl_buf_printf(&b, "%-8s %-16s %s\n", check_words[c->state], c->key,
				       c->text);
			if (*c->lost)
				ovl_buf_printf(&b, "%-25s lost: %s\n", "", c->lost);
		}
	}
	ovl_vec_each(c, &checks)
		if (o->iface && !strcmp(c->key, "interface") && c->state == OVL_CHECK_MISSING)
			not_found = ovl_err_set(err, OVL_EXIT_INPUT, -ENODEV, "%s", c->text);
	ovl_vec_fini(&checks);
	if (o->json.path && !(f = fopen(o->json.path, "we"))) {
		ovl_buf_fini(&b);
		return ovl_err_set(err, OVL_EXIT_FAILED, -errno, "cannot write %s: %s",
				   o->json.path, strerror(errno));
	}
	if (fwrite(ovl_buf_str(&b), 1, b.n, f) != b.n || fflush(f))
		rc = ovl_outfile_failed(o->json.path, errno ? -errno : -EIO, err);
	if (f != stdout)
		fclose(f);
	ovl_buf_fini(&b);
	return rc ? rc : not_found;
}

static void list_stages(struct ovl_buf *b)
{
	size_t n;
	const struct ovl_stage_fn *fns = ovl_stage_fns(&n);

	for (int stage = 0; stage < OVL_STAGE_COUNT; stage++) {
		const struct ovl_stage_info *info = ovl_stage_info((enum ovl_stage)stage);

		ovl_buf_printf(b, "%s\t%s\t%s", info->key, info->side, info->label);
		for (size_t i = 0; i < n; i++)
			if (fns[i].id == stage)
				ovl_buf_printf(b, "%s%s%s", fns[i].weak ? "\t?" : "\t",
					       fns[i].pattern, "");
		ovl_buf_puts(b, "\n");
	}
}

static void list_hooks(struct ovl_buf *b)
{
#define HOOK(KEY, name, kind, gives) ovl_buf_printf(b, "%s\t%s\t%s\n", name, kind, gives);
#include "../../bpf/hooks.def"
	for (uint32_t i = 0; i < OVL_FUNC_COUNT; i++) {
		const struct ovl_func_info *info = ovl_func_info(i);

		if (*info->symbol)
			ovl_buf_printf(b, "%s%s%s\tfentry or kprobe\twith --deep: %s\n",
				       info->module, *info->module ? ":" : "", info->symbol,
				       info->lost);
	}
}

static void list_metrics(struct ovl_buf *b)
{
	static const char *const units[] = {[OVL_METRIC_BPS] = "bit/s",
					    [OVL_METRIC_SHARE] = "share",
					    [OVL_METRIC_NS] = "ns",
					    [OVL_METRIC_PER_S] = "1/s",
					    [OVL_METRIC_NS_PER_KIB] = "ns/KiB",
					    [OVL_METRIC_NUMBER] = "number"};
	static const char *const better[] = {"-", "more", "less"};

	for (int i = 0; i < OVL_METRIC_COUNT; i++) {
		const struct ovl_metric_info *info = ovl_metric_info((enum ovl_metric)i);

		ovl_buf_printf(b, "%s\t%s\t%s\t%s\n", info->name, units[info->unit],
			       better[info->better], info->text);
	}
}

int ovl_cmd_list(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_buf b = {0};

	if (o->n_args == 1 && !strcmp(o->args[0], "stages"))
		list_stages(&b);
	else if (o->n_args == 1 && !strcmp(o->args[0], "hooks"))
		list_hooks(&b);
	else if (o->n_args == 1 && !strcmp(o->args[0], "metrics"))
		list_metrics(&b);
	else if (o->n_args == 1 && !strcmp(o->args[0], "rules"))
		ovl_findings_rules(&b);
	else
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "list wants: stages, hooks, metrics or rules");
	return ovl_cmd_print(&b, err);
}
