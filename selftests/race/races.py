#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""races.py LOG: the data races that KCSAN reported in a kernel's log, as KTAP.

The planted races must be among them, none of omerta's own. An access is omerta's own if the
innermost function is. A marked one of omerta's is not at fault if the kernel's is plain. Races of the
kernel's functions that omerta calls are printed as well.
"""
import collections
import re
import sys

REPORT = re.compile(r"BUG: KCSAN: (.*)")
ACCESS = re.compile(r"(read|write|read-write|race at unknown origin|assert no)\b")
FRAME = re.compile(r" +(\S+?)(?:\.\w+(?:\.\d+)?)?\+0x\w+/0x\w+(?: \[(\w+)\])?")
PLANTED = ({"planted_read", "planted_write"}, {"planted_send", "planted_receive"})


def reports(lines):
    """(title, stacks, marks) of each report; a stack is a list of (function, module)."""
    title, stacks, marks = None, [], []
    for line in lines:
        line = re.sub(r"^\[ *[\d.]+\](\[ *[TC]\d+\])? ?", "", line.rstrip("\r\n"))
        found = REPORT.match(line)
        if found or line.startswith("=" * 20):
            if title:
                yield title, stacks, marks
            title, stacks, marks = (found[1] if found else None), [], []
        elif title and ACCESS.match(line):
            stacks.append([])
            marks.append("(marked" in line)
        elif title and stacks and (frame := FRAME.match(line)):
            stacks[-1].append((frame[1], frame[2]))
    if title:
        yield title, stacks, marks


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        found = list(reports(log))
    planted, ours, near = set(), collections.Counter(), collections.Counter()
    for title, stacks, marks in found:
        tops = {stack[0] for stack in stacks if stack}
        functions = {function for function, _ in tops}
        accesses = [(stack[0][1], marked) for stack, marked in zip(stacks, marks) if stack]
        text = " / ".join(" < ".join(f for f, _ in stack[:4]) for stack in stacks) or title
        for i, pair in enumerate(PLANTED):
            if functions & pair:
                planted.add(i)
        if ("omerta", False) in accesses or accesses and all(module == "omerta" for module, _ in accesses):
            ours[text] += 1
        elif any(module == "omerta" for stack in stacks for _, module in stack):
            near[text] += 1
    print("KTAP version 1\n1..3")
    print(f"# {len(found)} reports")
    for text, n in near.items():
        print(f"# {n} of the kernel's, called by omerta: {text}")
    for text, n in ours.items():
        print(f"# {n} of omerta's: {text}")
    results = ((0 in planted, "plain accesses that were planted are found"),
               (1 in planted, "a missing barrier that was planted is found"),
               (not ours, "omerta has no data race"))
    for i, (good, name) in enumerate(results):
        print(f"{'ok' if good else 'not ok'} {i + 1} - {name}")
    sys.exit(not all(good for good, _ in results))


main()
