#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether the module's memory barriers suffice, by the kernel's own memory model.

Each file in ordering/ is a litmus test of two CPUs that run the module's code, reduced to what
matters. What "exists" names may never be. A line's comment names a function of the module and
what stands there for it, in the same order as here. The tests fail if

- the module no longer has these steps in this order,
- herd7 finds an order of things in which it goes wrong,
- it finds none without one of the barriers: then the test says nothing of that barrier,
- the module has a barrier that no test names.

usage: ordering.py MEMORY_MODEL HERD7...
MEMORY_MODEL is the kernel's tools/memory-model, HERD7 the command to run. Prints KTAP.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).with_name("ordering")
KMOD = pathlib.Path(__file__).parents[2] / "kmod"
NOT_THE_MODULE = {"tests", "bench"}
FUNCTION = re.compile(r"^(?:[a-z]\w*[ *]+)+(\w+)\([^;{}]*\)\n\{\n.*?^\}", re.M | re.S)
BARRIER = re.compile(r"\bsmp_(?:mb|rmb|wmb|store_release|load_acquire)\w*\(")
STEP = re.compile(r"// (\w+): (.+)$", re.M)

# Replaces a barrier by code without its effect.
WEAKENED = [
    (re.compile(r"smp_\w*mb\w*\(\);"), ""),
    (re.compile(r"smp_store_release\((\w+),"), r"WRITE_ONCE(*\1,"),
    (re.compile(r"smp_load_acquire\((\w+)\)"), r"READ_ONCE(*\1)"),
    (re.compile(r"\bxchg\("), "xchg_relaxed("),
]
# For tests without other barriers
WITHOUT_LOCK = [(re.compile(r"spin_lock\((\w+)\);(.*?)spin_unlock\(\1\);", re.S), r"\2")]


def functions():
    """The module's, by name, without comments."""
    found = {}
    for path in sorted(KMOD.rglob("*.[ch]")):
        if NOT_THE_MODULE.isdisjoint(path.relative_to(KMOD).parts):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            for match in FUNCTION.finditer(text):
                found[match[1]] = match[0]
    return found


def processes(litmus):
    return re.split(r"^(?=P\d+\()", litmus, flags=re.M)[1:]


def lacking(litmus, module, seen):
    """The first step that the module lacks, or None; adds the barriers among them to @seen."""
    for process in processes(litmus):
        place = {}
        for function, text in STEP.findall(process):
            at = module.get(function, "").find(text, place.get(function, 0))
            if at < 0:
                return f"{function}() has no {text} there"
            place[function] = at + 1
            seen.update((function, at + m.start()) for m in BARRIER.finditer(text))
    return None


def observation(herd, litmus):
    """herd7's: Never, Sometimes or Always; or what it says instead."""
    with tempfile.TemporaryFile("w+") as file:
        file.write(litmus)
        file.seek(0)
        done = subprocess.run(herd, stdin=file, capture_output=True, text=True)
    said = done.stdout + done.stderr
    found = re.search(r"^Observation \S+ (\w+)", said, re.M)
    flags = re.findall(r"^Flag .*", said, re.M)
    return found[1] if found and not flags else said


def weaker(litmus, ways):
    """The test without one of its barriers each, and which."""
    for barrier, instead in ways:
        for match in barrier.finditer(litmus):
            yield match[0].partition(";")[0], litmus[: match.start()] + match.expand(instead) + litmus[match.end() :]


def problem(litmus, module, seen, herd):
    step = lacking(litmus, module, seen)
    if step:
        return step
    litmus = re.sub(r"//.*", "", litmus)
    found = observation(herd, litmus)
    if found != "Never":
        return found
    variants = list(weaker(litmus, WEAKENED)) or list(weaker(litmus, WITHOUT_LOCK))
    for barrier, variant in variants:
        found = observation(herd, variant)
        if found != "Sometimes":
            return f"without {barrier}: {found}"
    return None if variants else "it has no barrier"


def main():
    model, *herd = sys.argv[1:]
    herd += ["-I", model, "-conf", f"{model}/linux-kernel.cfg", "/dev/stdin"]
    module = functions()
    tests = sorted(TESTS.glob("*.litmus"))
    seen, failed = set(), 0
    print(f"KTAP version 1\n1..{len(tests) + 1}")
    for n, path in enumerate(tests, 1):
        why = problem(path.read_text(), module, seen, herd)
        if why:
            failed = 1
            print("#", why.strip().replace("\n", "\n# "))
        print(f"{'not ok' if why else 'ok'} {n} - {path.stem}", flush=True)
    unnamed = [
        f"{name}() has {match[0]}) and no test"
        for name, text in module.items()
        for match in BARRIER.finditer(text)
        if (name, match.start()) not in seen
    ]
    for line in unnamed:
        failed = 1
        print("#", line)
    print(f"{'not ok' if unnamed else 'ok'} {len(tests) + 1} - all barriers", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
