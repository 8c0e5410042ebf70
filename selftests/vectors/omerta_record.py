#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""omerta's record format, written from the protocol description alone.

An implementation that shares nothing with the kernel module's: it makes the
known answers of the module's tests and can stand in for a peer. The AEAD is
the `cryptography` package's where there is one, else the one below, in plain
Python (slow, and not in constant time: for tests only). Needs no more than
python3-minimal.

As a library: seal(), open_(), parse(), packets(), batch(), pad().
As a command (keys in hex, data on standard input and output):

  omerta_record.py seal --key K --key-id N --counter N [--class C]
  omerta_record.py open --key K [--key-id N]
  omerta_record.py vectors          # a few records, one "name value" a line
  omerta_record.py selftest         # RFC 8439's vectors and the format's rules
"""
import argparse
import struct
import sys

MAGIC = b"OMR"
TYPE_MESH = 0x03
TYPE_DATA = 0x10
TYPE_CONTROL = range(0x20, 0x30)
CLASSES = 8
HEADER = struct.Struct("<3sBIQ")
TAG = 16
MAX_CHUNKS = 128
MAX_DATAGRAM = 65507
COUNTER_LIMIT = (1 << 56) - (1 << 16)
BATCH = b"\x02\x00"
PAD = 16


class Foreign(ValueError):
    """Not a data record at all."""


class Malformed(ValueError):
    """A data record, or its plaintext, that breaks the rules."""


class Forged(ValueError):
    """A chunk whose tag is wrong."""


# --- ChaCha20-Poly1305, RFC 8439 -------------------------------------------

def _rotl(x, n):
    return (x << n | x >> (32 - n)) & 0xffffffff


def _quarter(s, a, b, c, d):
    for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] = (s[x] + s[y]) & 0xffffffff
        s[z] = _rotl(s[z] ^ s[x], n)


_ROUNDS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def chacha20_block(key, counter, nonce):
    start = struct.unpack("<4I", b"expand 32-byte k") + \
        struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce)
    s = list(start)
    for _ in range(10):
        for q in _ROUNDS:
            _quarter(s, *q)
    return struct.pack("<16I", *((x + y) & 0xffffffff for x, y in zip(s, start)))


def chacha20(key, counter, nonce, data):
    out = bytearray()
    for i in range(0, len(data), 64):
        stream = chacha20_block(key, counter + i // 64, nonce)
        out += bytes(a ^ b for a, b in zip(data[i:i + 64], stream))
    return bytes(out)


def poly1305(key, data):
    r = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    acc = 0
    for i in range(0, len(data), 16):
        acc = (acc + int.from_bytes(data[i:i + 16] + b"\x01", "little")) * r
        acc %= (1 << 130) - 5
    acc += int.from_bytes(key[16:32], "little")
    return (acc & ((1 << 128) - 1)).to_bytes(16, "little")


def _mac(key, nonce, sealed, aad):
    def fill(x):
        return x + bytes(-len(x) % 16)
    return poly1305(chacha20_block(key, 0, nonce), fill(aad) + fill(sealed) +
                    struct.pack("<QQ", len(aad), len(sealed)))


def plain_encrypt(key, nonce, data, aad=b""):
    sealed = chacha20(key, 1, nonce, data)
    return sealed + _mac(key, nonce, sealed, aad)


def plain_decrypt(key, nonce, data, aad=b""):
    if len(data) < TAG or _mac(key, nonce, data[:-TAG], aad) != data[-TAG:]:
        raise Forged("wrong tag")
    return chacha20(key, 1, nonce, data[:-TAG])


try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    def encrypt(key, nonce, data):
        return ChaCha20Poly1305(key).encrypt(nonce, data, None)

    def decrypt(key, nonce, data):
        try:
            return ChaCha20Poly1305(key).decrypt(nonce, data, None)
        except InvalidTag:
            raise Forged("wrong tag") from None
except ImportError:
    encrypt, decrypt = plain_encrypt, plain_decrypt


# --- Records ---------------------------------------------------------------

def chunk_size(cls):
    return 512 << cls


def smallest_class(length):
    return next(c for c in range(CLASSES) if length <= chunk_size(c))


def nonce(counter, index, last):
    return bytes(4) + struct.pack("<Q", counter << 8 | last << 7 | index)


def max_plain(cls):
    """The longest plaintext that one datagram carries in chunks of this class."""
    room, total = MAX_DATAGRAM - HEADER.size, 0
    while room > TAG:
        step = min(chunk_size(cls), room - TAG)
        total += step
        room -= step + TAG
    return total


def seal(key, key_id, counter, plain, cls=0):
    """One record; cls is the sender's choice, a single chunk gets its own."""
    if not 0 < key_id < 1 << 32 or not 0 <= counter < COUNTER_LIMIT:
        raise ValueError("key id or counter out of range")
    if len(plain) <= chunk_size(cls):
        cls = smallest_class(len(plain))
    if len(plain) > max_plain(cls):
        raise ValueError("too long for one datagram")
    size = chunk_size(cls)
    cuts = list(range(0, len(plain), size)) or [0]
    out = HEADER.pack(MAGIC, TYPE_DATA + cls, key_id, counter)
    for i, cut in enumerate(cuts):
        out += encrypt(key, nonce(counter, i, i == len(cuts) - 1),
                       plain[cut:cut + size])
    return out


