#include "collect/ksyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* A function is never longer than this: addresses further from any symbol are unknown. */
#define FUNCTION_MAX_BYTES (1u << 20)

struct symbol {
	uint64_t addr;
	uint32_t name; /* offset into names */
	struct ovl_symbol_class class;
	bool resolved;
};

struct table {
	OVL_VEC(struct symbol) symbols; /* by address */
	OVL_VEC(char) names;
	bool hidden; /* all addresses were zero */
};

struct ovl_ksyms {
	char path[256];
	struct table t;
};

static void table_fini(struct table *t)
{
	ovl_vec_fini(&t->symbols);
	ovl_vec_fini(&t->names);
}

void ovl_ksyms_strip(char *name)
{
	static const char *const suffixes[] = {".isra.", ".constprop.", ".part.", ".cold",
					       ".llvm."};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *at = strstr(name, suffixes[i]);

		if (at && at != name)
			*at = '\0';
	}
}

static int add_name(struct table *t, const char *name, uint32_t *offset)
{
	size_t n = strlen(name) + 1, cap = t->names.cap ? t->names.cap : 1 << 16;

	while (cap < t->names.n + n)
		cap += cap / 2;
	if (cap != t->names.cap) {
		char *grown = realloc(t->names.v, cap);

		if (!grown)
			return -ENOMEM;
		t->names.v = grown;
		t->names.cap = cap;
	}
	memcpy(t->names.v + t->names.n, name, n);
	*offset = (uint32_t)t->names.n;
	t->names.n += n;
	return 0;
}

/* "ffffffff81000000 T _stext [module]" */
static int add_line(struct table *t, char *line)
{
	char *end, *name;
	uint64_t addr = strtoull(line, &end, 16);
	struct symbol *s;

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	if (!strchr("tTwW", end[1]))
		return 0;
	name = end + 3;
	name[strcspn(name, "\t \n")] = '\0';
	if (!*name || *name == '$') /* ARM's mapping symbols */
		return 0;
	if (!addr) {
		t->hidden = true;
		return 0;
	}
	ovl_ksyms_strip(name);
	s = ovl_vec_push(&t->symbols);
	if (!s)
		return -ENOMEM;
	s->addr = addr;
	return add_name(t, name, &s->name);
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Sort only what is not sorted: the kernel's own part is, modules and BPF programs follow. */
static void sort(struct table *t)
{
	for (size_t i = 1; i < t->symbols.n; i++)
		if (t->symbols.v[i - 1].addr > t->symbols.v[i].addr) {
			qsort(t->symbols.v, t->symbols.n, sizeof(t->symbols.v[0]), by_addr);
			return;
		}
}

static int table_read(struct table *t, const char *path, struct ovl_err *err)
{
	FILE *f = fopen(path, "re");
	char line[512];
	int rc = 0;

	if (!f) {
		rc = -errno;
		return ovl_err_set(err, rc == -EACCES ? OVL_EXIT_RIGHTS : OVL_EXIT_KERNEL, rc,
				   "cannot read the kernel's symbols from %s: %s", path,
				   strerror(-rc));
	}
	while (!rc && fgets(line, sizeof(line), f))
		rc = add_line(t, line);
	fclose(f);
	if (rc)
		return ovl_err_set(err, OVL_EXIT_FAILED, rc, "no memory for the kernel's symbols");
	if (!t->symbols.n && t->hidden)
		return ovl_err_set(err, OVL_EXIT_RIGHTS, -EPERM,
				   "%s hides all addresses: CAP_SYSLOG is needed, or "
				   "kernel.kptr_restrict = 0",
				   path);
	if (!t->symbols.n)
		return ovl_err_set(err, OVL_EXIT_KERNEL, -ENOENT, "%s lists no functions", path);
	sort(t);
	return 0;
}

struct ovl_ksyms *ovl_ksyms_open(const char *path, struct ovl_err *err)
{
	struct ovl_ksyms *k = calloc(1, sizeof(*k));

	if (!k) {
		ovl_err_set(err, OVL_EXIT_FAILED, -ENOMEM, "no memory for the kernel's symbols");
		return NULL;
	}
	snprintf(k->path, sizeof(k->path), "%s", path ? path : "/proc/kallsyms");
	if (table_read(&k->t, k->path, err)) {
		ovl_ksyms_close(k);
		return NULL;
	}
	return k;
}

void ovl_ksyms_close(struct ovl_ksyms *k)
{
	if (!k)
		return;
	table_fini(&k->t);
	free(k);
}

int ovl_ksyms_find(const struct ovl_ksyms *k, uint64_t addr)
{
	const struct symbol *v = k->t.symbols.v;
	size_t lo = 0, hi = k->t.symbols.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - v[lo - 1].addr >= FUNCTION_MAX_BYTES)
		return -1;
	return (int)(lo - 1);
}

const char *ovl_ksyms_name(const struct ovl_ksyms *k, int index)
{
	return k->t.names.v + k->t.symbols.v[index].name;
}

const struct ovl_symbol_class *ovl_ksyms_class(struct ovl_ksyms *k, int index)
{
	struct symbol *s = &k->t.symbols.v[index];

	if (!s->resolved) {
		ovl_classify_symbol(ovl_ksyms_name(k, index), &s->class);
		s->resolved = true;
	}
	return &s->class;
}

int ovl_ksyms_reload(struct ovl_ksyms *k, struct ovl_err *err)
{
	struct table fresh = {0};
	int rc = table_read(&fresh, k->path, err);

	if (rc) {
		table_fini(&fresh);
		return rc;
	}
	table_fini(&k->t);
	k->t = fresh;
	return 0;
}
