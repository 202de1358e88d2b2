#include "model/facts.h"

#include <string.h>

void ovl_facts_fini(struct ovl_facts *f)
{
	ovl_vec_each(link, &f->links)
		ovl_vec_fini(&link->features);
	ovl_vec_fini(&f->ns);
	ovl_vec_fini(&f->links);
	ovl_vec_fini(&f->daemons);
	ovl_vec_fini(&f->funcs);
	ovl_vec_fini(&f->missing);
	ovl_vec_fini(&f->config);
	memset(f, 0, sizeof(*f));
}

const char *ovl_facts_ns(const struct ovl_facts *f, uint32_t ns)
{
	return ns < f->ns.n ? f->ns.v[ns].name : "?";
}

bool ovl_facts_on_path(const struct ovl_facts *f, uint32_t ns)
{
	return ns < f->ns.n;
}

bool ovl_facts_rr(const struct ovl_facts *f)
{
	return f->load.valid && !strcmp(f->load.kind, "rr");
}

const char *ovl_facts_kind(const struct ovl_link *link)
{
	if (*link->kind)
		return link->kind;
	/* recordings of older versions have no kind for it: LOOPBACK_IFINDEX of the kernel */
	return link->ifindex == 1 ? "loopback" : "physical";
}

bool ovl_facts_sends(const struct ovl_facts *f)
{
	return f->load.cpu_sender >= 0 || f->load.cpu_receiver < 0;
}

const struct ovl_link *ovl_facts_iface(const struct ovl_facts *f)
{
	if (f->iface < 0 || (size_t)f->iface >= f->links.n)
		return NULL;
	return &f->links.v[f->iface];
}

struct ovl_probes ovl_facts_probes(const struct ovl_facts *f)
{
	struct ovl_probes n = {.tracepoint = f->progs_attached + f->packets.progs,
			       .sampler = f->sample_hz ? 1 : 0};

	ovl_vec_each(probe, &f->funcs) {
		n.fentry += probe->tier == OVL_TIER_FENTRY;
		n.kprobe += probe->tier == OVL_TIER_KPROBE;
	}
	n.all = n.tracepoint + n.fentry + n.kprobe + n.sampler;
	return n;
}
