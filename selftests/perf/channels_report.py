#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a table and a JSON file of what channels.sh printed.

usage: channels_report.py JSON-FILE <LINES	each "BACKEND ARCH CASE one|two UNIT VALUE"
"""
import json
import statistics
import sys

from aims import judge, show

# The least ratio of the second contender to the first one
AIMS = {"one two": 1.8, "inline auto": 0.97}
MOST_KB = 2.5


def main():
    runs = {}
    for line in sys.stdin:
        words = line.split()
        if len(words) == 6 and words[2] != "#":
            runs.setdefault(words[2], {}).setdefault(words[3], []).append(float(words[5]))
    aims = []
    # Packets per second, MB/s or kB
    print(f"{'case':16} {'first':>10} {'second':>10}  second over first (least, most)")
    for case, values in runs.items():
        first, *second = values
        median = statistics.median(values[first])
        if not second:
            print(f"{case:16} {median:10.4g}")
            aims.append((f"{case}: kB a peer", round(median, 2), MOST_KB, True))
            continue
        ratios = [y / x for x, y in zip(values[first], values[second[0]])]
        ratio = round(statistics.median(ratios), 2)
        print(f"{case:16} {median:10.4g} {statistics.median(values[second[0]]):10.4g}"
              f"  {ratio} ({min(ratios):.2f}, {max(ratios):.2f})")
        aims.append((f"{case}: {second[0]} over {first}", ratio, AIMS[f"{first} {second[0]}"], False))
    judged = judge(aims)
    with open(sys.argv[1], "w", encoding="ascii") as out:
        json.dump({"runs": runs, "aims": judged}, out, indent=1)
    show(judged)


main()
