#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tallies KTAP over all stages of a check run.

usage: ktap_tally.py NAME STATUS LOG [NAME STATUS LOG ...]

Rule: only leaves count. A result line is a leaf unless results stand, indented
further, between it and the line before it on its own level. Besides, one
failure is counted for each
  - parent that fails although none of its leaves does,
  - plan that is not met, and top level without a plan,
  - stage that ran no test, bailed out, or ended with a status other than 0
    without any failed test.
A result with SKIP or TODO, and a plan of 0, count as skipped.
"""

import re
import sys

STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
PLAN = re.compile(r"^( *)1\.\.(\d+)\s*(?:#.*)?$")
HEADER = re.compile(r"^( *)K?TAP version \d+\s*$")
RESULT = re.compile(r"^( *)(not ok|ok)\b\s*(\d+)?\s*(?:- )?(.*)$")
SKIP = re.compile(r"#\s*(skip|todo)\b", re.I)
LOG_LINES = 40


class Block:
    """The results of one level of indentation under one parent."""

    def __init__(self, indent):
        self.indent = indent
        self.plan = None
        self.results = 0
        self.failures = 0


class Tally:
    """Counts of one stage; failures are pairs of a name and its log."""

    def __init__(self, stage):
        self.stage = stage
        self.passed = self.skipped = 0
        self.failures = []
        self.log = []
        self.stack = [Block(0)]
        self.children = None

    def fail(self, name):
        self.failures.append((f"{self.stage}: {name}", self.log[-LOG_LINES:]))
        for block in self.stack:
            block.failures += 1

    def close(self, block):
        if block.plan == 0 and not block.results:
            self.skipped += 1
        elif block.plan is not None and block.plan != block.results:
            self.fail(f"plan of {block.plan} not met: {block.results} results")

    def level(self, indent):
        """Make the block of this indentation the innermost one."""
        self.children = None
        while self.stack[-1].indent > indent:
            block = self.stack[-1]
            self.close(block)
            self.children = self.stack.pop()
        if self.stack[-1].indent < indent:
            self.stack.append(Block(indent))
            self.children = None
        return self.stack[-1]

    def result(self, indent, good, number, name):
        block = self.level(indent)
        children = self.children
        block.results += 1
        name = name.strip() or f"test {number or block.results}"
        if SKIP.search(name):
            self.skipped += children is None
        elif children is None:
            if good:
                self.passed += 1
            else:
                self.fail(name)
        elif not good and not children.failures:
            self.fail(name)
        self.log = []

    def line(self, text):
        text = STAMP.sub("", text.rstrip("\r\n"))
        self.log.append(text)
        if match := RESULT.match(text):
            indent, verdict, number, name = match.groups()
            self.result(len(indent), verdict == "ok", number, name)
        elif match := PLAN.match(text):
            self.level(len(match[1])).plan = int(match[2])
        elif match := HEADER.match(text):
            self.level(len(match[1]))
        elif text.startswith("Bail out!"):
            self.fail(text)

    def finish(self, status):
        root = self.level(0)
        self.close(root)
        if not self.passed and not self.failures and not self.skipped:
            self.fail(f"ran no test (status {status})")
        elif root.plan is None:
            self.fail("printed no plan")
        if status and not self.failures:
            self.fail(f"ended with status {status}")
        return self


def tally(stage, status, lines):
    counts = Tally(stage)
    for text in lines:
        counts.line(text)
    return counts.finish(status)


def show(stages):
    width = max(len(stage.stage) for stage in stages)
    print(f"\n{'stage':{width}}  passed  failed  skipped")
    for stage in stages:
        print(f"{stage.stage:{width}}  {stage.passed:6}  {len(stage.failures):6}  "
              f"{stage.skipped:7}")


def main(args):
    if not args or len(args) % 3:
        sys.exit(__doc__)
    stages = []
    for name, status, path in zip(args[::3], args[1::3], args[2::3]):
        with open(path, errors="replace") as log:
            stages.append(tally(name, int(status), log))
    failures = [failure for stage in stages for failure in stage.failures]
    for name, log in failures:
        print(f"\nFAILED {name}")
        for text in log:
            print(f"    {text}")
    show(stages)
    passed = sum(stage.passed for stage in stages)
    skipped = sum(stage.skipped for stage in stages)
    print(f"\n{passed} passed, {len(failures)} failed, {skipped} skipped")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
