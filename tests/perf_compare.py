#!/usr/bin/env python3
"""Compare stage shares of an ovltrace document with those of perf_stages.py.

usage: perf_compare.py DOCUMENT SHARES. Prints every stage above 3 %; exit 1 if one differs by more than
3 points. Shares are of the work whose stage both can tell: not user mode, not interrupt entry.
"""
import json
import sys

APART = {"user", "none", "application", "user_other", "other_tasks", "ovltrace", "user_daemon", "user_proxy",
         "softirq_other", "irq_other", "kernel_other", "unclassified"}


def normal(shares):
    shares = {key: value for key, value in shares.items() if key not in APART}
    total = sum(shares.values())
    return {key: value / total for key, value in shares.items()}


def main():
    stages = json.load(open(sys.argv[1]))["cpu"]["stages"]
    ours = normal({stage["key"]: stage["share_ratio"] for stage in stages})
    theirs = normal({key: float(value) for key, value in (line.split() for line in open(sys.argv[2]))})
    bad = False
    for key in sorted(set(ours) | set(theirs)):
        here, there = ours.get(key, 0), theirs.get(key, 0)
        if max(here, there) > 0.03:
            print(f"{key}: {here:.3f} here, {there:.3f} by perf")
            bad |= abs(here - there) > 0.03
    sys.exit(bad or not ours)


main()
