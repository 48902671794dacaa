#!/usr/bin/env python3
"""Includes follow the layers: each may see itself and what stands below it, nothing else. Sources include their own
header first."""
import pathlib
import re
import sys

ALLOWED = {
    "templates": {"templates"},
    "runtime": {"runtime", "templates"},
    "generator": {"generator", "runtime", "templates"},
    "tuner": {"tuner", "generator", "runtime"},
}
# Within the tuner: the mathematics knows no kernels.
DESIGN = {"tuner/code", "tuner/optimise"}
# Libraries that one place of the runtime knows.
ONLY = {"gloo/": "runtime/gloo/"}
# Both have threads, which std::regex does not suit: making an expression writes into the locale that all share.
FOREIGN = {"runtime": ("clang/", "llvm/", "lld/", "nlopt", "Eigen/", "nvrtc", "cuda", "regex"), "generator": ("regex",)}

root = pathlib.Path(sys.argv[1])
faults = []
files = 0
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
            if any(name.startswith(d) for d in DESIGN) and top == "generator":
                faults.append(f"{name} includes {target}, but the mathematics knows no kernels")
            for library, place in ONLY.items():
                if quote == "<" and target.startswith(library) and not name.startswith(place):
                    faults.append(f"{name} includes <{target}>, which only {place} may")
            if quote == "<" and any(target.startswith(f) for f in FOREIGN.get(layer, ())):
                faults.append(f"{name} includes <{target}>, which {layer} must not need")
if files < 50:
    faults.append(f"only {files} files found under {root}")
print("\n".join(faults) or f"{files} files follow the layers")
sys.exit(bool(faults))
