#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of ktap_tally.py, as KTAP."""

import sys

from ktap_tally import tally

NESTED = """KTAP version 1
1..2
    KTAP version 1
    # Subtest: wire
    1..2
    ok 1 length
    # expected 3, got 4
    {}ok 2 magic
{}ok 1 wire
ok 2 - alone
"""

# name, status, input, expected (passed, failed, skipped)
CASES = [
    ("plain", 0, "TAP version 13\n1..2\nok 1 - a\nok 2 b\n", (2, 0, 0)),
    ("plan at the end", 0, "ok 1 a\nok 2 b\n1..2\n", (2, 0, 0)),
    ("not ok", 1, "1..2\nok 1 a\nnot ok 2 b\n", (1, 1, 0)),
    ("not ok with status 0", 0, "1..1\nnot ok 1 b\n", (0, 1, 0)),
    ("skip", 0, "1..3\nok 1 a # SKIP no ipv6\nok 2 # skip\nok 3 b\n", (1, 0, 2)),
    ("skip of all", 0, "1..0 # SKIP no module\n", (0, 0, 1)),
    ("not ok that is TODO", 0, "1..2\nnot ok 1 a # TODO later\nok 2\n", (1, 0, 1)),
    ("name with SKIP in it", 0, "1..1\nok 1 SKIPped records\n", (1, 0, 0)),
    ("truncated plan", 0, "1..3\nok 1 a\nok 2 b\n", (2, 1, 0)),
    ("more results than planned", 0, "1..1\nok 1 a\nok 2 b\n", (2, 1, 0)),
    ("no plan", 0, "ok 1 a\n", (1, 1, 0)),
    ("nothing", 0, "", (0, 1, 0)),
    ("only noise", 0, "make: Nothing to be done\nokay 1\n", (0, 1, 0)),
    ("crash before any test", 139, "Segmentation fault\n", (0, 1, 0)),
    ("crash after all passed", 139, "1..1\nok 1 a\n", (1, 1, 0)),
    ("crash in the middle", 139, "1..2\nok 1 a\n", (1, 1, 0)),
    ("bail out", 1, "1..1\nok 1 a\nBail out! no memory\n", (1, 1, 0)),
    ("nested", 0, NESTED.format("", ""), (3, 0, 0)),
    ("nested failure counts once", 1, NESTED.format("not ", "not "), (2, 1, 0)),
    ("parent fails alone", 1, NESTED.format("", "not "), (3, 1, 0)),
    ("parent passes over a failed leaf", 0, NESTED.format("not ", ""), (2, 1, 0)),
    ("nested crash", 1, "1..1\n  1..2\n  ok 1 a\n", (1, 2, 0)),
    ("nested plan not met", 0, "1..1\n  1..2\n  ok 1 a\nok 1 s\n", (1, 1, 0)),
    ("nested skip of all", 0, "1..1\n  1..0 # SKIP\nok 1 s # SKIP\n", (0, 0, 1)),
    ("two levels", 0, "1..1\n  1..1\n    1..1\n    ok 1 a\n  ok 1 b\nok 1 c\n", (1, 0, 0)),
    ("siblings after a parent", 0, "1..2\n  1..1\n  ok 1 a\nok 1 p\nok 2 q\n", (2, 0, 0)),
    ("kernel time stamps", 0, "[   12.5] 1..1\n[   12.6] ok 1 a\n", (1, 0, 0)),
    ("carriage returns", 0, "1..1\r\nok 1 a\r\n", (1, 0, 0)),
]


def main():
    bad = 0
    print(f"KTAP version 1\n1..{len(CASES) + 1}")
    for number, (name, status, text, expected) in enumerate(CASES, 1):
        counts = tally("stage", status, text.splitlines(keepends=True))
        got = counts.passed, len(counts.failures), counts.skipped
        if got != expected:
            print(f"# expected {expected}, got {got}")
            bad += 1
        print(f"{'ok' if got == expected else 'not ok'} {number} - tally: {name}")
    counts = tally("stage", 1, NESTED.format("not ", "not ").splitlines())
    name, log = counts.failures[0]
    good = name == "stage: magic" and any("got 4" in text for text in log)
    bad += not good
    print(f"{'ok' if good else 'not ok'} {len(CASES) + 1} - tally: names and logs of failures")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
