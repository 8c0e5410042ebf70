#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The attackers and witnesses of hostile_local.sh. SEED decides the random choices, but for secrets and what
handshake.py makes.

hostile_local.py echo
    Returns each UDP datagram to its sender.
hostile_local.py witness ADDRESS
    Has numbered datagrams returned from there until SIGTERM, then prints how many it sent,
    how many came back wrong and how many did not come back.
hostile_local.py netlink SECONDS SEED KIND [IFINDEX]
    Sends requests of both netlink protocols, random and almost valid. KIND is "scratch",
    for devices sN and never for omr0 with its IFINDEX, or "tunnel", for omr0. Prints how
    many it sent and how many of them succeeded.
hostile_local.py reader PUBLIC-KEY
    Takes the control datagrams of omr0, reads none until SIGTERM, then prints their number.
hostile_local.py datagrams SECONDS SEED ADDRESS PORT KEY-FILE KEY-ID PUBLIC-KEY
    Sends records and handshakes, genuine ones and mutations. Prints how many it sent and
    how many of them were genuine records.
hostile_local.py keys DEVICE COUNT [handshake]
    Installs and deletes keys of peer 1. Prints how many were taken, and the last refusal.
hostile_local.py tenants COUNT KEYS [DEPTH]
    Does this in COUNT user namespaces, one after the other, with KEYS keys in each. Each
    process makes DEPTH of them, one within the other.
hostile_local.py bursts SECONDS SEED ADDRESS PORT KEY-FILE KEY-ID
    Sends super-packets of two good records among forged ones, and records of as many
    packets as fit. Prints how many datagrams it sent, and how many of them were good.
hostile_local.py handshakes SECONDS SEED ADDRESS PORT PRIVATE-KEY-FILE PUBLIC-KEY
    Begins handshakes as a genuine peer and finishes some. Prints how many it began and
    how many were answered.
hostile_local.py churn SECONDS SEED ADDRESS
    Makes, changes and deletes devices, peers and keys. Prints the number of requests and
    of those that succeeded.
hostile_local.py records SECONDS SEED ADDRESS
    Sends records to these devices. Prints their number.
hostile_local.py log
    Counts the kernel's lines on objects that begin and end until SIGTERM, then prints
    the sums.
