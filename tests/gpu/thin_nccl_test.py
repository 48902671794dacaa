#!/usr/bin/env python3
"""thin_nccl.py on a program with made-up device code: what is kept, what is not, and what is refused."""
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

THIN = pathlib.Path(__file__).with_name("thin_nccl.py")
PTX, CUBIN = 1, 2


def entry(kind, architecture, payload):
    return struct.pack("<HHIQIIII", kind, 0x101, 64, len(payload), 0, 0, 0, architecture).ljust(64, b"\x11") + payload


def container(*entries):
    code = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(code)) + code


def thin(directory, linked, unlinked, architecture):
    """The library before, and after, or None with the sentence where it was refused."""
    for name, content in (("linked", linked), ("unlinked", unlinked)):
        (directory / name).write_bytes(content)
    library, out = directory / "library", directory / "out.gz"
    subprocess.run(["objcopy", f"--add-section=.nv_fatbin={directory}/linked",
                    f"--add-section=__nv_relfatbin={directory}/unlinked", "/bin/true", library], check=True)
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, THIN, library, str(architecture), out], capture_output=True, text=True)
    if done.returncode:
        assert not out.exists()
        return done.stderr, None
    return library.read_bytes(), gzip.decompress(out.read_bytes())


def main():
    codes = {(kind, number): bytes([kind, number]) * 32 for kind, number in
             ((CUBIN, 80), (CUBIN, 90), (CUBIN, 120), (PTX, 120))}
    all_of_them = container(*(entry(*key, payload) for key, payload in codes.items()))
    with tempfile.TemporaryDirectory() as made:
        directory = pathlib.Path(made)
        linked = all_of_them + bytes(24) + all_of_them  # a file for each source, with padding between
        unlinked = bytes([3, 90]) * 32  # what it was linked from: nothing of that is kept
        before, after = thin(directory, linked, container(entry(CUBIN, 90, unlinked)), 90)
        expected = before.replace(unlinked, bytes(64))
        for key, payload in codes.items():
            if key != (CUBIN, 90):
                expected = expected.replace(payload, bytes(64))
        assert after == expected
        assert after.count(codes[CUBIN, 90]) == 2 and before.count(unlinked) == 1

        sentence, nothing = thin(directory, linked, all_of_them, 100)
        assert nothing is None and "holds nothing for sm_100" in sentence, sentence
        sentence, nothing = thin(directory, all_of_them[:-8], b"", 90)
        assert nothing is None and "cut off" in sentence, sentence
        sentence, nothing = thin(directory, container(entry(7, 90, b"x" * 64)), b"", 90)
        assert nothing is None and "unknown form" in sentence, sentence


if __name__ == "__main__":
    main()
