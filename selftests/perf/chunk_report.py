#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes tables, with ratios, and a JSON file of what bench_chunk.sh measured.

usage: chunk_report.py BACKEND JSON-FILE <LINES	each "NAME JSON", or "machine TEXT"
"""
import json
import sys

LIB = "lib"
EXPECTED = {"chunks", "unchunked", "record", "single", "dispatch", "split", "split-lib",
            "scaling", "peers"}


def read(lines):
    found, machine = {}, ""
    for line in lines:
        name, _, rest = line.strip().partition(" ")
        if name == "machine":
            machine = rest
        elif rest.startswith("["):
            found[name] = json.loads(rest)
    return found, machine


def time(cases, of="median-ns", **wanted):
    """Nanoseconds of the one case that has these values: their median or "min-ns"."""
    wanted = {key.replace("_", "-"): value for key, value in wanted.items()}
    hits = [c for c in cases if all(c.get(k) == v for k, v in wanted.items())]
    return hits[0][of] if len(hits) == 1 else None


def engines(cases):
    return list(dict.fromkeys(c["engine"] for c in cases))


def ratios(found, of="median-ns"):
    """Speed of each engine, compared with the library's: more is faster. Of arm64 it is
    instructions: more is fewer of them."""
    result = {}

    def compare(label, name, cases, engine, size, lib_size):
        for direction in "seal", "open":
            ours = time(cases, of, engine=engine, chunk_size=size, direction=direction)
            lib = time(cases, of, engine=LIB, chunk_size=lib_size, direction=direction)
            if ours and lib:
                result[f"{label} {name} {direction}"] = round(lib / ours, 2)

    def compare_all(engine, hidden=""):
        for name, key, lib_size in (("per chunk", "chunks", 512),
                                    ("unchunked", "unchunked", 65536),
                                    ("record", "record", 512), ("single", "single", 512)):
            compare(engine + hidden, name, found.get(key + hidden, []), engine, 512, lib_size)

    for engine in engines(found.get("chunks", [])):
        if engine != LIB:
            compare_all(engine)
    compare_all("mb-avx2", ":avx2")
    compare_all("mb-ssse3", ":ssse3")
    compare_all("mb-sse2", ":ssse3")
    compare_all("mb-neon", ":arm64")
    return result


def break_even(cases):
    """The least payload from which on splitting it pays, by strategy."""
    result = {}
    for strategy in dict.fromkeys(c["strategy"] for c in cases if c["strategy"] != "inline"):
        result[strategy] = None
        for size in sorted({c["bytes"] for c in cases}, reverse=True):
            alone = time(cases, strategy="inline", bytes=size)
            split = time(cases, strategy=strategy, bytes=size)
            if not alone or not split or split >= alone:
                break
            result[strategy] = size
    return result


def print_ratios(title, ratio):
    names = list(dict.fromkeys(key.split(" ", 1)[1] for key in ratio))
    print(f"{title:17}" + "".join(f"{name:>16}" for name in names))
    for engine in dict.fromkeys(key.split(" ", 1)[0] for key in ratio):
        print(f"{engine:17}" + "".join(f"{ratio.get(f'{engine} {name}', '-'):>16}"
                                       for name in names))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found, machine = read(sys.stdin)
    if EXPECTED - set(found):
        sys.exit("chunk_report.py: not measured: " + ", ".join(sorted(EXPECTED - set(found))))
    ratio, ratio_of_min = ratios(found), ratios(found, "min-ns")
    print(f"{sys.argv[1]}: {machine}")
    print_ratios("times the library", ratio)
    print_ratios("by shortest times", ratio_of_min)
    for name in "split", "split-lib":
        for strategy, size in break_even(found.get(name, [])).items():
            print(f"{name}: {strategy} pays from {size} bytes on" if size else
                  f"{name}: {strategy} does not pay")
    with open(sys.argv[2], "w", encoding="ascii") as file:
        json.dump({"backend": sys.argv[1], "machine": machine, "results": found,
                   "ratios": ratio, "ratios-of-minima": ratio_of_min,
                   "break-even": {name: break_even(found[name])
                                  for name in ("split", "split-lib") if name in found}},
                  file, indent=1)


main()
