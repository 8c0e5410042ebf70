#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Gives an ovpn device its only peer and a key, without OpenVPN, and stays.

usage: ovpn.py DEVICE PORT REMOTE-ADDRESS REMOTE-PORT RX-KEY-FILE TX-KEY-FILE

The device uses a socket of this process. Prints "ready" once it may be used.
"""
import base64
import os
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import nl  # noqa: E402 pylint: disable=wrong-import-position

PEER_NEW, KEY_NEW = 1, 6
IFINDEX, PEER, KEYCONF = 1, 2, 3
ID, REMOTE_IPV4, REMOTE_PORT, SOCKET = 1, 2, 5, 6
PEER_ID, SLOT, KEY_ID, CIPHER, ENCRYPT, DECRYPT = 1, 2, 3, 4, 5, 6
CIPHER_KEY, NONCE_TAIL = 1, 2
CHACHA20_POLY1305 = 2


def number(kind, value):
    return nl.attr(kind, struct.pack("=I", value))


def nest(kind, *inner):
    return nl.attr(kind | nl.NLA_F_NESTED, b"".join(inner))


def secret(path):
    with open(path, encoding="ascii") as file:
        return nl.attr(CIPHER_KEY, base64.b64decode(file.read())) + nl.attr(NONCE_TAIL, bytes(8))


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    device, port, remote, remote_port, rx_file, tx_file = sys.argv[1:]
    outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outer.bind(("", int(port)))
    sock = nl.generic_socket()
    family, _ = nl.find_family(sock, "ovpn")
    ifindex = number(IFINDEX, socket.if_nametoindex(device))
    for cmd, body in (
            (PEER_NEW, nest(PEER, number(ID, 1), nl.attr(REMOTE_IPV4, socket.inet_aton(remote)),
                            nl.attr(REMOTE_PORT, struct.pack("!H", int(remote_port))),
                            number(SOCKET, outer.fileno()))),
            (KEY_NEW, nest(KEYCONF, number(PEER_ID, 1), number(SLOT, 0), number(KEY_ID, 0),
                           number(CIPHER, CHACHA20_POLY1305), nest(ENCRYPT, secret(tx_file)),
                           nest(DECRYPT, secret(rx_file))))):
        err, text, _ = nl.request(sock, family, cmd, ifindex + body, nl.NLM_F_ACK)
        if err:
            sys.exit(f"ovpn.py: command {cmd}: {os.strerror(err)} {text}")
    print("ready", flush=True)
    signal.pause()


main()
