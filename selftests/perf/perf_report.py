#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes a table and a JSON file of what perf.sh has measured.

usage: perf_report.py SAMPLED-EVENT BYTES DIRECTORY JSON-FILE	bytes of a payload
"""
import collections
import json
import os
import sys

TOP = 5


def read_stat(path):
    """Counts by event; those that this machine cannot count are left out."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split(",")
            try:
                counts[words[2].split(":")[0]] = float(words[0])
            except (IndexError, ValueError):
                pass
    return counts


def read_top(path):
    """The functions in which most samples were, with their share."""
    counts = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, _, n = line.rpartition(" ")
            counts[stack.split(";")[-1]] += int(n)
    total = sum(counts.values())
    return total, {name: round(n / total, 3) for name, n in counts.most_common(TOP)}


def case(result, size, directory):
    name = result["name"]
    events = read_stat(os.path.join(directory, name + ".stat"))
    samples, top = read_top(os.path.join(directory, name + ".folded"))
    per = "byte"
    # Figures of all CPUs, in the second that perf stat ran
    if "packets-per-s" in result:
        per = "packet"
        ns = events["task-clock"] * 1e6 / result["packets-per-s"]
    elif "mb-per-s" in result:
        ns = events["task-clock"] / result["mb-per-s"]
    elif "work-ns" in result:
        # Time of all workers together
        ns = result["work-ns"] / (size * result["rounds"] * result["workers"])
    else:
        sys.exit(f"perf_report.py: {name} has not been measured")
    cycles = None
    if events.get("cycles") and events.get("task-clock"):
        # Cycles per nanosecond of CPU time, times nanoseconds
        cycles = round(events["cycles"] / (events["task-clock"] * 1e6) * ns, 3)
    return {"case": name, "per": per, "ns": round(ns, 4), "cycles": cycles, "events": events,
            "samples": samples, "top": top}


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sampled, size, directory, path = sys.argv[1:]
    with open(os.path.join(directory, "results"), encoding="utf-8") as file:
        cases = [case(json.loads(line), int(size), directory) for line in file]
    if not cases or not all(c["samples"] for c in cases):
        sys.exit("perf_report.py: nothing was measured, or perf has seen nothing of it")
    print(f"{'case':18}{'ns':>10}{'cycles':>12} {'per':8}where ({sampled})")
    for c in cases:
        top = ", ".join(f"{name} {100 * share:.0f} %" for name, share in c["top"].items())
        print(f"{c['case']:18}{c['ns']:>10}{c['cycles'] or '-':>12} {c['per']:8}{top}")
    with open(path, "w", encoding="ascii") as file:
        json.dump(cases, file, indent=1)
    print(f"flame graphs: {directory}/*.svg")


main()
