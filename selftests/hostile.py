#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Who wants to disturb a key agent, and knows its public key.

usage: hostile.py replay PCAP SECONDS ADDR PORT PUBLIC-KEY
       hostile.py flood SECONDS ADDR PORT PUBLIC-KEY

replay sends all handshakes of PCAP (Ethernet) to ADDR: as they were; cut at every
length; with each byte changed, and the first mac made anew; and 5000 datagrams of any
kind, made of chance, with and without that mac. In any order, no faster than it is read,
and no longer than SECONDS. A flood is of those made of chance, as fast as can be. Prints
how many were sent.
"""
import os
import random
import socket
import sys
import time

import handshake
import hostile_flood

MAC = 16
LENGTHS = {0x20: 152, 0x21: 92, 0x22: 64, 0x23: 100}


def handshakes(path):
    """UDP payloads of handshakes in the capture."""
    return hostile_flood.payloads(path, lambda p: p[:3] == b"OMR" and p[3] in LENGTHS)


class Host:
    def __init__(self, addr, port, public):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.to = (addr, int(port))
        self.reader = handshake.Reader(public)
        self.sent = 0

    def send(self, data):
        try:
            self.sock.sendto(data, self.to)
            self.sent += 1
        except OSError:
            pass                # its queue is full, or nobody is there

    def chance(self, number, known):
        kind = 0x20 + number % 16
        length = LENGTHS.get(kind, number % 600)
        data = (b"OMR" + bytes([kind, 0, 0, 0, 0]) + os.urandom(length))[:length]
        return self.reader.with_mac1(data) if known and kind in (0x20, 0x21, 0x23) else data

    def variants(self, data):
        for n in range(len(data)):
            yield data[:n]
            changed = bytearray(data)
            changed[n] ^= 1 << n % 8
            yield bytes(changed)
            # The answer's id, and a second mac, may be anything.
            if 8 <= n < len(data) - 2 * MAC:
                yield self.reader.with_mac1(bytes(changed))

    def replay(self, path, seconds):
        end = time.monotonic() + float(seconds)
        seen = list(handshakes(path))
        assert seen, "no handshakes in the capture"
        made = [variant for data in seen for variant in self.variants(data)]
        made += [self.chance(i, i % 2) for i in range(5000)]
        random.shuffle(made)
        for i, data in enumerate(seen + made):
            if i % 20 == 0:
                time.sleep(0.01)
                if time.monotonic() > end:
                    break
            self.send(data)

    def flood(self, seconds):
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            for _ in range(100):
                self.send(self.chance(self.sent, True))


def main(what, *args):
    host = Host(*args[-3:])
    getattr(host, what)(*args[:-3])
    print(host.sent)


main(*sys.argv[1:])
