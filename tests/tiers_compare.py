#!/usr/bin/env python3
"""Documents of the tracepoint, fentry and kprobe tiers, each of 50 datagrams of 1009 and 50 of 1399
bytes from pod1 to pod2 of flannel-vxlan, seen from node1: calls and bytes against arithmetic, the
tiers against each other. Prints a table; exit code 1 when something differs."""
import json
import sys

N, PAYLOAD = 100, 50 * (1009 + 1399)
UDP_IP, ETHERNET, TUNNEL = 28, 14, 50
INNER = PAYLOAD + N * UDP_IP  # the inner IP packets
NODE, POD = "ovl-flannel-vxlan-node1", "ovl-flannel-vxlan-pod1"
WANT = {  # (function, device, namespace): bytes of N calls
    ("udp_send", None, POD): PAYLOAD,
    ("veth_xmit", "eth0", POD): INNER + N * ETHERNET,
    ("bridge_in", "vethpod1", NODE): INNER,
    ("vxlan_xmit", "flannel.1", NODE): INNER + N * ETHERNET,
    ("vxlan_xmit_one", "flannel.1", NODE): INNER + N * ETHERNET,
    ("udp_tunnel", "flannel.1", NODE): INNER + N * (ETHERNET + 8),
    ("veth_xmit", "eth0", NODE): INNER + N * (ETHERNET + TUNNEL),
}
bad = 0


def judge(good, text):
    global bad
    bad += not good
    print(("" if good else "WRONG: ") + text)


def load(path):
    d = json.load(open(path))
    return d, {(f["key"], f["iface"], f["netns"]): f for f in d["functions"]}


docs = {name: load(path) for name, path in zip(("tracepoint", "fentry", "kprobe"), sys.argv[1:])}
for name in ("fentry", "kprobe"):
    d, rows = docs[name]
    judge(d["self"]["probes"][name] >= 30, f"{name}: {d['self']['probes']}")
    judge(not any(d["self"]["lost"][k] for k in ("map", "func_time")),
          f"{name}: lost {d['self']['lost']}")
    for key, size in WANT.items():
        f = rows.get(key)
        if f is None and any(m["hook"].startswith("udp_tunnel") for m in d["self"]["missing"]):
            print(f"{name}: {key[0]} is not among the probes, as self.missing says")
            continue
        # kernels may leave runs of a kprobe's program out, and count them since 6.7: what is missing
        # then must be among what is counted as missed
        missing = N - f["calls"] if f else N
        missed = d["self"]["lost"]["run"]
        if name == "fentry" or not missing:
            judge(f and (f["calls"], f["bytes"]) == (N, size),
                  f"{name}: {key}: {f and (f['calls'], f['bytes'])}, expected {(N, size)}")
        else:
            judge(0 < missing <= (N / 10 if missed is None else missed),
                  f"{name}: {key}: {f and f['calls']} of {N}, left out by the kernel: {missed}")
        if f and f["timed"]:
            judge(f["timed"] <= f["calls"] and f["incl_ns"] > 0,
                  f"{name}: {key}: {f['incl_ns'] / f['timed']:.0f} ns")
    if name == "fentry":
        whole, one = (rows[(k, "flannel.1", NODE)] for k in ("vxlan_xmit", "vxlan_xmit_one"))
        judge(whole["excl_ns"] <= whole["incl_ns"] - one["incl_ns"],
              f"fentry: vxlan_xmit's own time {whole['excl_ns']} excludes {one['incl_ns']}")
a, b = docs["fentry"][1], docs["kprobe"][1]
same = [k for k in a if k in b and k[1] and a[k]["calls"] == b[k]["calls"] == N]
judge(same and all((a[k]["calls"], a[k]["bytes"], a[k]["segs"]) ==
                             (b[k]["calls"], b[k]["bytes"], b[k]["segs"]) for k in same),
      f"fentry and kprobe agree on {len(same)} functions")
for name, (d, rows) in docs.items():
    # the tracepoints at the devices run on every tier: they and the functions see the same packets
    seen = [h["xmit"]["data"] for h in d["hops"] if (h["iface"], h["netns"]) == ("flannel.1", NODE)]
    judge(len(seen) == 1 and (seen[0]["pkts"], seen[0]["bytes"], seen[0]["segs"]) ==
          (N, INNER + N * ETHERNET, N), f"{name}: at flannel.1: {seen}")
    sites = {(s["key"], s["netns"]): s for s in d["copies"]["sites"]}
    site = sites.get(("udp_send", POD))
    if name == "tracepoint" and any("sock_send" in m["hook"] for m in d["self"]["missing"]):
        print("tracepoint: this kernel has no sock_send_length, as self.missing says")
        continue
    judge(site and (site["calls"], site["bytes"]) == (N, PAYLOAD) and site["per_pkt"] > 0.9,
          f"{name}: copied in {site and (site['calls'], site['bytes'], site['per_pkt'])}")
    judge(d["copies"]["floor"] == 1, f"{name}: one end is in view: {d['copies']['floor']}")
    judge([s["key"] for s in d["copies"]["sites"] if s["kind"] == "payload"] == ["udp_send"],
          f"{name}: no other copy of payload: {list(sites)}")
sys.exit(bad > 0)
