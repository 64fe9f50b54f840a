# SPDX-License-Identifier: BSD-3-Clause
"""Compares what hermit instruction-map finds in a guest with the marks that its source left in the section .insn_truth.

usage: insn_truth.py HERMIT FILE [MARKED]     MARKED: the file that has the marks, when FILE is a stripped copy of it
Exit status 0: every marked instruction is found with its right kind and would be replaced, nothing that is marked as data is.
"""
import json
import struct
import subprocess
import sys

KINDS = ["", "rdtsc", "rdtscp", "cpuid", "rdrand", "rdseed", "rdpid", "xgetbv", "xbegin"]


def truth_of(path):
    """{address: kind}, kind "" for what must be left alone."""
    data = open(path, "rb").read()
    shoff, = struct.unpack_from("<Q", data, 0x28)
    shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
    names = sections[shstrndx][4]
    for section in sections:
        name = data[names + section[0]:data.index(b"\0", names + section[0])]
        if name == b".insn_truth":
            records = data[section[4]:section[4] + section[5]]
            return {distance + 8 * i & 0xFFFFFFFF: KINDS[kind]
                    for i, (distance, kind) in enumerate(struct.iter_unpack("<iI", records))}
    sys.exit(f"{path}: no section .insn_truth")


def main():
    hermit, path = sys.argv[1:3]
    truth = truth_of(sys.argv[3] if len(sys.argv) > 3 else path)
    document = json.loads(subprocess.run([hermit, "instruction-map", "--json", "--all", path], check=True,
                                         stdout=subprocess.PIPE).stdout)
    found = {}
    for site in document["files"][0]["instructions"]:
        # A mark is at the first byte of an instruction, or at the opcode of data.
        found[site["address"]] = site
    bad = 0
    for address, kind in sorted(truth.items()):
        site = found.get(address)
        replaced = site and site["trust"] != "unsure"
        if kind and not (replaced and site["kind"] == kind):
            print(f"{path}: {address:#x}: {kind} is not found: {site}")
            bad += 1
        if not kind and replaced:
            print(f"{path}: {address:#x}: data would be replaced: {site}")
            bad += 1
    real = sum(1 for kind in truth.values() if kind)
    print(f"{path}: {real} instructions, {len(truth) - real} of data, {bad} wrong")
    return bad != 0 or not truth


sys.exit(main())
