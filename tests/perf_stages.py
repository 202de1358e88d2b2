#!/usr/bin/env python3
"""Classify `perf script` output by the stage table, independently of ovltrace's own code.

usage: perf script -F comm,pid,cpu,time,ip,sym | perf_stages.py STAGES RECORDING
STAGES is the output of `ovltrace list stages`. From RECORDING only the instants of the overlay's slices
and the CPUs' clocks are taken; perf must have recorded with -k CLOCK_MONOTONIC. Prints "stage share"
lines, share of busy time: each CPU's samples stand for that CPU's busy time, because a timer may not
fire while its CPU sleeps.
A sample of the idle task on the very entry of an interrupt may be idle time (a sleeping CPU's timer is
let in only behind the interrupt that wakes it); such samples are left out.
"""
import collections
import gzip
import json
import re
import sys

SUFFIX = re.compile(r"\.(isra|constprop|part|cold|llvm)(\.\d+)?.*$")
SOFTIRQ = ("__do_softirq", "handle_softirqs", "do_softirq", "run_ksoftirqd", "net_rx_action")
IRQ = ("asm_sysvec_", "sysvec_", "asm_common_interrupt", "common_interrupt", "irq_exit_rcu")
THROUGH = ("pvm_irq_enable", "pv_native_irq_enable", "native_irq_enable", "_raw_spin_unlock_irq",
           "__raw_callee_save_pvm_irq_enable", "_raw_spin_unlock_irqrestore", "__local_bh_enable_ip")


def table(path):
    strong, weak = [], []
    for line in open(path):
        key, _side, _label, *patterns = line.rstrip("\n").split("\t")
        for pattern in patterns:
            (weak if pattern[0] == "?" else strong).append((pattern.lstrip("?"), key))
    return strong, weak


def find(name, patterns, cache):
    if name not in cache:
        cache[name] = None
        for pattern, key in patterns:
            if name == pattern or pattern[-1] == "*" and name.startswith(pattern[:-1]):
                cache[name] = key
                break
    return cache[name]


HEAD = re.compile(r"\s*(.+?)\s+(-?\d+)\s+\[(\d+)\]\s+(\d+\.\d+):")


def samples(lines):
    """Yield (pid, cpu, seconds, [(address, symbol)…]), leaf first."""
    head, frames = None, []
    for line in lines:
        match = HEAD.match(line) if line[0] != "\t" else None
        if match or not line.strip():
            if head:
                yield (*head, frames)
            frames = []
            head = (int(match.group(2)), int(match.group(3)), float(match.group(4))) if match else None
        else:
            parts = line.split(None, 1)
            frames.append((int(parts[0], 16), SUFFIX.sub("", parts[1].strip()) if len(parts) > 1 else ""))
    if head:
        yield (*head, frames)


def slices(path):
    """[(start, end)] of the overlay's slices in seconds, and each CPU's busy time in them."""
    times, busy = [], collections.Counter()
    for line in gzip.open(path, "rt"):
        sample = json.loads(line).get("sample")
        if sample and sample["phase"] == "overlay":
            times.append((sample["start_ts_ns"] / 1e9, sample["end_ts_ns"] / 1e9))
            for clock in sample["cpus"]:
                away = clock.get("idle_ns", 0) + clock.get("steal_ns", 0)
                busy[clock.get("cpu", 0)] += clock["wall_ns"] - away
    return times, busy


def stage_of(pid, frames, tables, caches):
    """Stage of one sample, None for idle time."""
    kernel = [name for address, name in frames if address >= 1 << 63]
    entry = [n in SOFTIRQ or n.startswith(IRQ) for n in kernel if n not in THROUGH]
    if pid == 0 and (not any(entry) or entry[0]):
        return None
    if not kernel or frames[0][0] < 1 << 63:
        return "user"
    # what an interrupt or softirq has interrupted is not what runs
    own = next((i + 1 for i, n in enumerate(kernel) if n in SOFTIRQ or n.startswith(IRQ)), len(kernel))
    for patterns, cache in zip(tables, caches):
        for name in kernel[:own]:
            stage = find(name, patterns, cache)
            if stage:
                return stage
    return "none" if own == len(kernel) else "softirq_other"


def main():
    tables, caches = table(sys.argv[1]), ({}, {})
    times, busy = slices(sys.argv[2])
    count = collections.defaultdict(collections.Counter)
    for pid, cpu, second, frames in samples(sys.stdin):
        stage = stage_of(pid, frames, tables, caches) if frames else None
        if stage and any(start <= second <= end for start, end in times):
            count[cpu][stage] += 1
    shares = collections.Counter()
    for cpu, stages in count.items():
        for stage, n in stages.items():
            shares[stage] += n / sum(stages.values()) * busy[cpu] / sum(busy.values())
    for stage, share in shares.most_common():
        print(stage, round(share, 5))


main()
