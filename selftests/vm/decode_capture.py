#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Decodes omerta data records from a capture of the outer link and checks that
they are well-formed and that nothing of the plaintext shows."""

import argparse
import collections
import ipaddress
import math
import struct
import sys

MAGIC = b"OMR"
HEADER, TAG = 16, 16
COUNTER_END = 2**56 - 2**16
ETH_P_IP, ETH_P_IPV6, IPPROTO_UDP = 0x0800, 0x86DD, 17
# Even good ciphertext shows less than 8 bits in a small sample.
ENTROPY_SAMPLE, ENTROPY_MIN = 1 << 16, 7.99

Datagram = collections.namedtuple("Datagram", "time src dst payload")
Record = collections.namedtuple(
    "Record", "time src dst chunk_size key_id counter length chunks plain_length sealed"
)


class Malformed(Exception):
    """What a receiver would have to drop, or a file that is no capture."""


def read_pcap(data):
    """Yield (time, frame) of a classic pcap file of Ethernet frames."""
    orders = {
        b"\xd4\xc3\xb2\xa1": ("<", 1e6),
        b"\xa1\xb2\xc3\xd4": (">", 1e6),
        b"\x4d\x3c\xb2\xa1": ("<", 1e9),
        b"\xa1\xb2\x3c\x4d": (">", 1e9),
    }
    if data[:4] not in orders or len(data) < 24:
        raise Malformed("not a pcap file")
    order, ticks = orders[data[:4]]
    if struct.unpack_from(order + "I", data, 20)[0] != 1:
        raise Malformed("not a capture of Ethernet frames")
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, full = struct.unpack_from(order + "4I", data, at)
        at += 16
        if kept != full or at + kept > len(data):
            raise Malformed("the capture has cut frames")
        yield seconds + part / ticks, data[at : at + kept]
        at += kept


def parse_ipv4(packet):
    if packet[9] != IPPROTO_UDP:
        return None
    if struct.unpack_from(">H", packet, 6)[0] & 0x3FFF:
        raise Malformed("a fragment of an outer packet")
    size = (packet[0] & 15) * 4
    return ipaddress.ip_address(packet[12:16]), ipaddress.ip_address(packet[16:20]), size


def parse_ipv6(packet):
    if packet[6] != IPPROTO_UDP:
        return None
    return ipaddress.ip_address(packet[8:24]), ipaddress.ip_address(packet[24:40]), 40


def datagrams(data, port):
    """Yield the UDP datagrams from or to a port."""
    parsers = {ETH_P_IP: parse_ipv4, ETH_P_IPV6: parse_ipv6}
    for time, frame in read_pcap(data):
        packet = frame[14:]
        parser = parsers.get(int.from_bytes(frame[12:14], "big"))
        parsed = parser(packet) if parser else None
        if not parsed:
            continue
        src, dst, at = parsed
        sport, dport, length = struct.unpack_from(">3H", packet, at)
        if port in (sport, dport):
            yield Datagram(time, src, dst, packet[at + 8 : at + length])


def split_chunks(rest, chunk_size):
    """Return the number of chunks and the plaintext's length.

    No UDP datagram is large enough for more than the 128 chunks allowed.
    """
    full, tail = divmod(rest, chunk_size + TAG)
    if tail == 0 and full:
        chunks, plain = full, full * chunk_size
    elif tail > TAG or (tail == TAG and not full):
        chunks, plain = full + 1, full * chunk_size + tail - TAG
    else:
        raise Malformed(f"{rest} bytes are no run of chunks of {chunk_size}")
    if chunks == 1 and chunk_size > 512 and plain <= chunk_size // 2:
        raise Malformed(f"one chunk of {plain} bytes said to be of size {chunk_size}")
    return chunks, plain


def decode(datagram):
    """Return the data record in a datagram, or None for what user space gets."""
    payload = datagram.payload
    if len(payload) < 4 or payload[:3] != MAGIC:
        raise Malformed(f"no magic but {payload[:3].hex()}")
    kind = payload[3]
    if kind == 0x03 or 0x20 <= kind <= 0x2F:
        return None
    if not 0x10 <= kind <= 0x17:
        raise Malformed(f"type {kind:#04x}")
    if len(payload) < HEADER + TAG:
        raise Malformed(f"a record of {len(payload)} bytes")
    chunk_size = 512 << (kind - 0x10)
    key_id, counter = struct.unpack_from("<IQ", payload, 4)
    if not key_id or counter >= COUNTER_END:
        raise Malformed(f"key id {key_id:#x}, counter {counter}")
    chunks, plain = split_chunks(len(payload) - HEADER, chunk_size)
    return Record(
        datagram.time, datagram.src, datagram.dst, chunk_size, key_id, counter,
        len(payload), chunks, plain, payload[HEADER:],
    )  # fmt: skip


def entropy(data):
    """Bits per byte of the byte distribution."""
    counts = collections.Counter(data).values()
    return -sum(n / len(data) * math.log2(n / len(data)) for n in counts)


class Proof:
    """Named checks, each printed with what was seen."""

    def __init__(self):
        self.good = True

    def check(self, condition, what):
        self.good = self.good and bool(condition)
        print(f"  {'ok  ' if condition else 'FAIL'} {what}")


def check_format(proof, seen, records, errors):
    control = seen - len(records) - len(errors)
    proof.check(records, f"{len(records)} data records (and {control} control datagrams)")
    proof.check(not errors, f"{len(errors)} malformed datagrams")
    for error in errors[:3]:
        print(f"       {error}")
    counters = {(r.src, r.dst, r.key_id, r.counter) for r in records}
    proof.check(len(counters) == len(records), "no counter used twice under a key")


def check_expectations(proof, records, options):
    plain = sum(record.plain_length for record in records)
    proof.check(plain >= options.min_bytes, f"{plain} bytes of plaintext carried")
    if options.chunk:
        bulk = [r for r in records if r.chunks > 1]
        same = bulk and all(r.chunk_size == options.chunk for r in bulk)
        proof.check(same, f"{len(bulk)} records of several chunks, of {options.chunk} bytes each")
    if options.key_id:
        ids = {record.key_id for record in records}
        shown = ", ".join(f"{key_id:#x}" for key_id in sorted(ids))
        proof.check(ids == set(options.key_id), f"key ids: {shown}")


def check_secrecy(proof, data, records, markers):
    for marker in markers:
        count = data.count(marker.encode())
        proof.check(not count, f"plaintext {marker[:32]!r} found {count} times")
    sealed = b"".join(record.sealed for record in records)
    if len(sealed) < ENTROPY_SAMPLE:
        proof.check(False, f"{len(sealed)} sealed bytes are too few to judge")
        return
    bits = entropy(sealed)
    proof.check(bits >= ENTROPY_MIN, f"{bits:.5f} bits of entropy per sealed byte")


def sample(records, count):
    """Some of the small and some of the large records."""
    small = [record for record in records if record.chunks == 1][: count // 2]
    large = [record for record in records if record.chunks > 1][: count - len(small)]
    return sorted(small + large)


def print_table(records):
    row = "  {:>8} {:>15} {:>15} {:>5} {:>8} {:>8} {:>6} {:>6} {:>9}"
    print(row.format("seconds", "from", "to", "chunk", "key id", "counter",
                     "length", "chunks", "plaintext"))  # fmt: skip
    for r in records:
        print(row.format(f"{r.time % 1000:.3f}", str(r.src), str(r.dst), r.chunk_size,
                         f"{r.key_id:#x}", r.counter, r.length, r.chunks,
                         r.plain_length))  # fmt: skip


def examine(data, options):
    """Print the proof; return whether it holds."""
    proof, records, errors, seen = Proof(), [], [], 0
    try:
        for datagram in datagrams(data, options.port):
            seen += 1
            try:
                if record := decode(datagram):
                    records.append(record)
            except Malformed as error:
                errors.append(error)
    except (Malformed, struct.error, IndexError, ValueError) as error:
        proof.check(False, f"the capture can be read: {error}")
    if options.rows and records:
        print_table(sample(records, options.rows))
    check_format(proof, seen, records, errors)
    check_expectations(proof, records, options)
    check_secrecy(proof, data, records, options.marker)
    return proof.good


def parse_args(args):
    number = lambda text: int(text, 0)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pcap")
    parser.add_argument("--port", type=int, default=51900)
    parser.add_argument("--marker", action="append", default=[], help="plaintext to look for")
    parser.add_argument("--key-id", action="append", default=[], type=number,
                        help="all key ids that must appear")  # fmt: skip
    parser.add_argument("--chunk", type=int, help="chunk size of all large records")
    parser.add_argument("--min-bytes", type=int, default=1, help="least plaintext carried")
    parser.add_argument("--rows", type=int, default=8, help="records to show")
    return parser.parse_args(args)


def main():
    options = parse_args(sys.argv[1:])
    with open(options.pcap, "rb") as capture:
        return 0 if examine(capture.read(), options) else 1


if __name__ == "__main__":
    sys.exit(main())
