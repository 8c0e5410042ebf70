#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The macs and cookies of handshake messages, in Python alone.

usage: handshake.py cookie ADDR PORT PUBLIC-KEY
       handshake.py once ADDR PORT PUBLIC-KEY

once sends an initiation with a right mac1, and fails if it draws a cookie. cookie sends
such ones until a cookie comes, then an initiation under that cookie three times, ten
others under it, and one under it from another port. It prints how many initiations drew no
cookie.
"""
import base64
import hashlib
import os
import socket
import struct
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors")]
import omerta_record as rec  # noqa: E402

MAC = 16
MAGIC = b"OMR"
INITIATION, RESPONSE, COOKIE, TIME = range(0x20, 0x24)
# By type and mode
LENGTHS = {INITIATION: (152, 1336), RESPONSE: (92, 1180), COOKIE: (64,), TIME: (100, 1188)}


def hmac_sha256(key, data):
    """The guest has no module for this."""
    inner, outer = (bytes(b ^ pad for b in key.ljust(64, b"\0")) for pad in (0x36, 0x5c))
    return hashlib.sha256(outer + hashlib.sha256(inner + data).digest()).digest()


def hchacha20(key, nonce):
    """draft-irtf-cfrg-xchacha, section 2.2: the block without its last addition."""
    block = struct.unpack("<16I", rec.chacha20_block(
        key, *struct.unpack("<I", nonce[:4]), nonce[4:]))
    start = struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key) + \
        struct.unpack("<4I", nonce)
    words = [(a - b) & 0xffffffff for a, b in zip(block, start)]
    return struct.pack("<8I", *words[:4], *words[12:])


class Reader:
    """A host whose public key is known."""

    def __init__(self, public):
        public = base64.b64decode(public)
        self.mac1_key = hashlib.sha256(b"omerta mac1" + public).digest()
        self.cookie_key = hashlib.sha256(b"omerta cookie" + public).digest()

    def with_mac1(self, data):
        """The message with a right mac1, and mac2 as it is."""
        body = data[:-2 * MAC]
        return body + hmac_sha256(self.mac1_key, body)[:MAC] + data[-MAC:]

    def message(self, kind=INITIATION, mode=0):
        """Random, but for its header, its mac1 and the empty mac2."""
        length = LENGTHS[kind][mode]
        head = MAGIC + bytes([kind, mode if kind == INITIATION else 1, 0, 0, 0])
        return self.with_mac1(head + os.urandom(length - 8 - MAC) + bytes(MAC))

    def open_cookie(self, reply, cause):
        """The cookie that a reply to a message brings."""
        mac1 = cause[-2 * MAC:-MAC]
        assert len(reply) == 64 and reply[:8] == MAGIC + bytes([COOKIE]) + mac1[:4], reply
        nonce = reply[8:32]
        key = hchacha20(self.cookie_key, nonce[:16])
        return rec.plain_decrypt(key, bytes(4) + nonce[16:], reply[32:], mac1)


def with_mac2(data, cookie):
    return data[:-MAC] + hmac_sha256(cookie, data[:-MAC])[:MAC]


def connect(addr, port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((addr, int(port)))
    sock.settimeout(0.2)
    return sock


def run_once(addr, port, public):
    sock = connect(addr, port)
    sock.send(Reader(public).message())
    try:
        sock.recv(2000)
    except TimeoutError:
        return
    sys.exit("a cookie")


def run_cookie(addr, port, public):
    reader = Reader(public)
    sock = connect(addr, port)
    count = 0
    while True:
        data = reader.message()
        sock.send(data)
        try:
            reply = sock.recv(2000)
            break
        except TimeoutError:
            count += 1
    cookie = reader.open_cookie(reply, data)
    for _ in range(3):
        sock.send(with_mac2(data, cookie))
    for _ in range(10):
        sock.send(with_mac2(reader.message(), cookie))
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.sendto(with_mac2(reader.message(), cookie), (addr, int(port)))
    print(count)


if __name__ == "__main__":
    {"cookie": run_cookie, "once": run_once}[sys.argv[1]](*sys.argv[2:])
