#!/usr/bin/env python3
"""A host loses its link in the middle of an all-reduce: every rank ends in time with an error that says what happened.

    link_down_test.py TUNE BENCH     the programs cerar-tune and cerar-bench
"""
import os
import re
import subprocess
import sys
import time
import unittest

import netns

RANKS, LOST, TIMEOUT_S = 4, 2, 3
TUNE, BENCH = sys.argv[1:3]


class LinkDown(unittest.TestCase):
    def test_every_rank_ends_with_an_error(self):
        with netns.Network(RANKS, "200mbit") as network:
            plan = network.directory / "plan"
            subprocess.run([TUNE, "--topology", "local", "--workers", str(RANKS), "--components", "16", "--construction",
                            "differential", "--out", plan], check=True, stdout=subprocess.DEVNULL)
            environment = dict(os.environ, CERAR_TIMEOUT=str(TIMEOUT_S))
            store = f"tcp:{network.address(0)}:29500"
            ranks = [network.start(rank, [BENCH, "--plan", plan, "--transport", "gloo", "--rank", rank, "--size", RANKS,
                                          "--store", store, "-b", "16M", "-e", "16M", "-n", "1000"],
                                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                     for rank in range(RANKS)]
            begin = network.counter(LOST)
            while network.counter(LOST) - begin < 64 << 20:  # several calls
                self.assertIsNone(ranks[LOST].poll(), "it ended before its link was lost")
                time.sleep(0.05)
            network.set_link(LOST, up=False)
            # Nobody waits longer than the timeout; the rest is for a busy machine.
            sentences = [rank.communicate(timeout=TIMEOUT_S + 60)[1] for rank in ranks]
        for rank, sentence in enumerate(sentences):
            self.assertNotEqual(0, ranks[rank].returncode, sentence)
            self.assertRegex(sentence, r"all-reduce number \d+ of (plan local \([0-9a-f]{12}\)|the exact ring)", rank)
            if rank != LOST:
                self.assertTrue(re.search(rf"rank(\(s\))? {LOST}\b", sentence), sentence)


if __name__ == "__main__":
    try:
        netns.check()
    except netns.Unavailable as reason:
        print(f"skipped: {reason}")
        sys.exit(netns.SKIP)
    unittest.main(argv=sys.argv[:1])
