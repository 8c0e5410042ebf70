#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of trace.py, as KTAP."""

import array
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace.py")
KERNEL = 0xffffffff81000000
NAMES = ("syscall", "omerta_tx_xmit", "omerta_chunk_seal", "kfree_skb", "__schedule", "other_task",
         "_raw_spin_lock_bh", "_raw_spin_unlock_bh")
AT = {name: KERNEL + 0x100 * i for i, name in enumerate(NAMES)}
SYMBOLS = "".join(f"{AT[name]:x} t {name}" + ("\t[omerta]\n" if "omerta" in name else "\n")
                  for name in NAMES)
# A packet: a call, calls in it, returns from both, a switch to a task that was inside of a function
PACKET = ([0x1000] * 3 + [AT["syscall"], AT["omerta_tx_xmit"], AT["omerta_tx_xmit"] + 4] +
          [AT["omerta_chunk_seal"] + 4 * i for i in range(10)] + [AT["omerta_tx_xmit"] + 8] +
          [AT["kfree_skb"]] + [AT["omerta_tx_xmit"] + 12, AT["syscall"] + 4] +
          [AT["__schedule"]] + [AT["other_task"] + 40] * 5 + [AT["syscall"] + 8])


def report(packets, packet=PACKET):
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "omerta.symbols"), "w", encoding="ascii") as file:
            file.write(SYMBOLS)
        with open(os.path.join(directory, "packet omerta.addresses"), "wb") as file:
            array.array("Q", packet * packets).tofile(file)
        done = subprocess.run([PROGRAM, "-r", directory], text=True, capture_output=True, check=False)
        try:
            with open(os.path.join(directory, "packet-omerta.folded"), encoding="ascii") as file:
                folded = dict(line.rsplit(" ", 1) for line in file.read().splitlines())
        except FileNotFoundError:
            folded = {}
        table, _, under = done.stdout.partition("\nunder a spinlock")
        rows = {line[:38].strip(): line[38:].split() for line in table.splitlines()}
        rows["under"] = dict(line.rsplit(maxsplit=1) for line in under.splitlines()[1:])
        return done.returncode, rows, folded, done.stderr


def instructions_are_per_packet():
    status, rows, _, said = report(100)
    assert status == 0, said
    assert rows["all"] == [str(len(PACKET))], rows
    assert rows["[user]"] == ["3"], rows


def parts_are_by_stack():
    _, rows, _, _ = report(100)
    assert rows["the cipher"] == ["10"], rows
    assert rows["memory"] == ["1"], rows
    assert rows["switching tasks"] == ["1"], rows
    assert rows["the tunnel's own code"] == ["4"], rows


def returns_end_calls():
    _, _, folded, _ = report(100)
    assert any(stack.endswith("syscall;omerta_tx_xmit;omerta_chunk_seal") for stack in folded), folded
    assert any(stack.endswith("syscall;omerta_tx_xmit;kfree_skb") for stack in folded), folded
    assert not any("omerta_chunk_seal;" in stack for stack in folded), folded


def tasks_have_stacks_of_their_own():
    _, _, folded, _ = report(100)
    assert "other_task" in folded, folded
    assert not any("other_task;" in stack or ";other_task" in stack for stack in folded), folded


def locks_are_held_until_released():
    lock, unlock, take, send = (AT[name] for name in (
        "_raw_spin_lock_bh", "_raw_spin_unlock_bh", "omerta_tx_xmit", "omerta_chunk_seal"))
    # 2 in the lock's function, 3 under it, in which there is another with 2 + 1, and nothing later
    held = [take, lock, lock + 4, take + 8, send, lock, lock + 4, send + 8, unlock, send + 12,
            take + 12, unlock, take + 16]
    _, rows, _, _ = report(100, held)
    assert rows["omerta_tx_xmit"] == ["4"] and rows["under"] == {
        "omerta_tx_xmit": "10", "omerta_tx_xmit > omerta_chunk_seal": "3"}, rows


def few_packets_are_a_failure():
    status, _, _, said = report(10)
    assert status == 1 and "no more than 10 packets" in said, (status, said)


TESTS = (instructions_are_per_packet, parts_are_by_stack, returns_end_calls,
         tasks_have_stacks_of_their_own, locks_are_held_until_released, few_packets_are_a_failure)


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
