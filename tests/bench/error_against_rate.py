#!/usr/bin/env python3
"""Draws generated/error-against-rate.svg: cerar-tune --topology ... --json | error_against_rate.py OUT.svg

Needs python3-matplotlib; only for renewing the figure of the README."""
import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "cerar"  # the same bytes every time
import matplotlib.pyplot as plt

data = json.load(sys.stdin)
workers = data["workers"]
figure, axes = plt.subplots(figsize=(7.2, 4.2))
styles = {"harmonic": ("plain, harmonic", "tab:gray", "s--"), "optimized": ("plain, optimised", "tab:blue", "o-"),
          "differential": ("differential (default)", "tab:red", "D-")}
for construction, (label, colour, style) in styles.items():
    points = [(c["rate"], 100 * c["errors"]["total"], c["components"]) for c in data["candidates"]
              if c["construction"] == construction]
    axes.plot([p[0] for p in points], [p[1] for p in points], style, color=colour, label=label, markersize=5)
    if construction == "harmonic":
        continue  # stands beside the optimised one
    for index, (rate, error, components) in enumerate(points):
        above = construction == "optimized" or index % 2 == 1
        axes.annotate(f"c={components}", (rate, error), textcoords="offset points",
                      xytext=(5, 3) if construction == "optimized" else (-8, 7 if above else -12), fontsize=7,
                      color=colour)
ring = 2 * (workers - 1) / workers
axes.axvline(ring, color="black", linewidth=1)
axes.annotate("exact ring", (ring, 1), rotation=90, textcoords="offset points", xytext=(-10, 0), fontsize=8)
axes.axvline(1, color="black", linewidth=0.5, linestyle=":")
axes.set_yscale("log")
axes.set_ylim(0.006, 20)
axes.set_xlabel("elements sent per worker, per element of the vector")
axes.set_ylabel("relative rms error, %")
axes.set_title(f"Error against rate, N = {workers}, f32 messages", fontsize=10)
axes.grid(True, which="both", linewidth=0.3)
axes.legend(fontsize=8)
figure.tight_layout()
figure.savefig(sys.argv[1], metadata={"Date": None})
