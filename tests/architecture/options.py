#!/usr/bin/env python3
"""Advice can be followed: every --option that a sentence of the sources or the documents names is one of a program's, and
every CERAR_ word is a setting of the build or of the environment. options.py ROOT PROGRAM..."""
import pathlib
import re
import subprocess
import sys

# Of other programs that documents tell how to call.
FOREIGN = {"--allow-run-as-root", "--oversubscribe", "--mca", "--install", "--build", "--preset", "--prefix", "--test-dir",
           "--target", "--gtest_filter", "--output-on-failure"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z_-]*[a-z]")
# A document's command line is checked where it calls a program of this project.
OURS = re.compile(r"cerar-tune|cerar-bench|\./run (?:tune|bench)|`--")


def help_of(program):
    words = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    options = set(OPTION.findall(words))
    subcommands = re.search(r"^Subcommands:\n((?:  .*\n)+)", words, re.M)
    for line in subcommands[1].splitlines() if subcommands else []:
        if name := re.match(r"  (\w+)", line):
            words = subprocess.run([program, name[1], "--help"], capture_output=True, text=True, check=True).stdout
            options |= set(OPTION.findall(words))
    return options


def sentences(source):
    """String literals that hold a space, neighbouring ones joined, without comments."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#.*?$", "", source, flags=re.M | re.S) if '"' in source else ""
    for run in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', source):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run[0]))
        if " " in text:
            yield text


root = pathlib.Path(sys.argv[1])
known = set().union(*(help_of(program) for program in sys.argv[2:]))
settings = set()
for path in root.rglob("CMakeLists.txt"):
    settings |= set(re.findall(r"(?:option|set)\((CERAR_\w+)", path.read_text()))
settings |= set(re.findall(r'getenv\("(CERAR_\w+)"', "".join(p.read_text() for p in (root / "runtime").rglob("*.cpp"))))

# What the kernels' templates call so is no setting.
settings |= set(re.findall(r"CERAR_\w+", "".join(p.read_text() for p in (root / "templates").rglob("*") if p.is_file())))


def check(path, text, options, faults):
    name = path.relative_to(root)
    faults += [f"{name}: no program has the option {o}: {text}" for o in OPTION.findall(text) if o not in options]
    faults += [f"{name}: nothing reads {s}: {text}" for s in re.findall(r"\bCERAR_[A-Z_]+\b", text) if s not in settings]


faults, read = [], 0
for layer in ("runtime", "generator", "tuner"):
    for path in sorted((root / layer).rglob("*")):
        if path.suffix not in {".h", ".cpp", ".c"}:
            continue
        for text in sentences(path.read_text()):
            read += 1
            check(path, text, known, faults)
for pattern in ("README.md", "configs/*.md", "runtime/**/*.md", "tuner/**/*.md", "tuner/examples/*.yml"):
    for path in root.glob(pattern):
        for line in path.read_text().splitlines():
            if OURS.search(line):
                check(path, line, known | FOREIGN, faults)
if read < 100 or len(known) < 20:
    faults.append(f"only {read} sentences and {len(known)} options were found")
print("\n".join(faults) or f"{read} sentences name options that exist")
sys.exit(bool(faults))
