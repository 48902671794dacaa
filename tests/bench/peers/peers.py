#!/usr/bin/env python3
"""Measures CERAR beside the all-reduces that CPU users have, interleaved in one run on the same rate-limited links.

    peers.py --rate 200mbit --size 16M --workers 8 --repetitions 5 --plans c32,c64 --json result.json

Contestants: Gloo's AllreduceRing, AllreduceRingChunked, AllreduceBcube, AllreduceHalvingDoubling, and the second also in
f16 (which is no peer of exact sums: `to best` is relative to the best in f32); MPI_Allreduce of
Open MPI by default, as ring, as segmented ring and as Rabenseifner; CERAR's exact ring and its plans over its Gloo
transport. One process per host, f32, sums, in place, one warm-up each. A time is that of the slowest rank. sent/d is
what eth0 counted per byte of the vector, mean over ranks; a packet that is yet to be cut into frames counts its headers
once. frames/d is what the link carried, headers of all frames included. `theory` is (1 + (N-2)/c) d, at 95.6 % of the rate. The error is the largest of any rank, relative rms against
the sum in double. --plans takes c32 for a plan of 32 components, designed here for these links, c32-fx16 for the same
with messages of another type (c8-bf16: with 8 workers the ring in bf16), or plan directories.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "net"))

import jobs  # noqa: E402
import netns  # noqa: E402
import report  # noqa: E402

TOPOLOGY = """\
name: emulated-{rate}
title: {workers} network namespaces, links of {rate}
workers: {workers}
link:
  latency_us: 60
  bandwidth_gbs: {bandwidth}
memory:
  bandwidth_gbs: {memory}
baseline:
  name: ring
  base_us: 0
  hop_us: 60
  bandwidth_gbs: {bandwidth}
"""


def main():
    options = parse_arguments()
    try:
        with netns.Network(options.workers, options.rate, options.congestion) as network:
            result = measure(network, options)
    except netns.Unavailable as reason:
        print(f"peers.py: skipped: {reason}", file=sys.stderr)
        return netns.SKIP
    except (jobs.Failure, ValueError, RuntimeError) as error:
        print(f"peers.py: {error}", file=sys.stderr)
        return 1
    print(report.table(result["rows"]))
    print(f"best peer: {result['best_peer']}; steal {result['processors_percent']['steal']:.1f} % of the machine's time")
    for name, why in result["left_out"].items():
        print(f"left out: {name}: {why}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    return 0


def measure(network, options):
    size = parse_size(options.size)
    runner = jobs.Jobs(network, options.build, size // 4, options.timeout)
    plans = {"cerar-ring": None}
    plans.update(("cerar-" + pathlib.Path(plan).name, plan_directory(network, options, plan)) for plan in options.plans)
    runner.start_gloo(plans)
    runner.start_open_mpi(parse_size(options.mpi_segment))
    order = [name for name in runner.job_of if name not in plans] + [name for name in plans if name in runner.job_of]
    contestants = [name for name in order if options.only is None or re.fullmatch(options.only, name)]
    print(f"# {options.workers} workers, links of {options.rate or 'unlimited rate'}, {size} bytes of f32, "
          f"{options.repetitions} repetitions, TCP {network.congestion}", flush=True)
    for name in contestants:
        runner.all_reduce(name)
    samples = {name: [] for name in contestants}
    whole, processors = jobs.Processors(), []
    for repetition in range(options.repetitions):
        one = jobs.Processors()
        for name in contestants:
            samples[name].append(runner.all_reduce(name))
        processors.append(one.percent())
        print(f"# repetition {repetition + 1}: processors {processors[-1]['busy']:.0f} % busy, "
              f"{processors[-1]['steal']:.1f} % steal", flush=True)
    processors_of_all = whole.percent()
    runner.finish()
    rows, best = report.summarise(samples, options.workers, size,
                                  netns.bits_per_second(options.rate) if options.rate else None)
    return {"workers": options.workers, "rate": options.rate, "size_bytes": size, "repetitions": options.repetitions,
            "congestion": network.congestion, "rows": rows, "best_peer": best, "left_out": runner.left_out,
            "processors_percent": processors_of_all, "processors_percent_of_repetitions": processors}


def plan_directory(network, options, plan):
    """c32: designs a plan for these links; anything else is a plan directory."""
    match = re.fullmatch(r"c(\d+)(?:-(\w+))?", plan)
    if not match:
        return str(pathlib.Path(plan).resolve())
    bandwidth = report.GOODPUT * netns.bits_per_second(options.rate or "10gbit") / 8e9
    topology = network.directory / "topology.yaml"
    # All workers share this machine's memory and cores: an estimate, which only matters where links are fast.
    topology.write_text(TOPOLOGY.format(rate=options.rate or "unlimited", workers=options.workers, bandwidth=bandwidth,
                                        memory=10 / options.workers))
    out = network.directory / plan
    command = [pathlib.Path(options.build) / "cerar-tune", "--topology", topology, "--workers", str(options.workers),
               "--components", match[1], "--out", out]
    if int(match[1]) > options.workers:
        command += ["--construction", "differential"]
    if match[2]:
        command += ["--wire", match[2], "--max-error", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise jobs.Failure(f"no plan {plan}: {done.stderr.strip()}")
    return str(out)


def parse_size(text):
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise ValueError(f"{text} is no size; write bytes, with K, M or G")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="200mbit", type=lambda text: None if text == "none" else text,
                        help="of every link, both ways: 100mbit, 1gbit, none")
    parser.add_argument("--size", default="16M", help="of the vector in bytes")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--plans", default="", type=lambda text: [plan for plan in text.split(",") if plan])
    parser.add_argument("--only", metavar="REGEX", help="only the contestants whose whole name matches")
    parser.add_argument("--congestion", help="TCP congestion control, for all (default: cubic where permitted, else reno)")
    parser.add_argument("--mpi-segment", default="1M", help="segments of Open MPI's segmented ring (1M is its own choice)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that one all-reduce may take")
    parser.add_argument("--build", default=ROOT / "build" / "ci" / "bin", help="where the workers were built")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
