#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What account.sh needs: packets that wait, and a peer that sends what they come in.

account.py keep DEVICE BYTES
    Takes IPv6 packets from the device and reads none. Prints how many bytes it is charged
    with once those are so many; ends at SIGTERM.
account.py loads KIND ROUNDS ADDRESS PORT KEY-FILE KEY-ID
    Sends so many times, as fast as it can, what keeps the other end busy, see LOADS.
account.py mixed KIND ADDRESS PORT KEY-FILE KEY-ID
    Sends IPv6 packets until SIGTERM, among others that are dropped, see KINDS.
"""
import socket
import struct
import sys
import time

import hostile_local as hostile
from hostile_local import rec

ETH_P_IPV6 = 0x86dd
SO_RCVBUFFORCE, SO_MEMINFO = 33, 55
SOURCE = socket.inet_pton(socket.AF_INET6, "fd09::3")
DESTINATION = socket.inet_pton(socket.AF_INET6, "fd09::1")
NO_NEXT, TCP, ICMP6 = 59, 6, 58


def run_keep(device, size):
    sock, stop = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM), hostile.Stop()
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 29)
    sock.bind((device, ETH_P_IPV6))
    print("begins", flush=True)
    charged = 0
    while charged < int(size) and not stop:
        time.sleep(0.02)
        charged, = struct.unpack_from("I", sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))
    print(charged, flush=True)
    while not stop:
        time.sleep(0.05)


def ip6(payload, proto=NO_NEXT):
    return struct.pack(">IHBB", 6 << 28, len(payload), proto, 64) + SOURCE + DESTINATION + payload


class Peer:
    def __init__(self, address, port, path, key_id):
        self.sealer, self.sock, self.seq = hostile.Sealer(path, key_id), hostile.udp_socket(), 0
        self.sock.connect((address, int(port)))

    def seal(self, plain):
        """In chunks of the longest class, as there is one tag for all then."""
        self.sealer.counter += 1
        return rec.seal(self.sealer.key, self.sealer.key_id, self.sealer.counter - 1, plain, 7)

    def segment(self, size):
        """The next of one TCP stream."""
        tcp = struct.pack(">HHIIBBHHH", 1, 2, self.seq, 1, 5 << 4, 0x10, 1000, 0, 0)
        self.seq += size
        return ip6(tcp + bytes(size), TCP)

    def burst(self, wires):
        """In one super-packet."""
        self.sock.sendmsg([b"".join(wires)], [(socket.IPPROTO_UDP, hostile.UDP_SEGMENT,
                                               struct.pack("H", len(wires[0])))])


def forged(wire):
    return wire[:-1] + bytes([wire[-1] ^ 1])


def among_forged(plains, peer):
    """At both ends of a burst that is as long as can be."""
    wires = [peer.seal(plain) for plain in plains]
    room = min(64, 65507 // len(wires[0]))
    peer.burst(wires[:1] + [forged(wires[0])] * (room - len(wires)) + wires[1:])


def stream_among_forged(segments, size, peer):
    """Some of a TCP stream become one packet, in a burst that is as long as can be."""
    wires = [peer.seal(peer.segment(size)) for _ in range(segments)]
    room = min(64, 65507 // len(wires[0]))
    peer.burst(wires + [forged(wires[0])] * (room - len(wires)))


# Forged ones that no other comes after, so that each begins a burst
LONGER = [forged(rec.seal(bytes(32), 1, 1 << 50, bytes(size), 7)) for size in range(800, 1600, 48)]


def alone(plain, peer):
    """In a record of its own."""
    peer.sock.send(peer.seal(plain))
    for wire in LONGER:
        peer.sock.send(wire[:4] + struct.pack("<I", peer.sealer.key_id) + wire[8:])


# Each sends a burst.
KINDS = {
    "short": lambda peer: among_forged([ip6(bytes(660))] * 2, peer),
    "long": lambda peer: among_forged([ip6(bytes(4000))] * 2, peer),
    "longest": lambda peer: among_forged([ip6(bytes(17000))], peer),
    "stream": lambda peer: stream_among_forged(2, 700, peer),
    "long_stream": lambda peer: stream_among_forged(5, 1400, peer),
    "alone": lambda peer: alone(ip6(bytes(700)), peer),
    "alone_long": lambda peer: alone(ip6(bytes(2400)), peer),
}


def run_mixed(kind, *args):
    peer, stop = Peer(*args), hostile.Stop()
    while not stop:
        KINDS[kind](peer)


def ping6():
    return ip6(struct.pack(">BBHHH", 128, 0, 0, 1, 1) + bytes(8), ICMP6)


def syn(port):
    return ip6(struct.pack(">HHIIBBHHH", port, 1, 1, 0, 5 << 4, 2, 1000, 0, 0), TCP)


def full(plain):
    """A batch of as many as fit."""
    return rec.batch([plain] * (rec.max_plain(7) // (len(plain) + 2) - 1))


# Each gives the datagrams of a round: lists, of which each goes out in one super-packet.
LOADS = {
    "long": lambda peer: [[peer.seal(ip6(bytes(63000)))] for _ in range(64)],
    "long_forged": lambda peer: [[forged(peer.seal(ip6(bytes(63000))))]] * 64,
    "batches": lambda peer: [[peer.seal(full(hostile.packet(0, 20)))] for _ in range(64)],
    "strange": lambda peer: [[peer.seal(full(hostile.packet(i)))] for i in range(64)],
    "pings": lambda peer: [[peer.seal(full(ping6()))] for _ in range(16)],
    "syns": lambda peer: [[peer.seal(rec.batch([syn(1 + i) for i in range(1000)]))]
                          for _ in range(16)],
    "short": lambda peer: [[peer.seal(ip6(b"")) for _ in range(64)] for _ in range(64)],
    "empty": lambda peer: [[peer.seal(b"") for _ in range(64)] for _ in range(64)],
    "stream": lambda peer: [[peer.seal(peer.segment(900)) for _ in range(64)]
                            for _ in range(64)],
    "forged": lambda peer: [[forged(peer.seal(ip6(bytes(900))))] * 64] * 64,
    "mixed": lambda peer: [([peer.seal(ip6(bytes(900)))] + [forged(peer.seal(ip6(bytes(900))))]
                            * 31) * 2 for _ in range(64)],
    "junk": lambda peer: [[bytes(900)] * 64] * 64,
}


def run_loads(kind, rounds, *args):
    peer = Peer(*args)
    for _ in range(int(rounds)):
        made = LOADS[kind](peer)
        for wires in made:
            if len(wires) > 1:
                peer.burst(wires)
            else:
                peer.sock.send(wires[0])


globals()["run_" + sys.argv[1]](*sys.argv[2:])
