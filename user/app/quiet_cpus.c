#include "app/quiet_cpus.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "base/cpus.h"
#include "collect/counters.h"

#define LOOK_NS 200000000 /* how long the CPUs are looked at */

static int look(struct ovl_sample *sample, struct ovl_err *err)
{
	const struct timespec span = {.tv_nsec = LOOK_NS};
	const struct ovl_facts none = {0};
	struct ovl_counters *c = ovl_counters_open(&none, NULL, err);
	int rc = c ? ovl_counters_begin(c, err) : -EIO;

	if (!rc) {
		nanosleep(&span, NULL);
		rc = ovl_counters_end(c, &none, sample, err);
	}
	ovl_counters_close(c);
	return rc;
}

/* Note how idle each CPU was; the sum of it. */
static double note_idle(struct ovl_cpus *cpus, const struct ovl_sample *sample)
{
	double idle_cpus = 0;
	size_t i = 0;

	ovl_vec_each(seen, &sample->cpus) {
		while (i < cpus->n && cpus->v[i].cpu < (int)seen->cpu) /* both are by number */
			i++;
		if (i == cpus->n)
			break;
		if (cpus->v[i].cpu != (int)seen->cpu || !seen->wall_ns)
			continue;
		cpus->v[i].idle_ratio = (double)seen->idle_ns / (double)seen->wall_ns;
		idle_cpus += cpus->v[i].idle_ratio;
	}
	return idle_cpus;
}

int ovl_quiet_cpus(int *sender, int *receiver, double *idle_cpus, struct ovl_err *err)
{
	struct ovl_sample sample = {0};
	struct ovl_cpus cpus = {0};
	int rc = ovl_cpus_read("", &cpus, err);

	if (!rc)
		rc = look(&sample, err);
	if (!rc) {
		*idle_cpus = note_idle(&cpus, &sample);
		rc = ovl_cpus_pick(cpus.v, cpus.n, sender, receiver);
	}
	ovl_sample_fini(&sample);
	ovl_vec_fini(&cpus);
	return rc;
}
