#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""layers.py [-v]: checks the structure of the module's sources.

Prints an error for each include and each call against the order in kmod/layers, for each
function of 80 lines or more, and for a packet's way that is longer than the limits below.
Prints the measures of both ways to standard error; with -v also the functions of each.

A packet's way out are the functions that omerta_tx_xmit() reaches, its way in those that
omerta_rx_poll() reaches, by calls and by functions that they pass on, such as callbacks of
jobs. The way in ends where another way starts. Functions of compat/ stand for the kernel's.
Neither of these counts.
"""
import collections
import pathlib
import re
import sys

KMOD = pathlib.Path(__file__).resolve().parents[1] / "kmod"
LIMIT = {"functions": 100, "files": 20, "chain": 12}
LINES_MAX = 80
WAYS = {
    "out": ("omerta_tx_xmit", ()),
    "in": ("omerta_rx_poll", ("omerta_tx_flush", "omerta_reject_send",
                              "omerta_control_recv", "omerta_txq_poll")),
}


class Function:
    """A function with a body."""

    def __init__(self, file, name, body, static):
        self.file, self.name, self.body, self.static = file, name, body, static
        self.lines = body.count("\n") + 1
        self.calls = []


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def strip(text):
    """Text without comments, strings and preprocessor lines; line numbers stay."""
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r"//[^\n]*", blank, text)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(\\.|[^'\\\n])+'", "0", text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def opening(text):
    """Position of the parenthesis that the last one of text closes, or -1."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if not depth:
            return i
    return -1


def functions_of(file, text):
    for brace in re.finditer(r"^\{", text, re.M):
        head = text[:brace.start()].rstrip()
        at = opening(head) if head.endswith(")") else -1
        name = re.search(r"(\w+)\s*$", head[:max(at, 0)])
        if not name:
            continue
        start = max(head.rfind("\n}", 0, at), head.rfind(";", 0, at), 0)
        body = text[brace.start():text.find("\n}", brace.start()) + 2]
        yield Function(file, name.group(1), body, "static" in head[start:at])


def layer_of(file, order):
    return order.index(file.split("/")[0].removesuffix(".c"))


def way(start, ends):
    """Functions that start reaches, and the length of the deepest chain."""
    depth = {}

    def visit(function, chain):
        if function in chain or function.name in ends or \
                function.file.startswith("compat/"):
            return 0
        if function not in depth:
            depth[function] = 0
            depth[function] = 1 + max((visit(f, chain | {function})
                                       for f in function.calls), default=0)
        return depth[function]

    deepest = visit(start, frozenset())
    return list(depth), deepest


def main():
    order = [line for line in (KMOD / "layers").read_text().split("\n")
             if line and not line.startswith("#")]
    files = [path for path in sorted(KMOD.rglob("*.[ch]"))
             if path.relative_to(KMOD).parts[0].removesuffix(".c") in order
             and not path.name.endswith(".mod.c")]
    functions, local, shared = [], collections.defaultdict(dict), {}

    for path in files:
        file = str(path.relative_to(KMOD))
        text = path.read_text()
        for include in re.findall(r'^#include "([^"]*/[^"]*)"', text, re.M):
            if layer_of(include, order) < layer_of(file, order):
                print(f"kmod/{file}: includes {include}, of a layer above")
        for function in functions_of(file, strip(text)):
            functions.append(function)
            local[file][function.name] = function
            if not function.static or file.endswith(".h"):
                shared[function.name] = function

    for function in functions:
        words = re.findall(r"(?<![\w.])(?<!->)[A-Za-z_]\w*", function.body)
        for word in dict.fromkeys(words):
            target = local[function.file].get(word) or shared.get(word)
            if target in (None, function):
                continue
            function.calls.append(target)
            if layer_of(target.file, order) < layer_of(function.file, order):
                print(f"kmod/{function.file}: {function.name}() calls {word}(), "
                      "of a layer above")
        if function.lines >= LINES_MAX:
            print(f"kmod/{function.file}: {function.name}() has {function.lines} lines")

    for name, (start, ends) in WAYS.items():
        if start not in shared:
            print(f"kmod: there is no {start}()")
            continue
        reached, chain = way(shared[start], ends)
        measure = {"functions": len(reached),
                   "files": len({function.file for function in reached}),
                   "chain": chain}
        print(f"layers.py: a packet's way {name}: "
              + ", ".join(f"{n} {what}" for what, n in measure.items()), file=sys.stderr)
        for what, n in measure.items():
            if n > LIMIT[what]:
                print(f"kmod: a packet's way {name} has {n} {what}, "
                      f"more than {LIMIT[what]}")
        if "-v" in sys.argv[1:]:
            for file in sorted({function.file for function in reached}):
                names = [f.name for f in reached if f.file == file]
                print(f"layers.py: {file}: {' '.join(names)}", file=sys.stderr)


main()
