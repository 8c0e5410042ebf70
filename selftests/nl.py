#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Generic netlink made byte by byte, past omertactl's checks.

nl.py COMMAND [ATTRIBUTE=TYPE:VALUE ...]
    One request; prints the error and its message, exits with 2 if there is one.
nl.py events [SECONDS]
    Joins the group of events. With SECONDS, prints a line when it has, then one
    for each event, and ends when none came for so long.
nl.py interrupt DUMP [ATTRIBUTE...] -- COMMAND [ATTRIBUTE...]
    Sends the request COMMAND amid a dump; prints what the dump says of it.
nl.py faults COMMAND [ATTRIBUTE...] -- COMMAND [ATTRIBUTE...] [-- COMMAND...]
    One request, again and again, with the first allocation failing, then the
    second, and so on, until none fails; prints how often the request did. The
    second one undoes it if it succeeds before; the third one comes before all.
nl.py
    Reads many requests, a line each, since an emulated CPU takes long to start
    Python, and answers each by a line: status and text.
"""
import base64
import errno
import ipaddress
import os
import socket
import struct
import sys
import time

COMMANDS = ("device-new device-del device-set device-get peer-new peer-set peer-del peer-get "
            "allowed-ip-get key-new key-activate key-retire key-del key-get key-needed "
            "key-confirmed key-soft key-hard key-dead peer-endpoint peer-silent peer-alive "
            "device-gone control-bind control-unbind control-send control agent-report").split()
DUMPS = ("allowed-ip-get", "key-get")
ATTRS = {
    "device": "ifindex ifname listen-port fwmark chunk-size policy percpu-threshold cpus batch df "
              "peers stats max-mtu engine control-rate control-source-rate control-bound epoch "
              "control-share used-secrets used-secrets-max agent-pid agent-age agent-stats channels "
              "channel-stats channel-port",
    "peer": "ifindex ifname id name public-key endpoint-addr endpoint-port endpoint-scope "
            "keepalive flags allowed-ips stats rx-age path-mtu silent handshake channels further-channels",
    "key": "ifindex ifname peer-id local-id remote-id rx-secret tx-secret activation seal-time "
           "open-time soft-time soft-records soft-bytes hard-records hard-bytes state limit age "
           "confirmed rx-records rx-bytes tx-records tx-bytes auth-failures replays epoch handshake "
           "channel",
    "prefix": "addr prefix-len flags",
    "control": "ifindex ifname endpoint-addr endpoint-port endpoint-scope local-addr "
               "outer-ifindex peer-id data public-key all-types local-id",
    "report": "ifindex ifname agent-stats handshake",
    "handshake": "peer-id tries kind failure",
    "counters": "begun done",
}
LIMITS = "time records bytes auth-failures vm-fork suspend identity".split()
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
NETLINK_GENERIC = 16
NLA_F_NESTED = 0x8000
NLMSG_ERROR, NLMSG_DONE = 2, 3
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLM_F_DUMP_INTR, NLM_F_ACK_TLVS = 0x10, 0x200
SOL_NETLINK, ADD_MEMBERSHIP, CAP_ACK, EXT_ACK = 270, 1, 10, 11
WAIT = 20


def attr(kind, value):
    data = struct.pack("HH", len(value) + 4, kind) + value
    return data + bytes(-len(data) % 4)


def encode(names, text):
    name, rest = text.split("=", 1)
    kind, value = rest.split(":", 1)
    number = int(name) if name.isdigit() else names.index(name) + 1
    if kind in FORMATS:
        return attr(number, struct.pack("=" + FORMATS[kind], int(value)))
    if kind in ("nest", "handshake", "counters"):
        inner = ATTRS["prefix" if kind == "nest" else kind].split()
        return attr(number | NLA_F_NESTED,
                    b"".join(encode(inner, v) for v in value.split(",")))
    if kind == "long":
        return attr(number, b"x" * int(value) + b"\0")
    if kind == "random":
        return attr(number, os.urandom(int(value)))
    if kind == "file":
        with open(value, encoding="ascii") as file:
            return attr(number, base64.b64decode(file.read()))
    return attr(number, {"str": lambda: value.encode() + b"\0",
                         "hex": lambda: bytes.fromhex(value)}[kind]())


def attrs(data):
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        found[kind & 0x3fff] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


def messages(data):
    while data:
        size, kind, flags = struct.unpack_from("IHH", data)
        yield kind, flags, data[16:size]
        data = data[(size + 3) & ~3:]


def message(family, cmd, body, flags):
    payload = struct.pack("BBH", cmd, 1, 0) + body
    return struct.pack("IHHII", len(payload) + 16, family, flags | NLM_F_REQUEST, 1, 0) + payload


def request(sock, family, cmd, body, flags):
    sock.send(message(family, cmd, body, flags))
    first = b""
    while True:
        for kind, flags, one in messages(sock.recv(1 << 18)):
            if kind in (NLMSG_ERROR, NLMSG_DONE):
                err = -struct.unpack_from("i", one)[0]
                more = one[20:] if kind == NLMSG_ERROR else one[4:]
                text = attrs(more).get(1, b"\0")[:-1] if flags & NLM_F_ACK_TLVS else b""
                return err, text.decode(), first
            first = first or one[4:]


def generic_socket():
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.bind((0, 0))
    sock.settimeout(WAIT)
    for option in (CAP_ACK, EXT_ACK):
        sock.setsockopt(SOL_NETLINK, option, 1)
    return sock


def find_family(sock, name):
    """Numbers of the family and of its first multicast group."""
    found = attrs(request(sock, 16, 3, attr(2, name.encode() + b"\0"), NLM_F_ACK)[2])
    return (struct.unpack("H", found[1])[0],
            struct.unpack("I", attrs(attrs(found[7])[1])[2])[0])


class Omerta:
    def __init__(self):
        self.sock = generic_socket()
        self.family, self.group = find_family(self.sock, "omerta")

    @staticmethod
    def names(command):
        """Attributes of the object that a command is about."""
        first = command.split("-")[0]
        return ATTRS[{"allowed": "peer", "agent": "report"}.get(
            first, first if first in ATTRS else "device")].split()

    def encode(self, name, *args):
        names = self.names(name)
        number = int(name) if name.isdigit() else COMMANDS.index(name) + 1
        return (self.family, number, b"".join(encode(names, a) for a in args),
                NLM_F_DUMP if name in DUMPS else NLM_F_ACK)

    def run(self, name, *args):
        if name == "events":
            return self.join()
        return request(self.sock, *self.encode(name, *args))[:2]

    def join(self):
        try:
            self.sock.setsockopt(SOL_NETLINK, ADD_MEMBERSHIP, self.group)
        except OSError as err:
            return err.errno, ""
        return 0, ""

    def watch(self, seconds):
        err, _ = self.join()
        assert not err, errno.errorcode[err]
        self.sock.settimeout(seconds)
        print("listening", flush=True)
        try:
            while True:
                for _, _, one in messages(self.sock.recv(1 << 18)):
                    self.show(one)
        except TimeoutError:
            pass

    @staticmethod
    def show(one):
        command = COMMANDS[one[0] - 1]
        names = Omerta.names(command)
        found = {names[k - 1]: v for k, v in attrs(one[4:]).items()}
        words = [command, found["ifname"][:-1].decode()]
        for name in ("peer-id", "id", "local-id"):
            if name in found:
                words.append(str(struct.unpack("I", found[name])[0]))
        if "endpoint-addr" in found:
            words.append(str(ipaddress.ip_address(found["endpoint-addr"])))
            words.append(str(struct.unpack("H", found["endpoint-port"])[0]))
        if "limit" in found:
            words.append(LIMITS[struct.unpack("I", found["limit"])[0]])
        print(*words, flush=True)

    def faults(self, words, undo):
        """How often it fails, if ever later allocations do."""
        failures = 0
        with open("/proc/thread-self/fail-nth", "r+b", buffering=0) as file:
            for n in range(1, 500):
                encoded = self.encode(*words)
                end = time.monotonic() + 30
                while True:
                    os.pwrite(file.fileno(), b"%d" % n, 0)
                    try:
                        err, heard = request(self.sock, *encoded)[0], True
                    except OSError as failed:
                        err, heard = failed.errno, False
                    left = int(os.pread(file.fileno(), 20, 0).split(b"\0")[0])
                    os.pwrite(file.fileno(), b"0", 0)
                    # The secrets of a key that was deleted are forgotten after a grace period.
                    if err != errno.EEXIST or time.monotonic() > end:
                        break
                if left:
                    assert not err, errno.errorcode[err]
                    return failures
                # Any error but those that would show effects of earlier failures
                assert err not in (errno.EEXIST, errno.EADDRINUSE), errno.errorcode[err]
                failures += bool(err)
                # It may do without the memory; or only the answer is missing.
                if not err or not heard:
                    self.run(*undo)
        raise AssertionError("there is no end to it")

    def interrupt(self, dump, change):
        self.sock.send(message(*self.encode(*dump)))
        seen = [self.sock.recv(1 << 18)]
        err, text = Omerta().run(*change)
        assert not err, text
        while True:
            for kind, flags, _ in messages(seen[-1]):
                if flags & NLM_F_DUMP_INTR:
                    return "interrupted"
                if kind in (NLMSG_ERROR, NLMSG_DONE):
                    return f"whole in {len(seen)} datagrams"
            seen.append(self.sock.recv(1 << 18))


def answer(omerta, words):
    err, text = omerta.run(*words)
    return 2 if err else 0, f"{errno.errorcode[err]} {text}" if err else ""


def split(args):
    """The requests between the "--"."""
    found = [[]]
    for arg in args:
        if arg == "--":
            found.append([])
        else:
            found[-1].append(arg)
    return found


def main():
    omerta, args = Omerta(), sys.argv[1:]
    if args[:1] == ["events"] and len(args) == 2:
        omerta.watch(float(args[1]))
    elif args[:1] == ["faults"]:
        words, undo, *first = split(args[1:])
        for err, text in map(lambda one: omerta.run(*one), first):
            assert not err, text
        print(omerta.faults(words, undo))
    elif args[:1] == ["interrupt"]:
        print(omerta.interrupt(*split(args[1:])))
    elif args:
        status, text = answer(omerta, args)
        print(text)
        sys.exit(status)
    for line in [] if args else sys.stdin:
        print(*answer(omerta, line.split()), flush=True)


if __name__ == "__main__":
    main()
