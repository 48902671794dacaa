#!/usr/bin/env python3
"""Hosts on one machine: network namespaces joined by a bridge, every link held to a rate.

Module:   with Network(hosts=4, rate="200mbit") as network: network.start(0, ["program", "argument"])
Command:  netns.py run --hosts 4 [--rate 200mbit] [--timeout S] -- PROGRAM ARGUMENT...
          runs the program once per host; {rank}, {ranks}, {address}, {directory} in the arguments are replaced. The
          exit status is the first failing program's, 124 after the timeout, or 77 where namespaces cannot be made.
          netns.py check     0, or 77 with the reason
          netns.py sweep     removes what dead owners left behind
          netns.py enter HOST COMMAND...   from a program on a host: a shell command on another one, in place of ssh

Nothing stays behind, however the owner of a network ends: guardian.py.
"""
import argparse
import ctypes
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from guardian import CONFIGURATION, PREFIX, remove, start_guardian, start_time, sweep

SKIP = 77  # for SKIP_RETURN_CODE of CTest
MTU = 1500

# Up to which rate: burst of the token bucket and the largest packet that TCP may hand to it (64 KiB is Linux's own
# choice). Larger packets than the burst would be split one by one, which saturates two cores at 175 Mbit/s; smaller ones
# cost a timer each, which at 1 Gbit/s in packets of 30 KB is half of all processor time of 8 hosts on two cores.
SHAPES = [
    (100e6, 8 << 10, 6000),
    (200e6, 10 << 10, 9000),
    (500e6, 16 << 10, 15000),
    (float("inf"), 72 << 10, 65536),
]
HOST_QUEUE_BYTES = 4 << 20
SWITCH_QUEUE_BYTES = 1 << 20
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class Unavailable(Exception):
    """This machine or user cannot make namespaces; the text says why."""


class Network:
    """`hosts` namespaces with an interface eth0 each; `rate` like "200mbit", or None for links without a limit."""

    _serial = itertools.count()

    def __init__(self, hosts, rate=None, congestion=None):
        check()
        sweep()
        self.hosts = hosts
        self.prefix = f"{PREFIX}{os.getpid()}-{start_time(os.getpid())}-{next(self._serial)}-"
        self.directory = pathlib.Path(tempfile.gettempdir()) / self.prefix.rstrip("-")
        self.switch = self.prefix + "sw"
        self.congestion = congestion
        self._programs = []
        self._guardian, self._gone = start_guardian(self.prefix, self.directory)
        try:
            self.directory.mkdir()
            self._build()
            self.set_rate(rate)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def name(self, host):
        return f"{self.prefix}h{host}"

    def address(self, host):
        return f"10.77.{host // 250}.{host % 250 + 1}"

    def start(self, host, arguments, **options):
        """Starts a program on a host, with the host's own host name h0, h1, ...; `options` are those of Popen. To be
        called from a thread that outlives the program: the kernel kills the program when the thread ends."""
        environment = dict(options.pop("env", None) or os.environ, CERAR_NET_PREFIX=self.prefix)
        program = subprocess.Popen(enter_command(self.prefix, f"h{host}", arguments), env=environment,
                                   preexec_fn=_die_with_parent, **options)
        self._programs.append(program)
        return program

    def counter(self, host, name="tx_bytes"):
        """One of the kernel's counters of the host's eth0. A packet that the link will cut into frames counts its
        headers once."""
        path = f"/sys/class/net/eth0/statistics/{name}"
        return int(_output("ip", "netns", "exec", self.name(host), "cat", path))

    def queue(self, host):
        """What the kernel counted at the host's token bucket: `bytes` in frames, each with its headers, `overlimits`
        (times that it held a packet back), `drops`, and more. Needs a rate."""
        return json.loads(_output("tc", "-n", self.name(host), "-s", "-j", "qdisc", "show", "dev", "eth0"))[0]

    def set_rate(self, rate):
        self.rate = rate
        if rate is None:
            return
        self.burst_bytes, segment = next(shape[1:] for shape in SHAPES if bits_per_second(rate) <= shape[0])
        for host in range(self.hosts):
            _run("ip", "-n", self.name(host), "link", "set", "eth0", "gso_max_size", str(segment))
            for name, device, queue in ((self.name(host), "eth0", HOST_QUEUE_BYTES),
                                        (self.switch, f"p{host}", SWITCH_QUEUE_BYTES)):
                _run("tc", "-n", name, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate,
                     "burst", str(self.burst_bytes), "limit", str(queue))

    def set_link(self, host, up):
        """Takes the host's cable out, or puts it back: the switch's end goes down."""
        _run("ip", "-n", self.switch, "link", "set", f"p{host}", "up" if up else "down")

    def close(self):
        """Kills what was started and removes everything. Idempotent."""
        if self._guardian is not None:
            os.close(self._guardian)
            os.read(self._gone, 1)  # the guardian closes its end when it has finished
            os.close(self._gone)
            self._guardian = None
            remove(self.prefix, self.directory)  # a guardian that was killed left this to us
        for program in self._programs:
            program.wait()

    def _build(self):
        _run("ip", "netns", "add", self.switch)
        _batch(self.switch, ["link set lo up", "link add br0 type bridge stp_state 0 forward_delay 0",
                             f"link set br0 mtu {MTU} up"])
        # Frames of a bridge must not pass the machine's packet filter.
        _in_namespace(self.switch, "for f in /proc/sys/net/bridge/bridge-nf-call-*; do [ -w $f ] && echo 0 >$f; done; :")
        for host in range(self.hosts):
            self._add_host(host)
        macs = [_output("ip", "netns", "exec", self.name(host), "cat", "/sys/class/net/eth0/address").strip()
                for host in range(self.hosts)]
        for host in range(self.hosts):  # static neighbours: no ARP within a measurement
            _batch(self.name(host), [f"neigh replace {self.address(other)} dev eth0 nud permanent lladdr {macs[other]}"
                                     for other in range(self.hosts) if other != host])

    def _add_host(self, host):
        name = self.name(host)
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", "eth0", "netns", name, "mtu", str(MTU), "type", "veth",
             "peer", "name", f"p{host}", "netns", self.switch, "mtu", str(MTU))
        _batch(name, ["link set lo up", f"addr add {self.address(host)}/16 dev eth0", "link set eth0 up"])
        _batch(self.switch, [f"link set p{host} master br0 up"])
        hosts = CONFIGURATION / name / "hosts"
        hosts.parent.mkdir(parents=True)
        hosts.write_text("127.0.0.1 localhost\n" +
                         "".join(f"{self.address(other)} h{other}\n" for other in range(self.hosts)))
        self._set_tcp(name)

    def _set_tcp(self, name):
        """Cubic, or where the machine does not permit it in namespaces, Reno, which every kernel permits."""
        for congestion in [self.congestion] if self.congestion else ["cubic", "reno"]:
            done = _in_namespace(name, "echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle; "
                                 f"echo {congestion} >/proc/sys/net/ipv4/tcp_congestion_control", must=False)
            if done:
                self.congestion = congestion
                return
        raise Unavailable(f"TCP congestion control {self.congestion} is not permitted in namespaces; add it to "
                          "net.ipv4.tcp_allowed_congestion_control, or leave the choice to the harness")


