#include "collect/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/cgroups.h"
#include "collect/icmpwatch.h"
#include "collect/links.h"
#include "collect/netns.h"
#include "collect/nftrules.h"
#include "collect/nicstats.h"
#include "collect/procstate.h"
#include "collect/sheet.h"
#include "collect/tcpdiag.h"
#include "collect/tcstate.h"
#include "collect/vtepstate.h"

struct source {
	uint32_t ns;
	int ns_fd;
	struct ovl_links *links;
	struct ovl_nftrules *nft;
	struct ovl_tcpdiag *tcp;
	struct ovl_icmpwatch *icmp;
};

/*
 * A reading that took t is not repeated within 100 t: all evidence together costs at most 1 % of a
 * CPU, and control groups, of which a node has thousands, as much again. Only the second reading
 * comes after a second in any case: short runs need two.
 */
#define COST_SHARE     100
#define SECOND_WAIT_NS 1000000000

/* When something may be read again. */
struct pace {
	uint64_t next_ts_ns;
	uint32_t readings;
};

struct ovl_evidence_reader {
	struct pace all, cgroups;
	OVL_VEC(struct source) sources;
	struct ovl_sheet sheet;
};

static uint64_t here(void)
{
	const int fd = ovl_netns_current();
	const uint64_t inode = fd < 0 ? 0 : ovl_netns_inode(fd);

	if (fd >= 0)
		close(fd);
	return inode;
}

struct ovl_evidence_reader *ovl_evidence_open(const struct ovl_facts *facts, const int *ns_fd)
{
	struct ovl_evidence_reader *e = calloc(1, sizeof(*e));
	const uint64_t home = here();

	for (uint32_t i = 0; e && i < facts->ns.n; i++) {
		struct source *s = ns_fd[i] >= 0 ? ovl_vec_push(&e->sources) : NULL;

		if (!s)
			continue;
		s->ns = i;
		s->ns_fd = ns_fd[i];
		s->links = ovl_links_open(ns_fd[i], NULL);
		s->nft = ovl_nftrules_open(ns_fd[i]);
		s->tcp = ovl_tcpdiag_open(ns_fd[i], i);
		s->icmp = ovl_icmpwatch_open(ns_fd[i]);
	}
	/* what cannot be opened is left out, but the thread must be where it was */
	if (here() == home)
		return e;
	ovl_evidence_close(e);
	return NULL;
}

void ovl_evidence_close(struct ovl_evidence_reader *e)
{
	if (!e)
		return;
	ovl_vec_each(s, &e->sources) {
		ovl_links_close(s->links);
		ovl_nftrules_close(s->nft);
		ovl_tcpdiag_close(s->tcp);
		ovl_icmpwatch_close(s->icmp);
	}
	ovl_vec_fini(&e->sources);
	ovl_sheet_fini(&e->sheet);
	free(e);
}

struct inside {
	struct ovl_sheet *sheet;
	const struct ovl_facts *facts;
	uint32_t ns;
};

static int read_inside(void *arg)
{
	const struct inside *in = arg;

	ovl_procstate_read(in->sheet, in->facts, in->ns);
	ovl_nicstats_read(in->sheet, in->facts, in->ns);
	return 0;
}

static bool is_due(const struct pace *pace, uint64_t now_ns)
{
	return now_ns >= pace->next_ts_ns;
}

static void has_read(struct pace *pace, uint64_t start_ts_ns)
{
	const uint64_t wait_ns = COST_SHARE * (ovl_clock_ns() - start_ts_ns);
	const bool first = !pace->readings++;

	pace->next_ts_ns =
		start_ts_ns + (first && wait_ns > SECOND_WAIT_NS ? SECOND_WAIT_NS : wait_ns);
}

static void read_cgroups(struct ovl_evidence_reader *e, const struct ovl_facts *facts)
{
	const uint64_t start_ts_ns = ovl_clock_ns();

	if (!is_due(&e->cgroups, start_ts_ns))
		return;
	e->sheet.ns = OVL_NS_MACHINE;
	ovl_cgroups_read(&e->sheet, facts);
	has_read(&e->cgroups, start_ts_ns);
}

int ovl_evidence_read(struct ovl_evidence_reader *e, const struct ovl_facts *facts,
		      struct ovl_sample *sample, bool last)
{
	const uint64_t start_ts_ns = ovl_clock_ns();
	bool flows = false;
	int rc = 0;

	if (!last && !is_due(&e->all, start_ts_ns))
		return 0;
	ovl_sheet_open(&e->sheet);
	/* first, so that it has room: what had none until the last reading */
	e->sheet.ns = OVL_NS_MACHINE;
	ovl_sheet_count(&e->sheet, "evidence", "all", "left_out", e->sheet.left_out);
	ovl_vec_each(s, &e->sources) {
		struct inside in = {&e->sheet, facts, s->ns};

		e->sheet.ns = s->ns;
		if (ovl_netns_run(s->ns_fd, read_inside, &in) == -ENOTRECOVERABLE)
			return -ENOTRECOVERABLE;
		if (s->links) {
			ovl_tcstate_read(s->links, &e->sheet);
			ovl_vtepstate_read(s->links, &e->sheet);
		}
		if (s->nft)
			ovl_nftrules_read(s->nft, &e->sheet);
		if (s->icmp)
			ovl_icmpwatch_read(s->icmp, &e->sheet);
		if (s->tcp && !rc) {
			rc = ovl_tcpdiag_read(s->tcp, sample);
			flows |= !rc;
			rc = rc == -ENOMEM ? rc : 0;
		}
	}
	has_read(&e->all, start_ts_ns);
	read_cgroups(e, facts);
	if (sample)
		sample->flows_valid = flows;
	return rc ? rc : ovl_sheet_close(&e->sheet, sample);
}
