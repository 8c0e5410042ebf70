#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of decode_capture.py on made-up captures, as KTAP: the proof has to hold
for good ones and to fail for each kind of bad one."""

import contextlib
import io
import random
import struct
import sys

from decode_capture import examine, parse_args

MARKER = "omerta-demo plaintext marker"
OPTIONS = ["-", "--marker", MARKER, "--key-id", "0x11", "--key-id", "0x22",
           "--chunk", "512", "--min-bytes", "100000"]  # fmt: skip
RANDOM = random.Random(1)


def header(key_id, counter, kind=0x10, magic=b"OMR"):
    return magic + struct.pack("<BIQ", kind, key_id, counter)


def record(counter, key_id=0x11, plain=1388, kind=0x10, magic=b"OMR", body=None):
    chunk = 512 << (kind & 7)
    size = plain + 16 * max(1, -(-plain // chunk))
    return header(key_id, counter, kind, magic) + (body or RANDOM.randbytes(size))


def frame4(payload, port=51900, fragment=0):
    udp = struct.pack(">4H", port, port, len(payload) + 8, 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, fragment, 64, 17, 0,
                     bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))  # fmt: skip
    return bytes(12) + b"\x08\x00" + ip + udp


def frame6(payload, port=51900):
    udp = struct.pack(">4H", port, port, len(payload) + 8, 0) + payload
    ip = struct.pack(">IHBB", 0x60000000, len(udp), 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2"
    return bytes(12) + b"\x86\xdd" + ip + udp


def pcap(frames, order="<", link=1):
    out = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for number, frame in enumerate(frames):
        out += struct.pack(order + "4I", number, 5, len(frame), len(frame)) + frame
    return out


def good(extra=(), frame=frame4, **arguments):
    """The frames of a good capture and then extra ones."""
    frames = [frame(record(n, 0x11, **arguments)) for n in range(100)]
    frames += [frame(record(n, 0x22, plain=n)) for n in range(20)]
    return frames + list(extra)


def one_more(**arguments):
    return pcap(good([frame4(record(999, **arguments))]))


def low_entropy():
    return good([frame4(record(1000 + n, body=bytes(1436))) for n in range(20)])


def cases():
    """Yield name, capture, what has to be found wrong (None: nothing)."""
    yield "good over IPv4", pcap(good()), None
    yield "good over IPv6", pcap(good(frame=frame6)), None
    yield "big-endian file", pcap(good(), ">"), None
    yield "control datagrams are let pass", pcap(good([frame4(b"OMR\x20" + bytes(9))])), None
    yield "other ports and protocols", pcap(good([frame4(b"x", 53), bytes(60)])), None
    yield "keepalive", one_more(plain=0), None
    yield "small chunk of its own size", one_more(plain=600, kind=0x11), None
    yield "plaintext marker", one_more(body=MARKER.encode() * 50 + bytes(3)), "found 50 times"
    yield "marker on another port", pcap(good([frame4(MARKER.encode(), 53)])), "found 1 times"
    yield "low entropy", pcap(low_entropy()), "FAIL 7."
    yield "other magic", one_more(magic=b"OMX"), "no magic but 4f4d58"
    yield "unknown type", one_more(kind=0x18), "type 0x18"
    short_tail = frame4(record(999, plain=512) + bytes(5))
    yield "tail shorter than a tag", pcap(good([short_tail])), "no run of chunks"
    empty_tail = frame4(record(999, plain=512) + bytes(16))
    yield "empty last chunk", pcap(good([empty_tail])), "no run of chunks"
    yield "one chunk of too large a size", one_more(plain=100, kind=0x11), "one chunk of 100"
    yield "no chunk", pcap(good([frame4(header(0x11, 999))])), "a record of 16"
    yield "key id zero", one_more(key_id=0), "key id 0x0"
    yield "counter past its end", pcap(good([frame4(record(2**56 - 2**16))])), "counter 72"
    yield "counter used twice", pcap(good([frame4(record(5))])), "FAIL no counter used twice"
    yield "foreign key id", one_more(key_id=0x33), "FAIL key ids: 0x11, 0x22, 0x33"
    yield "a key id missing", pcap(good()[:100]), "FAIL key ids: 0x11"
    yield "another chunk size", pcap(good(kind=0x11)), "FAIL 100 records of several"
    yield "too little data", pcap(good()[90:]), "bytes of plaintext"
    yield "empty capture", pcap([]), "FAIL 0 data records"
    yield "empty file", b"", "not a pcap file"
    yield "cut file", pcap(good())[:-7], "cut frames"
    yield "fragments", pcap(good([frame4(record(999), fragment=0x2000)])), "a fragment"
    yield "other link type", pcap(good(), link=113), "not a capture of Ethernet"


def main():
    all_cases = list(cases())
    bad = 0
    print(f"KTAP version 1\n1..{len(all_cases)}")
    for number, (name, capture, wrong) in enumerate(all_cases, 1):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            holds = examine(capture, parse_args(OPTIONS))
        right = holds if wrong is None else not holds and wrong in output.getvalue()
        if not right:
            print("# " + output.getvalue().replace("\n", "\n# "))
            bad += 1
        print(f"{'ok' if right else 'not ok'} {number} - decode: {name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
