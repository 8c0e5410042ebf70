#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Follows the instructions of a guest that counts them (vm/run.sh, TRACE), and says in which
functions they are.

usage: trace.py DIRECTORY NUMBER <OUTPUT	the guest's output, with a line "begin CASE CONTENDER":
					follows NUMBER instructions from there
       trace.py -r DIRECTORY	makes a table of them, sums.json and of each case a file for flame
				graphs; DIRECTORY has also CONTENDER.symbols, as in /proc/kallsyms

DIRECTORY has a FIFO, log, for QEMU, and QEMU's monitor.
"""
import array
import bisect
import collections
import glob
import json
import os
import re
import select
import socket
import sys

# A function that each tunnel runs once for a packet
STARTS = {"veth": "veth_xmit", "wireguard": "wg_xmit", "ovpn": "ovpn_net_xmit",
          "omerta": "omerta_tx_xmit"}
# The case may be about to begin: so many packets are left out.
SKIP = 20
START_SECONDS = 60
USER = "[user]"
# From here on is a kernel's half.
KERNEL = 1 << 63
ROWS = 45
LOCK_ROWS = 30
LOCK = re.compile(r"_raw_(spin|read|write)_(try)?lock(_bh|_irq|_irqsave)?$")
UNLOCK = re.compile(r"_raw_(spin|read|write)_unlock(_bh|_irq|_irqrestore)?$")
# On the stack of what the receiving end does
RECEIVING = "net_rx_action"

# Parts of the work, by functions on the stack; the first that one matches counts.
PARTS = {
    "the cipher": r"omerta_chunk_(seal|open)$|chacha|poly1305",
    "memory": r"kmem_cache_|_*kmalloc|k?v?free_|kfree|_*alloc_(skb|pages)|(napi_)?(__)?build_skb"
              r"|skb_(release|defer_free|attempt_defer|free)|_*(kfree|consume)_skb|napi_alloc_frag"
              r"|page_frag|page_pool",
    "switching tasks": r"_*schedule$|schedule_|try_to_wake_up|_*queue_work|queue_delayed_work",
}
OWN = "the tunnel's own code"
REST = "sockets, IP, queues, devices"


class Monitor:
    """QEMU's. Old ones have another word for a log of each instruction; an unknown one is ignored."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def follow(self, log):
        """Logs each instruction to a file, or ends that."""
        word = "on" if log else "off"
        log = f"logfile {log}\nlog exec,nochain" if log else "log none"
        self.socket.sendall(f"singlestep {word}\none-insn-per-tb {word}\n{log}\n".encode())