"""
import base64
import collections
import ctypes
import errno
import hashlib
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import control
import handshake
import nl

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors")]
import omerta_handshake as noise  # noqa: E402
import omerta_record as rec  # noqa: E402

UDP_SEGMENT = 103
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
NLM_F_CREATE, NLM_F_EXCL = 0x400, 0x200
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK, RTM_SETLINK = 16, 17, 18, 19
IFLA_IFNAME, IFLA_MTU, IFLA_LINKINFO, IFLA_NUM_TX_QUEUES = 3, 4, 18, 31
# Groups and other namespaces would take a request to devices that are not the attacker's.
IFLA_NOT = (19, 27, 28, 46)
WAIT = 20


class Stop:
    """True once SIGTERM came; a signal ends no system call for good."""

    def __init__(self):
        self.seen = False
        signal.signal(signal.SIGTERM, self.handle)

    def handle(self, *_):
        self.seen = True

    def __bool__(self):
        return self.seen


def udp_socket(bufs=1 << 22):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, bufs)
    return sock


def key_file(path):
    with open(path, encoding="ascii") as file:
        return base64.b64decode(file.read())


def until(seconds, enough=lambda: True):
    """Turns for so long, and on for ten times as long until it is enough."""
    begun, seconds = time.monotonic(), float(seconds)
    while time.monotonic() < begun + (seconds if enough() else 10 * seconds):
        yield


# --- Witnesses -------------------------------------------------------------

def run_echo():
    sock = udp_socket()
    sock.bind(("0.0.0.0", 7))
    while True:
        sock.sendto(*sock.recvfrom(1 << 16))


def content(number):
    return struct.pack("<Q", number) + random.Random(number).randbytes(number * 37 % 1200)


def run_witness(address):
    """One each 2 ms; at most 32 are on their way, so that no buffer is too small for them."""
    sock, stop, waiting, number, wrong, due = udp_socket(), Stop(), {}, 0, 0, 0
    sock.connect((address, 7))
    print("begins", flush=True)
    patience = WAIT * 20
    while patience if stop else True:
        if not stop and len(waiting) < 32 and time.monotonic() >= due:
            waiting[number] = content(number)
            sock.send(waiting[number])
            number, due = number + 1, time.monotonic() + 0.002
        elif not waiting and stop:
            break
        ready = select.select([sock], [], [], 0.002 if not stop else 0.05)[0]
        patience -= bool(stop) and not ready
        while ready:
            try:
                data = sock.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            got = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else -1
            wrong += waiting.pop(got, None) != data
    print(number, wrong, len(waiting), flush=True)


# --- Netlink ---------------------------------------------------------------

class Fuzz:
    """Requests that are valid, almost valid, and random."""

    NEEDED = ("ifname", "id", "peer-id", "local-id", "remote-id", "rx-secret", "tx-secret",
              "addr", "prefix-len")

    def __init__(self, seed, kind, ifindex=0):
        self.rng = random.Random(f"{seed} {kind} {os.getuid()}")
        self.names = ["omr0"] if kind == "tunnel" else [f"s{i}" for i in range(4)]
        # Names of a device that the attacker may change, but must not.
        self.spared = ifindex and (struct.pack("I", ifindex), b"omr0")
        self.family = nl.Omerta().family
        self.socks = {}
        self.sent = self.done = 0

    def value(self, name):
        """What the attribute might have as its value."""
        rng = self.rng
        if name == "ifname":
            return rng.choice(self.names).encode() + b"\0"
        if name in ("rx-secret", "tx-secret", "public-key"):
            return rng.randbytes(32)
        if name in ("handshake", "all-types", "confirmed", "control-bound"):
            return b""
        if name in ("listen-port", "endpoint-port", "keepalive"):
            return struct.pack("H", rng.choice((0, 1, 7000, rng.randrange(1 << 16))))
        if name in ("addr", "endpoint-addr", "local-addr"):
            return rng.choice((b"\x7f\0\0\1", rng.randbytes(4), rng.randbytes(16)))
        if name == "prefix-len":
            return bytes([rng.randrange(140)])
        if name in ("cpus", "engine", "name"):
            return rng.choice((b"all", b"0-1", b"auto", b"lib", rng.randbytes(8))) + b"\0"
        if name == "data":
            return b"OMR" + rng.randbytes(rng.choice((1, 61, 89, 149, 1400)))
        if name == "allowed-ips":
            return b"".join(nl.attr(1 | nl.NLA_F_NESTED, self.attrs("prefix", 0.9))
                            for _ in range(rng.randrange(1, 4)))[4:]
        if name.endswith(("records", "bytes")):
            return struct.pack("Q", rng.choice((1, 1000, rng.getrandbits(64))))
        if name.endswith("id") and rng.random() < 0.9:
            return struct.pack("I", rng.randrange(1, 4))
        return struct.pack("I", rng.choice((0, 1, 2, 3, 512, 1024, rng.getrandbits(32))))

    def attrs(self, what, share):
        """A choice of an object's attributes."""
        rng, out = self.rng, b""
        for number, name in enumerate(nl.ATTRS[what].split(), 1):
            if name == "ifindex" or (rng.random() >= share and name not in self.NEEDED):
                continue
            nested = name in ("allowed-ips", "stats") and nl.NLA_F_NESTED
            out += self.damage(nl.attr(number | nested, self.value(name)), 0.03)
        return out

    def damage(self, data, chance):
        rng = self.rng
        if rng.random() >= chance:
            return data
        kind = rng.randrange(7)
        if kind == 0:               # its length is wrong
            return struct.pack("H", rng.choice((0, 3, 4, 5, len(data) + 4, 0xffff))) + data[2:]
        if kind == 1:               # unknown types
            return data[:2] + struct.pack("H", rng.getrandbits(16)) + data[4:]
        if kind == 2:
            return data * 2
        if kind == 3:
            return data[:rng.randrange(len(data) + 1)]
        if kind == 4:               # nests
            for _ in range(rng.randrange(1, 40)):
                data = nl.attr(rng.randrange(1, 40) | nl.NLA_F_NESTED, data)
            return data
        if kind == 5 and data:
            at = rng.randrange(len(data))
            return data[:at] + bytes([rng.getrandbits(8)]) + data[at + 1:]
        return b""

    def generic(self):
        rng = self.rng
        command = rng.choice((4, 9, 9, *[rng.randrange(len(nl.COMMANDS) + 3)] * 3))
        if command < len(nl.COMMANDS):
            name = nl.COMMANDS[command].split("-")[0]
            what = {"allowed": "peer"}.get(name, name if name in nl.ATTRS else "device")
            body = self.attrs(what, rng.choice((0, 0, 0, 0.1, 0.5)))
        else:
            body = rng.randbytes(rng.randrange(200))
        body = self.damage(body, 0.1)
        return self.family, struct.pack("BBH", command + 1, rng.choice((1, 1, 1, 0, 255)), 0) + body

    def link(self):
        rng = self.rng
        info = nl.attr(1, b"omerta\0") + nl.attr(2 | nl.NLA_F_NESTED,
                                                  rng.randbytes(rng.choice((0, 0, 4, 60))))
        body = nl.attr(IFLA_IFNAME, rng.choice(self.names).encode() + b"\0")
        body += self.damage(nl.attr(IFLA_LINKINFO | nl.NLA_F_NESTED, info), 0.2)
        if rng.random() < 0.3:
            body += nl.attr(IFLA_MTU, struct.pack("I", rng.choice((0, 68, 1420, 63491, 1 << 31))))
        if rng.random() < 0.1:
            body += nl.attr(IFLA_NUM_TX_QUEUES, struct.pack("I", rng.randrange(9)))
        if rng.random() < 0.2:
            number = rng.choice([i for i in range(1, 70) if i not in IFLA_NOT])
            body += nl.attr(number, rng.randbytes(rng.choice((0, 1, 4, 8, 16))))
        up = rng.getrandbits(1)
        return (rng.choice((RTM_NEWLINK, RTM_NEWLINK, RTM_DELLINK, RTM_SETLINK, RTM_GETLINK)),
                struct.pack("BBHiII", 0, 0, 0, 0, up, 1) + self.damage(body, 0.1))

    def message(self, protocol):
        rng = self.rng
        kind, body = self.generic() if protocol == nl.NETLINK_GENERIC else self.link()
        flags = nl.NLM_F_REQUEST | rng.choice((*[nl.NLM_F_ACK] * 8, nl.NLM_F_DUMP,
                                               rng.getrandbits(16)))
        if protocol != nl.NETLINK_GENERIC:
            flags |= rng.choice((0, NLM_F_CREATE, NLM_F_CREATE | NLM_F_EXCL))
        size = 16 + len(body)
        if rng.random() < 0.02:
            size = rng.choice((0, 15, 16, size + 1, size - 1, 1 << 31, rng.getrandbits(32)))
        return struct.pack("IHHII", size & 0xffffffff, kind, flags, rng.getrandbits(32), 0) + body

    def socket(self, protocol):
        """A fresh one now and then, amid what the old one was told."""
        if protocol in self.socks and self.rng.random() < 0.01:
            self.socks.pop(protocol).close()
        if protocol not in self.socks:
            sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
            sock.setblocking(False)
            self.socks[protocol] = sock
        return self.socks[protocol]

    def hear(self, sock):
        """Read all answers, or only some."""
        for _ in range(self.rng.choice((0, 1, 50))):
            try:
                data = sock.recv(1 << 18)
            except BlockingIOError:
                return
            except OSError:
                continue            # its buffer was full
            for kind, _, one in nl.messages(data):
                self.done += kind == nl.NLMSG_ERROR and not any(one[:4])

    def one(self):
        rng = self.rng
        protocol = rng.choice((nl.NETLINK_GENERIC,) * 9 + (0,))
        data = b"".join(self.message(protocol) for _ in range(rng.choice((1, 1, 1, 4))))
        if rng.random() < 0.02:
            data = rng.randbytes(rng.randrange(300))
        if self.spared and any(word in data for word in self.spared):
            return
        sock = self.socket(protocol)
        for _ in range(rng.choice((1, 1, 1, 3))):
            try:
                sock.send(data)
                self.sent += 1
            except OSError:
                pass                # a dump is under way, or failed at once
            self.hear(sock)


