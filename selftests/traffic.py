#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Traffic for the test scripts: traffic.py COMMAND ARGUMENT..., where each command is a function
below. Senders print nothing unless their description says so; receivers fail if other packets
arrive than the description says."""

import errno
import itertools
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time

SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_TIMESTAMPING = 32, 33, 37
UDP_SEGMENT = 103
IP_MTU_DISCOVER, IP_RECVTOS = 10, 13
MAGIC_INITIATION = b"OMR\x20"
# Port of most receivers
PORT = 7777
END = b"end"


def udp(address=""):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.socket(family, socket.SOCK_DGRAM)


def sender(address=""):
    """A socket whose buffer holds all packets of a test."""
    s = udp(address)
    s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
    return s


def receiver(address="0.0.0.0"):
    s = udp(address)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
    s.bind((address, PORT))
    return s


def hold_port(address, port, reuse=""):
    """Occupy a UDP port until killed, with REUSE also one that allows that to others."""
    s = udp(address)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, bool(reuse))
    s.bind((address, int(port)))
    signal.pause()


def send(address, port, count, size, segment=0):
    """Send datagrams of zeros, or super-packets of that segment size from a short buffer."""
    s = udp(address) if segment else sender(address)
    if segment:
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, int(segment))
    for _ in range(int(count)):
        s.sendto(bytes(int(size)), (address, int(port)))


def everyone(address, port, count):
    """Send datagrams that are no records to a broadcast or multicast address."""
    s = udp(address)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    to = socket.getaddrinfo(address, int(port), type=socket.SOCK_DGRAM)[0][4]
    for _ in range(int(count)):
        s.sendto(bytes(40), to)


def offer(address, count, size):
    """As send, to port 9, but drop datagrams for which the socket has no space."""
    s = udp(address)
    for _ in range(int(count)):
        try:
            s.sendto(bytes(int(size)), socket.MSG_DONTWAIT, (address, 9))
        except BlockingIOError:
            pass


def send_until_killed(address, *ports):
    """Send datagrams of 400 bytes to ports in turns, whenever there is a route. Print their number on
    SIGTERM."""
    ended, n = [], 0
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    s = udp(address)
    while not ended:
        for port in ports:
            try:
                s.sendto(bytes(400), (address, int(port)))
                n += 1
            except OSError as e:
                if e.errno != errno.ENETUNREACH:
                    raise
    print(n)


def send_mixed(address, port):
    """Send super-packets and lone datagrams. Print the number of datagrams."""
    s, n = udp(address), 0
    for _ in range(200):
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
        s.sendto(bytes(44000), (address, int(port)))
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)
        for _ in range(10):
            s.sendto(bytes(1000), (address, int(port)))
        n += 54
    print(n)


def send_super(count, *addresses):
    """Send super-packets to port 9 of each address, which may all be rejected."""
    s = udp()
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1300)
    for _ in range(int(count)):
        for address in addresses:
            try:
                s.sendto(bytes(44 * 1300), (address, 9))
            except OSError:
                pass  # The error is that of the previous one.


def send_small(count, address):
    """Send datagrams of one byte to port 9, which may be rejected."""
    s = udp()
    for _ in range(int(count)):
        try:
            s.sendto(bytes(1), (address, 9))
        except OSError:
            pass


# Datagrams with numbers


def send_numbers(address, first, end, *repeat):
    """Send numbers of 4 bytes each, the I-th of them REPEAT[I] times in its datagram."""
    s = sender(address)
    repeat = [int(n) for n in repeat] or [1]
    for i in range(int(first), int(end)):
        s.sendto(i.to_bytes(4, "big") * repeat[i % len(repeat)], (address, PORT))


def send_numbers_marked(address, end):
    """As send_numbers, 300 times each, with two ECN fields in turns."""
    s = [sender(address), sender(address)]
    s[1].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
    for i in range(int(end)):
        s[i % 2].sendto(i.to_bytes(4, "big") * 300, (address, PORT))


def receive_numbers(count):
    """Print the numbers that arrive."""
    s = receiver()
    for _ in range(int(count)):
        print(int.from_bytes(s.recv(1 << 16)[:4], "big"))


def send_flows(address, flows, count, length="4"):
    """Send numbers of LENGTH bytes from several sockets in turns."""
    sockets = [sender(address) for _ in range(int(flows))]
    for i in range(int(count)):
        for s in sockets:
            s.sendto(i.to_bytes(int(length), "big"), (address, PORT))


def send_flows_until(address, flows, stop):
    """The same until the file STOP exists, and no faster than any machine receives."""
    sockets = [sender(address) for _ in range(int(flows))]
    n = 0
    while n < 2 or not os.path.exists(stop):
        for s in sockets:
            s.sendto(n.to_bytes(4, "big"), (address, PORT))
        n += 1
        time.sleep(0.002)
    for s in sockets:
        s.sendto(END, (address, PORT))


def receive_flows(flows, count="", order="kept"):
    """
    All numbers of all sockets arrive, and those of each in order, unless that may be "changed".
    Without COUNT up to an end
    """
    s, got, ended = receiver(), {}, set()
    left = int(flows) * int(count or 1)
    while left:
        data, source = s.recvfrom(9999)
        if data == END:
            ended.add(source)
        else:
            assert source not in ended or order != "kept", source
            got.setdefault(source, []).append(int.from_bytes(data, "big"))
        left -= data == END if not count else 1
    n = int(count) if count else max(map(len, got.values()))
    if order != "kept":
        got = {source: sorted(numbers) for source, numbers in got.items()}
    assert list(got.values()) == [list(range(n))] * int(flows), got


def returned(address, flows):
    """A datagram from each of several sockets comes back, one after the other."""
    for s in [sender(address) for _ in range(int(flows))]:
        s.connect((address, PORT))
        s.send(b"there")
        assert s.recv(99) == b"there"


def give_back():
    """Return datagrams to their senders until killed."""
    s = receiver()
    while True:
        s.sendto(*s.recvfrom(9999))


def long_packets(device, limit):
    """Allow a device super-packets of LIMIT bytes, of IPv4 as well, which old releases of ip(8) cannot do.
    Print whether the kernel can."""
    import nl  # pylint: disable=import-outside-toplevel

    rtm_newlink, rtm_getlink = 16, 18
    wanted = struct.pack("I", int(limit))
    # GSO_MAX_SIZE, GRO_MAX_SIZE, GSO_IPV4_MAX_SIZE, GRO_IPV4_MAX_SIZE
    kinds = 41, 58, 63, 64
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)

    def ask(command, attributes):
        body = struct.pack("BxHiII", 0, 0, socket.if_nametoindex(device), 0, 0) + attributes
        sock.send(struct.pack("IHHII", 16 + len(body), command, nl.NLM_F_REQUEST | nl.NLM_F_ACK, 1, 0)
                  + body)
        return next(nl.messages(sock.recv(1 << 16)))

    kind, _, answer = ask(rtm_newlink, b"".join(nl.attr(k, wanted) for k in kinds))
    assert kind == nl.NLMSG_ERROR and not struct.unpack_from("i", answer)[0], answer
    found = nl.attrs(ask(rtm_getlink, b"")[2][16:])
    print("yes" if all(found.get(k) == wanted for k in kinds) else "no")


def receive_nearly_in_order(count):
    """All numbers below COUNT arrive, and fewer than 64 of them late."""
    s = receiver()
    got = [int.from_bytes(s.recv(999)[:4], "big") for _ in range(int(count))]
    late = sum(i < most for i, most in zip(got, itertools.accumulate(got, max)))
    assert sorted(got) == list(range(int(count))) and late < 64, (late, got)


def send_then_activate(address, count, dropped, *key):
    """Send decimal numbers. Once DROPPED of them are dropped, activate a key, if there is one."""
    import nl  # pylint: disable=import-outside-toplevel

    omerta = nl.Omerta()
    s = udp(address)
    for i in range(int(count)):
        s.sendto(b"%d" % i, (address, PORT))
    with open("/sys/class/net/omr0/statistics/tx_dropped", encoding="ascii") as file:
        while int(file.read()) < int(dropped):
            file.seek(0)
    if key:
        err, text = omerta.run("key-activate", "ifname=str:omr0", *key)
        sys.exit(text if err else 0)


def receive_decimal(count, wait):
    """Print the decimal numbers that arrive, each within WAIT seconds."""
    s = receiver()
    s.settimeout(int(wait))
    for _ in range(int(count)):
        print(int(s.recv(64)))


def varied():
    """2000 packets of all sizes, with runs of small ones"""
    rand = random.Random(7)
    return [i.to_bytes(4, "big") +
            rand.randbytes(rand.choice((60, 61, 100, 600, rand.randrange(1300))))
            for i in range(1000)] + [i.to_bytes(4, "big") * 16 for i in range(1000)]


def send_varied(address):
    """Send the varied packets."""
    s = sender(address)
    for packet in varied():
        s.sendto(packet, (address, PORT))


def receive_varied():
    """The varied packets arrive, in order."""
    s = receiver("::")
    for i, packet in enumerate(varied()):
        got = s.recv(1 << 16)
        assert got == packet, (int.from_bytes(got[:4], "big"), "instead of", i)


# Datagrams with ECN fields and with or without DF


def send_marked(first, second):
    """Send 750 packets to two addresses, with three ECN fields, with and without DF."""
    s = sender()
    for i in range(750):
        mark = (i + 8) // 30 % 3
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark)
        s.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, 2 if i % 14 < 7 else 0)
        s.sendto(bytes([mark]) * (1200 if mark == 1 else 99),
                 (first if i % 15 < 10 else second, PORT))


def receive_marked(count):
    """Such packets arrive, each with its ECN field."""
    s = receiver()
    s.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
    for i in range(int(count)):
        data, control, *_ = s.recvmsg(1999, 99)
        mark = control[0][2][0]
        assert data == bytes([mark]) * (1200 if mark == 1 else 99), (i, data, control)


# Segments


def send_segments(*addresses):
    """Send 31 segments to each address, the last one short."""
    data = b"".join(bytes([i]) * 1000 for i in range(30)) + bytes([30]) * 7
    for address in addresses:
        s = udp(address)
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
        s.sendto(data, (address, PORT))


def receive_segments(count):
    """Print the length, the first byte and the number of different bytes of each datagram."""
    s = receiver("::")
    for _ in range(int(count)):
        got = s.recv(1 << 16)
        print(len(got), got[0], len(set(got)))


def send_padded():
    """Send 400 packets through a packet socket on omr0, some with padding behind them."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
    for i in range(400):
        payload = bytes([i % 4] * 12)
        head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0,
                           bytes((10, 9, 0, 1)), bytes((10, 9, 0, 2)))
        total = sum(struct.unpack("!10H", head))
        total = (total & 0xffff) + (total >> 16)
        packet = (head[:10] + struct.pack("!H", 0xffff - total) + head[12:] +
                  struct.pack("!HHHH", 9, PORT, 8 + len(payload), 0) + payload)
        s.sendto(packet.ljust(46, b"\0") if i % 4 == 2 else packet, ("omr0", 0x0800))


