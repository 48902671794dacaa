#!/usr/bin/env python3
"""The benchmark of the peers: its arithmetic, and that a small run of it measures what it says.

    peers_test.py BUILD [CLASS]      BUILD is the folder of the workers
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import report

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77


def answer(seconds, **more):
    return {"seconds": seconds, "sent_bytes": 1800, "frame_bytes": 1900, "error": 1e-7, **more}


class Report(unittest.TestCase):
    def test_figures(self):
        coded = {"components": 64, "claimed_error": 2e-4, "variant": "differential-c64"}
        samples = {
            "gloo-ring": [[answer(0.1), answer(0.2)], [answer(0.4), answer(0.1)], [answer(0.3), answer(0.3)]],
            "mpi-ring": [[answer(0.5), answer(0.4)]],
            "cerar-c64": [[answer(0.15, **coded), answer(0.1, **coded) | {"error": 3e-4, "sent_bytes": 1000}]],
        }
        rows, best = report.summarise(samples, workers=8, size=1000, rate=100e3)
        gloo, mpi, cerar = rows
        self.assertEqual("gloo-ring", best)
        self.assertEqual([200, 400, 300], gloo["times_ms"])
        self.assertEqual((300, 200, 400), (gloo["median_ms"], gloo["min_ms"], gloo["max_ms"]))
        self.assertEqual((1.8, 1.9), (gloo["sent_per_byte"], gloo["frames_per_byte"]))
        self.assertEqual(1.75, gloo["theory_per_byte"])
        self.assertAlmostEqual(300 / (1.75 * 1000 * 8 / 95.6e3 * 1e3), gloo["ratio_to_theory"])
        self.assertAlmostEqual(500 / 300, mpi["ratio_to_best_peer"])
        self.assertAlmostEqual(0.5, cerar["ratio_to_best_peer"])
        self.assertEqual((1 + 6 / 64, 1.4, 3e-4, 2e-4),
                         tuple(cerar[key] for key in ("theory_per_byte", "sent_per_byte", "error", "claimed_error")))

    def test_no_rate_no_theory_and_no_peer(self):
        rows, best = report.summarise({"cerar-ring": [[answer(0.1, components=2)]]}, workers=2, size=1000, rate=None)
        self.assertEqual((None, None, None), (best, rows[0]["ratio_to_theory"], rows[0]["ratio_to_best_peer"]))
        self.assertIn("-", report.table(rows))

    def test_a_broken_sum_is_no_small_error(self):
        rows, _ = report.summarise({"gloo-ring": [[answer(0.1), answer(0.1) | {"error": None}]]}, 2, 1000, None)
        self.assertEqual(float("inf"), rows[0]["error"])


class Run(unittest.TestCase):
    def test_small_run(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "result.json"
            done = subprocess.run([sys.executable, HERE / "peers.py", "--build", BUILD, "--rate", "100mbit", "--workers",
                                   "4", "--size", "1M", "--repetitions", "2", "--plans", "c16,c16-fx16", "--json", file],
                                  capture_output=True, text=True)
            if done.returncode == SKIP:
                print(done.stderr)
                sys.stdout.flush()
                os._exit(SKIP)  # unittest takes an exit for an error
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
            result = json.loads(file.read_text())
        rows = {row["name"]: row for row in result["rows"]}
        expected = set()
        if (BUILD / "bench_peers_gloo").exists():
            expected |= {"gloo-ring", "gloo-ring-chunked", "gloo-bcube", "gloo-halving-doubling", "gloo-ring-chunked-f16"}
        if (BUILD / "bench_peers_mpi").exists():
            expected |= {"mpi-default", "mpi-ring", "mpi-segmented-ring", "mpi-rabenseifner"}
        self.assertLessEqual(expected, set(rows), result["left_out"])
        for name, row in rows.items():
            self.assertEqual(2, len(row["times_ms"]), name)
            self.assertIn(name, done.stdout)
            # Every link carries what theory says, and headers; packets sent again stay within the rest. Gloo's plain
            # ring passes whole vectors on.
            theory = 3 if name == "gloo-ring" else row["theory_per_byte"]
            self.assertGreater(row["sent_per_byte"], theory, name)
            self.assertLess(row["sent_per_byte"], 1.1 * theory, name)
            self.assertGreater(row["frames_per_byte"], theory * 1514 / 1448, name)
            self.assertLess(row["frames_per_byte"], 1.15 * theory, name)
            if row["components"] == 4:
                self.assertLess(0, row["error"], name)  # a sum in f32 that is exact in every place was not computed
                self.assertLess(row["error"], 1e-3 if name.endswith("-f16") else 1e-7, name)
        for name in ("cerar-c16", "cerar-c16-fx16"):
            coded = rows[name]
            self.assertEqual(16, coded["components"])
            self.assertLess(coded["claimed_error"] / 2, coded["error"])
            self.assertLess(coded["error"], coded["claimed_error"] * 1.1)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
