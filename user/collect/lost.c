#include "collect/lost.h"

#include <bpf/bpf.h>

void ovl_lost_drain(struct ovl_lost_seen *seen, int fd, size_t cpus, uint64_t *scratch,
		    struct ovl_sample *sample)
{
	for (uint32_t kind = 0; kind < OVL_LOST_COUNT; kind++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(fd, &kind, scratch))
			continue;
		for (size_t cpu = 0; cpu < cpus; cpu++)
			sum += scratch[cpu];
		if (sample)
			sample->lost[kind] += sum - seen->n[kind];
		seen->n[kind] = sum;
	}
}
