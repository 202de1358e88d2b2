/*
 * The terminal, on a pty of our own: what is drawn, what keys mean, what happens when it goes
 * away.
 */
#include "view/tui/screen.h"
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct session {
	pid_t pid;
	int fd;
	char out[65536];
	size_t n;
};

/** Read what the child prints until it says `until` or nothing comes for twenty seconds. */
static bool expect(struct session *s, const char *until)
{
	for (;;) {
		struct pollfd p = {.fd = s->fd, .events = POLLIN};
		ssize_t got;

		s->out[s->n] = '\0';
		if (until && strstr(s->out, until))
			return true;
		if (s->n > sizeof(s->out) - 4096 || poll(&p, 1, 20000) <= 0)
			return false;
		got = read(s->fd, s->out + s->n, 4095);
		if (got <= 0)
			return false;
		for (char *c = s->out + s->n; c < s->out + s->n + got; c++)
			*c = *c ? *c : ' '; /* keep it a string */
		s->n += (size_t)got;
	}
}

/** What the child shows: a greeting, then the name of each key, until it is told to quit. */
static int child(void)
{
	static const char *const names[] = {"none",   "quit",	"pause", "help",
					    "resize", "redraw", "other"};
	struct ovl_canvas c;
	char why[128] = "", line[64];
	struct ovl_screen *t = ovl_screen_open(false, why, sizeof(why));
	const struct ovl_rect all = {0, 0, 1000, 1000};
	enum ovl_key key = OVL_KEY_NONE;
	int cols, rows, pressed = 0, idle = 0;

	if (!t) {
		printf("NO SCREEN: %s.\r\n", why);
		fflush(stdout);
		return 3;
	}
	ovl_screen_size(t, &cols, &rows);
	ovl_canvas_init(&c, cols, rows, !ovl_screen_utf8(t));
	snprintf(line, sizeof(line), "hello-%dx%d-%s", cols, rows,
		 ovl_screen_utf8(t) ? "utf8" : "ascii");
	ovl_canvas_put(&c, all, 0, 0, OVL_INK_ALARM, line);
	ovl_canvas_put(&c, all, cols - 1, rows - 1, OVL_INK_NORMAL, "x");
	while (key != OVL_KEY_QUIT && pressed < 50) {
		struct pollfd p = {.fd = 0, .events = POLLIN};

		ovl_screen_blit(t, &c);
		/* short, as SIGWINCH may come just before: ncurses tells at the next look */
		if (poll(&p, 1, 50) == 0 && ++idle > 600)
			break; /* the test has failed, do not hang */
		while ((key = ovl_screen_key(t)) != OVL_KEY_NONE) {
			snprintf(line, sizeof(line), "k%d:%s;", ++pressed, names[key]);
			if (key == OVL_KEY_RESIZE) {
				ovl_screen_size(t, &cols, &rows);
				ovl_canvas_fini(&c);
				ovl_canvas_init(&c, cols, rows, true);
				snprintf(line, sizeof(line), "resized-%dx%d;", cols, rows);
			}
			ovl_canvas_put(&c, all, 0, 2 + pressed % 5, OVL_INK_NORMAL, line);
			idle = 0;
			if (key == OVL_KEY_QUIT)
				break;
			/* one by one: of two in the same row only the difference would be sent */
			ovl_screen_blit(t, &c);
		}
	}
	ovl_canvas_fini(&c);
	ovl_screen_close(t);
	ovl_screen_close(t);
	printf("CLOSED\r\n");
	fflush(stdout);
	return key == OVL_KEY_QUIT ? 0 : 4;
}

static void start(struct session *s, const char *term, const char *locale)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	s->n = 0;
	s->pid = forkpty(&s->fd, NULL, NULL, &size);
	if (s->pid != 0)
		return;
	unsetenv("NO_COLOR");
	unsetenv("LINES");
	unsetenv("COLUMNS");
	setenv("LC_ALL", locale, 1);
	if (term)
		setenv("TERM", term, 1);
	else
		unsetenv("TERM");
	fflush(stdout);
	_Exit(child());
}

