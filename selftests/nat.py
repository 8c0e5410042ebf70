#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""nat.py INSIDE TO: a port-restricted NAT in user space.

Datagrams that come to INSIDE leave for TO from a port of their own for each source, and what TO
sends there goes back. Addresses have the form ADDRESS:PORT. On SIGUSR1 it forgets all ports but that
of the first source, on SIGUSR2 all. Prints a line when it is ready, and one for each new port.
"""
import selectors
import signal
import socket
import sys


def main():
    inside, to = ((a.rpartition(":")[0], int(a.rpartition(":")[2])) for a in sys.argv[1:3])
    ports, wait = {}, selectors.DefaultSelector()

    def forget(n):
        for source in list(ports)[n:]:
            wait.unregister(ports[source])
            ports.pop(source).close()

    def outwards():
        data, source = own.recvfrom(65535)
        if source not in ports:
            # Only what comes from there is received.
            ports[source] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            ports[source].connect(to)
            ports[source].setblocking(False)
            wait.register(ports[source], selectors.EVENT_READ, lambda: inwards(source))
            print(source[1], ports[source].getsockname()[1], flush=True)
        send(ports[source].send, data)

    def inwards(source):
        if source in ports:
            send(lambda: own.sendto(ports[source].recv(65535), source))

    def send(call, *args):
        try:
            call(*args)
        except OSError:  # an ICMP error, or nothing there any more
            pass

    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(inside)
    wait.register(own, selectors.EVENT_READ, outwards)
    woken, waker = socket.socketpair()
    signal.signal(signal.SIGUSR1, lambda *_: waker.send(b"1"))
    signal.signal(signal.SIGUSR2, lambda *_: waker.send(b"0"))
    wait.register(woken, selectors.EVENT_READ, lambda: forget(int(woken.recv(1))))
    print("ready", flush=True)
    while True:
        for key, _ in wait.select():
            key.data()


main()
