#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes of "perf script -D" a line for each stack, with its samples, as flame graphs
are made of. Addresses are taken raw, as perf knows nothing of a guest's modules.

usage: fold.py SYMBOLS <DUMP	as in /proc/kallsyms
"""
import bisect
import collections
import re
import sys

UNKNOWN = "[unknown]"
# To the host, a guest's kernel is user space.
HOST = "[host]"
# Above are marks of what follows: kernel, user and so on.
MARKS = -4096 % (1 << 64)
# No function is longer; addresses further behind one are not in the modules.
LONGEST = 1 << 20
# From here on is a kernel's half.
KERNEL = 1 << 63


class Symbols:
    def __init__(self, lines):
        found = []
        for line in lines:
            words = line.split()
            if len(words) >= 3 and words[1] in "tTwW":
                found.append((int(words[0], 16), words[2]))
        found.sort()
        self.addresses = [address for address, _ in found]
        self.names = [name for _, name in found]
        self.of_guest = all(address < KERNEL for address in self.addresses)

    def name(self, address):
        at = bisect.bisect_right(self.addresses, address) - 1
        if at >= 0 and address - self.addresses[at] <= LONGEST:
            return self.names[at]
        return HOST if self.of_guest and address >= KERNEL else UNKNOWN


def stacks(lines):
    """Yields whose a sample is, and the addresses, the innermost first."""
    chain = []
    for line in lines:
        if match := re.match(r"\.+ +\d+: ([0-9a-f]{16})$", line):
            chain.append(int(match[1], 16))
        elif "chain: nr:" in line:
            chain = []
        elif match := re.match(r" \.\.\. thread: (.*):\d+$", line):
            yield match[1], [address for address in chain if address < MARKS]
            chain = []


def fold(comm, chain, symbols):
    names = [symbols.name(address) for address in chain]
    # All functions of the host become one frame.
    while names[:2] == [HOST, HOST]:
        del names[0]
    # Entries behind the first unknown one are not frames.
    if UNKNOWN in names[1:]:
        del names[names.index(UNKNOWN, 1):]
    return ";".join([comm.replace(" ", "_")] + names[::-1])


def main(args):
    if len(args) != 1:
        sys.exit(__doc__)
    with open(args[0], encoding="ascii") as file:
        symbols = Symbols(file)
    counts = collections.Counter(fold(comm, chain, symbols)
                                 for comm, chain in stacks(sys.stdin) if chain)
    for stack, n in sorted(counts.items()):
        print(stack, n)


main(sys.argv[1:])
