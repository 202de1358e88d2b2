/* `ovltrace diff A B`: what changed between two recordings. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/outfile.h"
#include "app/recorded.h"
#include "app/run.h"
#include "model/diff.h"
#include "view/diff.h"

static int write_out(const struct ovl_options *o, struct ovl_buf *b, struct ovl_err *err)
{
	struct ovl_outfile out = {.fd = -1};
	int rc;

	if (!o->json.path)
		return ovl_cmd_print(b, err);
	rc = ovl_outfile_open(&out, o->json.path, err) ? -EIO : ovl_outfile_write(&out, b, -1, err);
	ovl_outfile_close(&out);
	ovl_buf_fini(b);
	return rc;
}

int ovl_cmd_diff(const struct ovl_options *o, struct ovl_err *err)
{
	struct ovl_recorded run[2] = {0};
	struct ovl_diff diff = {0};
	struct ovl_buf text = {0};
	int rc = 0;

	if (o->n_args != 2)
		return ovl_err_set(err, OVL_EXIT_USAGE, -EINVAL,
				   "diff wants two recordings: ovltrace diff A B");
	for (int i = 0; i < 2; i++)
		if (o->json.path && ovl_outfile_same(o->json.path, o->args[i]))
			return ovl_err_set(
				err, OVL_EXIT_USAGE, -EINVAL,
				"%s and %s are the same file: give --json one of its own",
				o->json.path, o->args[i]);
	for (int i = 0; i < 2 && !rc; i++)
		rc = ovl_recorded_read(&run[i], o->args[i], NULL, NULL, err);
	if (!rc) {
		const struct ovl_diff_names names = {o->args[0], o->args[1]};
		const struct ovl_diff_side a = {&run[0].facts, &run[0].model};
		const struct ovl_diff_side b = {&run[1].facts, &run[1].model};

		if (ovl_diff_make(&a, &b, &diff)) {
			rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
		} else {
			(o->json.on ? ovl_diff_json : ovl_diff_text)(&text, &names, &a, &b, &diff);
			rc = write_out(o, &text, err);
		}
	}
	ovl_diff_fini(&diff);
	for (int i = 0; i < 2; i++)
		ovl_recorded_fini(&run[i]);
	return rc;
}
