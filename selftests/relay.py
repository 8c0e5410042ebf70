#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Two NATs of the cone kind, between two hosts that know nothing of each other's address.

usage: relay.py IN OUT ADDR PORT [LOSE]

What comes to the address and port IN goes to ADDR and PORT from OUT, and what comes to
OUT goes back to the latest sender to IN. IN and OUT are ADDR:PORT. The first LOSE to IN
are lost, and the time between the first and the last of those is printed in ms.
"""
import select
import socket
import sys
import time


def bound(place):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    addr, port = place.split(":")
    sock.bind((addr, int(port)))
    return sock


def main(inner, outer, addr, port, lose="0"):
    inner, outer = bound(inner), bound(outer)
    back = None
    lost = []
    while True:
        for sock in select.select([inner, outer], [], [])[0]:
            data, source = sock.recvfrom(1 << 16)
            if sock is inner:
                back = source
                if len(lost) < int(lose):
                    lost.append(time.monotonic())
                    if len(lost) == int(lose):
                        print(int(1000 * (lost[-1] - lost[0])), flush=True)
                    continue
                outer.sendto(data, (addr, int(port)))
            elif back:
                inner.sendto(data, back)


main(*sys.argv[1:])
