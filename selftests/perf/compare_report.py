#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a table, and a JSON file, of what bench_compare.sh measured of two trees.

usage: compare_report.py [--strict=yes] JSON-FILE <LINES
each line is "base|new ROUND BACKEND ARCH CASE CONTENDER UNIT VALUE"; with --strict=yes
the status is 1 if a count is more than 1 % worse
"""
import json
import math
import statistics
import sys

from report import CAVEATS

# Bound for counts: the same code takes the same number of instructions, but for chance in bursts.
COUNT_LIMIT = 1.01
# Bound for other figures: probability that a case reports a difference between equal trees
CHANCE = 0.05
MORE_IS_BETTER = ("MB/s", "packets/s")


def read(lines):
    """{(backend, arch, case, contender, unit): {tree: {round: value}}}, in their order."""
    runs = {}
    for line in lines:
        words = line.split()
        if len(words) == 8 and words[4] != "#":
            trees = runs.setdefault(tuple(words[2:7]), {"base": {}, "new": {}})
            trees[words[0]][int(words[1])] = float(words[7])
    return runs


def chance(hits, tries):
    """Of so many heads or more, with so many coins."""
    return sum(math.comb(tries, n) for n in range(hits, tries + 1)) / 2 ** tries


def verdict(backend, unit, ratio, ratios):
    """Of a sign test of the rounds, or of the limit for counts."""
    worse = sum(r < 1 if unit in MORE_IS_BETTER else r > 1 for r in ratios)
    better = sum(r > 1 if unit in MORE_IS_BETTER else r < 1 for r in ratios)
    if backend == "icount":
        return "worse" if ratio > COUNT_LIMIT else "better" if ratio < 1 / COUNT_LIMIT else ""
    if chance(worse, len(ratios)) <= CHANCE:
        return "worse"
    return "better" if chance(better, len(ratios)) <= CHANCE else ""


def compare(runs):
    for (backend, arch, case, contender, unit), trees in runs.items():
        base, new = trees["base"], trees["new"]
        ratios = [new[n] / base[n] for n in base if n in new and base[n]]
        if not ratios:
            continue
        ratio = statistics.median(ratios)
        yield {"backend": backend, "arch": arch, "unit": unit,
               "case": case if contender == "omerta" else f"{case} {contender}",
               "base": statistics.median(base.values()), "new": statistics.median(new.values()),
               "rounds": len(ratios), "ratio": ratio, "lowest": min(ratios),
               "highest": max(ratios), "verdict": verdict(backend, unit, ratio, ratios)}


def table(found):
    wide = max(len(r["case"]) for r in found) + 2
    yield f"{'case':{wide}}{'unit':13}{'base':>10}{'new':>10}{'ratio':>8}  spread"
    for r in found:
        places = 2 if r["base"] < 100 else 0
        yield (f"{r['case']:{wide}}{r['unit']:13}{r['base']:10.{places}f}"
               f"{r['new']:10.{places}f}{r['ratio']:8.3f}  {r['lowest']:.3f}..{r['highest']:.3f}  "
               f"{r['verdict']}").rstrip()


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--strict=")]
    if len(words) != 1:
        sys.exit(__doc__)
    found = list(compare(read(sys.stdin)))
    if not found:
        sys.exit("compare_report.py: nothing was measured of both trees")
    for backend, arch in dict.fromkeys((r["backend"], r["arch"]) for r in found):
        rows = [r for r in found if (r["backend"], r["arch"]) == (backend, arch)]
        print(f"\n{backend}, {arch}, {max(r['rounds'] for r in rows)} of each tree:")
        print("\n".join(table(rows)))
    print()
    for backend in dict.fromkeys(r["backend"] for r in found):
        print(f"{backend}: {CAVEATS[backend]}")
    with open(words[0], "w", encoding="ascii") as file:
        json.dump(found, file, indent=1)
    bad = [r["case"] for r in found if r["backend"] == "icount" and r["verdict"] == "worse"]
    if "--strict=yes" in sys.argv and bad:
        sys.exit(f"compare_report.py: more instructions than before: {', '.join(bad)}")


if __name__ == "__main__":
    main()
