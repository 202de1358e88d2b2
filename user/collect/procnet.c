#include "collect/procnet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SOFTNET_COLUMNS 13 /* up to and including the CPU's number (5.10) */

int ovl_procnet_read(int fd, struct ovl_text *text)
{
	size_t n = 0;

	for (;;) {
		ssize_t got;

		if (n + 1 >= text->cap) {
			size_t cap = text->cap ? text->cap * 2 : 16384;
			char *grown = realloc(text->s, cap);

			if (!grown)
				return -ENOMEM;
			text->s = grown;
			text->cap = cap;
		}
		/* some files give a page at a time: the end is where nothing is left */
		got = pread(fd, text->s + n, text->cap - 1 - n, (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		n += (size_t)got;
		text->s[n] = '\0';
		if (!got)
			return 0;
	}
}

static const char *line_end(const char *s)
{
	return s + strcspn(s, "\n");
}

/* Next word of a line, n == 0 at its end; *s moves behind it. */
static struct ovl_word next_word(const char **s)
{
	struct ovl_word word;

	*s += strspn(*s, " \t");
	word.s = *s;
	word.n = strcspn(*s, " \t\n");
	*s += word.n;
	return word;
}

static bool parse_value(struct ovl_word word, int64_t *value)
{
	char *end;

	if (!word.n || (word.s[0] != '-' && (word.s[0] < '0' || word.s[0] > '9')))
		return false;
	/* counters are unsigned long: those past 2^63 wrap, and so do their differences */
	*value = word.s[0] == '-' ? strtoll(word.s, &end, 10) : (int64_t)strtoull(word.s, &end, 10);
	return end == word.s + word.n;
}

static int pair(const char *names, const char *values, ovl_procnet_counter each, void *arg)
{
	struct ovl_word group = next_word(&names);
	struct ovl_word again = next_word(&values);
	int n = 0;

	if (group.n < 2 || group.s[group.n - 1] != ':' || group.n != again.n ||
	    memcmp(group.s, again.s, group.n))
		return -1;
	group.n--;
	for (;;) {
		struct ovl_word name = next_word(&names), number = next_word(&values);
		int64_t value;

		if (!name.n || !parse_value(number, &value))
			return n;
		each(arg, group, name, value);
		n++;
	}
}

int ovl_procnet_pairs(const char *text, ovl_procnet_counter each, void *arg)
{
	int total = 0;

	while (*text) {
		const char *end = line_end(text);
		const char *values = end + 1;
		int n;

		/* a last line without its newline may end in half a number */
		if (!*end || !*line_end(values))
			break;
		n = pair(text, values, each, arg);
		text = n < 0 ? values : line_end(values) + 1;
		total += n < 0 ? 0 : n;
	}
	return total;
}

int ovl_procnet_snmp6(const char *text, ovl_procnet_counter each, void *arg)
{
	static const char *const groups[] = {"Ip6", "Icmp6", "UdpLite6", "Udp6"};
	int total = 0;

	for (const char *end; *(end = line_end(text)); text = end + 1) {
		struct ovl_word name = next_word(&text);
		struct ovl_word number = next_word(&text);
		int64_t value;

		if (!parse_value(number, &value))
			continue;
		for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
			struct ovl_word group = {groups[i], strlen(groups[i])};

			if (name.n <= group.n || memcmp(name.s, group.s, group.n))
				continue;
			name.s += group.n;
			name.n -= group.n;
			each(arg, group, name, value);
			total++;
			break;
		}
	}
	return total;
}

int ovl_procnet_softnet(const char *text, void (*each)(void *arg, const struct ovl_softnet *line),
			void *arg)
{
	int total = 0;

	for (const char *end; *(end = line_end(text)); text = end + 1) {
		uint32_t column[SOFTNET_COLUMNS] = {0};
		int n;

		for (n = 0; n < SOFTNET_COLUMNS; n++) {
			struct ovl_word word = next_word(&text);
			char *stop;

			if (word.n != 8) /* "%08x" */
				break;
			column[n] = (uint32_t)strtoul(word.s, &stop, 16);
			if (stop != word.s + word.n)
				break;
		}
		if (n < 11)
			continue;
		each(arg, &(struct ovl_softnet){
				  /* without that column, the line's number */
				  .cpu = n == SOFTNET_COLUMNS ? column[12] : (uint32_t)total,
				  .processed = column[0],
				  .dropped = column[1],
				  .time_squeeze = column[2],
				  .received_rps = column[9],
				  .flow_limit = column[10],
			  });
		total++;
	}
	return total;
}

int ovl_procnet_stat(const char *text, void (*each)(void *arg, const struct ovl_stat_cpu *line),
		     void *arg)
{
	int total = 0;

	for (const char *end; *(end = line_end(text)); text = end + 1) {
		struct ovl_word name = next_word(&text);
		int64_t cpu, column[8];
		int n;

		/* the lines of CPUs come first: the rest (interrupt counts) is long */
		if (name.n < 3 || memcmp(name.s, "cpu", 3))
			break;
		/* "cpu" alone is the sum of all */
		if (!parse_value((struct ovl_word){name.s + 3, name.n - 3}, &cpu) || cpu < 0)
			continue;
		for (n = 0; n < 8 && parse_value(next_word(&text), &column[n]); n++)
			;
		if (n < 8)
			continue;
		each(arg, &(struct ovl_stat_cpu){
				  .cpu = (uint32_t)cpu,
				  .idle = (uint64_t)column[3],
				  .iowait = (uint64_t)column[4],
				  .steal = (uint64_t)column[7],
			  });
		total++;
	}
	return total;
}
