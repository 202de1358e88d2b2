#include "app/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/outfile.h"
#include "base/buf.h"
#include "base/version.h"

#define DESCRIPTORS_MIN 128

static const struct ovl_entry_command *find(const struct ovl_entry_command *commands, int argc,
					    char **argv)
{
	const struct ovl_entry_command *c = commands;

	while (*c->name && (argc < 2 || strcmp(argv[1], c->name) != 0))
		c++;
	return c;
}

/*
 * Without descriptors 0 to 2 the next file opened would get what is meant for the terminal. They
 * cannot be written to, so that whoever prints there learns that it is lost.
 */
static void fill_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* Maps, programs, sockets of each namespace and stream: a few hundred descriptors. Ours alone. */
static int raise_descriptor_limit(struct ovl_err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max >= DESCRIPTORS_MIN)
		return 0;
	return ovl_err_set(
		err, OVL_EXIT_FAILED, -EMFILE,
		"only %llu open files are allowed and up to %d are needed: raise the limit "
		"(ulimit -Hn)",
		(unsigned long long)limit.rlim_max, DESCRIPTORS_MIN);
}

static int put(const char *text, struct ovl_err *err)
{
	if (fputs(text, stdout) < 0 || fflush(stdout))
		return ovl_outfile_failed(NULL, -errno, err);
	return 0;
}

static int help(const struct ovl_entry_command *command, struct ovl_err *err)
{
	struct ovl_buf b = {0};
	int rc;

	ovl_options_help(command->bit, command->names, &b);
	rc = put(ovl_buf_str(&b), err);
	ovl_buf_fini(&b);
	return rc;
}

/* One line whatever the user typed: control characters of a name are shown as '?'. */
static int complain(int rc, struct ovl_err *err)
{
	if (!*err->text)
		ovl_err_set(err, err->exit, rc, "%s", strerror(-rc));
	for (char *c = err->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fprintf(stderr, "ovltrace: %s\n", err->text);
	return err->exit;
}

static int run(const struct ovl_entry_command *command, int argc, char **argv, struct ovl_err *err)
{
	struct ovl_options o;
	int rc = ovl_options_parse(command->bit, argc, argv, &o, err);

	if (rc)
		return rc;
	if (o.version)
		return put("ovltrace " OVL_VERSION "\n", err);
	if (o.help)
		return help(command, err);
	rc = raise_descriptor_limit(err);
	return rc ? rc : command->run(&o, err);
}

int ovl_entry_main(const struct ovl_entry_command *commands, int argc, char **argv)
{
	const int asks = argc > 1 && !strcmp(argv[1], "help"); /* ovltrace help [COMMAND] */
	const struct ovl_entry_command *command = find(commands, argc - asks, argv + asks);
	const int words = *command->name ? 1 : 0;
	struct ovl_err err = OVL_ERR_INIT;
	int rc;

	fill_descriptors();
	signal(SIGCHLD, SIG_DFL); /* the results of programs we start are wanted */
	setlocale(LC_CTYPE, "");
	rc = asks ? help(command, &err) : run(command, argc - words, argv + words, &err);
	return rc < 0 ? complain(rc, &err) : OVL_EXIT_OK;
}
