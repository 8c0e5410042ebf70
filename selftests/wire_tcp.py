# SPDX-License-Identifier: GPL-2.0
"""TCP over records, for wire_peer.py: just enough to send a stream to the kernel and
to take one from it, in bursts that are whole or damaged in every way.
"""
import random
import socket
import struct
import subprocess

import omerta_record as rec

MTU, MSS = 1388, 1336
FIN, SYN, PSH, ACK = 1, 2, 8, 16
STAMPS = struct.pack(">BBBBII", 1, 1, 8, 10, 5, 0)


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def inner(peer, kind):
    """The ends' addresses, as they stand in a header, and the family's header."""
    if kind == 4:
        return bytes((10, 9, 0, 2)), bytes((10, 9, 0, 1))
    return (socket.inet_pton(socket.AF_INET6, a) for a in ("fd09::2", "fd09::1"))


class Stream:
    """A connection to a server in the other namespace, a command for the shell."""

    def __init__(self, peer, kind, server):
        self.peer, self.kind = peer, kind
        self.src, self.dst = inner(peer, kind)
        self.port = random.randrange(20000, 60000)
        self.seq, self.ack, self.ident = random.randrange(1 << 32), 0, 7
        self.got = b""
        self.stamp = 0
        self.server = subprocess.Popen(["ip", "netns", "exec", "wire-a", "sh", "-c", server])
        subprocess.run(["ip", "netns", "exec", "wire-a", "bash", "-c",
                        "until ss -Hltn 'sport = :7000' | grep -q .; do sleep 0.05; done"],
                       check=True)
        self.connect()

    def packet(self, flags, data=b"", seq=None, options=None):
        """With all checksums right."""
        seq = (self.seq if seq is None else seq) & 0xffffffff
        if options is None:
            options = STAMPS[:4] + struct.pack(">II", 5, self.stamp)
        size = 20 + len(options)
        head = struct.pack(">HHIIBBHHH", self.port, 7000, seq, self.ack, size << 2, flags,
                           65535, 0, 0) + options
        pseudo = self.src + self.dst + struct.pack(">II", size + len(data), 6)
        head = head[:16] + struct.pack(">H", checksum(pseudo + head + data)) + head[18:]
        body = head + data
        if self.kind == 6:
            return struct.pack(">IHBB", 0x60000000, len(body), 6, 64) + self.src + self.dst + body
        self.ident += 1
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), self.ident & 0xffff, 0x4000, 64, 6,
                         0) + self.src + self.dst
        return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + body

    def send(self, packets):
        for packet in packets:
            self.peer.sock.sendto(self.peer.seal(rec.pad(packet, MTU)), ("192.0.2.1", 51900))

    def recv(self, wait=20):
        """The next TCP packet of the connection, parsed; None if none comes in time."""
        self.peer.sock.settimeout(wait)
        try:
            while True:
                wire, _ = self.peer.sock.recvfrom(1 << 16)
                plain = rec.open_(self.peer.open_key, wire, 34)
                assert len(plain) % rec.PAD == 0 or len(plain) == MTU, "not padded"
                for packet in rec.packets(plain) if plain else ():
                    if packet[0] >> 4 == self.kind and self.is_ours(packet):
                        return self.parse(packet)
        except socket.timeout:
            return None
        finally:
            self.peer.sock.settimeout(20)

    def is_ours(self, packet):
        at = 20 if self.kind == 4 else 40
        proto = packet[9] if self.kind == 4 else packet[6]
        return proto == 6 and packet[at + 2:at + 4] == struct.pack(">H", self.port)

    def parse(self, packet):
        at = 20 if self.kind == 4 else 40
        assert len(packet) <= MTU, len(packet)
        if self.kind == 4:
            assert checksum(packet[:20]) == 0, "IPv4 checksum"
            assert struct.unpack_from(">H", packet, 2)[0] == len(packet)
        pseudo = self.dst + self.src + struct.pack(">II", len(packet) - at, 6)
        assert checksum(pseudo + packet[at:]) == 0, "TCP checksum"
        seq, ack, size, flags = struct.unpack_from(">IIBB", packet, at + 4)
        head = at + (size >> 4) * 4
        for i in range(at + 20, head - 9):
            if packet[i:i + 2] == b"\x08\x0a":
                self.stamp, = struct.unpack_from(">I", packet, i + 2)
        return flags, ack, seq, packet[head:]

    def connect(self):
        option = struct.pack(">BBH", 2, 4, MSS + 12) + bytes((1, 1, 4, 2)) + STAMPS
        self.send([self.packet(SYN, options=option)])
        flags, _, seq, _ = self.recv()
        assert flags == SYN | ACK, flags
        self.seq, self.ack = self.seq + 1 & 0xffffffff, seq + 1 & 0xffffffff
        self.send([self.packet(ACK)])

    def push(self, data, rounds):
        """Have the kernel take a stream of bursts, each damaged in some way, and what it did
        not acknowledge again.
        """
        start, sent = self.seq, 0
        for i in range(rounds):
            self.damaged(data, start, sent, i < rounds * 3 // 4)
            sent = self.acked(start, sent)
            if sent == len(data):
                self.seq = start + sent & 0xffffffff
                return
        raise AssertionError(f"only {sent} of {len(data)} bytes after {rounds} rounds")

    def damaged(self, data, start, sent, damage):
        size = random.choice((MSS, MSS, MSS, 700, 100))
        pieces = [(i, data[i:i + size]) for i in range(sent, len(data), size)][:40]
        if damage and random.random() < 0.3:
            random.shuffle(pieces)
        wires = []
        for i, piece in pieces:
            flags = ACK | PSH if random.random() < 0.1 else ACK
            wires.append(self.peer.seal(rec.pad(self.packet(flags, piece, start + i), MTU)))
            if random.random() < 0.05:
                self.ident += 3
        for _ in range(random.randrange(4) if damage else 0):
            i = random.randrange(len(wires))
            how = random.randrange(3)
            if how == 0:
                bad = bytearray(wires[i])
                bad[random.randrange(16, len(bad))] ^= 1 << random.randrange(8)
                wires[i] = bytes(bad)
            elif how == 1:
                wires[i] = wires[random.randrange(len(wires))]
            else:
                wires[i] = self.peer.seal(rec.pad(self.packet(ACK, b"", start), MTU))
        while wires:
            n = next((i for i, w in enumerate(wires) if len(w) != len(wires[0])), len(wires))
            if n < len(wires) and len(wires[n]) < len(wires[0]):
                n += 1
            self.peer.burst(wires[:min(n, 40)])
            wires = wires[min(n, 40):]

    def acked(self, start, sent):
        """How much of the stream the kernel has, when it has said all that it will."""
        while got := self.recv(0.1):
            sent = max(sent, got[1] - start & 0xffffffff)
        return sent

    def pull(self, n):
        """Take a stream of n bytes from the kernel; returns it."""
        parts, have = {}, 0
        start = self.ack
        while have < n:
            got = self.recv(0.1)
            if not got:
                self.send([self.packet(ACK)])
                continue
            parts[got[2] - start & 0xffffffff] = got[3]
            while parts.get(have):
                have += len(parts[have])
            self.ack = start + have & 0xffffffff
        out = bytearray(n)
        for off, data in parts.items():
            out[off:off + len(data)] = data
        return bytes(out)

    def close(self):
        self.send([self.packet(ACK | FIN)])
        self.server.wait(20)
