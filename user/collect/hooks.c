#include "collect/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "model/func.h"

/* The table's rows by symbol, for bsearch. */
struct by_symbol {
	const char *symbol;
	uint32_t func;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct by_symbol *)a)->symbol, ((const struct by_symbol *)b)->symbol);
}

static uint32_t sort_symbols(struct by_symbol *rows)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < OVL_FUNC_COUNT; i++) {
		const char *symbol = ovl_func_info(i)->symbol;

		if (*symbol)
			rows[n++] = (struct by_symbol){symbol, i};
	}
	qsort(rows, n, sizeof(*rows), compare);
	return n;
}

/* Note each function of this BTF from type `first` on. */
static void scan(struct ovl_hooks *h, const struct btf *btf, uint32_t first, int fd,
		 const struct by_symbol *rows, uint32_t n)
{
	const uint32_t end = btf__type_cnt(btf);

	for (uint32_t id = first; id < end; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		struct by_symbol key = {0}, *row;

		if (!btf_is_func(t))
			continue;
		key.symbol = btf__name_by_offset(btf, t->name_off);
		row = key.symbol ? bsearch(&key, rows, n, sizeof(*rows), compare) : NULL;
		if (row)
			h->type[row->func] = (struct ovl_hook_type){id, fd};
	}
}

/* Does a row of the table name this module? */
static bool wanted(const char *name)
{
	for (uint32_t i = 0; i < OVL_FUNC_COUNT; i++)
		if (!strcmp(ovl_func_info(i)->module, name))
			return true;
	return false;
}

static int scan_module(struct ovl_hooks *h, struct btf *base, uint32_t id,
		       const struct by_symbol *rows, uint32_t n)
{
	char name[64] = "";
	struct bpf_btf_info info = {.name = (uint64_t)(uintptr_t)name, .name_len = sizeof(name)};
	uint32_t len = sizeof(info);
	int fd = bpf_btf_get_fd_by_id(id), *kept;
	struct btf *btf;

	if (fd < 0)
		return 0; /* gone meanwhile */
	btf = bpf_obj_get_info_by_fd(fd, &info, &len) || !info.kernel_btf || !wanted(name)
		      ? NULL
		      : btf__load_from_kernel_by_id_split(id, base);
	if (!btf) {
		close(fd);
		return 0;
	}
	kept = ovl_vec_push(&h->fds);
	if (kept) {
		*kept = fd;
		scan(h, btf, btf__type_cnt(base), fd, rows, n);
	} else {
		close(fd);
	}
	btf__free(btf);
	return kept ? 0 : -ENOMEM;
}

static void close_all(struct ovl_hooks *h)
{
	ovl_vec_each(fd, &h->fds)
		close(*fd);
	ovl_vec_clear(&h->fds);
}

int ovl_hooks_resolve(struct ovl_hooks *h)
{
	struct by_symbol rows[OVL_FUNC_COUNT];
	const uint32_t n = sort_symbols(rows);
	struct btf *base = btf__load_vmlinux_btf();
	uint32_t id = 0;
	int rc = 0;

	if (!base)
		return -errno;
	close_all(h);
	memset(h->type, 0, sizeof(h->type));
	scan(h, base, 1, 0, rows, n);
	while (!rc && !bpf_btf_get_next_id(id, &id))
		rc = scan_module(h, base, id, rows, n);
	btf__free(base);
	return rc;
}

void ovl_hooks_fini(struct ovl_hooks *h)
{
	close_all(h);
	ovl_vec_fini(&h->fds);
}

bool ovl_hooks_module_loaded(const char *proc_modules, const char *module)
{
	const size_t n = strlen(module);

	for (const char *line = proc_modules; line && *line; line++) {
		if (!strncmp(line, module, n) && line[n] == ' ')
			return true;
		line = strchr(line, '\n');
		if (!line)
			break;
	}
	return false;
}

void ovl_hooks_modules(struct ovl_buf *out)
{
	int fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);
	char chunk[4096];
	ssize_t n;

	ovl_buf_clear(out);
	if (fd < 0)
		return;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		ovl_buf_put(out, chunk, (size_t)n);
	close(fd);
}
