#include "collect/evidence.h"

#include <errno.h>
#include <stdlib.h>

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

/* Control groups, of which a node has thousands, are read so often that it takes 2 %. */
#define COST_SHARE  50
#define WAIT_MAX_NS 2000000000 /* but short runs need two readings */

struct ovl_evidence_reader {
	uint64_t cgroups_ts_ns; /* not before */
	OVL_VEC(struct source) sources;
	struct ovl_sheet sheet;
};

struct ovl_evidence_reader *ovl_evidence_open(const struct ovl_facts *facts, const int *ns_fd)
{
	struct ovl_evidence_reader *e = calloc(1, sizeof(*e));

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
	return e;
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

static void read_cgroups(struct ovl_evidence_reader *e, const struct ovl_facts *facts)
{
	const uint64_t start_ts_ns = ovl_clock_ns();
	uint64_t wait_ns;

	if (start_ts_ns < e->cgroups_ts_ns)
		return;
	e->sheet.ns = OVL_NS_MACHINE;
	ovl_cgroups_read(&e->sheet, facts);
	wait_ns = COST_SHARE * (ovl_clock_ns() - start_ts_ns);
	e->cgroups_ts_ns = start_ts_ns + (wait_ns < WAIT_MAX_NS ? wait_ns : WAIT_MAX_NS);
}

int ovl_evidence_read(struct ovl_evidence_reader *e, const struct ovl_facts *facts,
		      struct ovl_sample *sample)
{
	bool flows = false;
	int rc = 0;

	ovl_sheet_open(&e->sheet);
	ovl_vec_each(s, &e->sources) {
		struct inside in = {&e->sheet, facts, s->ns};

		e->sheet.ns = s->ns;
		ovl_netns_run(s->ns_fd, read_inside, &in);
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
	read_cgroups(e, facts);
	if (sample)
		sample->flows_valid = flows;
	return rc ? rc : ovl_sheet_close(&e->sheet, sample);
}