def parse(wire):
    """(class, key id, counter, sealed chunks) of a datagram."""
    if len(wire) < HEADER.size:
        raise Foreign("short")
    magic, kind, key_id, counter = HEADER.unpack_from(wire)
    cls = kind - TYPE_DATA
    if magic != MAGIC or not 0 <= cls < CLASSES:
        raise Foreign("no data record")
    if not key_id or counter >= COUNTER_LIMIT or len(wire) > MAX_DATAGRAM:
        raise Malformed("key id, counter or length out of range")

    body, step = wire[HEADER.size:], chunk_size(cls) + TAG
    chunks = [body[i:i + step] for i in range(0, len(body), step)]
    if not chunks or len(chunks) > MAX_CHUNKS:
        raise Malformed("number of chunks")
    if len(chunks[-1]) < TAG or (len(chunks[-1]) == TAG and len(chunks) > 1):
        raise Malformed("last chunk too short")
    if len(chunks) == 1 and cls != smallest_class(len(body) - TAG):
        raise Malformed("class of a single chunk")
    return cls, key_id, counter, chunks


def open_(key, wire, key_id=None):
    """The plaintext of a record, all or nothing."""
    _, its_id, counter, chunks = parse(wire)
    if key_id is not None and its_id != key_id:
        raise Forged("another key id")
    return b"".join(decrypt(key, nonce(counter, i, i == len(chunks) - 1), c)
                    for i, c in enumerate(chunks))


# --- Plaintext -------------------------------------------------------------

def _packet(data):
    """The IP packet that data starts with."""
    version = data[0] >> 4 if data else 0
    if version == 4 and len(data) >= 20:
        header, length = (data[0] & 15) * 4, struct.unpack_from(">H", data, 2)[0]
        if header < 20 or header > length:
            raise Malformed("IPv4 header length")
    elif version == 6 and len(data) >= 40:
        length = 40 + struct.unpack_from(">H", data, 4)[0]
    else:
        raise Malformed("no IP packet")
    if length > len(data):
        raise Malformed("packet cut off")
    return data[:length]


def packets(plain):
    """The IP packets in a record's plaintext, in order."""
    if plain[:1] != BATCH[:1]:
        found = [_packet(plain)]
        rest = plain[len(found[0]):]
    else:
        if plain[:2] != BATCH or len(plain) < 4:
            raise Malformed("batch header")
        found, rest = [], plain[4:]
        for _ in range(struct.unpack_from(">H", plain, 2)[0]):
            if len(rest) < 2:
                raise Malformed("batch cut off")
            length = struct.unpack_from(">H", rest)[0]
            body, pad_byte = rest[2:2 + length], rest[2 + length:2 + length + length % 2]
            if len(body) < length or _packet(body) != body:
                raise Malformed("length in a batch")
            if pad_byte != bytes(length % 2):
                raise Malformed("pad byte in a batch")
            found.append(body)
            rest = rest[2 + length + length % 2:]
        if not found:
            raise Malformed("empty batch")
    if len(rest) >= PAD or any(rest):
        raise Malformed("something behind the packets")
    return found


def batch(inner):
    out = BATCH + struct.pack(">H", len(inner))
    for packet in inner:
        out += struct.pack(">H", len(packet)) + packet + bytes(len(packet) % 2)
    return out


def pad(plain, mtu):
    return plain + bytes(max(0, min(-len(plain) % PAD, mtu - len(plain))))


# --- Self-test -------------------------------------------------------------

def _refuses(kind, func, *args):
    try:
        func(*args)
    except kind:
        return
    raise AssertionError(f"{func.__name__} accepted what it must refuse")


