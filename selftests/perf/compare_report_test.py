#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of compare_report.py, as KTAP."""

import os
import subprocess
import sys
import tempfile

from compare_report import compare, read

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_report.py")


def lines(backend, case, unit, base, new, contender="omerta"):
    """A line for each value; a None is a turn that failed."""
    return [f"{tree} {n} {backend} x86-64 {case} {contender} {unit} {value}"
            for tree, values in (("base", base), ("new", new))
            for n, value in enumerate(values, 1) if value is not None]


def row(*args):
    return next(iter(compare(read(lines(*args)))))


def ratio_is_of_rounds():
    """What all of the machine does from round to round is not the trees' difference."""
    found = row("uml", "tcp-1", "MB/s", [100, 200, 50], [110, 220, 55])
    assert abs(found["ratio"] - 1.1) < 1e-9, found
    assert abs(found["lowest"] - 1.1) < 1e-9 and abs(found["highest"] - 1.1) < 1e-9, found
    assert (found["base"], found["new"]) == (100, 110), found


def five_of_five_is_a_verdict():
    five = [100] * 5
    assert row("uml", "tcp-1", "MB/s", five, [90, 95, 99, 80, 97])["verdict"] == "worse"
    assert row("uml", "tcp-1", "MB/s", five, [110, 105, 101, 120, 103])["verdict"] == "better"
    assert row("uml", "cpu", "s/GB", five, [110, 105, 101, 120, 103])["verdict"] == "worse"
    assert row("uml", "cpu", "s/GB", five, [90, 95, 99, 80, 97])["verdict"] == "better"


def noise_is_none():
    assert row("uml", "tcp-1", "MB/s", [100] * 5, [50, 60, 70, 101, 80])["verdict"] == ""
    assert row("uml", "tcp-1", "MB/s", [100] * 4, [50] * 4)["verdict"] == ""


def counts_have_a_limit():
    assert row("icount", "trip", "insn/trip", [1000], [1011])["verdict"] == "worse"
    assert row("icount", "trip", "insn/trip", [1000], [1009])["verdict"] == ""
    assert row("icount", "trip", "insn/trip", [1000], [980])["verdict"] == "better"


def failed_turns_are_left_out():
    found = row("uml", "tcp-1", "MB/s", [100, 100, None], [None, 110, 120])
    assert found["rounds"] == 1 and abs(found["ratio"] - 1.1) < 1e-9, found


def run(text, *options):
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run([PROGRAM, *options, file.name], input="\n".join(text), text=True,
                              capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr


def strict_fails_for_counts_only():
    slow = lines("icount", "trip", "insn/trip", [1000], [1011])
    assert run(slow)[0] == 0
    status, _, said = run(slow, "--strict=yes")
    assert status == 1 and "trip" in said, (status, said)
    assert run(slow, "--strict=no")[0] == 0
    assert run(lines("icount", "trip", "insn/trip", [1000], [1009]), "--strict=yes")[0] == 0
    assert run(lines("uml", "tcp-1", "MB/s", [100] * 5, [50] * 5), "--strict=yes")[0] == 0


def table_has_other_contenders():
    _, said, _ = run(lines("icount", "trip", "insn/trip", [1000], [1011]) +
                     lines("icount", "trip", "insn/trip", [500], [500], "veth"))
    assert "trip veth" in said and "1.011  1.011..1.011  worse" in said, said


def nothing_is_a_failure():
    assert run(lines("uml", "tcp-1", "MB/s", [100], []))[0] == 1


TESTS = (ratio_is_of_rounds, five_of_five_is_a_verdict, noise_is_none, counts_have_a_limit,
         failed_turns_are_left_out, strict_fails_for_counts_only, table_has_other_contenders,
         nothing_is_a_failure)


def main():
    failed = False
    print(f"KTAP version 1\n1..{len(TESTS)}")
    for n, test in enumerate(TESTS, 1):
        try:
            test()
        except AssertionError as error:
            failed = True
            print(f"# {error}\nnot ok {n} {test.__name__}")
        else:
            print(f"ok {n} {test.__name__}")
    sys.exit(failed)


main()
