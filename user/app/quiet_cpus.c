#include "app/quiet_cpus.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "collect/counters.h"

#define LOOK_NS 200000000 /* how long the CPUs are looked at */

int ovl_quiet_cpus(int *sender, int *receiver, double *idle_cpus, struct ovl_err *err)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct ovl_facts none = {0};
	struct ovl_sample sample = {0};
	struct ovl_counters *c = ovl_counters_open(&none, NULL, err);
	double best[2] = {-1, -1};
	cpu_set_t allowed;
	int rc = c ? ovl_counters_begin(c, err) : -EIO;

	if (!rc) {
		nanosleep(&look, NULL);
		rc = ovl_counters_end(c, &none, &sample, err);
	}
	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof(allowed), &allowed)) /* more CPUs than the set can name */
		for (int i = 0; i < CPU_SETSIZE; i++)
			CPU_SET(i, &allowed);
	*idle_cpus = 0;
	*sender = *receiver = -1;
	ovl_vec_each(cpu, &sample.cpus) {
		double idle = cpu->wall_ns ? (double)cpu->idle_ns / (double)cpu->wall_ns : 0;

		if (cpu->cpu >= CPU_SETSIZE || !CPU_ISSET(cpu->cpu, &allowed))
			continue;
		*idle_cpus += idle;
		if (idle > best[0]) {
			best[1] = best[0];
			*receiver = *sender;
			best[0] = idle;
			*sender = (int)cpu->cpu;
		} else if (idle > best[1]) {
			best[1] = idle;
			*receiver = (int)cpu->cpu;
		}
	}
	if (*receiver < 0)
		*receiver = *sender;
	if (*sender < *receiver) { /* a stable order, so that runs can be compared */
		int swap = *sender;

		*sender = *receiver;
		*receiver = swap;
	}
	ovl_sample_fini(&sample);
	ovl_counters_close(c);
	return rc;
}
