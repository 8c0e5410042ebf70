#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The macs and cookies of handshake messages, in Python alone.

usage: handshake.py cookie ADDR PORT PUBLIC-KEY [SOURCE...]
       handshake.py fill ADDR PORT PUBLIC-KEY COUNT
       handshake.py own ADDR PORT PUBLIC-KEY SOURCE-PORT
       handshake.py once ADDR PORT PUBLIC-KEY

once sends an initiation with a right mac1, and fails if it draws a cookie. cookie sends
such ones until a cookie comes, then an initiation under that cookie three times. Each
further SOURCE gets a cookie, too. Ten other initiations follow, by turns from all sources
under their cookies, and one under the first cookie from another port. fill gets a cookie,
then sends COUNT initiations under it. own sends 200 in this way, three from SOURCE-PORT
under the cookie for that, and one without a cookie. All these print how many initiations drew no cookie.
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
LENGTHS = {INITIATION: (152, 1336, 153, 1337), RESPONSE: (92, 1180, 93, 1181), COOKIE: (64,),
           TIME: (100, 1188)}


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


def connect(addr, port, source="", source_port=0):
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((source, int(source_port)))
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


def get_cookie(sock, reader):
    """The cookie, and how many initiations drew none before."""
    count = 0
    while True:
        data = reader.message()
        sock.send(data)
        try:
            return reader.open_cookie(sock.recv(2000), data), count
        except TimeoutError:
            count += 1


def run_cookie(addr, port, public, *sources):
    reader = Reader(public)
    socks = [connect(addr, port, source) for source in sources or [""]]
    cookie, count = get_cookie(socks[0], reader)
    cookies = [cookie] + [get_cookie(sock, reader)[0] for sock in socks[1:]]
    data = with_mac2(reader.message(), cookie)
    for _ in range(3):
        socks[0].send(data)
    for i in range(10):
        i %= len(socks)
        socks[i].send(with_mac2(reader.message(), cookies[i]))
    connect(addr, port).send(with_mac2(reader.message(), cookie))
    print(count)


def run_fill(addr, port, public, number):
    reader, sock = Reader(public), connect(addr, port)
    cookie, count = get_cookie(sock, reader)
    for _ in range(int(number)):
        sock.send(with_mac2(reader.message(), cookie))
    print(count)


def run_own(addr, port, public, source_port):
    reader, sock = Reader(public), connect(addr, port)
    peer = connect(addr, port, source_port=source_port)
    cookie, count = get_cookie(sock, reader)
    own, _ = get_cookie(peer, reader)
    for _ in range(200):
        sock.send(with_mac2(reader.message(), cookie))
    for _ in range(3):
        peer.send(with_mac2(reader.message(), own))
    sock.send(reader.message())
    print(count)


if __name__ == "__main__":
    {"cookie": run_cookie, "fill": run_fill, "own": run_own, "once": run_once}[sys.argv[1]](*sys.argv[2:])
