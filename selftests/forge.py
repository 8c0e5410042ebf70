#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A forged ICMP error, "fragmentation needed" or "packet too big".

usage: forge.py FROM TO PEER MTU echo
       forge.py FROM TO PEER MTU PORT [KEY_ID COUNTER]

FROM seems to say to TO that a path to PEER takes MTU bytes. The error quotes an echo reply,
or a datagram between two sockets of the same PORT: one of random content, or a record.
"""
import os
import socket
import struct
import sys

LEN = 1400


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_header(source, to, proto, length):
    if ":" in source:
        return (struct.pack("!IHBB", 6 << 28, length, proto, 64) +
                socket.inet_pton(socket.AF_INET6, source) +
                socket.inet_pton(socket.AF_INET6, to))
    return (struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 1, 0x4000, 64, proto, 0) +
            socket.inet_aton(source) + socket.inet_aton(to))


def quoted(v6, us, peer, what):
    if what[0] == "echo":
        proto = socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP
        head = struct.pack("!BBHHH", 129 if v6 else 0, 0, 0, 1, 1)
    else:
        proto = socket.IPPROTO_UDP
        head = struct.pack("!HHHH", int(what[0]), int(what[0]), LEN, 0)
    if len(what) > 1:
        head += b"OMR\x10" + struct.pack("<IQ", int(what[1]), int(what[2]))
    return ip_header(us, peer, proto, LEN) + head + os.urandom(64)


def error(source, to, mtu, quote):
    if ":" not in source:
        icmp = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + quote
        return icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]
    icmp = struct.pack("!BBHI", 2, 0, 0, mtu) + quote
    pseudo = (socket.inet_pton(socket.AF_INET6, source) +
              socket.inet_pton(socket.AF_INET6, to) +
              struct.pack("!II", len(icmp), socket.IPPROTO_ICMPV6))
    return icmp[:2] + struct.pack("!H", checksum(pseudo + icmp)) + icmp[4:]


def main(source, to, peer, mtu, *what):
    v6 = ":" in to
    family = socket.AF_INET6 if v6 else socket.AF_INET
    proto = socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP
    icmp = error(source, to, int(mtu), quoted(v6, to, peer, what))
    with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as sock:
        sock.sendto(ip_header(source, to, proto, len(icmp)) + icmp, (to, 0))


main(*sys.argv[1:])