def follow(directory, name, number):
    """Writes the addresses of the next instructions to a file."""
    addresses = array.array("Q")
    log = os.path.join(directory, "log")
    # QEMU, when it opens a FIFO, waits for a reader.
    with open(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as raw:
        monitor = Monitor(os.path.join(directory, "monitor"))
        monitor.follow(log)
        on = True
        rest = b""
        # Without a writer it is not even at its end.
        if not select.select([raw], [], [], START_SECONDS)[0]:
            sys.exit(f"trace.py: QEMU has logged nothing in {START_SECONDS} s")
        os.set_blocking(raw.fileno(), True)
        while data := raw.read(1 << 20):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                # Trace 0: 0x7f... [base/address/flags/flags] symbol
                if line.startswith(b"Trace") and len(addresses) < number:
                    addresses.append(int(line.split(b"/", 2)[1], 16))
            if on and len(addresses) >= number:
                monitor.follow(None)
                on = False
    with open(os.path.join(directory, name + ".addresses"), "wb") as file:
        addresses.tofile(file)


class Symbols:
    def __init__(self, path):
        found = []
        self.modules = {}
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split()
                if words[1] in "tTwW":
                    found.append((int(words[0], 16), words[2]))
                    self.modules[words[2]] = words[3] if len(words) > 3 else ""
        found.sort()
        self.starts = [address for address, _ in found]
        self.names = [name for _, name in found]

    def find(self, address):
        """Function, and whether it begins there"""
        if address < KERNEL:
            return USER, False
        at = bisect.bisect_right(self.starts, address) - 1
        return self.names[at], self.starts[at] == address


def fold(addresses, symbols):
    """Counts instructions by stack, and by the spinlocks that are held meanwhile. A call is known by the
    first address of a function, a return by a function that is on the stack; after a switch to another
    task the stack begins anew. A lock has the name of the function that took it, after those of the
    locks that were held then; one that is not released within the task that took it is forgotten."""
    known = {}
    counts = collections.Counter()
    under = collections.Counter()
    held = []
    stack = []
    path = ""
    for address in addresses:
        if address not in known:
            known[address] = symbols.find(address)
        name, begins = known[address]
        if begins or not stack or stack[-1] != name:
            if not begins and name in stack:
                while stack[-1] != name:
                    stack.pop()
            else:
                if not begins:
                    stack.clear()
                    held.clear()
                elif stack and LOCK.match(name):
                    held.append((held[-1] + " > " if held else "") + stack[-1])
                elif held and UNLOCK.match(name):
                    held.pop()
                stack.append(name)
            path = ";".join(stack)
        counts[path] += 1
        for lock in held:
            under[lock] += 1
    return counts, under


def read_case(path, start, symbols):
    """Instructions by stack, and by lock, and the number of packets"""
    addresses = array.array("Q")
    with open(path, "rb") as file:
        addresses.frombytes(file.read())
    at = [i for i, address in enumerate(addresses) if symbols.find(address) == (start, True)]
    if len(at) <= SKIP + 1:
        sys.exit(f"trace.py: {path} has no more than {len(at)} packets")
    at = at[SKIP:]
    return *fold(addresses[at[0]:at[-1]], symbols), len(at) - 1


def part_of(stack, symbols):
    """The part of the work that the last function on a stack does"""
    for part, pattern in PARTS.items():
        if any(re.match(pattern, name) for name in stack):
            return part
    if symbols.modules.get(stack[-1]) in ("[omerta]", "[wireguard]", "[ovpn]"):
        return OWN
    return USER if stack[-1] == USER else REST


def names_of(columns):
    """Those that have most in one of the columns first"""
    return sorted({name for column in columns.values() for name in column},
                  key=lambda name: -max(column[name] for column in columns.values()))


def print_rows(columns, names, rest):
    """A line for each of the names, and one for the rest"""
    lines = [(name, [name]) for name in names]
    if rest:
        lines.append(("the others", rest))
    for label, some in lines:
        print(f"{label[-64:]:38}" + "".join(f"{sum(column[n] for n in some):9.0f}"
                                      for column in columns.values()))


def report(directory):
    columns = {}
    parts = {}
    locks = {}
    for path in sorted(glob.glob(os.path.join(directory, "*.addresses"))):
        name = os.path.basename(path).removesuffix(".addresses")
        contender = name.rpartition(" ")[2]
        symbols = Symbols(os.path.join(directory, contender + ".symbols"))
        stacks, under, packets = read_case(path, STARTS[contender.split(",")[0]], symbols)
        with open(os.path.join(directory, name.replace(" ", "-") + ".folded"), "w",
                  encoding="ascii") as file:
            for stack, n in sorted(stacks.items()):
                print(stack, n, file=file)
        functions = collections.Counter()
        in_part = collections.Counter()
        for stack, n in stacks.items():
            functions[stack.rpartition(";")[2]] += n / packets
            in_part[part_of(stack.split(";"), symbols)] += n / packets
            in_part["all"] += n / packets
            if RECEIVING in stack.split(";"):
                in_part["of them in " + RECEIVING] += n / packets
        columns[name] = functions
        parts[name] = in_part
        locks[name] = collections.Counter({lock: n / packets for lock, n in under.items()})
        print(f"[{len(columns)}] instructions per packet of {name}, {packets} packets")
    print(f"{'':38}" + "".join(f"{f'[{i}]':>9}" for i in range(1, len(columns) + 1)))
    print_rows(parts, [*PARTS, OWN, REST, USER, "all", "of them in " + RECEIVING], [])
    print()
    rows = names_of(columns)
    print_rows(columns, rows[:ROWS], rows[ROWS:])
    with open(os.path.join(directory, "sums.json"), "w", encoding="ascii") as file:
        json.dump({name: {"all": part["all"], "receiving": part["of them in " + RECEIVING],
                          "under": locks[name]} for name, part in parts.items()}, file, indent=1)
    print("\nunder a spinlock, by the function that took it; inside of another one after that one's")
    print_rows(locks, names_of(locks)[:LOCK_ROWS], [])


def main(args):
    if len(args) == 2 and args[0] == "-r":
        report(args[1])
    elif len(args) == 2:
        for line in sys.stdin:
            if line.startswith("begin "):
                follow(args[0], line.removeprefix("begin ").strip(), int(args[1]))
                break
        # Let the guest go on.
        for line in sys.stdin:
            pass
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
