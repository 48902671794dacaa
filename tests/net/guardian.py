#!/usr/bin/env python3
"""Removes networks (netns.py) whose owner has closed them or died, however it died.

Everything a network makes bears a name that starts with its owner's process id and start time. A guardian, a process
with a session of its own, waits for the owner; then it kills what runs in the namespaces and removes them. Should the
guardian be killed too, the next network sweeps.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PREFIX = "cerar-net-"
NAMESPACES = pathlib.Path("/run/netns")
CONFIGURATION = pathlib.Path("/etc/netns")  # `ip netns exec` lays NAME/hosts over /etc/hosts


def start_guardian(prefix, directory):
    """Returns a pipe whose closing, by hand or by death, tells the guardian to clean up, and one that it closes then."""
    read, guardian = os.pipe()
    gone, write = os.pipe()
    # Forked twice: a test driver that kills the tree of a test must not find the guardian in it.
    subprocess.run([sys.executable, os.path.abspath(__file__), prefix, directory], stdin=read, stdout=write,
                   stderr=subprocess.DEVNULL, cwd="/", check=True)
    os.close(read)
    os.close(write)
    return guardian, gone


def sweep():
    """Removes what networks left whose owner and guardian are both gone."""
    found = [path.name for place in (NAMESPACES, CONFIGURATION, pathlib.Path(tempfile.gettempdir()))
             if place.is_dir() for path in place.glob(PREFIX + "*")]
    for owner in {tuple(name[len(PREFIX):].split("-")[:3]) for name in found}:
        if len(owner) == 3 and owner[0].isdigit() and start_time(int(owner[0])) != owner[1]:
            prefix = PREFIX + "-".join(owner)
            remove(prefix + "-", pathlib.Path(tempfile.gettempdir()) / prefix)


def remove(prefix, directory):
    """Kills what runs in the namespaces of a network and removes all of it. What is gone already is no error."""
    for attempt in range(100):
        names = _namespaces(prefix)
        for name in names:
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()
            for pid in pids:
                _kill(int(pid))
            if not pids:
                subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)
        if not names and attempt > 0:
            break
        time.sleep(0.02)  # for the dying, and for an `ip netns add` of the owner that was still under way
    for path in CONFIGURATION.glob(prefix + "*") if CONFIGURATION.is_dir() else []:
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def start_time(pid):
    """When a process started, in ticks since the machine did; None when there is none. A zombie counts as none."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def _guard(prefix, directory):
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.read(0, 1)
    remove(prefix, pathlib.Path(directory))


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _namespaces(prefix):
    return [path.name for path in NAMESPACES.glob(prefix + "*")] if NAMESPACES.is_dir() else []


if __name__ == "__main__":
    _guard(*sys.argv[1:])