def receive_padded():
    """Those arrive, in order."""
    s = receiver()
    got = [s.recv(999)[0] for _ in range(400)]
    assert got == [i % 4 for i in range(400)], got


def send_released(cpu, *where):
    """Send 501 packets from a CPU through a slow qdisc there, and make it fast before the last one."""
    os.sched_setaffinity(0, [int(cpu)])
    s = sender()
    for i in range(501):
        if i == 500:
            subprocess.run(["tc", "qdisc", "change", "dev", "omr0", *where, "tbf",
                            "rate", "2gbit", "burst", "1m", "limit", "32mb"], check=True)
        s.sendto(bytes(150), ("10.9.0.2", PORT))


def time_stamps(address, size, wait):
    """Each of three datagrams, or super-packets, gets one time stamp within WAIT seconds."""
    tx_software, software, opt_tsonly = 1 << 1, 1 << 4, 1 << 11
    s = udp(address)
    s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, tx_software | software | opt_tsonly)
    s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
    poll = select.poll()
    poll.register(s, 0)
    for _ in range(3):
        s.sendto(bytes(int(size)), (address, 9))
        assert poll.poll(1000 * float(wait)), "no time stamp"
        s.recvmsg(0, 1000, socket.MSG_ERRQUEUE)
    s.setblocking(False)
    try:
        s.recvmsg(0, 1000, socket.MSG_ERRQUEUE)
        sys.exit("more than one time stamp")
    except BlockingIOError:
        pass


