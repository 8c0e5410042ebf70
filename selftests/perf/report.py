#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a table, with ratios, and a JSON file of what tunnel.sh printed.

usage: report.py BACKEND ARCH JSON-FILE <LINES
"""
import json
import statistics
import sys

BASE, OURS = "wireguard", "omerta"


def read(lines):
    """{(case, contender): (unit, [value, ...])}, in the order of the lines."""
    runs = {}
    for line in lines:
        case, contender, unit, value = line.split()
        runs.setdefault((case, contender), (unit, []))[1].append(float(value))
    return runs


def results(runs, backend, arch):
    return [{"backend": backend, "arch": arch, "case": case, "contender": contender, "unit": unit,
             "min": min(values), "median": statistics.median(values), "max": max(values)}
            for (case, contender), (unit, values) in runs.items()]


def ratios(found):
    median = {(r["case"], r["contender"]): r["median"] for r in found}
    return {case: round(median[case, OURS] / median[case, BASE], 2)
            for case, contender in median if contender == OURS and (case, BASE) in median}


def table(found, ratio):
    contenders = list(dict.fromkeys(r["contender"] for r in found))
    yield f"{'case':24}{'unit':6}" + "".join(f"{c:>12}" for c in contenders) + "  omerta/wireguard"
    for case in dict.fromkeys(r["case"] for r in found):
        rows = {r["contender"]: r for r in found if r["case"] == case}
        unit = next(iter(rows.values()))["unit"]
        cells = "".join(f"{rows[c]['median']:12.1f}" if c in rows else f"{'-':>12}"
                        for c in contenders)
        yield f"{case:24}{unit:6}{cells}{ratio.get(case, '-'):>18}"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    backend, arch, path = sys.argv[1:]
    found = results(read(sys.stdin), backend, arch)
    ratio = ratios(found)
    print("\n".join(table(found, ratio)))
    with open(path, "w", encoding="ascii") as file:
        json.dump({"results": found, "ratios": ratio}, file, indent=1)


main()
