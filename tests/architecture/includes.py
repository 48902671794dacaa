#!/usr/bin/env python3
"""Includes follow the layers: each may see itself and what stands below it, nothing else, and no folder sees itself through
others. Sources include their own header first."""
import pathlib
import re
import sys

ALLOWED = {
    "templates": {"templates"},
    "runtime": {"runtime", "templates"},
    "generator": {"generator", "runtime", "templates"},
    "tuner": {"tuner", "generator", "runtime"},
}
# Inside the runtime each row sees the rows above it; neighbours in a row do not see each other.
ROWS = [{"include"}, {"base"}, {"plan"}, {"comm"}, {"host", "gpu"}, {"api"}, {"gloo", "mpi"}, {"measure", "program"}, {"bench"}]
# The rooms of the runtime that those above it see.
SEEN = {"generator": {"base", "plan"}, "tuner": {"base", "plan", "measure", "program"}}
# Within the tuner: the mathematics knows no kernels.
DESIGN = {"tuner/code", "tuner/optimise"}
# Libraries that one place of the runtime knows.
ONLY = {"gloo/": "runtime/gloo/"}
# Both have threads, which std::regex does not suit: making an expression writes into the locale that all share.
FOREIGN = {"runtime": ("clang/", "llvm/", "lld/", "nlopt", "Eigen/", "nvrtc", "cuda", "regex"), "generator": ("regex",)}

root = pathlib.Path(sys.argv[1])
faults = []
files = 0
seen_by = {}  # folder: {folder that it includes: one such include}


def row_of(name):
    """The row of a file of the runtime, and its room; examples belong to none."""
    room = name.split("/")[1]
    return next((row for row, rooms in enumerate(ROWS) if room in rooms), None), room


def check_rooms(name, target):
    """The order inside the runtime, and what of it others see."""
    parts = target.split("/")
    if parts[0] != "runtime" or len(parts) < 3:
        return
    layer = name.split("/")[0]
    if layer in SEEN and parts[1] not in SEEN[layer]:
        faults.append(f"{name} includes {target}, but {layer} may only see {sorted(SEEN[layer])} of the runtime")
    if layer != "runtime":
        return
    (own_row, own), (row, room) = row_of(name), row_of(target)
    if own_row is None or row is None:
        faults.append(f"{name} includes {target}: one of their folders has no row in the order of the runtime")
    elif room != own and row >= own_row:
        faults.append(f"{name} includes {target}, but {own} stands below {room} or beside it")


def cycles():
    """Each way from a folder back to itself, once: the folders on it and an include for each step."""
    found = {}
    for start in sorted(seen_by):
        ways = [[start]]
        visited = set()
        while ways:
            way = ways.pop(0)
            for folder in sorted(seen_by.get(way[-1], {})):
                if folder == start:
                    found.setdefault(frozenset(way), way)
                elif folder not in visited:
                    visited.add(folder)
                    ways.append(way + [folder])
    for way in found.values():
        steps = [seen_by[a][b] for a, b in zip(way, way[1:] + way[:1])]
        yield f"the folders {', '.join(way)} see each other in a circle: {'; '.join(steps)}"


for layer, allowed in ALLOWED.items():
    for path in sorted((root / layer).rglob("*")):
        if path.suffix not in {".h", ".cpp", ".cu", ".c"}:
            continue
        files += 1
        name = path.relative_to(root).as_posix()
        own = path.with_suffix(".h")
        first = re.search(r'^#include ["<]([^">]+)', path.read_text(), re.M)
        if path.suffix == ".cpp" and own.exists():
            if not first or first[1] != own.relative_to(root).as_posix():
                faults.append(f"{name} must include its own header first, so that it compiles alone")
        for line in path.read_text().splitlines():
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
            if not match:
                continue
            quote, target = match.groups()
            top = target.split("/")[0]
            if quote == '"' and "/" in target and top not in allowed:
                faults.append(f"{name} includes {target}, but {layer} may only see {sorted(allowed)}")
            if quote == '"' and "/" not in target and not name.startswith("runtime/include"):
                faults.append(f"{name} includes {target}: write the path from the root")
            if quote == '"' and "/" in target:
                check_rooms(name, target)
                folder, other = name.rpartition("/")[0], target.rpartition("/")[0]
                if folder != other and layer != "templates":
                    seen_by.setdefault(folder, {}).setdefault(other, f"{name} includes {target}")
            if any(name.startswith(d) for d in DESIGN) and top == "generator":
                faults.append(f"{name} includes {target}, but the mathematics knows no kernels")
            for library, place in ONLY.items():
                if quote == "<" and target.startswith(library) and not name.startswith(place):
                    faults.append(f"{name} includes <{target}>, which only {place} may")
            if quote == "<" and any(target.startswith(f) for f in FOREIGN.get(layer, ())):
                faults.append(f"{name} includes <{target}>, which {layer} must not need")
faults += cycles()
if files < 50:
    faults.append(f"only {files} files found under {root}")
print("\n".join(faults) or f"{files} files follow the layers")
sys.exit(bool(faults))
