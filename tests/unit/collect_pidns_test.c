/*
 * In a PID namespace of its own (a container), the sampler still knows whose work a task does.
 * needs: root
 */
#include "collect/collect.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

#define HZ	 997
#define SPIN_NS	 300000000ull
#define EXPECTED ((uint64_t)(HZ * (SPIN_NS / 1e9)))

static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* CPU time of this thread, in user mode for the most part. */
static void spin(void)
{
	uint64_t until = thread_ns() + SPIN_NS;

	while (thread_ns() < until)
		for (volatile int i = 0; i < 1000000; i++)
			;
}

struct worker {
	_Atomic pid_t tid;
	_Atomic bool go;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	w->tid = (pid_t)syscall(SYS_gettid);
	while (!w->go)
		usleep(500);
	spin();
	return NULL;
}

static uint64_t hits_of(const struct ovl_sample *s, int task_class)
{
	uint64_t n = 0;

	ovl_vec_each(h, &s->hits) {
		if (h->task_class == task_class && h->ctx == OVL_CTX_USER)
			n += h->count;
	}
	return n;
}

static void test_classes(struct ovl_collect *c, const struct ovl_facts *facts)
{
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_sample s = {0};
	struct worker w = {0};
	uint64_t self, load;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &w)) {
		ok(false, "a thread to watch");
		return;
	}
	while (!w.tid)
		usleep(500);
	ovl_collect_class(c, w.tid, OVL_TASK_LOAD_TX);
	is_int(ovl_collect_begin(c, &err), 0, "an interval begins %s", err.text);
	w.go = true;
	spin();
	pthread_join(thread, NULL);
	is_int(ovl_collect_end(c, facts, &s, &err), 0, "and ends %s", err.text);
	self = hits_of(&s, OVL_TASK_SELF);
	load = hits_of(&s, OVL_TASK_LOAD_TX);
	printf("# samples in user mode: %llu own, %llu of the load, %llu expected of each\n",
	       (unsigned long long)self, (unsigned long long)load, (unsigned long long)EXPECTED);
	ok(self > EXPECTED / 2, "own threads are known");
	ok(load > EXPECTED / 2, "so is a thread that was named");
	ovl_sample_fini(&s);
}

/* As process 1 of a new PID namespace. */
static int inside(void)
{
	const struct ovl_collect_spec spec = {.sample_hz = HZ};
	struct ovl_facts facts = {.iface = -1};
	struct ovl_err err = OVL_ERR_INIT;
	struct ovl_collect *c;

	is_int(getpid(), 1, "this is a PID namespace of its own");
	c = ovl_collect_open(&spec, &facts, NULL, &err);
	ok(c != NULL, "the instruments open %s", err.text);
	if (c)
		test_classes(c, &facts);
	ovl_collect_close(c);
	ovl_facts_fini(&facts);
	return tap_done();
}

static int no_proc(void)
{
	tap_skip("no /proc can be mounted here: %s", strerror(errno));
	return tap_done();
}

int main(void)
{
	int status = 1;
	pid_t pid;

	if (geteuid()) {
		tap_skip("needs root: BPF programs and a PID namespace");
		return tap_done();
	}
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		tap_skip("no PID namespace can be made here: %s", strerror(errno));
		return tap_done();
	}
	pid = fork();
	if (!pid) {
		status = mount("proc", "/proc", "proc", 0, NULL) ? no_proc() : inside();
	} else {
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			status = 1 << 8;
		status = WEXITSTATUS(status);
	}
	fflush(stdout);
	/*
	 * the leak checker needs one more process at exit, in a namespace whose first one is gone
	 */
	_exit(status);
}
