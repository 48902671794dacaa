#!/usr/bin/env python3
"""Nothing cites what is not there: documents, sections and headers that comments cite, links, and paths in backquotes.
references.py ROOT"""
import pathlib
import re
import sys

FOLDERS = ("runtime", "tuner", "generator", "templates", "tests", "configs", "generated", ".ci")
SOURCES = {".h", ".cpp", ".c", ".cu", ".py", ".sh", ".cmake", ".in", ".yaml", ".yml", ".txt", ".md"}
DOCUMENT = r"(?:\.\./|[\w.-]+/)*[\w-]+\.md\b"
SECTIONS = r"sections?\s+(\d+\w?(?:(?:\s*,\s*|\s+and\s+|\s+to\s+)\d+\w?)*)"
CITED = re.compile(rf"({DOCUMENT}),?\s+{SECTIONS}")
NAMELESS = re.compile(r"(?<![\w/.])design(?:\.md)?(?:,|\s*\()?\s+sections?\s+\d", re.I)
BARE = re.compile(SECTIONS)

root = pathlib.Path(sys.argv[1])
faults, cited, paths = [], 0, 0


def found(name, path):
    return next((p for p in (root / name, path.parent / name) if p.exists()), None)


def headings(document):
    return set(re.findall(r"^##+ (\d+)\.", document.read_text(), re.M))


def check_sections(name, document, numbers):
    for number in re.findall(r"\d+\w?", numbers):
        if number not in headings(document):
            faults.append(f"{name} cites section {number} of {document.relative_to(root)}, which has none of that number")


def check_headers(name, text):
    """Headers that comments name, by the end of their path. Those of others are written <cuda.h>."""
    global cited
    for comment in re.findall(r"//.*", text):
        for header in re.findall(r"(?<![\w/.<\"])((?:[\w-]+/)*[\w-]+\.h)\b", comment):
            cited += 1
            if not any(("/" + own).endswith("/" + header) for own in headers):
                faults.append(f"{name} names {header}, which does not exist")


def check(path):
    global cited, paths
    name = path.relative_to(root).as_posix()
    text = path.read_text()
    # A sentence goes on behind the comment's sign in the next line.
    prose = re.sub(r"\n\s*(?:///?|\*|#)?\s*", " ", text)
    for document in set(re.findall(rf"(?<![\w/.\[]){DOCUMENT}", prose)):
        if not found(document, path):
            faults.append(f"{name} names {document}, which does not exist")
    for match in CITED.finditer(prose):
        cited += 1
        if document := found(match[1], path):
            check_sections(name, document, match[2])
    for match in NAMELESS.finditer(prose):
        faults.append(f"{name} cites '{match[0]}': say of which document, as in tuner/DESIGN.md, section 4")
    if path.suffix in {".h", ".cpp", ".cu"}:
        check_headers(name, text)
    if path.suffix != ".md":
        return
    if headings(path):
        for match in BARE.finditer(CITED.sub("", prose)):
            check_sections(name, path, match[1])
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        paths += 1
        if not re.match(r"https?:", target) and not (path.parent / target).exists():
            faults.append(f"{name} links to {target}, which does not exist")
    for target in re.findall(r"`([\w./-]+)`", text):
        if target.split("/")[0] in FOLDERS and "/" in target:
            paths += 1
            if not (root / target).exists():
                faults.append(f"{name} names {target}, which does not exist")


files = [root / name for name in ("README.md", "CMakeLists.txt", "run")]
for folder in FOLDERS:
    files += sorted(p for p in (root / folder).rglob("*") if p.suffix in SOURCES and p.is_file())
headers = [p.relative_to(root).as_posix() for p in files if p.suffix == ".h"]
own = pathlib.Path(__file__).resolve()
for path in files:
    # Plans are written by a program; what they hold is checked where it comes from.
    if "generated/plans" not in path.as_posix() and path.resolve() != own and "__pycache__" not in path.parts:
        check(path)
if cited < 15 or paths < 30:
    faults.append(f"only {cited} citations and {paths} paths were found")
print("\n".join(faults) or f"{cited} citations and {paths} paths lead somewhere")
sys.exit(bool(faults))
