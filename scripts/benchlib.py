"""What the benches share: networks of their own, programs that die with them, ratios with intervals."""
import ctypes
import math
import os
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PREFIX = "ovl-bench"
RESAMPLES = 4000


class Failed(Exception):
    """What gave no numbers, and why."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def sh(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stdout.strip()}")


class Net:
    """Where client and server are: two namespaces, or one."""

    def __init__(self, kind):
        self.kind = kind
        self.client = f"{PREFIX}-{os.getpid()}-a"
        self.server = self.client if kind == "loopback" else f"{PREFIX}-{os.getpid()}-b"
        self.address = {"loopback": "127.0.0.1", "veth": "10.213.0.2", "vxlan": "10.214.0.2"}[kind]

    def make(self):
        for name in sorted({self.client, self.server}):
            sh("ip", "netns", "add", name)
            sh("ip", "-n", name, "link", "set", "lo", "up")
            # iperf3 asks for cubic when it is connected: a socket that began with bbr keeps its pacing then.
            # reno has none, and every kernel lets a namespace have it.
            sh("ip", "netns", "exec", name, "sh", "-c", "echo reno > /proc/sys/net/ipv4/tcp_congestion_control")
        if self.kind == "loopback":
            return
        sh("ip", "link", "add", "name", "eth0", "netns", self.client, "type", "veth",
           "peer", "name", "eth0", "netns", self.server)
        for here, name in ((1, self.client), (2, self.server)):
            sh("ip", "-n", name, "address", "add", f"10.213.0.{here}/24", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
            if self.kind == "vxlan":
                sh("ip", "-n", name, "link", "add", "vxlan1", "type", "vxlan", "id", "1", "dstport", "8472",
                   "local", f"10.213.0.{here}", "remote", f"10.213.0.{3 - here}", "dev", "eth0")
                sh("ip", "-n", name, "address", "add", f"10.214.0.{here}/24", "dev", "vxlan1")
                sh("ip", "-n", name, "link", "set", "vxlan1", "up")

    @staticmethod
    def sweep():
        """Take away the namespaces of this run and of runs that were killed."""
        names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
        for name in names:
            at = re.fullmatch(PREFIX + r"-(\d+)-[ab]", name)
            if at and (int(at[1]) == os.getpid() or not os.path.exists(f"/proc/{at[1]}")):
                subprocess.run(["ip", "netns", "del", name], check=False)


class Program:
    """A started program, in a namespace and pinned where asked; dies with this one."""

    running = set()

    def __init__(self, netns, cpu, command):
        self.name = os.path.basename(command[0])
        self.out = tempfile.TemporaryFile()
        self.usage = self.status = None
        where = ["ip", "netns", "exec", netns] if netns else []
        pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.pid = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *where, *pinned, *command],
                                    stdin=subprocess.DEVNULL, stdout=self.out, stderr=subprocess.STDOUT).pid
        self.pidfd = os.pidfd_open(self.pid)
        Program.running.add(self)

    def text(self):
        self.out.seek(0)
        return self.out.read().decode(errors="replace")

    def gone(self, seconds):
        return bool(select.select([self.pidfd], [], [], seconds)[0])

    def take(self):
        """The program has ended, or is ended now: what it used."""
        _, status, self.usage = os.wait4(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        os.close(self.pidfd)
        Program.running.discard(self)

    def wait(self, seconds):
        if not self.gone(seconds):
            self.end(signal.SIGKILL)
            raise Failed(f"{self.name} did not end within {seconds:.0f} s")
        self.take()
        if self.status:
            raise Failed(f"{self.name}: exit {self.status}: {self.text().strip()[-300:]}")

    def end(self, how=signal.SIGTERM, seconds=2):
        if self.usage is None:
            if not self.gone(0):
                signal.pidfd_send_signal(self.pidfd, how)
            if not self.gone(seconds):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            self.take()

    def until(self, good, what, seconds=5):
        """Wait until good() is true of the running program."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if good():
                return
            if self.gone(0.005):
                break
        raise Failed(f"{self.name} {what}: {self.text().strip()[-300:]}")

    def listens(self, port):
        """Wait until the program's namespace has a listening socket at the port (TCP)."""
        def listening():
            for family in ("tcp", "tcp6"):
                try:
                    with open(f"/proc/{self.pid}/net/{family}", encoding="ascii") as table:
                        if re.search(rf":{port:04X} [0-9A-F]+:0000 0A ", table.read()):
                            return True
                except OSError:
                    pass
            return False
        self.until(listening, "does not listen")

    @staticmethod
    def end_all():
        for program in list(Program.running):
            program.end(signal.SIGKILL)


def adopt_orphans():
    """What a server has forked and left behind becomes ours (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)


def reap_orphans():
    """Nothing of ours runs any more but what a server left: what that used."""
    usages = []
    until = time.monotonic() + 1
    while time.monotonic() < until:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            break
        if pid:
            usages.append(usage)
        else:
            time.sleep(0.005)
    return usages


def interval(ratios, rng):
    """Geometric mean and its 95 % bootstrap interval over the pairs."""
    logs = [math.log(r) for r in ratios]
    n = len(logs)
    means = sorted(statistics.fmean(rng.choices(logs, k=n)) for _ in range(RESAMPLES))
    return tuple(math.exp(v) for v in (statistics.fmean(logs), means[int(0.025 * RESAMPLES)],
                                       means[int(0.975 * RESAMPLES) - 1]))
