/*
 * Log-linear histogram of times: four buckets an octave, so a bucket is at most a quarter as wide
 * as what lies below it. Plain C for both compilers: the programs count with it, user space reads.
 */
#ifndef OVL_BPF_HIST_H
#define OVL_BPF_HIST_H

#include "abi.h"

/** Bucket of a time: below 4 ns one each, then four an octave; the last takes 2.1 s and more. */
static inline __u32 ovl_wait_bucket(__u64 ns)
{
	__u32 octave = 0, v, bucket;

	if (ns >> 31)
		return OVL_WAIT_BUCKETS - 1;
	v = (__u32)ns;
	if (v < 4)
		return v;
	bucket = v;
	for (__u32 step = 16; step; step >>= 1) {
		if (bucket >> step) {
			bucket >>= step;
			octave += step;
		}
	}
	bucket = (octave - 1) * 4 + ((v >> (octave - 2)) & 3);
	return bucket < OVL_WAIT_BUCKETS ? bucket : OVL_WAIT_BUCKETS - 1;
}

/** Smallest time that the bucket after this one takes. */
static inline __u64 ovl_wait_upper_ns(__u32 bucket)
{
	__u32 next = bucket + 1;

	if (next < 4)
		return next;
	return (__u64)(4 + (next & 3)) << (next / 4 - 1);
}

#endif
