#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes tables and a JSON file of what bench_channels.sh measured.

usage: channels_report.py JSON-FILE <LINES	each "BACKEND ARCH CASE CONTENDER UNIT VALUE"; the second
					contender of a case is compared with the first
"""
import json
import statistics
import sys

from aims import judge, show, upper_end

# The least ratio of the second contender to the first one, by the first one
AIMS = {"one": 1.8, "inline": 0.97, "omerta,channels=1": 0.97}
# Channels should make these better.
BETTER = {"tcp-8", "udp-64-flood"}
LESS_IS_BETTER = {"us"}
MOST_KB = 2.5
CPUS = 8, 32, 128


def amdahl(share, cpus):
    return 1 / (share + (1 - share) / cpus)


def print_locks(runs):
    """Prints the share of each end's work that is under the lock of a key, and how much faster than one CPU
    several are at most that all serve this key."""
    print(f"\n{'end':24}{'insn/packet':>12}{'locked':>8}{'share':>8}" +
          "".join(f"{f'{n} CPUs':>10}" for n in CPUS) + "  locked in all")
    for case, values in runs.items():
        whole, unit = values["whole"]
        sending, receiving, locked = (values[name][0] for name in ("sending", "receiving", "locked"))
        # Bulk is counted by the byte, the rest by the packet.
        packets = ((1e9 * whole / (sending + receiving), "GB") if unit == "insn/B"
                   else (1e6, "million packets"))
        for end, insns, held in ("send", sending, 0), ("receive", receiving, locked):
            share = held / insns
            print(f"{case.removeprefix('locks-') + ': ' + end:24}{insns:12.0f}{held:8.0f}{share:8.1%}" +
                  "".join(f"{amdahl(share, n):10.1f}" for n in CPUS) +
                  f"  {held * packets[0] / 1e6:.0f} million instructions for a {packets[1]}")


def print_case(case, unit, values):
    """Returns the row of aims."""
    first, *second = values
    median = statistics.median(values[first])
    if not second:
        print(f"{case:16} {median:10.4g}")
        return f"{case}: kB a peer", round(median, 2), MOST_KB, True
    pairs = zip(values[first], values[second[0]])
    ratios = [x / y if unit in LESS_IS_BETTER else y / x for x, y in pairs]
    ratio = round(statistics.median(ratios), 2)
    print(f"{case:16} {median:10.4g} {statistics.median(values[second[0]]):10.4g}"
          f"  {ratio} ({min(ratios):.2f}, {max(ratios):.2f})")
    name = f"{case}: {second[0]} over {first}"
    if first == "inline" and len(ratios) > 1:
        ratio = round(upper_end(values[second[0]], values[first]), 2)
        name += ", upper end of the 95 % interval"
    return name, ratio, 1.01 if case in BETTER else AIMS[first], False


def main():
    runs, locks, units = {}, {}, {}
    for line in sys.stdin:
        words = line.split()
        if len(words) != 6 or words[2] == "#":
            continue
        _, _, case, contender, unit, value = words
        if case.startswith("locks-"):
            locks.setdefault(case, {})[contender] = float(value), unit
        else:
            runs.setdefault(case, {}).setdefault(contender, []).append(float(value))
            units[case] = unit
    if runs:
        print(f"{'case':16} {'first':>10} {'second':>10}  second over first, or how much quicker (least, most)")
    judged = judge([print_case(case, units[case], values) for case, values in runs.items()])
    if locks:
        print_locks(locks)
        print()
    with open(sys.argv[1], "w", encoding="ascii") as out:
        json.dump({"runs": runs, "locks": locks, "aims": judged}, out, indent=1)
    show(judged)


main()