def check():
    """Raises Unavailable, with the reason, where namespaces cannot be made."""
    if os.geteuid() != 0:
        raise Unavailable("network namespaces need root; run as root")
    missing = [tool for tool in ("ip", "tc", "unshare", "hostname") if not shutil.which(tool)]
    if missing:
        raise Unavailable(f"{', '.join(missing)} not found; install iproute2, util-linux and hostname")
    probe = subprocess.run(["unshare", "--net", "--mount", "sh", "-c", "ip link add d0 type veth peer name d1 && "
                            "ip link add b0 type bridge && tc qdisc add dev d0 root tbf rate 1mbit burst 8k limit 8k"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        raise Unavailable(f"this machine permits no namespaces or mounts, or has no veth, bridge or tbf: {probe.stderr.strip()}")


def bits_per_second(rate):
    for unit, factor in UNITS.items():
        if rate.endswith(unit):
            try:
                return float(rate[:-len(unit)]) * factor
            except ValueError:
                break
    raise ValueError(f"{rate} is no rate; write a number with kbit, mbit or gbit, like 200mbit")


def enter_command(prefix, host, arguments):
    return ["ip", "netns", "exec", prefix + host, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host,
            *map(str, arguments)]


def _die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, preexec_fn=_die_with_parent)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _output(*command):
    return _run(*command)


def _batch(name, lines):
    _run("ip", "-n", name, "-batch", "-", text="\n".join(lines) + "\n")


def _in_namespace(name, script, must=True):
    command = ["ip", "netns", "exec", name, "sh", "-c", script]
    return bool(_run(*command) or True) if must else subprocess.run(command, capture_output=True).returncode == 0


def _run_on_all(options):
    with Network(options.hosts, options.rate) as network:
        deadline = time.monotonic() + options.timeout
        waiting = {}
        for host in range(options.hosts):
            values = {"{rank}": str(host), "{ranks}": str(options.hosts), "{address}": network.address(host),
                      "{directory}": str(network.directory)}
            arguments = list(options.program)
            for key, value in values.items():
                arguments = [argument.replace(key, value) for argument in arguments]
            waiting[host] = network.start(host, arguments)
        while waiting:
            for host, program in list(waiting.items()):
                status = program.poll()
                if status is None:
                    continue
                del waiting[host]
                if status != 0:
                    print(f"netns.py: the program on host {host} ended with {status}", file=sys.stderr)
                    return status if status > 0 else 128 - status
            if waiting and time.monotonic() > deadline:
                print(f"netns.py: hosts {sorted(waiting)} still ran after {options.timeout} s", file=sys.stderr)
                return 124
            time.sleep(0.01)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--hosts", type=int, required=True)
    run.add_argument("--rate")
    run.add_argument("--timeout", type=float, default=300)
    run.add_argument("program", nargs="+")
    commands.add_parser("check")
    commands.add_parser("sweep")
    enter = commands.add_parser("enter")
    enter.add_argument("host")
    enter.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    try:
        if options.command == "enter":
            command = enter_command(os.environ["CERAR_NET_PREFIX"], options.host, ["sh", "-c", " ".join(options.words)])
            os.execvp(command[0], command)
        elif options.command == "run":
            return _run_on_all(options)
        else:
            check()
            if options.command == "sweep":
                sweep()
    except Unavailable as reason:
        print(f"netns.py: skipped: {reason}", file=sys.stderr)
        return SKIP
    except (ValueError, RuntimeError) as error:
        print(f"netns.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
