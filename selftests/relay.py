#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Two NATs of the cone kind, between two hosts that know nothing of each other's address.

usage: relay.py IN OUT ADDR PORT

What comes to the address and port IN goes to ADDR and PORT from OUT, and what comes to
OUT goes back to whoever sent to IN last. IN and OUT are ADDR:PORT.
"""
import select
import socket
import sys


def bound(place):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    addr, port = place.split(":")
    sock.bind((addr, int(port)))
    return sock


def main(inner, outer, addr, port):
    inner, outer = bound(inner), bound(outer)
    back = None
    while True:
        for sock in select.select([inner, outer], [], [])[0]:
            data, source = sock.recvfrom(1 << 16)
            if sock is inner:
                back = source
                outer.sendto(data, (addr, int(port)))
            elif back:
                inner.sendto(data, back)


main(*sys.argv[1:])
