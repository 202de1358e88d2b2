#include "collect/self.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpf/abi.h"

/*
 * CPU clock of one thread of this process, as pthread_getcpuclockid makes it: the kernel's
 * include/linux/posix-timers.h (~tid << 3 | CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED).
 */
static uint64_t thread_cpu_ns(pid_t tid)
{
	clockid_t clock = (clockid_t)(~(unsigned int)tid << 3 | 6u);
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static struct ovl_self_thread *find(struct ovl_self *s, pid_t tid)
{
	struct ovl_self_thread *fresh;

	ovl_vec_each(t, &s->threads) {
		if (t->tid == tid)
			return t;
	}
	fresh = ovl_vec_push(&s->threads);
	if (fresh)
		fresh->tid = tid;
	return fresh;
}

int ovl_self_init(struct ovl_self *s, uint32_t cpus)
{
	*s = (struct ovl_self){.n_hits = cpus};
	s->hits = calloc(cpus, sizeof(*s->hits));
	if (!s->hits)
		return -ENOMEM;
	ovl_self_read(s);
	return 0;
}

void ovl_self_fini(struct ovl_self *s)
{
	ovl_vec_fini(&s->threads);
	free(s->hits);
	s->hits = NULL;
}

int ovl_self_mark(struct ovl_self *s, pid_t tid, bool foreign)
{
	struct ovl_self_thread *t = find(s, tid);

	if (!t)
		return -ENOMEM;
	t->foreign = foreign;
	return 0;
}

uint64_t ovl_self_read(struct ovl_self *s)
{
	DIR *dir = opendir("/proc/self/task");
	uint64_t sum = 0;
	struct dirent *e;
	size_t kept = 0;

	if (!dir)
		return 0;
	ovl_vec_each(t, &s->threads)
		t->seen = false;
	while ((e = readdir(dir))) {
		pid_t tid = (pid_t)atoi(e->d_name);
		struct ovl_self_thread *t = tid > 0 ? find(s, tid) : NULL;
		uint64_t now;

		if (!t)
			continue;
		now = thread_cpu_ns(tid);
		if (!t->foreign && now > t->cpu_ns)
			sum += now - t->cpu_ns;
		t->cpu_ns = now;
		t->seen = true;
	}
	closedir(dir);
	/* forget the dead: their ids may come again */
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].seen)
			s->threads.v[kept++] = s->threads.v[i];
	s->threads.n = kept;
	return sum;
}

void ovl_self_share(struct ovl_self *s, uint64_t cpu_ns, struct ovl_sample *sample)
{
	uint64_t all = 0, rest = cpu_ns;
	int here = sched_getcpu();

	ovl_vec_each(h, &sample->hits) {
		if (h->task_class == OVL_TASK_SELF && h->cpu < s->n_hits &&
		    (h->ctx == OVL_CTX_TASK || h->ctx == OVL_CTX_USER))
			s->hits[h->cpu] += h->count;
	}
	for (uint32_t i = 0; i < s->n_hits; i++)
		all += s->hits[i];
	ovl_vec_each(d, &sample->self) {
		d->user_ns = 0;
		if (all && d->cpu < s->n_hits)
			d->user_ns =
				(uint64_t)((double)cpu_ns * (double)s->hits[d->cpu] / (double)all);
		if (d->user_ns > rest)
			d->user_ns = rest;
		rest -= d->user_ns;
	}
	/* what rounding left, or everything: where the work is done now */
	ovl_vec_each(d, &sample->self) {
		if ((int)d->cpu == here)
			d->user_ns += rest;
	}
}
