#include "app/recorded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collect/recording.h"

int ovl_recorded_read(struct ovl_recorded *r, const char *path, ovl_recorded_each *each, void *arg,
		      struct ovl_err *err)
{
	struct ovl_sample sample = {0};
	struct ovl_replay *replay;
	int rc;

	memset(r, 0, sizeof(*r));
	r->state = ovl_model_new();
	if (!r->state)
		return ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	replay = ovl_replay_open(path, &r->facts, err);
	rc = !replay ? -EIO : each ? each(arg, r, NULL, err) : 0;
	while (!rc) {
		rc = ovl_replay_next(replay, &sample, &r->truncated, err);
		if (rc <= 0)
			break;
		if (ovl_model_add(r->state, &r->facts, &sample))
			rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
		else
			rc = each ? each(arg, r, &sample, err) : 0;
	}
	if (!rc && ovl_model_build(r->state, &r->facts, &r->model))
		rc = ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "out of memory");
	if (r->truncated)
		fprintf(stderr, "ovltrace: %s was cut short: what is whole of it is shown\n", path);
	ovl_replay_close(replay);
	ovl_sample_fini(&sample);
	return rc;
}

void ovl_recorded_fini(struct ovl_recorded *r)
{
	ovl_model_fini(&r->model);
	ovl_model_free(r->state);
	ovl_facts_fini(&r->facts);
}
