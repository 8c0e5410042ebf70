#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measures how long an engine's instructions take if none waits for another.

usage: bounds.py DIRECTORY	of the program "follow" (make -C peers follow)

Follows the instructions that seal a list, takes those of vectors, and times loops of samples of
them, in which each has registers of its own and its memory is in the cache. What remains is how
many of them the processor executes at once; instructions without vectors would come on top. The
same is measured for those of the algorithms alone: additions, XORs, rotations and multiplications.
"""
import collections
import itertools
import os
import random
import re
import subprocess
import sys

ENGINES = ("mb-avx512ifma", "mb-avx512vl", "mb-avx2")
LISTS = {"16 of 512": [512] * 16, "a record": [512, 512, 384]}
SAMPLES, SAMPLE = 8, 800
LOOPS = 200
# Without AVX-512 a rotation is a shuffle, or two shifts whose results are joined.
ALGORITHM = re.compile(r"v?p(add[dq]|xor[dq]?|rol[dq]|shufb|slld|srld|or|muludq|madd52[lh]uq)$")
VECTOR = re.compile(r"%(?:[xyz]mm\d|k[0-7])")
REGISTER = re.compile(r"%([xyz])mm\d+")

TIMER = """
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static uint8_t from[4096] __attribute__((aligned(64))), to[4096] __attribute__((aligned(64)));

void (*const samples[])(const void *from, void *to) = {{ {names} }};

static double now_ns(void)
{{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}}

int main(void)
{{
	for (unsigned int i = 0; i < sizeof(samples) / sizeof(*samples); i++) {{
		double least = 1e9;

		for (int round = 0; round < 500; round++) {{
			double start = now_ns(), ns;

			samples[i](from, to);
			ns = now_ns() - start;
			least = ns < least ? ns : least;
		}}
		printf("%f\\n", least / {loops});
	}}
	return 0;
}}
"""
DECLARE = "void {}(const void *from, void *to);\n"
FUNCTION = """
.globl {name}
{name}:
	push %r12
	mov ${loops}, %ecx
	{ones}
	.p2align 6
1:
{body}
	dec %ecx
	jnz 1b
	vzeroupper
	pop %r12
	ret
"""


def instructions(program):
    """Text of the instruction at each address."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    found = re.finditer(r"^ *([0-9a-f]+):\t([^#<\n]*?) *(?:#.*|<.*)?$", out, re.M)
    return {int(at, 16): text for at, text in (hit.groups() for hit in found)}


def operands(text):
    return re.findall(r"(?:[^,(]|\([^)]*\))+", text)


def is_wide(text):
    """The instruction is coded as AVX-512's are, which have 32 registers."""
    return bool(re.search(r"zmm|[xy]mm(?:1[6-9]|[23]\d)|\{", text))


class Renamer:
    """Gives instructions registers and memory of their own, so that none waits."""

    def __init__(self):
        self.results = [itertools.cycle(range(12)),
                        itertools.cycle([*range(12), *range(16, 28)])]
        self.inputs = [itertools.cycle(range(12, 16)), itertools.cycle(range(28, 32))]
        self.general = itertools.cycle(("r8", "r9", "r10", "r11"))
        self.masks = itertools.cycle((4, 5, 6, 7))
        self.lines = itertools.cycle(range(0, 2048, 64))

    def operand(self, text, is_result, wide):
        text = re.sub(r"\{%k\d\}", "{%k1}", text)
        numbers = (self.results if is_result else self.inputs)[wide]
        if "(" in text:
            if REGISTER.search(text):
                raise ValueError(f"unknown kind of address: {text}")
            base = "rdi" if is_result else "rsi"
            return f"{next(self.lines)}(%{base})" + "".join(re.findall(r"\{.*\}", text))
        if REGISTER.search(text):
            return REGISTER.sub(lambda hit: f"%{hit[1]}mm{next(numbers)}", text)
        if re.match(r"%k\d", text):
            return re.sub(r"^%k\d", f"%k{next(self.masks) if is_result else 1}", text)
        if text.startswith("%"):
            size = "" if re.match(r"%r(?:[a-z]+|\d+)$", text) else "d"
            return f"%{next(self.general) if is_result else 'r12'}{size}"
        return text

    def rename(self, text):
        name, _, rest = text.partition(" ")
        *sources, result = operands(rest.strip())
        # The difference of a register and itself depends on nothing.
        renamed = {part: self.operand(part, False, is_wide(text)) for part in sources}
        return f"\t{name} " + ", ".join([*(renamed[part] for part in sources),
                                         self.operand(result, True, is_wide(text))])


def samples(trace):
    """Instructions from all parts of the trace, each time others."""
    size = min(SAMPLE, len(trace))
    step = len(trace) / size
    chance = random.Random(1)
    return [[trace[int((i + chance.random()) * step)] for i in range(size)]
            for _ in range(SAMPLES)]


def least_ns(directory, trace):
    """Time of the instructions if none waits."""
    source, names = "", []
    for sample in samples(trace):
        renamer = Renamer()
        names.append(f"sample{len(names)}")
        source += FUNCTION.format(name=names[-1], loops=LOOPS,
                                  ones="kxnorw %k1, %k1, %k1" if any(map(is_wide, trace)) else "",
                                  body="\n".join(renamer.rename(text) for text in sample))
    base = os.path.join(directory, "bounds")
    with open(base + "_loops.s", "w", encoding="ascii") as file:
        file.write(source + '\n.section .note.GNU-stack,"",@progbits\n')
    with open(base + ".c", "w", encoding="ascii") as file:
        file.write("".join(map(DECLARE.format, names)) +
                   TIMER.format(names=", ".join(names), loops=LOOPS))
    subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-o", base, base + ".c",
                    base + "_loops.s"], check=True)
    out = subprocess.run([base], check=True, stdout=subprocess.PIPE, text=True).stdout
    times = [float(line) for line in out.split()]
    return sum(times) / len(times) / min(SAMPLE, len(trace)) * len(trace)


def followed(program, engine, lens):
    """The shortest time that a list takes, and the addresses of what is executed."""
    done = subprocess.run([program, engine, *map(str, lens)], check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode == 2:
        return None, []
    done.check_returncode()
    ns, *trace = done.stdout.split()
    return int(ns), [int(at, 16) for at in trace]


def main():
    directory = sys.argv[1]
    program = os.path.join(directory, "follow")
    known = instructions(program)
    print("instructions that seal a list, shortest times of all, and of some if none waits")
    print(f"{'engine':14} {'list':10} {'all':>6} {'vector':>6} {'algo':>6} "
          f"{'ns':>6} {'vector':>6} {'algo':>6}")
    for engine in ENGINES:
        for name, lens in LISTS.items():
            ns, trace = followed(program, engine, lens)
            if not trace:
                print(f"{engine:14} not on this machine")
                break
            trace = [known[at] for at in trace]
            vector = [text for text in trace
                      if VECTOR.search(text) and not text.startswith("vzero")]
            algorithm = [text for text in vector if ALGORITHM.match(text.split()[0])]
            print(f"{engine:14} {name:10} {len(trace):6} {len(vector):6} {len(algorithm):6} "
                  f"{ns:6} {least_ns(directory, vector):6.0f} "
                  f"{least_ns(directory, algorithm):6.0f}", flush=True)
            kinds = collections.Counter(text.split()[0] for text in vector)
            print("   ", ", ".join(f"{kind} {n}" for kind, n in kinds.most_common(8)))


if __name__ == "__main__":
    main()