def run_netlink(seconds, seed, kind, ifindex=0):
    fuzz = Fuzz(seed, kind, int(ifindex))
    for _ in until(seconds):
        fuzz.one()
    print(fuzz.sent, fuzz.done)


# --- Datagrams -------------------------------------------------------------

def run_reader(public):
    reader, stop = control.Control("omr0"), Stop()
    print(reader.run_line("bind", public, "all"), flush=True)
    while not stop:
        time.sleep(0.05)
    print(reader.drain(), flush=True)


def packet(number, size=44, proto=253):
    """From c to a; nobody takes it."""
    return struct.pack(">BBHHHBBH4B4B", 0x45, 0, size, number & 0xffff, 0, 64, proto, 0,
                       10, 9, 0, 3, 10, 9, 0, 1) + bytes(size - 20)


class Sealer:
    def __init__(self, path, key_id):
        self.key, self.key_id, self.counter = key_file(path), int(key_id), 0

    def seal(self, plain):
        self.counter += 1
        return rec.seal(self.key, self.key_id, self.counter - 1, plain)


def mutate(rng, data):
    """Each field of a header by itself, lengths, tags, all at random."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        kind = rng.randrange(8)
        if kind == 0 and len(data) > 3:
            data[3] = rng.choice((3, 0x10, 0x11, 0x17, 0x20, 0x21, 0x22, 0x23, rng.getrandbits(8)))
        elif kind == 1:
            data[4:8] = rng.choice((bytes(4), data[4:8], rng.randbytes(4)))
        elif kind == 2:
            data[8:16] = struct.pack("<Q", rng.choice((0, 1 << 56, rng.getrandbits(64),
                                                       rng.getrandbits(55), rng.getrandbits(12))))
        elif kind == 3:
            del data[rng.randrange(len(data) + 1):]
        elif kind == 4:
            data += rng.randbytes(rng.choice((1, 16, 17, 600)))
        elif data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def learn_cookie(sock, reader, causes):
    """The cookie of a reply to one of these messages, if there is one."""
    for _ in range(200):
        try:
            reply = sock.recv(2000, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        if reply[3] == handshake.COOKIE and reply[4:8] in causes:
            return reader.open_cookie(reply, causes[reply[4:8]])
    return None


def run_datagrams(seconds, seed, address, port, path, key_id, public):
    rng, sealer, sock = random.Random(seed), Sealer(path, key_id), udp_socket()
    reader, cookie = handshake.Reader(public), None
    kinds = [(kind, mode) for kind, lengths in handshake.LENGTHS.items()
             for mode in range(len(lengths))]
    sock.connect((address, int(port)))
    sent = genuine = with_cookie = 0
    # A slow machine has few turns, and each kind is to be met.
    for i, _ in enumerate(until(seconds, lambda: with_cookie >= 5)):
        if i % 10 == 0:
            seeds = [reader.message(*kind) for kind in kinds]
            causes = {data[-32:-28]: data for data in seeds}
            seeds += [handshake.with_mac2(data, cookie) for data in seeds if cookie]
        wire = sealer.seal(packet(genuine, rng.choice((20, 44, 600))))
        batch, genuine = [wire], genuine + 1
        if cookie:
            # A replay is known as one if the first is let in.
            batch += 2 * [handshake.with_mac2(reader.message(handshake.INITIATION, 0), cookie)]
            with_cookie += 1
        for _ in range(rng.randrange(400)):
            source = rng.choice((wire, wire, rng.choice(seeds), None))
            if source is None:
                data = rng.choice((b"", b"OMR")) + rng.randbytes(rng.choice((0, 12, 60, 1400)))
            else:
                data = rng.choice((source, mutate(rng, source), mutate(rng, source)))
                if source is not wire and rng.getrandbits(1) and len(data) > 40:
                    data = reader.with_mac1(data)
            batch.append(data)
        for data in batch:
            sock.send(data)
        sent += len(batch)
        cookie = learn_cookie(sock, reader, causes) or cookie
    print(sent, genuine)


def run_bursts(seconds, seed, address, port, path, key_id):
    rng, sealer, sock = random.Random(seed), Sealer(path, key_id), udp_socket()
    sock.connect((address, int(port)))
    full = rec.batch([packet(0, 20)] * (rec.max_plain(7) // 22 - 1))
    sent, good, big = 0, 0, b""
    for i, _ in enumerate(until(seconds)):
        wires = [sealer.seal(packet(i)) for _ in range(2)]
        forged = wires[0][:-1] + bytes([wires[0][-1] ^ 1])
        burst = wires + [forged] * 62
        rng.shuffle(burst)
        sock.sendmsg([b"".join(burst)],
                     [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", len(forged)))])
        sent, good = sent + 64, good + 2
        if i % 200 == 0:
            big = rec.seal(sealer.key, sealer.key_id, sealer.counter, full, 7)
            sealer.counter += 1
            good += 1
        # The same again is a replay, which costs as much.
        if i % 50 == 0:
            sock.send(big)
            sent += 1
    print(sent, good)


# --- Keys ------------------------------------------------------------------

class Installer(nl.Omerta):
    """Many requests in one message; only errors are answered."""

    def batch(self, dev, count, handshake_key):
        """How many of so many keys were taken, and the last refusal."""
        name = "ifname=str:" + dev
        where = (name, "peer-id=u32:1", "local-id=u32:1")
        new = self.encode("key-new", *where, "remote-id=u32:1",
                          *["handshake=hex:"] * handshake_key)
        names = self.names("key-new")
        rx, tx = (names.index(n) + 1 for n in ("rx-secret", "tx-secret"))
        parts = []
        for _ in range(count):
            body = new[2] + nl.attr(rx, os.urandom(32)) + nl.attr(tx, os.urandom(32))
            parts.append(nl.message(new[0], new[1], body, 0))
            parts.append(nl.message(*self.encode("key-del", *where)[:3], 0))
        self.sock.send(b"".join(parts))
        # Its answer is the last one.
        self.sock.send(nl.message(*self.encode("device-get", name)[:3], nl.NLM_F_ACK))
        refused, text = 0, ""
        while True:
            for kind, flags, one in nl.messages(self.sock.recv(1 << 18)):
                if kind != nl.NLMSG_ERROR:
                    continue
                err = -struct.unpack_from("i", one)[0]
                if not err:
                    return count - refused, text
                if err != errno.ENOENT:         # deleted though it was refused
                    refused += 1
                    text = errno.errorcode[err] + " " + \
                        nl.attrs(one[20:]).get(1, b"\0")[:-1].decode()


    def many(self, dev, count, handshake_key):
        taken, text = 0, ""
        for left in range(count, 0, -32):
            now, text = self.batch(dev, min(left, 32), handshake_key)
            taken += now
        return taken, text


def run_keys(dev, count, kind=""):
    print(*Installer().many(dev, int(count), kind == "handshake"))


def one_tenant(keys):
    libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        sys.exit("unshare: " + os.strerror(ctypes.get_errno()))
    for name, text in (("uid_map", f"{uid} {uid} 1"), ("setgroups", "deny"),
                       ("gid_map", f"{gid} {gid} 1")):
        with open("/proc/self/" + name, "w", encoding="ascii") as file:
            file.write(text)
    installer = Installer()
    for words in (("device-new", "ifname=str:t0"), ("peer-new", "ifname=str:t0", "id=u32:1")):
        err, text = installer.run(*words)
        assert not err, (words, errno.errorcode[err], text)
    return installer.many("t0", keys, False)


def meminfo(name):
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(re.search(rf"^{name}: +(\d+)", file.read(), re.M)[1])


def run_tenants(count, keys, depth=1):
    total, last, depth = 0, "", int(depth)
    for left in range(int(count), 0, -depth):
        # The kernel ends namespaces more slowly than it makes them.
        while meminfo("MemAvailable") < meminfo("MemTotal") / 2:
            time.sleep(0.1)
        out, into = os.pipe()
        child = os.fork()
        if not child:
            done = [one_tenant(int(keys)) for _ in range(min(left, depth))]
            os.write(into, f"{sum(one[0] for one in done)} {done[-1][1]}".encode())
            os._exit(0)
        os.close(into)
        with os.fdopen(out) as file:
            taken, last = file.read().split(" ", 1)
        assert not os.waitpid(child, 0)[1]
        total += int(taken)
    print(total, last)


# --- Handshakes ------------------------------------------------------------

def run_handshakes(seconds, seed, address, port, path, public):
    rng, sock = random.Random(seed), udp_socket()
    static, its = key_file(path), base64.b64decode(public)
    sock.connect((address, int(port)))
    sock.setblocking(False)
    begun = answered = 0
    open_ones = {}
    for _ in until(seconds):
        one = noise.Handshake(rng.choice((noise.CLASSIC, noise.CHANNELS)), static, its)
        key_id = rng.randrange(1, 1 << 32)
        when = struct.pack(">QI", (1 << 62) + 10 + int(time.time()), begun)
        sock.send(one.initiate(rng.randbytes(32), when, key_id, channels=rng.randrange(1, 65)))
        open_ones = {key_id: one, **dict(list(open_ones.items())[:20])}
        begun += 1
        try:
            while True:
                data = sock.recv(2000)
                mine = open_ones.pop(struct.unpack_from("<I", data, 4)[0], None)
                if data[3] != noise.RESPONSE or not mine:
                    continue
                its_id, = struct.unpack_from(
                    "<I", mine.read_answer(noise.RESPONSE, data, bytes(32)))
                answered += 1
                if rng.getrandbits(1):
                    sock.send(rec.seal(mine.split()[0], its_id, 0, b""))
        except BlockingIOError:
            pass
    print(begun, answered)


# --- Life cycles -----------------------------------------------------------

SLOTS, FIRST_PORT = 4, 52000


def slot_secret(slot, key, way):
    """Known beforehand, for records; of a handshake, so that it can come again."""
    return hashlib.sha256(f"{slot} {key} {way}".encode()).digest()


class Churn(nl.Omerta):
    """Devices dN, each with its own port and one peer, which is elsewhere."""

    def __init__(self, seed, address):
        super().__init__()
        self.rng = random.Random(seed)
        self.route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.endpoint = ("endpoint-addr=hex:" + socket.inet_aton(address).hex(),
                         "endpoint-port=u16:51900")
        self.tried = self.done = 0

    def ask(self, *words):
        self.tried += 1
        self.done += not self.run(*words)[0]

    def tool(self, *words):
        self.tried += 1
        self.done += not subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode

    def set_up(self, slot, on):
        self.tried += 1
        body = struct.pack("BBHiII", 0, 0, 0, 0, on, 1) + nl.attr(IFLA_IFNAME, b"d%d\0" % slot)
        self.route.send(struct.pack("IHHII", 16 + len(body), RTM_SETLINK,
                                    nl.NLM_F_REQUEST | nl.NLM_F_ACK, 1, 0) + body)
        self.done += not any(self.route.recv(1 << 16)[16:20])

    def send(self, dev):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, dev.encode())
                for _ in range(20):
                    sock.sendto(bytes(self.rng.randrange(1400)), ("10.88.0.1", 9))
            except OSError:
                pass                # it is not there, or is down

    def make(self, slot, dev):
        self.ask("device-new", dev, f"listen-port=u16:{FIRST_PORT + slot}")
        self.set_up(slot, True)

    def key(self, slot, dev, key):
        self.ask("key-new", dev, "peer-id=u32:1", f"local-id=u32:{key + 1}",
                 f"remote-id=u32:{key + 1}", f"activation=u32:{self.rng.randrange(3)}",
                 f"rx-secret=hex:{slot_secret(slot, key, 'rx').hex()}",
                 f"tx-secret=hex:{slot_secret(slot, key, 'tx').hex()}", "handshake=hex:")

    def one(self):
        rng, slot, key = self.rng, self.rng.randrange(SLOTS), self.rng.randrange(8)
        dev, peer = f"ifname=str:d{slot}", "peer-id=u32:1"
        what = rng.randrange(100)
        if what < 12:
            self.make(slot, dev)
        elif what < 16:
            self.ask("device-del", dev)
        elif what < 30:
            self.ask("peer-new", dev, "id=u32:1", *self.endpoint, "keepalive=u16:1",
                     "allowed-ips=nest:addr=hex:0a580000,prefix-len=u8:16")
        elif what < 34:
            self.ask("peer-del", dev, "id=u32:1")
        elif what < 65:
            self.key(slot, dev, key)
        elif what < 75:
            self.ask(rng.choice(("key-activate", "key-retire", "key-del")), dev, peer,
                     f"local-id=u32:{key + 1}")
        elif what < 94:
            self.send(f"d{slot}")
        elif what < 97:
            self.set_up(slot, rng.getrandbits(1))
        elif what < 98:
            self.ask("device-set", dev, f"listen-port=u16:{FIRST_PORT + slot}",
                     f"policy=u32:{rng.randrange(3)}")
        else:
            self.namespace(slot, dev)

    def namespace(self, slot, dev):
        """A device ends with the namespace that it was made in, or moved to."""
        self.tool("ip", "netns", "add", "omt-z")
        if self.rng.getrandbits(1):
            self.tool("ip", "link", "set", f"d{slot}", "netns", "omt-z")
        else:
            self.tool("ip", "-n", "omt-z", "link", "add", "d9", "type", "omerta")
        self.tool("ip", "netns", "del", "omt-z")
        self.make(slot, dev)


def run_churn(seconds, seed, address):
    churn = Churn(seed, address)
    for _ in until(seconds):
        churn.one()
    print(churn.tried, churn.done)


def run_records(seconds, seed, address):
    rng, sock, sent = random.Random(seed), udp_socket(), 0
    made = {}
    for slot in range(SLOTS):
        for key in range(8):
            secret = slot_secret(slot, key, "rx")
            made[slot, key] = [rec.seal(secret, key + 1, n, packet(n)) for n in range(40)]
    for _ in until(seconds):
        slot, key = rng.randrange(SLOTS), rng.randrange(8)
        wires = made[slot, key] if rng.getrandbits(1) else [rng.choice(made[slot, key])] * 20
        try:
            sock.sendmsg([b"".join(wires)], [(socket.IPPROTO_UDP, UDP_SEGMENT,
                                              struct.pack("H", len(wires[0])))],
                         0, (address, FIRST_PORT + slot))
            sent += len(wires)
        except OSError:
            pass                    # nobody is there
    print(sent)


def run_log():
    stop, counts = Stop(), collections.Counter()
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)
    print("begins", flush=True)
    while True:
        try:
            line = os.read(log, 8192).split(b"\n")[0]
        except BrokenPipeError:
            counts["overrun"] += 1
            continue
        except BlockingIOError:
            if stop:
                break
            time.sleep(0.01)
            continue
        found = re.search(rb"\b(device|peer|key)( \w+)? (created|destroyed)$", line)
        if found:
            counts[(found[1] + b" " + found[3]).decode()] += 1
    print(*[f"{what} {count}" for what, count in sorted(counts.items())], sep="\n", flush=True)


if __name__ == "__main__":
    globals()["run_" + sys.argv[1]](*sys.argv[2:])
