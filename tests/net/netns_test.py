#!/usr/bin/env python3
"""The harness itself: namespaces come and go, links are held to their rates, nothing stays behind."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import guardian
import netns
from netns import Network

HERE = pathlib.Path(__file__).resolve().parent
TRAFFIC = [sys.executable, str(HERE / "traffic.py")]
COMMAND = [sys.executable, str(HERE / "netns.py")]


def left_behind(prefix):
    """What is still there of a network: namespaces, configuration, the directory, processes."""
    names = [str(path) for place in (guardian.NAMESPACES, guardian.CONFIGURATION, pathlib.Path(tempfile.gettempdir()))
             if place.is_dir() for path in place.glob(prefix.rstrip("-") + "*")]
    return names + programs(prefix)


def programs(prefix):
    """Process ids of the programs that carry the network's name in their environment."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"CERAR_NET_PREFIX={prefix}".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


def wait_until(condition, what):
    deadline = time.monotonic() + 60  # ends a test that has failed; nothing is measured
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.02)


def transfer(network, senders, receiver, count):
    """Sends `count` bytes from each sender; returns what the receiver counted."""
    server = network.start(receiver, [*TRAFFIC, "receive", str(len(senders))], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "listening\n"
    clients = [network.start(host, [*TRAFFIC, "send", network.address(receiver), str(count)]) for host in senders]
    assert all(client.wait() == 0 for client in clients)
    total = int(server.communicate()[0])
    assert server.returncode == 0
    return total


class Harness(unittest.TestCase):
    def test_comes_and_goes(self):
        with Network(3) as network:
            self.assertEqual(4, len([p for p in guardian.NAMESPACES.iterdir() if p.name.startswith(network.prefix)]))
            self.assertEqual(100000, transfer(network, [2], 0, 100000))
            said = network.start(1, ["hostname"], stdout=subprocess.PIPE, text=True).communicate()[0]
            self.assertEqual("h1\n", said)
            sleeper = network.start(1, ["sleep", "600"])
            wait_until(lambda: programs(network.prefix), "the program runs")
        self.assertEqual(-signal.SIGKILL, sleeper.returncode)
        self.assertEqual([], left_behind(network.prefix))

    def test_holds_the_rate(self):
        payload, senders = 1 << 20, [0, 1]
        with Network(3, "20mbit") as network:
            begin = time.monotonic()
            before = [network.counter(host, "tx_bytes") for host in senders], network.counter(2, "rx_bytes")
            total = transfer(network, senders, 2, payload)
            after = [network.counter(host, "tx_bytes") for host in senders], network.counter(2, "rx_bytes")
            seconds = time.monotonic() - begin
            queue = network.queue(0)
        self.assertEqual(2 * payload, total)
        # A bucket never lets more pass than rate times time and one burst, however busy the machine was.
        most = 20e6 / 8 * seconds + network.burst_bytes
        for tx_before, tx_after in zip(before[0], after[0]):
            self.assertGreater(tx_after - tx_before, payload)
            self.assertLess(tx_after - tx_before, min(most, 1.1 * payload))
        received = after[1] - before[1]
        self.assertGreater(received, 2 * payload)
        self.assertLess(received, min(most, 2.2 * payload))  # two senders share the one link into the receiver
        # And it was the bucket that held them back, as often as the machine had a frame ready too early.
        self.assertGreater(queue["overlimits"], 0, queue)
        # The bucket counts each frame of 1500 bytes with its 66 bytes of headers.
        self.assertGreater(queue["bytes"], payload * 1514 / 1448)

    def test_link_goes_down_and_comes_back(self):
        def carrier():
            return network.start(0, ["cat", "/sys/class/net/eth0/carrier"], stdout=subprocess.PIPE,
                                 text=True).communicate()[0]
        with Network(2) as network:
            self.assertEqual("1\n", carrier())
            network.set_link(0, up=False)
            self.assertEqual("0\n", carrier())
            network.set_link(0, up=True)
            self.assertEqual(1000, transfer(network, [0], 1, 1000))

    def test_two_networks_at_once(self):
        with Network(2) as one, Network(2) as two:
            self.assertEqual(one.address(0), two.address(0))
            before = two.counter(0, "tx_bytes")
            self.assertEqual(1 << 20, transfer(one, [0], 1, 1 << 20))
            self.assertGreater(one.counter(0, "tx_bytes"), 1 << 20)
            self.assertLess(two.counter(0, "tx_bytes") - before, 10000)
            one.close()
            self.assertEqual([], left_behind(one.prefix))
            self.assertEqual(1000, transfer(two, [0], 1, 1000))


class Cleanup(unittest.TestCase):
    """After the owner is killed, with and without the guardian."""

    def setUp(self):
        self.owner = subprocess.Popen([*TRAFFIC, "owner"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.owner.wait)
        self.addCleanup(self.owner.kill)
        self.addCleanup(self.owner.stdout.close)
        self.prefix, directory = self.owner.stdout.readline().split()
        self.assertTrue(pathlib.Path(directory).is_dir())
        wait_until(lambda: programs(self.prefix), "the owner's program runs")
        # A program appears a moment after the shell that becomes it.
        wait_until(lambda: len(left_behind(self.prefix)) >= 3 + 2 + 1 + 1, "everything of the owner is there")

    def kill_owner(self):
        self.owner.kill()
        self.owner.wait()

    def test_guardian_cleans_up(self):
        self.kill_owner()
        wait_until(lambda: not left_behind(self.prefix), "everything is gone")

    def test_next_network_cleans_up(self):
        guardians = [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                     if f"guardian.py\0{self.prefix}\0".encode() in read_or_nothing(path)]
        self.assertEqual(1, len(guardians))
        os.kill(int(guardians[0]), signal.SIGKILL)
        wait_until(lambda: guardian.start_time(guardians[0]) is None, "the guardian is dead")
        self.kill_owner()
        self.assertNotEqual([], left_behind(self.prefix))
        with Network(1):
            self.assertEqual([], left_behind(self.prefix))


class Command(unittest.TestCase):
    def test_first_failure_ends_the_run(self):
        done = subprocess.run([*COMMAND, "run", "--hosts", "3", "--", "sh", "-c",
                               "[ {rank} = 1 ] && exit 5; exec sleep 600"], capture_output=True, text=True)
        self.assertEqual((5, "netns.py: the program on host 1 ended with 5\n"), (done.returncode, done.stderr))

    def test_every_host_runs(self):
        done = subprocess.run([*COMMAND, "run", "--hosts", "3", "--", "sh", "-c",
                               "touch {directory}/{rank}; until [ $(ls {directory} | wc -l) = {ranks} ]; do sleep 0.01; "
                               "done; ip -br addr show dev eth0 | grep -q {address}/"], capture_output=True, text=True)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_enters_another_host(self):
        with Network(2) as network:
            said = network.start(0, [*COMMAND, "enter", "h1", "hostname;", "ip", "-br", "addr", "show", "dev", "eth0"],
                                 stdout=subprocess.PIPE, text=True).communicate()[0]
        self.assertRegex(said, r"^h1\neth0.* 10\.77\.0\.2/16")

    def test_timeout(self):
        done = subprocess.run([*COMMAND, "run", "--hosts", "2", "--timeout", "0.5", "--", "sleep", "600"],
                              capture_output=True, text=True)
        self.assertEqual(124, done.returncode)
        self.assertIn("hosts [0, 1] still ran", done.stderr)

    def test_says_why_not(self):
        done = subprocess.run([*COMMAND, "check"], capture_output=True, text=True, env={"PATH": "/nowhere"})
        self.assertEqual(netns.SKIP, done.returncode)
        self.assertIn("ip, tc, unshare, hostname not found; install iproute2", done.stderr)
        with unittest.mock.patch("os.geteuid", return_value=1000), self.assertRaisesRegex(netns.Unavailable, "root"):
            Network(1)

    def test_refuses_a_rate(self):
        done = subprocess.run([*COMMAND, "run", "--hosts", "1", "--rate", "fast", "true"], capture_output=True, text=True)
        self.assertEqual(1, done.returncode)
        self.assertIn("fast is no rate; write a number with kbit, mbit or gbit", done.stderr)


def read_or_nothing(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    try:
        netns.check()
    except netns.Unavailable as reason:
        print(f"skipped: {reason}")
        sys.exit(netns.SKIP)
    unittest.main()
