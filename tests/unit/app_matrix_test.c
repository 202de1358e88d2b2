/* The suites: every row names ends and a device that its lab has, and rows of its suite. */
#include "app/matrix_suite.h"

#include <math.h>

#include "lab/build.h"
#include "tap.h"

static bool has_device(const struct ovl_plan *plan, uint8_t end, const char *name)
{
	bool found = !strcmp(name, "lo");

	for (uint32_t i = 0; i < plan->n_devs; i++) {
		const struct ovl_plan_dev *d = &plan->devs[i];

		found |= d->end == end && !strcmp(d->name, name);
		found |= d->kind == OVL_PLAN_VETH && d->peer_end == end &&
			 !strcmp(d->peer_name, name);
	}
	return found;
}

static void check_path(const struct ovl_matrix_suite *suite, uint32_t i, const struct ovl_matrix *m)
{
	const struct ovl_matrix_path *path = &suite->paths[i];
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_build b;
	struct ovl_lab lab = {0};
	int at;

	ok(!ovl_build_init(&b, &path->lab, true, &lab, &err), "%s %s: its lab can be planned %s",
	   suite->name, path->key, err.text);
	ok(ovl_lab_end(&lab, path->from) && ovl_lab_end(&lab, path->from)->place != OVL_LAB_NOWHERE,
	   "... has a place %s", path->from);
	ok(ovl_lab_end(&lab, path->to) && *ovl_lab_end(&lab, path->to)->addr, "... has an end %s",
	   path->to);
	at = path->at ? ovl_plan_find(b.plan, path->at) : lab.iface_end;
	ok(at >= 0 && has_device(b.plan, (uint8_t)at, path->iface ? path->iface : lab.iface),
	   "... has the device to look at");
	ok(path->host ? m->rows[i].host >= 0 : lab.load[OVL_LAB_LOAD_UNDERLAY].used,
	   "... and something to compare it with");
	ok(!path->against == (m->rows[i].against < 0) && m->rows[i].against != (int)i,
	   "... and another row to explain it by, if it names one");
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(suite->paths[k].key, path->key))
			ok(false, "key %s is there twice", path->key);
	ovl_build_fini(&b);
}

static void check_order(const struct ovl_matrix_suite *suite)
{
	bool all = true, first = true;

	for (uint32_t turn = 0; turn < 3; turn++) {
		uint32_t seen = 0;

		for (uint32_t i = 0; i < suite->n; i++)
			seen |= 1u << ovl_matrix_suite_order(suite, turn, i);
		all &= seen == (1u << suite->n) - 1;
		first &= ovl_matrix_suite_order(suite, turn, 0) == turn % suite->n;
	}
	ok(all && first, "%s: each turn has every row, and begins with another", suite->name);
}

int main(void)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_matrix m;
	uint32_t n = 0;

	for (const struct ovl_matrix_suite *s; (s = ovl_matrix_suite_at(n)); n++) {
		ok(ovl_matrix_suite_find(s->name, &err) == s, "%s is found", s->name);
		ovl_matrix_suite_rows(s, &m);
		for (uint32_t i = 0; i < s->n; i++)
			check_path(s, i, &m);
		check_order(s);
		ovl_matrix_fini(&m);
	}
	is_int(n, 4, "there are four suites");
	ok(!ovl_matrix_suite_find("nonsense", &err) && strstr(err.text, "k8s-paths") &&
		   err.exit == OVL_EXIT_USAGE,
	   "an unknown one is refused, with the names of all: %s", err.text);
	ok(!ovl_matrix_suite_find(NULL, &err) && strstr(err.text, "vxlan-mtu"),
	   "and so is none: %s", err.text);
	return tap_done();
}
