#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The peer of wire.sh: speaks to the module in omerta_record.py's words.

wire_peer.py SECRET-THAT-THE-MODULE-RECEIVES-BY SECRET-THAT-IT-SENDS-BY [PATTERN]
PATTERN chooses tests by their names.
"""
import base64
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors"))
import omerta_record as rec  # noqa: E402
from wire_tcp import MTU, Stream, checksum  # noqa: E402

UDP_SEGMENT = 103

TO = ("192.0.2.1", 51900)
KEY_ID, ITS_KEY_ID = 17, 34
WAIT = 20
BATCH = 400
DROPS = ("malformed", "type", "control", "key-unknown", "key-expired", "auth", "replay",
         "plaintext", "source", "ecn", "nomem")
SHOW = ["ip", "netns", "exec", "wire-a", "omertactl", "-j", "show", "o0"]


def chacha20(key, counter, nonce, data):
    """All blocks at once, a lane of 64 bits each: for an emulated CPU."""
    n = -(-len(data) // 64)
    ones = int.from_bytes(struct.pack("<Q", 1) * n, "little")
    mask = ones * 0xffffffff
    start = [w * ones for w in struct.unpack("<4I", b"expand 32-byte k") +
             struct.unpack("<8I", key) + (0,) + struct.unpack("<3I", nonce)]
    start[12] = int.from_bytes(struct.pack(f"<{n}Q", *range(counter, counter + n)), "little")
    s = start[:]
    for _ in range(10):
        for q in rec._ROUNDS:
            a, b, c, d = q
            for x, y, z, r in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                s[x] = (s[x] + s[y]) & mask
                v = s[z] ^ s[x]
                s[z] = (v << r | v >> (32 - r)) & mask
    words = [struct.unpack(f"<{n}Q", ((x + y) & mask).to_bytes(8 * n, "little"))
             for x, y in zip(s, start)]
    stream = b"".join(struct.pack("<16I", *block) for block in zip(*words))[:len(data)]
    return (int.from_bytes(data, "little") ^
            int.from_bytes(stream, "little")).to_bytes(len(data), "little")


def fast():
    args = bytes(range(32)), 1, bytes(range(12)), bytes(range(200))
    assert chacha20(*args) == rec.chacha20(*args)
    rec.chacha20 = chacha20


def bind(port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.bind(("192.0.2.2", port))
    sock.settimeout(WAIT)
    return sock


def secret(path):
    with open(path, encoding="ascii") as file:
        return base64.b64decode(file.read())


def inside(*words):
    subprocess.run(["ip", "netns", "exec", "wire-a", *words], check=True)


class Peer:
    def __init__(self):
        self.seal_key, self.open_key = (secret(path) for path in sys.argv[1:3])
        self.sock, self.other = bind(51900), bind(51902)
        self.counter = 0
        self.its_class = 0

    def seal(self, plain, cls=0, counter=None):
        if counter is None:
            counter = self.counter
            self.counter += 1
        return rec.seal(self.seal_key, KEY_ID, counter, plain, cls)

    def set_class(self, cls):
        for words in (("ip", "link", "set", "o0", "down"),
                      ("omertactl", "link", "set", "o0", "chunk-size", str(512 << cls)),
                      ("ip", "link", "set", "o0", "up")):
            inside(*words)
        self.its_class = cls

    def stats(self):
        """What the module counts, and the endpoint."""
        text = subprocess.run(SHOW, check=True, stdout=subprocess.PIPE).stdout.decode()
        device, peer = text.split('"peer":', 1)
        found = {k[8:]: int(v) for k, v in re.findall(r'"(rx-drop-[a-z-]+)":(\d+)', device)}
        found["packets"] = int(re.search(r'"rx-packets":(\d+)', device)[1])
        found["records"] = int(re.search(r'"rx-records":(\d+)', peer)[1])
        found["endpoint"] = "51902" if re.search(r'51902', peer) else "51900"
        return found

    def burst(self, wires):
        """Sends datagrams as one super-packet, all of a size but the last."""
        self.sock.sendmsg([b"".join(wires)],
                          [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", len(wires[0])))],
                          0, TO)

    def send(self, wires, sock=None, **want):
        """Sends datagrams; checks that exactly the wanted counters grow."""
        before = now = self.stats()
        total = 0
        for i in range(0, len(wires), BATCH):
            some = wires[i:i + BATCH]
            for wire in some:
                (sock or self.sock).sendto(wire, TO)
            total += len(some)
            now = self.settle(before, total)
        grown = {k: now[k] - before[k] for k in now if k != "endpoint" and now[k] != before[k]}
        if want.pop("drops", None):
            assert not grown.get("records") and not grown.get("packets"), grown
            assert sum(grown.values()) == len(wires), grown
        else:
            want = {k.replace("_", "-"): v for k, v in want.items() if v}
            assert grown == want, f"counted {grown}, wanted {want}"
        return now

    def settle(self, before, total):
        end = time.monotonic() + WAIT
        while True:
            now = self.stats()
            done = sum(now[k] - before[k] for k in ("malformed", "type", "control", "key-unknown",
                                                    "key-expired", "auth", "replay", "records",
                                                    "nomem"))
            if done >= total:
                return now
            assert time.monotonic() < end, f"{done} of {total} datagrams counted"
            time.sleep(0.01)

    def recv(self):
        """The packets of the next record that has any."""
        while True:
            wire, _ = self.sock.recvfrom(1 << 16)
            plain = rec.open_(self.open_key, wire, ITS_KEY_ID)
            counter, = struct.unpack_from("<Q", wire, 8)
            assert rec.seal(self.open_key, ITS_KEY_ID, counter, plain, self.its_class) == wire
            assert len(plain) % rec.PAD == 0, "not padded"
            if plain:
                return rec.packets(plain)


def ipv4(proto, body, src=2):
    head = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(body), 1, 0, 64, proto, 0,
                       10, 9, 0, src, 10, 9, 0, 1)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + body


def icmp(kind, seq, data):
    body = struct.pack(">BBHHH", kind, 0, 0, 7, seq) + data
    return body[:2] + struct.pack(">H", checksum(body)) + body[4:]


def ping(seq=0, size=40):
    return ipv4(1, icmp(8, seq, bytes((i * 7 + seq) & 0xff for i in range(size - 28))))


def udp(size=44):
    """To no one: it is delivered, and nobody answers a datagram to port 9 from 0."""
    return ipv4(17, struct.pack(">HHHH", 9, 9, size - 20, 0) + bytes(size - 28))


def is_reply(packet, request):
    _, _, _, _, seq = struct.unpack_from(">BBHHH", request, 20)
    return packet[12:20] == request[16:20] + request[12:16] and \
        packet[20:] == icmp(0, seq, request[28:])


def echoes(peer, cls):
    """Packets of all sizes there and back, both ends with this chunk size."""
    peer.set_class(cls)
    for size in (28, 48, 511, 512, 513, 1040, 1388, 9000, 63000):
        request = ping(cls, size)
        peer.send([peer.seal(rec.pad(request, 1 << 16), cls)], records=1, packets=1)
        got = peer.recv()
        assert len(got) == 1 and is_reply(got[0], request), (size, got[0].hex()[:200])


def lengths(peer, cls):
    """Plaintexts of any length are authentic, whatever they are good for."""
    some = (1, 511, 512, 513, 1388, 9000, 63000)
    peer.send([peer.seal(b"\1" * n, cls) for n in some], records=len(some), plaintext=len(some))


def batch(peer):
    requests = [ping(i, 40 + i) for i in (10, 11, 12)]
    peer.send([peer.seal(rec.batch(requests))], records=1, packets=3)
    got = []
    while len(got) < 3:
        got += peer.recv()
    assert all(is_reply(g, r) for g, r in zip(got, requests))


def keepalive(peer):
    peer.send([peer.seal(b"")], records=1)


def flip(wire, byte, bit):
    return wire[:byte] + bytes([wire[byte] ^ 1 << bit]) + wire[byte + 1:]


def flips_short(peer):
    wire = peer.seal(ping())
    peer.send([flip(wire, i, b) for i in range(len(wire)) for b in range(8)], drops=True)
    peer.send([wire], records=1, packets=1)


def flips_long(peer):
    wire = peer.seal(ping(0, 1124))
    peer.send([flip(wire, i, b) for i in range(len(wire)) for b in range(8)], drops=True)
    peer.send([wire], records=1, packets=1)


def chunks(peer):
    wire, other = peer.seal(ping(0, 1536)), peer.seal(ping(1, 1536))
    head, step = wire[:16], 528
    a, b, c = (wire[16 + i * step:16 + (i + 1) * step] for i in range(3))
    x, y, z = (other[16 + i * step:16 + (i + 1) * step] for i in range(3))
    bad = [(b, a, c), (a, c, b), (c, b, a), (b, c), (a, c), (a, b), (a,), (c,), (a, a, b, c),
           (a, b, b, c), (a, b, c, c), (a, b, c, a), (x, b, c), (a, y, c), (a, b, z), (x, y, z)]
    peer.send([head + b"".join(each) for each in bad], auth=len(bad))
    cut = [wire[:16], wire[:17], wire[:31], wire[:16 + step + 1], wire[:16 + step + 16]]
    peer.send(cut, malformed=len(cut))
    peer.send([wire[:-1], wire + b"\0" * 17, wire[:16 + step + 17]], auth=3)
    # A single chunk has one class, and it is not free to tell another.
    one = peer.seal(ping())
    peer.send([flip(one, 3, bit) for bit in range(3)], malformed=3)
    peer.send([one, wire, other], records=3, packets=3)


def replays(peer):
    wires = [peer.seal(udp()) for _ in range(3)]
    peer.send([wires[0]], records=1, packets=1)
    peer.send([wires[0]] * 3, replay=3)
    peer.send([wires[2], wires[1]], records=2, packets=2)
    peer.send(wires, replay=3)


def window(peer):
    low = peer.counter
    top = low + 20000
    peer.counter = top + 1
    peer.send([peer.seal(udp(), 0, top)], records=1, packets=1)
    old = [peer.seal(udp(), 0, top + 1 - 16320), peer.seal(udp(), 0, top - 8192)]
    peer.send(old, records=2, packets=2)
    peer.send(old, replay=2)
    peer.send([peer.seal(udp(), 0, c) for c in (top - 16320, low, 0)], replay=3)


def foreign(peer):
    wire = peer.seal(ping())
    kinds = [k for k in range(256) if k != 3 and k >> 4 != 2 and not 0x10 <= k < 0x18]
    peer.send([b"OMX" + wire[3:], b"\0" * 60, b"", b"OMR"] +
              [b"OMR" + bytes([k]) + wire[4:] for k in kinds], type=len(kinds) + 4)
    control = [3] + list(range(0x20, 0x30))
    peer.send([b"OMR" + bytes([k]) + wire[4:] for k in control], control=len(control))
    peer.send([rec.seal(peer.seal_key, 18, 5, ping()), rec.seal(peer.seal_key, ITS_KEY_ID, 5, b"")],
              key_unknown=2)


def malformed(peer):
    wire = peer.seal(ping())
    bad = [wire[:8] + struct.pack("<Q", c) + wire[16:]
           for c in (rec.COUNTER_LIMIT, 1 << 56, (1 << 64) - 1)]
    bad += [wire[:4] + bytes(4) + wire[8:], wire[:4], wire[:15], wire[:16]]
    bad += [wire[:16] + bytes(n) for n in (1, 15)]
    peer.send(bad, malformed=len(bad))


def super_packets(peer):
    """Records among what else may come, in bursts as segmentation offload makes them."""
    wire = peer.seal(ping())
    junk = [("type", b"OMX" + wire[3:]), ("type", b"OMR\xff" + wire[4:]),
            ("type", bytes(len(wire))), ("control", b"OMR\x20" + wire[4:]),
            ("control", b"OMR\x03" + wire[4:]), ("auth", flip(wire, len(wire) - 1, 0)),
            ("malformed", wire[:8] + struct.pack("<Q", 1 << 56) + wire[16:]),
            ("key-unknown", rec.seal(peer.seal_key, 18, 5, ping()))]
    for share in (0, 0.3, 0.9):
        before, want = peer.stats(), dict.fromkeys(DROPS + ("records", "packets"), 0)
        for _ in range(6):
            burst = []
            for _ in range(random.randrange(2, 40)):
                kind, data = random.choice(junk)
                if random.random() < share:
                    kind, data = "records", peer.seal(ping())
                    want["packets"] += 1
                want[kind] += 1
                burst.append(data)
            if random.random() < 0.5:
                want["type"] += 1
                burst.append(b"OMR")
            peer.burst(burst)
        now = peer.settle(before, sum(want.values()) - want["packets"])
        assert all(now[k] - before[k] == want[k] for k in want), (before, now, want)


def file_pages(peer):
    """What refers to memory that others may write to is copied before it is looked at."""
    wire = peer.seal(ping(0, 1124))
    before = peer.stats()
    peer.other.connect(TO)
    with tempfile.TemporaryFile() as file:
        file.write(wire)
        file.flush()
        assert os.sendfile(peer.other.fileno(), file.fileno(), 0, len(wire)) == len(wire)
        now = peer.settle(before, 1)
        assert now["packets"] == before["packets"] + 1, (before, now)
        file.seek(0)
        assert file.read() == wire, "it was opened there"
    # The endpoint is where it was.
    keepalive(peer)


def plaintext(peer):
    good = ping()
    bad = [b"\0", b"\x01" + good, b"\x50" * 40, good[:-1], good + bytes(16), good + b"\1",
           b"\x45", rec.batch([]), rec.batch([good])[:-1], rec.batch([rec.batch([good])]),
           b"\x02\x01" + rec.batch([good])[2:], rec.batch([good]) + bytes(16),
           rec.batch([good, good[:-2]]), b"\x60" + bytes(20)]
    wires = [peer.seal(plain) for plain in bad]
    peer.send(wires, records=len(bad), plaintext=len(bad))
    peer.send(wires, replay=len(bad))


def source(peer):
    alien = ipv4(1, icmp(8, 1, bytes(12)), src=3)
    peer.send([peer.seal(alien)], records=1, source=1)
    peer.send([peer.seal(rec.batch([ping(), alien, ping()]))], records=1, packets=2, source=1)


def endpoint(peer):
    def at(wires, port, sock=peer.other, **want):
        now = peer.send(wires, sock, **want)
        assert now["endpoint"] == port, now["endpoint"]

    used = peer.seal(udp())
    late = peer.seal(udp())
    at([used], "51900", peer.sock, records=1, packets=1)
    peer.counter += 1
    at([peer.seal(udp())], "51900", peer.sock, records=1, packets=1)
    fresh = peer.seal(udp())
    at([flip(fresh, i, 0) for i in range(16, len(fresh))], "51900", drops=True)
    at([b"junk", fresh[:16]], "51900", type=1, malformed=1)
    at([used], "51900", replay=1)
    at([late], "51900", records=1, packets=1)
    at([fresh], "51902", records=1, packets=1)
    at([fresh], "51902", peer.sock, replay=1)
    at([peer.seal(b"")], "51900", peer.sock, records=1)


def set_mtu(mtu):
    inside("ip", "link", "set", "o0", "mtu", str(mtu))


def stream_in(peer, kind):
    """A stream in damaged bursts arrives as it is."""
    peer.set_class(0)
    set_mtu(MTU)
    random.seed(kind)
    data = random.randbytes(150000)
    with tempfile.NamedTemporaryFile() as file:
        stream = Stream(peer, kind, f"busybox nc -l -p 7000 >{file.name}")
        stream.push(data, 80)
        stream.close()
        assert file.read() == data, "another content"


def stream_out(peer, kind):
    """What the kernel cuts from a long packet, with all headers right."""
    random.seed(kind)
    data = random.randbytes(300000)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        stream = Stream(peer, kind, f"busybox nc -l -p 7000 <{file.name}")
        assert stream.pull(len(data)) == data, "another content"
        stream.close()


SENDER = """
import random, socket, sys
random.seed(int(sys.argv[1]))
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, 32, 1 << 26) # SO_SNDBUFFORCE
for size in map(int, sys.argv[2:]):
    sock.sendto(random.randbytes(size), ("10.9.0.2", 9))
