#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes tables, with ratios, and a JSON file of what tunnel.sh and count.sh printed.

usage: report.py JSON-FILE <LINES	each "BACKEND ARCH CASE CONTENDER UNIT VALUE"
"""
import json
import statistics
import sys

from aims import judge, show, upper_end

BASE, OURS = "wireguard", "omerta"
POLICIES = "inline", "percpu"
LESS_IS_BETTER = "us", "s/GB"
CAVEATS = {
    "uml": "FPU sections cost nothing there, which flatters who opens many; wake-ups and "
           "system calls are dear, which is hard on workers",
    "icount": "an instruction is not a cycle, and a vector instruction is one",
}


def read(lines):
    """{(backend, arch, case, contender, unit): [value, ...]}, in the order of the lines."""
    runs = {}
    for line in lines:
        words = line.split()
        if len(words) == 6 and words[2] != "#":
            runs.setdefault(tuple(words[:5]), []).append(float(words[5]))
    return runs


def results(runs):
    return [dict(zip(("backend", "arch", "case", "contender", "unit"), key),
                 min=min(values), median=statistics.median(values), max=max(values))
            for key, values in runs.items()]


def beyond(found):
    """What bulk costs beyond the cipher."""
    by_key = {(r["backend"], r["arch"], r["case"], r["contender"]): r for r in found}
    for (backend, arch, case, contender), r in by_key.items():
        cipher = by_key.get((backend, arch, "cipher", contender))
        if case.startswith("bulk") and cipher and cipher["median"]:
            value = r["median"] - cipher["median"]
            yield r | {"case": case.replace("bulk", "bulk-less-cipher"),
                       "min": value, "median": value, "max": value}


def label(result):
    """uml and icount have different cases."""
    where = {("uml", "x86-64"): "", ("icount", "x86-64"): "", ("icount", "arm64"): "/arm64"}
    return result["case"] + where.get((result["backend"], result["arch"]),
                                      "/{backend}-{arch}".format(**result))


def ratios(found):
    median = {(label(r), r["contender"]): r["median"] for r in found}
    return {case: round(median[case, OURS] / median[case, BASE], 2)
            for case, contender in median if contender == OURS and median.get((case, BASE))}


def over_policies(runs):
    """Yields case, contender and how fast it is over the better of the other policies."""
    for (backend, arch, case, contender, unit), values in runs.items():
        others = [runs.get((backend, arch, case, f"{contender},policy={p}", unit))
                  for p in POLICIES]
        if None in others:
            continue
        sign = -1 if unit in LESS_IS_BETTER else 1
        best = max(others, key=lambda o: sign * statistics.median(o))
        yield case, contender, upper_end(*((values, best) if sign > 0 else (best, values)))


def aims(runs, ratio):
    """Yields name, value, aim, and whether less is better, of all that was measured."""
    for case in "packet", "packet/arm64":
        if case in ratio:
            yield f"{case}, instructions over {BASE}'s", ratio[case], 0.9, True
    if "tcp-1" in ratio:
        yield f"tcp-1, MB/s over {BASE}'s", ratio["tcp-1"], 4, False
    for case, contender, value in over_policies(runs):
        if value is not None:
            yield (f"{case}, {contender}: policy auto over the better of {' and '.join(POLICIES)}, "
                   "upper end of the 95 % interval", round(value, 2), 0.97, False)


def table(found, ratio):
    contenders = list(dict.fromkeys(r["contender"] for r in found))
    wide = [max(12, len(c) + 2) for c in contenders]
    yield (f"{'case':28}{'unit':11}" + "".join(f"{c:>{w}}" for c, w in zip(contenders, wide)) +
           f"  {OURS}/{BASE}")
    for case in dict.fromkeys(map(label, found)):
        rows = {r["contender"]: r for r in found if label(r) == case}
        unit = next(iter(rows.values()))["unit"]
        cells = "".join(f"{rows[c]['median']:{w}.1f}" if c in rows else f"{'-':>{w}}"
                        for c, w in zip(contenders, wide))
        yield f"{case:28}{unit:11}{cells}{ratio.get(case, '-'):>18}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    runs = read(sys.stdin)
    found = results(runs)
    if not found:
        sys.exit("report.py: nothing was measured")
    found += list(beyond(found))
    ratio = ratios(found)
    for backend, arch in dict.fromkeys((r["backend"], r["arch"]) for r in found):
        print(f"{backend}, {arch}:")
        print("\n".join(table([r for r in found if (r["backend"], r["arch"]) == (backend, arch)],
                              ratio)), end="\n\n")
    for backend in dict.fromkeys(r["backend"] for r in found if r["backend"] in CAVEATS):
        print(f"{backend}: {CAVEATS[backend]}")
    if "hosts" not in (r["backend"] for r in found):
        print("hardware: not measured")
    judged = judge(aims(runs, ratio))
    show(judged)
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump({"results": found, "ratios": ratio, "aims": judged}, file, indent=1)


if __name__ == "__main__":
    main()