def expect_mtu(mtu, size, address, probe=""):
    """A datagram of SIZE bytes is rejected, and the kernel says that the MTU is the reason. With
    PROBE the datagram ignores the MTU of its route."""
    v6 = ":" in address
    # IP_RECVERR and IPV6_RECVERR, IP_MTU_DISCOVER and IPV6_MTU_DISCOVER
    level, recverr, discover = (41, 25, 23) if v6 else (0, 11, 10)
    with udp(address) as s:
        s.setsockopt(level, recverr, 1)
        s.setsockopt(level, discover, 3 if probe else 2)
        s.connect((address, 9))
        try:
            s.send(bytes(int(size)))
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise
        poll = select.poll()
        poll.register(s, 0)
        if not poll.poll(1000):
            sys.exit("no packet was rejected")
        messages = s.recvmsg(1, 512, socket.MSG_ERRQUEUE)[1]
        (_, data), = ((k, d) for l, k, d in messages if l == level)
        # struct sock_extended_err
        number, _, _, _, _, info, _ = struct.unpack("=IBBBBII", data[:16])
        sys.exit((number, info) != (errno.EMSGSIZE, int(mtu)) and f"error {number}, MTU {info}")


def serve_echoes(address):
    """Give back what arrives on a connection to PORT."""
    connection, _ = socket.create_server((address, PORT)).accept()
    while data := connection.recv(4096):
        connection.sendall(data)


