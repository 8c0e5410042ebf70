#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes tables, with ratios, and a JSON file of what bench_chunk.sh measured.

usage: chunk_report.py BACKEND JSON-FILE <LINES	each "NAME JSON", or "machine TEXT"
"""
import json
import sys

from aims import judge, show

LIB = "lib"
EXPECTED = {"chunks", "unchunked", "record", "single", "curves", "dispatch", "split",
            "split-lib", "scaling", "peers"}

# Engines by the instructions they stand for, and what hides others from the library
CLASSES = (("IFMA", "mb-avx512ifma", ""), ("AVX2", "mb-avx2", ":avx2"),
           ("NEON", "mb-neon", ":arm64"))
# Ratios of a class, at least
RATIO_AIMS = {
    "IFMA": {"per chunk": 3.0, "unchunked": 1.4, "record": 1.75},
    "AVX2": {"per chunk": 1.7, "unchunked": 0.9, "record": 1.3},
}
RATIO_NAMES = {
    "per chunk": "lists of 16 chunks of 512 bytes, over the library's chunks",
    "unchunked": "the same, over the library in one piece",
    "record": "a record of three chunks, over three calls of the library",
}
# Lone records whose time is to be at most that of others
LONE = (64, 576, 1388)


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


def per_chunk(cases, engine, direction, length, chunks):
    """Nanoseconds of a chunk in such lists; those without lists have the same for all."""
    for wanted in chunks, 1:
        for c in cases:
            if (c["engine"], c["direction"], c["list"]) == (engine, direction, wanted) and \
                    length in (c.get("chunk-size"), c.get("mix")):
                return c["median-ns"] / c.get("chunks", c["bytes"] / c.get("chunk-size", 1))
    return None


def fastest(cases, prefix, *shape):
    times = [per_chunk(cases, e, *shape) for e in engines(cases) if e.startswith(prefix)]
    return min((t for t in times if t), default=None)


def worst(values):
    """The lower one of sealing and opening, if both were measured."""
    values = list(values)
    return None if None in values else round(min(values), 2)


def over(a, b):
    return a / b if a and b else None


def aims(found, ratio):
    """Yields name, value, aim, and whether less is better, of all that was measured."""
    for name, engine, hidden in CLASSES:
        # Without hiding anything on a machine that has no more
        keys = [f"{engine}{hidden}", engine]
        for what, aim in RATIO_AIMS.get(name, {}).items():
            for key in keys:
                value = worst(ratio.get(f"{key} {what} {d}") for d in ("seal", "open"))
                if value:
                    yield f"{name}: {RATIO_NAMES[what]}", value, aim, False
                    break
    peers, both = found["peers"], ("seal", "open")
    # The best engine for this machine, or what is left of it
    name, ours = next(((name, f"omerta {engine}") for name, engine, _ in CLASSES
                       if f"omerta {engine}" in engines(peers)), (None, None))
    value = worst(over(fastest(peers, "ipsec-mb", d, 1392, 16),
                       per_chunk(peers, ours, d, 1392, 16)) for d in both)
    if value:
        yield f"{name}: lists of 16 chunks of 1392 bytes, over ipsec-mb", value, 1.3, False
    for length in LONE:
        inverse = worst(over(fastest(peers, "ipsec-mb", d, length, 1),
                             per_chunk(peers, ours, d, length, 1)) for d in both)
        if inverse:
            yield (f"{name}: time of a lone record of {length} bytes, over ipsec-mb's",
                   round(1 / inverse, 2), 1.0, True)
    value = worst(over(per_chunk(peers, ours, d, 1388, 16),
                       3 * (per_chunk(peers, ours, d, "records", 48) or 0)) for d in both)
    if value:
        yield (f"{name}: time of 16 records of 1388 bytes in chunks of 512, over one chunk each",
               round(1 / value, 2), 1.1, True)
    counted = found.get("curves:arm64", [])
    for length in LONE:
        inverse = worst(over(per_chunk(counted, LIB, d, length, 1),
                             per_chunk(counted, "mb-neon", d, length, 1)) for d in both)
        if inverse:
            yield (f"NEON: instructions of a lone record of {length} bytes, over the library's",
                   round(1 / inverse, 2), 1.0, True)


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
    judged = judge(aims(found, ratio))
    show(judged)
    with open(sys.argv[2], "w", encoding="ascii") as file:
        json.dump({"backend": sys.argv[1], "machine": machine, "results": found,
                   "ratios": ratio, "ratios-of-minima": ratio_of_min, "aims": judged,
                   "break-even": {name: break_even(found[name])
                                  for name in ("split", "split-lib") if name in found}},
                  file, indent=1)


if __name__ == "__main__":
    main()
