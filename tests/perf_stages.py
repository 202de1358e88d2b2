#!/usr/bin/env python3
"""Classify `perf script` output by the stage table, independently of ovltrace's own code.

usage: perf script -F comm,pid,cpu,ip,sym | perf_stages.py STAGES
STAGES is the output of `ovltrace list stages`. Prints "stage share" lines, share of busy samples.
A sample of the idle task on the very entry of an interrupt may be idle time (a sleeping CPU's timer is
let in only behind the interrupt that wakes it); such samples are left out.
"""
import collections
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


def samples(lines):
    """Yield (comm, pid, [(address, symbol)…]) leaf first."""
    head, frames = None, []
    for line in lines:
        if not line.strip():
            if head:
                yield head, frames
            head, frames = None, []
        elif line[0] not in " \t" or head is None:
            match = re.match(r"\s*(.+?)\s+(\d+)\s+\[(\d+)\]", line)
            head = (match.group(1), int(match.group(2))) if match else ("?", -1)
        else:
            parts = line.split(None, 1)
            frames.append((int(parts[0], 16), SUFFIX.sub("", parts[1].strip()) if len(parts) > 1 else ""))
    if head:
        yield head, frames


def main():
    strong, weak = table(sys.argv[1])
    strong_cache, weak_cache = {}, {}
    count, busy = collections.Counter(), 0
    for (_comm, pid), frames in samples(sys.stdin):
        kernel = [name for address, name in frames if address >= 1 << 63]
        entry = [n in SOFTIRQ or n.startswith(IRQ) for n in kernel if n not in THROUGH]
        if pid == 0 and (not any(entry) or entry[0]):
            continue
        busy += 1
        if not kernel or frames[0][0] < 1 << 63:
            count["user"] += 1
            continue
        stage = next((k for k in (find(n, strong, strong_cache) for n in kernel) if k), None)
        if not stage:
            stage = next((k for k in (find(n, weak, weak_cache) for n in kernel) if k), "none")
        count[stage] += 1
    for stage, n in count.most_common():
        print(stage, round(n / busy, 5))
    print("samples", busy)


main()
