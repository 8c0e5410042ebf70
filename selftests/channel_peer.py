#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A peer with channels, by the second implementation of the handshake and of records.

channel_peer.py ADDRESS PORT KEY-FILE PUBLIC-KEY CHANNELS WANTED
    Agrees on keys with the agent there, for the smaller of CHANNELS and its own number, which
    has to be WANTED. Confirms them, and opens channel 1, which the other end has to answer.
    Prints the ports of both channels, and returns UDP datagrams that come through either to
    their senders, through channel 1, until it is killed.
"""
import base64
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors"))
import omerta_handshake as noise  # noqa: E402
import omerta_record as rec  # noqa: E402

KEY_ID = 0x700


def connect(address, port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(20)
    sock.connect((address, int(port)))
    return sock


def agree(sock, static, its, channels):
    """The secrets of the initiator and of the responder, the other's key id, its channels"""
    one = noise.Handshake(noise.CHANNELS, static, its)
    when = struct.pack(">QI", (1 << 62) + 10 + int(time.time()), 0)
    sock.send(one.initiate(os.urandom(32), when, KEY_ID, channels=channels))
    answer = one.read_answer(noise.RESPONSE, sock.recv(2000), bytes(32))
    return *one.split(), *struct.unpack("<IB", answer)


def main(address, port, path, public, channels, wanted):
    with open(path, encoding="ascii") as file:
        static = base64.b64decode(file.read())
    first, second = connect(address, port), connect(address, port)
    out, into, its_id, its_channels = agree(first, static, base64.b64decode(public), int(channels))
    assert min(int(channels), its_channels) == int(wanted), its_channels
    first.send(rec.seal(out, its_id, 0, b""))
    second.send(rec.seal(noise.channel_secret(out, 1), its_id + 1, 0, b""))
    answer = second.recv(2000)
    assert rec.open_(noise.channel_secret(into, 1), answer, KEY_ID + 1) == b""
    print(first.getsockname()[1], second.getsockname()[1], flush=True)
    sent = 1
    while True:
        for sock in select.select([first, second], [], [])[0]:
            channel = int(sock is second)
            secret = noise.channel_secret(into, 1) if channel else into
            plain = rec.open_(secret, sock.recv(2000), KEY_ID + channel)
            for packet in rec.packets(plain) if plain else ():
                second.send(rec.seal(noise.channel_secret(out, 1), its_id + 1, sent,
                                     turned(packet)))
                sent += 1


def turned(packet):
    """An IPv4 packet with UDP's, to its sender; the checksums are the same."""
    assert packet[0] == 0x45 and packet[9] == socket.IPPROTO_UDP, packet
    return packet[:12] + packet[16:20] + packet[12:16] + packet[22:24] + packet[20:22] + packet[24:]


main(*sys.argv[1:])
