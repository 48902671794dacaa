#!/usr/bin/env python3
"""thin_nccl.py LIBRARY SM OUT: libnccl.so.2 with the device code of one architecture (80 for sm_80), compressed.

Nine tenths of the library are device code for seven architectures, and as much again for linkers that build
against it. What is not for this architecture becomes zeros: addresses, headers and host code stay as they are,
so that the library is the same one for its users, and gzip makes nothing of the zeros. Headers of other
architectures stay too; the driver chooses an entry by them, and reads no other. Stops unless something of the
architecture is kept. The result is for one GPU; on others NCCL fails at its first kernel.
"""
import gzip
import struct
import sys

MAGIC = 0xBA55ED50  # of a container of device code: header, then entries
CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes behind it
ENTRY = struct.Struct("<HHIQIIII")  # kind, version, bytes of this header, bytes behind it, ..., architecture
PTX, CUBIN = 1, 2
SECTION = struct.Struct("<IIQQQQIIQQ")


def sections(image):
    """Names of sections of a 64-bit ELF file, with their offsets and sizes."""
    if image[:5] != b"\x7fELF\x02":
        sys.exit("thin_nccl.py: not a 64-bit ELF file")
    table, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    rows = [SECTION.unpack_from(image, table + i * size) for i in range(count)]
    for row in rows:
        begin = rows[names][4] + row[0]
        yield bytes(image[begin:image.index(b"\0", begin)]).decode(), row[4], row[5]


def entries(image, begin, size):
    """Kind, architecture, offset and size of each piece of device code in a section."""
    at = begin
    while at + CONTAINER.size <= begin + size:
        magic, _, header, length = CONTAINER.unpack_from(image, at)
        if magic != MAGIC:
            at += 8  # padding
            continue
        entry, end = at + header, at + header + length
        if end > begin + size:
            sys.exit("thin_nccl.py: a container of device code is cut off")
        while entry < end:
            kind, _, header, length, _, _, _, architecture = ENTRY.unpack_from(image, entry)
            if kind not in (PTX, CUBIN) or entry + header + length > end:
                sys.exit("thin_nccl.py: device code of an unknown form")
            yield kind, architecture, entry + header, length
            entry += header + length
        at = end


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    library, wanted, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(library, "rb") as file:
        image = bytearray(file.read())
    kept = zeroed = 0
    for name, begin, size in list(sections(image)):
        # What is linked, and what it was linked from.
        if name not in (".nv_fatbin", "__nv_relfatbin"):
            continue
        for kind, architecture, offset, length in entries(image, begin, size):
            if name == ".nv_fatbin" and kind == CUBIN and architecture == wanted:
                kept += length
            else:
                image[offset:offset + length] = bytes(length)
                zeroed += length
    if not kept:
        sys.exit(f"thin_nccl.py: {library} holds nothing for sm_{wanted}")
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) as packed:
        packed.write(image)
        packed.close()
        size = file.tell()
    print(f"{library}: {kept >> 20} MiB of device code for sm_{wanted} kept, {zeroed >> 20} MiB zeroed, "
          f"{size / 2**20:.1f} MiB compressed")


if __name__ == "__main__":
    main()