def _selftest_aead():
    unhex = bytes.fromhex
    key = bytes(range(32))
    # RFC 8439, 2.3.2
    assert chacha20_block(key, 1, unhex("000000090000004a00000000")) == unhex(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e")
    # 2.5.2
    assert poly1305(unhex("85d6be7857556d337f4452fe42d506a8"
                          "0103808afb0db2fd4abff6af4149f51b"),
                    b"Cryptographic Forum Research Group") == unhex(
        "a8061dc1305136c6c22b8baf0c0127a9")
    # 2.8.2
    key = bytes(range(0x80, 0xa0))
    iv, aad = unhex("070000004041424344454647"), unhex("50515253c0c1c2c3c4c5c6c7")
    text = (b"Ladies and Gentlemen of the class of '99: If I could offer you "
            b"only one tip for the future, sunscreen would be it.")
    sealed = plain_encrypt(key, iv, text, aad)
    assert sealed[:16] == unhex("d31a8d34648e60db7b86afbc53ef7ec2")
    assert sealed[-TAG:] == unhex("1ae10b594f09e26a7e902ecbd0600691")
    assert plain_decrypt(key, iv, sealed, aad) == text
    _refuses(Forged, plain_decrypt, key, iv, sealed[:-1] + b"\0", aad)


def _selftest_records():
    key = bytes(range(32))
    assert max_plain(0) == 63491
    for length in (0, 1, 511, 512, 513, 1388):
        for cls in (0, 1):
            plain = bytes(i & 0xff for i in range(length))
            wire = seal(key, 7, 9, plain, cls)
            assert open_(key, wire, 7) == plain
            assert plain_encrypt(key, nonce(9, 0, length <= chunk_size(cls)),
                                 plain[:chunk_size(cls)]) == parse(wire)[3][0]
            _refuses(Forged, open_, key, wire[:-1] + bytes([wire[-1] ^ 1]))
    _refuses(Malformed, parse, seal(key, 7, 9, bytes(1024))[:16 + 528 + 16])
    _refuses(Forged, open_, key, seal(key, 7, 9, bytes(1024))[:16 + 528])
    _refuses(Foreign, parse, b"OMR\x03" + bytes(40))
    _refuses(Malformed, parse, b"OMR\x11" + b"\1" * 12 + bytes(16))


def _selftest_plaintext():
    four = bytes.fromhex("45000015") + bytes(17)
    six = bytes.fromhex("600000000000") + bytes(34)
    assert packets(pad(four, 1388)) == [four] and len(pad(four, 1388)) == 32
    assert packets(batch([four, six, four]) + bytes(15)) == [four, six, four]
    for bad in (b"", b"\0", four[:-1], four + b"\1", four + bytes(16),
                batch([]), batch([four])[:-1], batch([batch([four])]),
                b"\x02\x01" + batch([four])[2:]):
        _refuses(Malformed, packets, bad)


def selftest():
    _selftest_aead()
    _selftest_records()
    _selftest_plaintext()


# --- Command ---------------------------------------------------------------

def _vectors():
    key = bytes(range(32))
    print("key", key.hex())
    for cls, length in ((0, 0), (0, 1), (0, 512), (0, 513), (1, 1388)):
        wire = seal(key, 1, 0, bytes(i & 0xff for i in range(length)), cls)
        print(f"class-{cls}-length-{length}", wire.hex())


def _arguments():
    def secret(text):
        key = bytes.fromhex(text)
        if len(key) != 32:
            raise ValueError
        return key

    def number(text):
        return int(text, 0)

    parser = argparse.ArgumentParser(description="omerta records")
    sub = parser.add_subparsers(dest="verb", required=True)
    one = sub.add_parser("seal", help="plaintext to record")
    one.add_argument("--key", type=secret, required=True)
    one.add_argument("--key-id", type=number, required=True)
    one.add_argument("--counter", type=number, required=True)
    one.add_argument("--class", type=number, default=0, dest="cls",
                     choices=range(CLASSES))
    one = sub.add_parser("open", help="record to plaintext")
    one.add_argument("--key", type=secret, required=True)
    one.add_argument("--key-id", type=number)
    sub.add_parser("vectors", help="print sample records")
    sub.add_parser("selftest", help="check this program")
    return parser.parse_args()


def main():
    args = _arguments()
    if args.verb == "vectors":
        _vectors()
    elif args.verb == "selftest":
        selftest()
        print("ok")
    else:
        data = sys.stdin.buffer.read()
        try:
            if args.verb == "seal":
                data = seal(args.key, args.key_id, args.counter, data, args.cls)
            else:
                data = open_(args.key, data, args.key_id)
        except ValueError as err:
            sys.exit(f"{type(err).__name__}: {err}")
        sys.stdout.buffer.write(data)


if __name__ == "__main__":
    main()