"""


def batches_out(peer):
    """Packets that waited together come in order, in fewer records, none too long."""
    peer.set_class(0)
    # The device learns where its peer is.
    keepalive(peer)
    set_mtu(1376)
    random.seed(1)
    sizes = [random.choice((1, 33, 64, 301, 680, random.randrange(1349))) for _ in range(300)]
    random.seed(2)
    wanted = [random.randbytes(size) for size in sizes]
    link = ("tc", "qdisc", "replace", "dev", "va", "root", "tbf", "burst", "2k", "limit", "32mb")
    inside("omertactl", "link", "set", "o0", "batch", "on")
    replace = "tc qdisc replace dev o0 %s pfifo limit 10000"
    inside("sh", "-c", f"{replace % 'parent 1:1'} || {replace % 'root'}")
    inside(*link, "rate", "8kbit")
    inside("python3", "-c", SENDER, "2", *map(str, sizes))
    inside(*link, "rate", "20mbit")
    got, records = [], 0
    while len(got) < len(wanted):
        found = peer.recv()
        got += found
        records += 1
        assert len(rec.pad(rec.batch(found) if len(found) > 1 else found[0], 1376)) <= 1376
    inside("tc", "qdisc", "del", "dev", "va", "root")
    inside("omertactl", "link", "set", "o0", "batch", "off")
    set_mtu(63491)
    assert [packet[28:] for packet in got] == wanted, "other packets"
    assert records < 200, records


TESTS = [(f"echoes with chunks of {512 << c}", lambda p, c=c: echoes(p, c))
         for c in reversed(range(8))] + [
    (f"lengths with chunks of {512 << c}", lambda p, c=c: lengths(p, c)) for c in range(8)] + [
    ("a batch of three packets", batch),
    ("packets that waited go out in batches", batches_out),
    ("a keepalive carries nothing", keepalive),
    ("every bit of a short record counts", flips_short),
    ("every bit of a record of three chunks counts", flips_long),
    ("chunks swapped, removed, doubled, foreign or cut", chunks),
    ("replays", replays),
    ("the replay window's edges", window),
    ("wrong magic, type or key id", foreign),
    ("malformed headers", malformed),
    ("records among others in super-packets", super_packets),
    ("a datagram that refers to a file", file_pages),
    ("authentic records of bad plaintext", plaintext),
    ("inner sources", source),
    ("the endpoint moves by the newest record only", endpoint),
    ("a TCP stream comes in damaged bursts over IPv4", lambda p: stream_in(p, 4)),
    ("a TCP stream comes in damaged bursts over IPv6", lambda p: stream_in(p, 6)),
    ("a TCP stream goes out over IPv4", lambda p: stream_out(p, 4)),
    ("a TCP stream goes out over IPv6", lambda p: stream_out(p, 6)),
]


def main():
    fast()
    peer, failed = Peer(), 0
    tests = [test for test in TESTS if re.search(sys.argv[3] if sys.argv[3:] else "", test[0])]
    print(f"KTAP version 1\n1..{len(tests)}", flush=True)
    for i, (name, test) in enumerate(tests, 1):
        try:
            test(peer)
            print(f"ok {i} - {name}", flush=True)
        except (AssertionError, ValueError, OSError) as err:
            where = err.__traceback__.tb_next
            print(f"# line {where.tb_lineno}: {type(err).__name__}: {err}")
            print(f"not ok {i} - {name}", flush=True)
            failed = 1
        # Replies that no test waited for.
        peer.sock.setblocking(False)
        try:
            while True:
                peer.sock.recv(1 << 16)
        except BlockingIOError:
            peer.sock.settimeout(WAIT)
    sys.exit(failed)


main()
