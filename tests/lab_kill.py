"""Kill `lab up` at random moments, then `lab down`: what is left? TOOL TOPOLOGY TIMES"""
import os
import random
import subprocess
import sys
import time

tool, topo, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
mark = b"OVLTRACE_LAB=" + topo.encode() + b":"
here = os.readlink("/proc/self/ns/mnt")


def daemons():
    """Processes of the lab that see the same files as this one."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                own = environment.read().split(b"\0")
            if any(v.startswith(mark) for v in own) and here == os.readlink(f"/proc/{pid}/ns/mnt"):
                yield "process " + pid
        except OSError:
            pass


def left():
    return [n for n in os.listdir("/run/netns") if n.startswith("ovl-" + topo)] + [
        n for n in os.listdir("/run/ovltrace/lab") if n.startswith(topo)] + list(daemons())


begin = time.time()
subprocess.run([tool, "lab", "up", topo], check=True, **quiet)
whole = time.time() - begin
subprocess.run([tool, "lab", "down", topo], check=True, **quiet)
seed = random.randrange(1 << 30)
random.seed(seed)
seen = {"nothing": 0, "half-made": 0, "up": 0}
for i in range(times):
    up = subprocess.Popen([tool, "lab", "up", topo], **quiet)
    time.sleep(random.uniform(0, whole))
    up.kill()
    up.wait()
    listed = subprocess.run([tool, "lab", "list"], capture_output=True, text=True, check=False).stdout
    state = "nothing" if not listed else "half-made" if "half-made" in listed else "up"
    seen[state] += 1
    code = subprocess.run([tool, "lab", "down", topo], check=False, **quiet).returncode
    if left() or (code == 0) != (state != "nothing"):
        print("kill", i, state, "down", code, "left", left(), "seed", seed)
        sys.exit(1)
print(seen)
