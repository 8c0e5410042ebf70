#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""prove.py WORK CBMC...: the proofs in this folder, see proof.h. Prints KTAP.

WORK is an empty folder, CBMC the command to run. Each function prove_*() is a test; a comment before it
has its bound. Comments with commands of sed let the proofs of a file see another text of the module:

sed: FILE COMMAND	always
break: FILE COMMAND	in a test of its own: one of the proofs must fail
"""
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
KMOD = HERE.parents[1] / "kmod"
CHECKS = ("--bounds-check", "--pointer-check", "--pointer-overflow-check", "--pointer-primitive-check",
          "--signed-overflow-check", "--undefined-shift-check", "--div-by-zero-check",
          "--unwinding-assertions", "--no-malloc-may-fail", "--drop-unused-functions", "--object-bits", "12")
DEFINES = ("-D__builtin_memcpy=memcpy", "-DOMERTA_HAVE_UNALIGNED_H", "-DOMERTA_HAVE_CRYPTO_UTILS_H")
PROOF = re.compile(r"unwind: (\d+)((?: \S+:\d+)*)(?:\s+\*)?\s*\*/\s*void (prove_\w+)\(void\)")


def change(folder, commands):
    """Puts files of the module, changed by sed, into the folder."""
    for old in folder.rglob("*.[ch]"):
        old.unlink()
    for name, command in commands:
        source = folder / name if (folder / name).exists() else KMOD / name
        before = source.read_text()
        after = subprocess.run(["sed", command], input=before, check=True, capture_output=True,
                               text=True).stdout
        if after == before:
            sys.exit(f"prove.py: {command!r} changes nothing in {name}")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(after)


def run(cbmc, changed, file, proof):
    """Returns whether it is proved, and what cbmc says."""
    unwind, loops, function = proof
    folders = (changed, HERE / "include", KMOD, KMOD / "tests/user/include", KMOD.parent / "include", HERE)
    result = subprocess.run([*cbmc, str(file), "--function", function, "--unwind", unwind, *CHECKS, *DEFINES,
                             *(["--unwindset", loops.strip().replace(" ", ",")] if loops else []),
                             *(word for folder in folders for word in ("-I", str(folder)))],
                            capture_output=True, text=True, check=False)
    if result.returncode not in (0, 10):
        sys.exit(f"prove.py: {file.name}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.returncode == 0, result.stdout


def main():
    changed, cbmc = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    number, failed = 0, False

    def report(good, name, lines=()):
        nonlocal number, failed
        number += 1
        failed |= not good
        for line in lines:
            print(f"# {line}")
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)

    print("KTAP version 1")
    for file in sorted(HERE.glob("*.c")):
        text = file.read_text()
        proofs = PROOF.findall(text)
        always = re.findall(r"sed: (\S+) (.+)$", text, re.M)
        change(changed, always)
        for proof in proofs:
            start = time.monotonic()
            good, said = run(cbmc, changed, file, proof)
            report(good, f"{file.stem}: {proof[2].removeprefix('prove_')} "
                   f"# {said.count(': SUCCESS')} checks, {time.monotonic() - start:.0f} s",
                   [line for line in said.split("\n") if line.endswith(": FAILURE")][:20])
        for broken in re.findall(r"break: (\S+) (.+)$", text, re.M):
            change(changed, [*always, broken])
            report(not all(run(cbmc, changed, file, proof)[0] for proof in proofs),
                   f"{file.stem}: fails with {broken[1]}")
    print(f"1..{number}")
    sys.exit(failed)


main()
