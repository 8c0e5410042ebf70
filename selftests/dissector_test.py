#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""dissector_test.py [CAPTURE]: tests the dissector for Wireshark with tshark; prints KTAP.

CAPTURE is one of a tunnel that was made by keys of a handshake, see dissector.sh.
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

PLUGIN = pathlib.Path(__file__).resolve().parents[1] / "tools/wireshark/omerta.lua"


def checksum(header):
    total = sum(struct.unpack(">10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def write_capture(path, datagrams, most=1 << 18):
    """UDP datagrams from 192.0.2.1 to 192.0.2.2, as raw IP packets of which so many bytes are kept"""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, 101))
        for n, data in enumerate(datagrams):
            udp = struct.pack(">HHHH", 51900, 51901, 8 + len(data), 0)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(data), n & 0xffff, 0, 64, 17, 0,
                             bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)))
            ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
            packet = ip + udp + data
            file.write(struct.pack("<IIII", n, 0, len(packet[:most]), len(packet)) + packet[:most])


def record(key, counter, plain, size=512, kind=None):
    """A record with that many bytes of plaintext, and anything for ciphertext"""
    chunks = max(-(-plain // size), 1)
    kind = 0x10 + (size // 512).bit_length() - 1 if kind is None else kind
    return struct.pack("<3sBIQ", b"OMR", kind, key, counter) + bytes(plain + 16 * chunks)


def message(kind, length, mode=0, mac2=bytes(16)):
    return (b"OMR" + bytes((kind, mode)) + bytes(length - 5 - len(mac2)) + mac2)[:length]


def tshark(path, *args):
    done = subprocess.run(["tshark", "-X", f"lua_script:{PLUGIN}", "-r", str(path), *args],
                          capture_output=True, text=True, timeout=300, check=True)
    # A mistake in the plugin is only reported.
    for line in done.stderr.splitlines():
        assert "Lua" not in line and "lua" not in line, line
    assert "Lua Error" not in done.stdout, done.stdout
    return done.stdout


def walk(tree, name):
    """All values of a field or of a message of an expert, in a tree of tshark's JSON"""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == name:
                yield from value if isinstance(value, list) else [value]
            else:
                yield from walk(value, name)
    elif isinstance(tree, list):
        for value in tree:
            yield from walk(value, name)


class Capture:
    def __init__(self, path):
        self.frames = [frame["_source"]["layers"] for frame in
                       json.loads(tshark(path, "-T", "json", "--no-duplicate-keys"))]
        self.info = tshark(path, "-T", "fields", "-e", "_ws.col.Info").splitlines()

    @classmethod
    def of(cls, *datagrams, most=1 << 18):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "capture")
            write_capture(path, datagrams, most)
            return cls(path)

    def values(self, n, name):
        return list(walk(self.frames[n], name))

    def expert(self, n):
        return self.values(n, "_ws.expert.message")


def test_record():
    c = Capture.of(record(0x1234, 77, 1388), record(0x1234, 78, 512), record(0x1234, 79, 0),
                   record(0x1234, 80, 8900, 2048))
    assert c.values(0, "omerta.key") == ["0x00001234"], c.values(0, "omerta.key")
    assert c.values(0, "omerta.counter") == ["77"]
    assert c.values(0, "omerta.chunks") == ["3"]
    assert c.values(0, "omerta.plain") == ["1388"]
    assert [len(v.split(":")) for v in c.values(0, "omerta.sealed")] == [512, 512, 364]
    assert [len(v.split(":")) for v in c.values(0, "omerta.tag")] == [16, 16, 16]
    assert c.info[0] == "Record, key 0x1234, counter 77, 3 chunks, 1388 bytes", c.info[0]
    assert c.info[1] == "Record, key 0x1234, counter 78, 1 chunk, 512 bytes", c.info[1]
    assert c.info[2] == "Keepalive, key 0x1234, counter 79", c.info[2]
    assert c.values(3, "omerta.chunks") == ["5"]
    assert not c.expert(0) and c.expert(2) == ["Keepalive"]


def test_malformed():
    c = Capture.of(record(1, 1, 512) + bytes(10),  # a tail shorter than a tag
                   record(1, 7, 512) + bytes(16),  # an empty chunk after a full one
                   record(0, 2, 10), record(1, (1 << 56) - (1 << 16), 10),
                   record(1, 3, 500, kind=0x11), record(1, 4, 128 * 512 - 600)[:15],
                   record(1, (1 << 56) - (1 << 16) - 1, 10), record(1, 5, 513, 1024),
                   b"OMR\x77" + bytes(40), record(1, 6, 129 * 400, 400, kind=0x10))
    wanted = ["No record has this length", "No record has this length", "The key id is zero",
              "The counter is above the limit", "A smaller chunk size would do for its only chunk",
              "Shorter than a header", None, None, "Unknown type"]
    for n, text in enumerate(wanted):
        assert c.expert(n) == ([text] if text else []), (n, c.expert(n))


def test_repeated():
    c = Capture.of(record(7, 5, 100), record(7, 6, 100), record(8, 5, 100), record(7, 5, 100))
    assert [bool(c.expert(n)) for n in range(4)] == [False, False, False, True]
    assert c.values(3, "omerta.first") == ["1"]


def test_burst():
    """A sender's capture has several datagrams in one."""
    burst = b"".join(record(0xabcdef, 1000 + i, 1388) for i in range(20)) + record(0xabcdef, 1020, 40)
    c = Capture.of(burst)
    assert c.values(0, "omerta.counter") == [str(n) for n in range(1000, 1021)]
    assert c.values(0, "omerta.plain") == ["1388"] * 20 + ["40"]
    assert not c.expert(0)
    assert c.info[0].startswith("21 datagrams: Record, key 0xabcdef, counter 1000, "), c.info[0]


def test_handshake():
    c = Capture.of(message(0x20, 152), message(0x20, 1336, 1), message(0x21, 92),
                   message(0x21, 1180), message(0x22, 64), message(0x23, 100),
                   message(0x23, 1188), message(0x20, 152, mac2=b"c" * 16), message(0x2f, 30),
                   message(0x20, 151), message(0x20, 152, 1), message(0x22, 65), b"OMR\x20")
    assert c.info[:9] == [
        "Initiation, X25519", "Initiation, X25519 and ML-KEM-768", "Response to 0x0",
        "Response to 0x0", "Cookie", "Time to 0x0", "Time to 0x0", "Initiation, X25519",
        "Control"], c.info
    assert [len(c.values(n, "omerta.mac1")) for n in range(9)] == [1, 1, 1, 1, 0, 1, 1, 1, 0]
    assert len(c.values(3, "omerta.ciphertext")[0].split(":")) == 1088
    assert len(c.values(2, "omerta.noise")[0].split(":")) == 52
    assert not any(c.expert(n) for n in range(7))
    assert c.expert(7) == ["Sent with a cookie: the receiver is busy"]
    for n in (9, 10, 11, 12):
        assert len(c.expert(n)) == 1, (n, c.expert(n))


def test_channels():
    c = Capture.of(message(0x20, 153, 2), message(0x20, 1337, 3), message(0x21, 93),
                   message(0x21, 1181), message(0x20, 153, 0), message(0x20, 152, 2),
                   message(0x20, 1337, 1), message(0x23, 101))
    assert c.info[:4] == ["Initiation, X25519, channels",
                          "Initiation, X25519 and ML-KEM-768, channels",
                          "Response to 0x0", "Response to 0x0"], c.info
    assert len(c.values(2, "omerta.noise")[0].split(":")) == 53
    assert len(c.values(3, "omerta.ciphertext")[0].split(":")) == 1088
    for n in range(8):
        assert len(c.expert(n)) == (n > 3), (n, c.expert(n))


def test_others():
    """Datagrams of others stay theirs."""
    c = Capture.of(b"", b"OM", b"hello, world", b"OMS" + bytes(60))
    assert not any("omerta" in frame for frame in c.frames)
    # So do datagrams that another heuristic knows.
    stun = struct.pack(">HHI12s", 1, 0, 0x2112a442, b"transaction!")
    assert "stun" in Capture.of(stun).frames[0], list(Capture.of(stun).frames[0])


def test_captured_in_part():
    c = Capture.of(record(9, 1, 1388), record(9, 2, 512), message(0x20, 152),
                   b"".join(record(9, 3 + i, 600) for i in range(3)), most=100)
    assert c.info[:3] == ["Record, key 0x9, counter 1, 3 chunks, 1388 bytes",
                          "Record, key 0x9, counter 2, 1 chunk, 512 bytes",
                          "Initiation, X25519"], c.info
    assert not any(c.expert(n) for n in range(3)), [c.expert(n) for n in range(3)]


def test_garbage():
    rng = random.Random(1)
    datagrams = []
    for _ in range(3000):
        data = bytearray(record(rng.randrange(3), rng.randrange(1 << 60), rng.randrange(3000)))
        data = data[:rng.randrange(len(data) + 1)]
        for _ in range(rng.randrange(4)):
            if len(data) > 3:
                data[rng.randrange(3, len(data))] = rng.randrange(256)
        datagrams.append(bytes(data))
    c = Capture.of(*datagrams)
    assert len(c.info) == 3000
    known = sum("omerta" in frame for frame in c.frames)
    assert known == sum(d[:3] == b"OMR" and len(d) > 3 for d in datagrams), known


def test_capture():
    if len(sys.argv) < 2:
        return "SKIP no capture: see dissector.sh"
    c = Capture(sys.argv[1])
    info = "\n".join(c.info)
    assert "Initiation, X25519" in info and "Response to 0x" in info, info
    assert "Record, key 0x" in info and "Keepalive, key 0x" in info, info
    assert " datagrams: Record, " in info, info
    faults = [text for n in range(len(c.frames)) for text in c.expert(n)
              if text not in ("Keepalive",) and "omerta" in c.frames[n]]
    assert not faults, faults
    return None


def main():
    tests = [(name[5:], fn) for name, fn in globals().items() if name.startswith("test_")]
    print(f"KTAP version 1\n1..{len(tests)}")
    failed = False
    for n, (name, fn) in enumerate(tests, 1):
        try:
            skip = fn()
            print(f"ok {n} - {name}" + (f" # {skip}" if skip else ""), flush=True)
        except (AssertionError, KeyError, IndexError, subprocess.SubprocessError) as error:
            for line in f"{type(error).__name__}: {error}".splitlines()[:40]:
                print(f"# {line}")
            print(f"not ok {n} - {name}", flush=True)
            failed = True
    sys.exit(failed)


main()
