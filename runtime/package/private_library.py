#!/usr/bin/env python3
"""A private copy of a shared library: private_library.py LIBRARY COPY OLD NEW.

In the copy the C++ namespace OLD is named NEW, a word of the same length, and the library looks for its symbols in itself
first. So no other copy of the library in a process, of whatever version, can take its place, nor can it take theirs.
Sources that use the copy are compiled with -DOLD=NEW. It keeps the licence of the library; it has no SONAME, so that it is
known by its file name."""
import pathlib
import re
import struct
import sys


class Library:
    """The dynamic symbols of a 64-bit ELF file, edited in place."""

    def __init__(self, path):
        self.bytes = bytearray(path.read_bytes())
        if self.bytes[:5] != b"\x7fELF\x02":
            raise SystemExit(f"{path} is not a 64-bit ELF library, of which alone a private copy can be made.")
        self.order = "<" if self.bytes[5] == 1 else ">"
        start, = self.read("Q", 40)
        size, count, names = self.read("HHH", 58)
        headers = [self.read("IIQQQQIIQQ", start + i * size) for i in range(count)]
        strings = headers[names][4]
        self.sections = {self.string(strings + h[0]).decode(): (h[4], h[5]) for h in headers}
        missing = {".dynsym", ".dynstr", ".dynamic", ".gnu.hash", ".rodata"} - self.sections.keys()
        if missing:
            raise SystemExit(f"{path} has no section {', '.join(sorted(missing))}.")

    def read(self, form, at):
        return struct.unpack_from(self.order + form, self.bytes, at)

    def write(self, form, at, *values):
        struct.pack_into(self.order + form, self.bytes, at, *values)

    def string(self, at):
        return bytes(self.bytes[at:self.bytes.index(0, at)])

    def symbols(self):
        at, size = self.sections[".dynsym"]
        strings = self.sections[".dynstr"][0]
        return [self.string(strings + self.read("I", entry)[0]) for entry in range(at, at + size, 24)]

    def rename_namespace(self, old, new):
        mangled = re.compile(rb"(?<![0-9])%d%s" % (len(old), old.encode()))
        renamed = b"%d%s" % (len(new), new.encode())
        expected = [mangled.sub(renamed, name) for name in self.symbols()]
        # In the second are the names by which exceptions are compared with the types that are caught.
        for section in ".dynstr", ".rodata":
            at, size = self.sections[section]
            self.bytes[at:at + size] = mangled.sub(renamed, self.bytes[at:at + size])
        # Names may share their ends.
        if self.symbols() != expected:
            raise SystemExit(f"the symbols of namespace {old} cannot be renamed in place.")
        if not any(renamed in name for name in expected):
            raise SystemExit(f"there is no symbol of a namespace {old}.")
        self.write_gnu_hash(expected)
        if ".hash" in self.sections:
            self.write_hash(expected)

    def write_gnu_hash(self, names):
        """One bucket for all, so that symbols can keep their order."""
        at = self.sections[".gnu.hash"][0]
        _, first, words, shift = self.read("IIII", at)
        bloom, hashes = [0] * words, []
        for name in names[first:]:
            value = 5381
            for byte in name:
                value = (value * 33 + byte) & 0xFFFFFFFF
            bloom[value // 64 % words] |= 1 << value % 64 | 1 << (value >> shift) % 64
            hashes.append(value & ~1)
        hashes[-1] |= 1  # the end of the bucket
        self.write("I", at, 1)
        self.write(f"{words}Q", at + 16, *bloom)
        self.write(f"{1 + len(hashes)}I", at + 16 + 8 * words, first, *hashes)

    def write_hash(self, names):
        at = self.sections[".hash"][0]
        buckets, chains = self.read("II", at)
        heads, nexts = [0] * buckets, [0] * chains
        for index, name in enumerate(names[1:], 1):
            value = 0
            for byte in name:
                value = (value << 4) + byte
                value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
            nexts[index], heads[value % buckets] = heads[value % buckets], index
        self.write(f"{buckets + chains}I", at + 8, *heads, *nexts)

    def look_in_itself_first(self):
        """DT_SYMBOLIC in the place of DT_SONAME."""
        at, size = self.sections[".dynamic"]
        for entry in range(at, at + size, 16):
            if self.read("Q", entry)[0] == 14:
                self.write("QQ", entry, 16, 0)
                return
        raise SystemExit("the library has no SONAME, whose place is needed.")


def main():
    source, copy, old, new = sys.argv[1:]
    if len(old) != len(new):
        raise SystemExit(f"{old} and {new} must have the same length.")
    library = Library(pathlib.Path(source))
    library.rename_namespace(old, new)
    library.look_in_itself_first()
    temporary = pathlib.Path(copy + ".new")
    temporary.write_bytes(library.bytes)
    temporary.chmod(0o755)
    temporary.replace(copy)


main()
