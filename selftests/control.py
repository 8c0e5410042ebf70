#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A socket that is bound to a device, led by lines on standard input.

usage: control.py DEV

    bind [KEY [all]]        prints what the kernel says, or "ok"; KEY is a public one, in
                            base64, "all" asks for strangers' datagrams in spite of it
    unbind                  as well
    id N                    the next "send" has this local-id
    send ADDR PORT DATA [LOCAL]
                            DATA in hexadecimal, or NxBEGIN for a datagram that is N
                            bytes long and has BEGIN behind the magic; prints as bind
    report ATTRIBUTE...     as the key agent does, with attributes as in nl.py
    recv N                  prints the next N datagrams, a line each:
                            ADDR PORT LOCAL INTERFACE PEER DATA; long ones as above
    drain [PORT]            prints how many are there, or how many from that port
    rcvbuf BYTES            room for what is not read
"""
import base64
import errno
import ipaddress
import socket
import struct
import sys

import nl

SO_RCVBUFFORCE = 33


class Control(nl.Omerta):
    def __init__(self, dev):
        super().__init__()
        self.dev = "ifname=str:" + dev
        self.early = []
        self.local_id = None
        # Counters, not errors, report datagrams that do not fit.
        self.sock.setsockopt(nl.SOL_NETLINK, 5, 1)

    def receive(self):
        """The next datagram, as a dictionary of attributes."""
        if self.early:
            return self.early.pop(0)
        for kind, _, one in nl.messages(self.sock.recv(1 << 18)):
            assert kind == self.family, kind
            return self.decode(one)

    def decode(self, one):
        assert nl.COMMANDS[one[0] - 1] == "control", one[0]
        names = self.names("control")
        return {names[k - 1]: v for k, v in nl.attrs(one[4:]).items()}

    def ask(self, name, *args):
        """Datagrams may come before the answer does."""
        self.sock.send(nl.message(*self.encode(name, self.dev, *args)))
        while True:
            for kind, flags, one in nl.messages(self.sock.recv(1 << 18)):
                if kind == self.family:
                    self.early.append(self.decode(one))
                    continue
                err = -struct.unpack_from("i", one)[0]
                text = nl.attrs(one[20:]).get(1, b"\0") if flags & nl.NLM_F_ACK_TLVS else b"\0"
                return f"{errno.errorcode[err]} {text[:-1].decode()}" if err else "ok"

    def send(self, addr, port, data, local=None):
        if "x" in data:
            size, begin = data.split("x")
            data = (b"OMR" + bytes.fromhex(begin)).ljust(int(size), b"\0").hex()
        args = ["endpoint-addr=hex:" + ipaddress.ip_address(addr).packed.hex(),
                "endpoint-port=u16:" + port, "data=hex:" + data]
        if self.local_id:
            args.append("local-id=u32:" + self.local_id)
            self.local_id = None
        if local:
            args.append("local-addr=hex:" + ipaddress.ip_address(local).packed.hex())
        return self.ask("control-send", *args)

    def show(self):
        got = self.receive()
        data = got["data"]
        number = lambda name, kind: struct.unpack(kind, got[name])[0] if name in got else 0
        text = data.hex() if len(data) <= 32 else f"{len(data)}x{data[3]:02x}"
        return " ".join(str(word) for word in (
            ipaddress.ip_address(got["endpoint-addr"]), number("endpoint-port", "H"),
            ipaddress.ip_address(got["local-addr"]),
            socket.if_indextoname(number("outer-ifindex", "I")), number("peer-id", "I"), text))

    def drain(self, port=None):
        ports = []
        self.sock.setblocking(False)
        try:
            while True:
                ports.append(struct.unpack("H", self.receive()["endpoint-port"])[0])
        except BlockingIOError:
            self.sock.settimeout(nl.WAIT)
        return ports.count(int(port)) if port else len(ports)

    def run_line(self, verb, *args):
        if verb == "bind":
            key = ["public-key=hex:" + base64.b64decode(word).hex() for word in args[:1]]
            return self.ask("control-bind", *key, *["all-types=hex:"] * (args[1:] == ("all",)))
        if verb == "unbind":
            return self.ask("control-unbind")
        if verb == "id":
            self.local_id, = args
            return "ok"
        if verb == "send":
            return self.send(*args)
        if verb == "report":
            return self.ask("agent-report", *args)
        if verb == "recv":
            return "\n".join(self.show() for _ in range(int(args[0])))
        if verb == "rcvbuf":
            self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, int(args[0]) // 2)
            return "ok"
        assert verb == "drain", verb
        return str(self.drain(*args))


def main():
    control = Control(sys.argv[1])
    for line in sys.stdin:
        print(control.run_line(*line.split()), flush=True)


if __name__ == "__main__":
    main()
