#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a table and a JSON file of what channels.sh printed.

usage: channels_report.py JSON-FILE <LINES	each "BACKEND ARCH CASE one|two UNIT VALUE"
"""
import json
import statistics
import sys

from aims import judge, show

AIM = 1.8


def main():
    runs = {}
    for line in sys.stdin:
        words = line.split()
        if len(words) == 6 and words[2] != "#":
            runs.setdefault(words[2], {}).setdefault(words[3], []).append(float(words[5]))
    aims = []
    print(f"{'case':16} {'one':>10} {'two':>10}  two over one (least, most)")
    # Packets per second, or MB/s
    for case, values in runs.items():
        ratios = [two / one for one, two in zip(values["one"], values["two"])]
        ratio = round(statistics.median(ratios), 2)
        print(f"{case:16} {statistics.median(values['one']):10.4g}"
              f" {statistics.median(values['two']):10.4g}  {ratio} ({min(ratios):.2f}, {max(ratios):.2f})")
        aims.append((f"{case}: two over one", ratio, AIM, False))
    judged = judge(aims)
    with open(sys.argv[1], "w", encoding="ascii") as out:
        json.dump({"runs": runs, "aims": judged}, out, indent=1)
    show(judged)


main()