static int finish(struct session *s)
{
	int status = 0;

	waitpid(s->pid, &status, 0);
	close(s->fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void press(struct session *s, const char *keys)
{
	if (write(s->fd, keys, strlen(keys)) < 0)
		printf("# write to the pty failed\n");
}

static void test_keys(void)
{
	static const struct {
		const char *keys, *name;
	} cases[] = {
		{"p", "pause"},	   {" ", "pause"},	{"Z", "pause"},	      {"?", "help"},
		{"h", "help"},	   {"\033OP", "help"},	{"\033[11~", "help"}, {"x", "other"},
		{"\033", "other"}, {"\033[A", "other"}, {"\014", "redraw"},
	};
	static struct session s;
	char want[32];

	start(&s, "xterm", "C");
	ok(expect(&s, "hello-80x24-ascii"), "the canvas is shown");
	ok(strstr(s.out, "\033[31m") && strstr(s.out, "1m"), "an alarm is red and bold");
	for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
		s.n = 0;
		press(&s, cases[i].keys);
		snprintf(want, sizeof(want), "k%d", i + 1);
		expect(&s, cases[i].name);
		ok(strstr(s.out, cases[i].name), "key %d is %s", i + 1, cases[i].name);
	}
	press(&s, "q");
	ok(expect(&s, "CLOSED"), "q ends it");
	ok(strstr(s.out, "\033[?1049l"), "the terminal is given back");
	is_int(finish(&s), 0, "and all is well");
	start(&s, "xterm", "C");
	expect(&s, "hello");
	press(&s, "\033[21~");
	ok(expect(&s, "CLOSED"), "F10 ends it too");
	is_int(finish(&s), 0, "as well");
}

static void test_resize(void)
{
	struct winsize size = {.ws_row = 40, .ws_col = 132};
	static struct session s;

	start(&s, "xterm", "C");
	expect(&s, "hello");
	ioctl(s.fd, TIOCSWINSZ, &size);
	ok(expect(&s, "resized-132x40"), "a new size arrives as a key");
	for (int i = 0; i < 30; i++) { /* a storm */
		size.ws_col = (unsigned short)(1 + i * 7 % 90);
		size.ws_row = (unsigned short)(1 + i * 5 % 30);
		ioctl(s.fd, TIOCSWINSZ, &size);
	}
	size = (struct winsize){.ws_row = 24, .ws_col = 80};
	ioctl(s.fd, TIOCSWINSZ, &size);
	ok(expect(&s, "resized-80x24"), "and after a storm the last one");
	press(&s, "q");
	expect(&s, "CLOSED");
	is_int(finish(&s), 0, "still well");
}

static void test_terms(void)
{
	static struct session s;

	start(&s, "no-such-terminal", "C");
	ok(expect(&s, "hello-80x24-ascii"), "an unknown TERM falls back");
	press(&s, "q");
	expect(&s, "CLOSED");
	finish(&s);
	start(&s, NULL, "C");
	ok(expect(&s, "hello-80x24-ascii"), "no TERM falls back");
	press(&s, "q");
	expect(&s, "CLOSED");
	finish(&s);
	start(&s, "dumb", "C");
	ok(expect(&s, "NO SCREEN: TERM=dumb cannot show screens."), "a dumb terminal is refused");
	is_int(finish(&s), 3, "with a reason");
	start(&s, "xterm", "C.UTF-8");
	ok(expect(&s, "hello-80x24-utf8"), "a UTF-8 locale is seen");
	press(&s, "q");
	expect(&s, "CLOSED");
	finish(&s);
	start(&s, "linux", "C.UTF-8");
	ok(expect(&s, "hello-80x24-ascii"), "but not believed on the Linux console");
	press(&s, "q");
	expect(&s, "CLOSED");
	finish(&s);
}

static void test_gone(void)
{
	static struct session s;
	int status = -1, waited = 0;

	start(&s, "xterm", "C");
	if (!expect(&s, "hello"))
		printf("# no screen\n");
	close(s.fd); /* the terminal goes away: SIGHUP, and EIO for who ignores it */
	for (; waited < 400 && waitpid(s.pid, &status, WNOHANG) == 0; waited++)
		usleep(50000);
	ok(waited < 400, "a vanished terminal ends the child");
	if (waited >= 400) {
		kill(s.pid, SIGKILL);
		waitpid(s.pid, &status, 0);
	}
	signal(SIGHUP, SIG_IGN); /* inherited: now the key must say it */
	start(&s, "xterm", "C");
	if (!expect(&s, "hello"))
		printf("# no screen\n");
	close(s.fd);
	is_int(finish(&s), 0, "with SIGHUP ignored it reads as quit");
	signal(SIGHUP, SIG_DFL);
}

static void test_no_terminal(void)
{
	char why[128] = "";
	int null = open("/dev/null", O_RDWR), in = dup(0);

	dup2(null, 0);
	ok(!ovl_screen_open(true, why, sizeof(why)), "no terminal, no screen");
	ok(strstr(why, "is not a terminal"), "and why: %s", why);
	ovl_screen_close(NULL);
	dup2(in, 0);
	close(in);
	close(null);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_no_terminal();
	fflush(stdout);
	test_keys();
	test_resize();
	test_terms();
	test_gone();
	return tap_done();
}