def serve_names(address, name, answer):
    """A name server at the address that knows one IPv4 address, until it is killed."""
    wanted = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    s = udp()
    s.bind((address, 53))
    while True:
        query, client = s.recvfrom(512)
        end = query.index(b"\0", 12) + 5
        known = query[12:end - 4] == wanted and query[end - 4:end - 2] == b"\0\1"
        reply = query[:2] + struct.pack("!HHHHH", 0x8580, 1, known, 0, 0) + query[12:end]
        if known:
            reply += struct.pack("!HHHIH", 0xc00c, 1, 1, 1, 4) + socket.inet_aton(answer)
        s.sendto(reply, client)


def converse(address):
    """Send bytes on a connection to serve_echoes until killed, each when the one before it has
    come back. Print each that has."""
    connection = socket.create_connection((address, PORT))
    while True:
        connection.sendall(b".")
        print(connection.recv(1).decode(), end="", flush=True)


# Programs


def xdp_pass():
    """Print an ELF object with one program, "r0 = XDP_PASS; exit", in section "xdp"."""
    code = struct.pack("<BBhi", 0xb7, 0, 0, 2) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    names = b"\0xdp\0license\0.symtab\0.strtab\0.shstrtab\0"
    licence = b"GPL\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, len(code)) + \
        struct.pack("<IBBHQQ", 6, 0x11, 0, 2, 0, len(licence))
    parts = [code, licence, symbols, b"\0prog\0_license\0", names]
    data, headers = bytearray(64), bytes(64)
    # Name, kind, flags, link, info, alignment, size of an entry
    kinds = [(b"xdp\0", 1, 6, 0, 0, 8, 0), (b"license\0", 1, 3, 0, 0, 1, 0),
             (b".symtab\0", 2, 0, 4, 1, 8, 24), (b".strtab\0", 3, 0, 0, 0, 1, 0),
             (b".shstrtab\0", 3, 0, 0, 0, 1, 0)]
    for part, (name, kind, flags, link, info, align, entry) in zip(parts, kinds):
        data += bytes(-len(data) % 8)
        headers += struct.pack("<IIQQQQIIQQ", names.index(name), kind, flags, 0, len(data),
                               len(part), link, info, align, entry)
        data += part
    data += bytes(-len(data) % 8)
    data[:64] = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 1, 247, 1, 0, 0, len(data), 0, 64, 0, 0, 64, 6, 5)
    sys.stdout.buffer.write(data + headers)


# Forged datagrams


def strangers(count, size, source=""):
    """Send initiations to 192.0.2.1, each from another address in 10.77.0.0/16, or from SOURCE."""
    data = MAGIC_INITIATION + bytes(int(size) - 4)
    for i in range(int(count)):
        if not i or not source:
            s = udp()
            s.bind((source or f"10.77.{i % 40000 >> 8}.{i & 255}", 7777))
        s.sendto(data, ("192.0.2.1", 51900))


def forge(source, port, size):
    """Send initiations to 192.0.2.1 with a forged source until killed."""
    data = MAGIC_INITIATION.ljust(int(size), b"\0")
    packet = struct.pack("!BBHIBBH4s4sHHHH", 0x45, 0, 0, 0, 64, 17, 0, socket.inet_aton(source),
                         socket.inet_aton("192.0.2.1"), int(port), 51900, 8 + len(data), 0) + data
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    while True:
        s.sendto(packet, ("192.0.2.1", 0))


def wrong_checksum(address):
    """Send an initiation of 1000 bytes with a wrong UDP checksum."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_UDP)
    data = MAGIC_INITIATION + bytes(996)
    s.sendto(struct.pack("!4H", 51900, 51900, 8 + len(data), 1) + data, (address, 0))


def rejected(source, address):
    """Send 2000 packets with a source, for which there is no peer."""
    addrs = b"".join(map(socket.inet_aton, (source, address)))
    packet = struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, 17, 0) + addrs + bytes(8)
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for _ in range(2000):
        s.sendto(packet, (address, 0))


def bad_records(address, key_id):
    """Send 5 datagrams that are not records, and 5 records that were not sealed by a peer."""
    sys.path[:0] = ["vectors"]
    import omerta_record as rec  # pylint: disable=import-outside-toplevel,import-error

    s = udp()
    for i in range(5):
        s.sendto(b"no record", (address, 51900))
        s.sendto(rec.seal(bytes(32), int(key_id), 1000 + i, bytes(100)), (address, 51900))


def notifications(path):
    """Print the datagrams that arrive at a UNIX socket until killed, as a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        while True:
            print(s.recv(1000).decode(), flush=True)


def main():
    commands = {name.replace("_", "-"): f for name, f in globals().items()
                if callable(f) and f.__doc__ and getattr(f, "__module__", "") == "__main__" and
                name not in ("main", "sender", "varied")}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit("usage: traffic.py COMMAND ARGUMENT..., COMMAND is one of\n  " +
                 "\n  ".join(sorted(commands)))
    commands[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
