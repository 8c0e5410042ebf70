#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Payloads for floods, and the time that new keys take beside them.

usage: hostile_flood.py make PROTOCOL KIND PUBLIC-KEY FILE [PCAP]
       hostile_flood.py omerta PID COUNT TIMEOUT
       hostile_flood.py wireguard DEV PEER SETTINGS ADDRESS COUNT TIMEOUT [PORT]
       hostile_flood.py pings ADDRESS INTERVAL
       hostile_flood.py wait
       hostile_flood.py cpu COMMAND...

make writes payloads of a KIND for flood.c: junk (4 bytes), macs (right length, wrong
macs), mac1 (right length and mac1), large (mac1 of ML-KEM's mode), replay (the
initiations in PCAP), where SEED in the environment decides what is random. PROTOCOL is
omerta or wireguard. omerta has the agent PID make new
keys, one after the other, by SIGUSR1, and prints in milliseconds how long each took until
a record under it had arrived. wireguard does the same with a peer that is made anew, and
the first ping through it; with PORT the host moves to that port before, and to the next
one each time. Who takes longer than TIMEOUT seconds is printed as that.
pings prints how many were sent, lost and answered with other content, and the longest time,
once it gets SIGTERM. wait has a real-time process sleep for 2 ms again and again on each
CPU, and prints how late the latest was, in milliseconds, once it gets SIGTERM: no softirq
took longer. cpu prints the seconds that all CPUs were busy while the command ran.
"""
import base64
import hashlib
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import handshake
import nl

MANY = 4096


def payloads(path, accept):
    """UDP payloads in a capture of Ethernet frames with IPv4."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16:at + 16 + length]
        at += 16 + length
        payload = frame[14 + (frame[14] & 15) * 4 + 8:]
        if accept(payload):
            yield payload


def wireguard_mac1(public):
    """The WireGuard paper, section 5.4.4."""
    key = hashlib.blake2s(b"mac1----" + base64.b64decode(public)).digest()

    def finish(data):
        body = data[:-32]
        return body + hashlib.blake2s(body, digest_size=16, key=key).digest() + data[-16:]
    return finish


def make(protocol, kind, public, path, pcap=None):
    if protocol == "omerta":
        reader = handshake.Reader(public)
        head, length, finish = b"OMR\x20" + bytes(4), 152, reader.with_mac1
        if kind == "large":
            head, length = b"OMR\x20\x01" + bytes(3), 1336
    else:
        head, length, finish = b"\x01\0\0\0", 148, wireguard_mac1(public)
    if kind == "junk":
        made = [head[:4]]
    elif kind == "replay":
        # The classic mode has the shortest initiation of all modes.
        made = list(payloads(pcap, lambda p: p[:4] == head[:4] and len(p) >= length))
        assert made, "no initiations in the capture"
    else:
        chosen = random.Random(os.environ.get("SEED"))
        made = [(head + chosen.randbytes(length))[:length - 16] + bytes(16) for _ in range(MANY)]
        if kind != "macs":
            made = [finish(one) for one in made]
    with open(path, "wb") as file:
        for one in made:
            file.write(struct.pack("!H", len(one)) + one)
    print(len(made))


def confirmed(omerta, before, timeout):
    """Wait for the event that a key's first record arrived; of a key not seen before."""
    end = time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([omerta.sock], [], [], left)[0]:
            return False
        for _, _, one in nl.messages(omerta.sock.recv(1 << 18)):
            if nl.COMMANDS[one[0] - 1] != "key-confirmed":
                continue
            names = omerta.names("key")
            found = {names[k - 1]: v for k, v in nl.attrs(one[4:]).items()}
            if found["local-id"] not in before:
                before.add(found["local-id"])
                return True


def run_omerta(pid, count, timeout):
    omerta, before = nl.Omerta(), set()
    err, text = omerta.join()
    assert not err, text
    for _ in range(int(count)):
        begun = time.monotonic()
        os.kill(int(pid), signal.SIGUSR1)
        done = confirmed(omerta, before, float(timeout))
        took = time.monotonic() - begun
        print(round((took if done else float(timeout)) * 1000), flush=True)
        # The other end takes one initiation of a peer in 20 ms.
        time.sleep(0.05)


def run_wireguard(dev, peer, settings, address, count, timeout, port=None):
    for i in range(int(count)):
        if port:
            subprocess.run(["wg", "set", dev, "listen-port", str(int(port) + i)], check=True)
        subprocess.run(["wg", "set", dev, "peer", peer, "remove"], check=True)
        subprocess.run(["wg", "set", dev, "peer", peer, *settings.split()], check=True)
        begun = time.monotonic()
        # The packet waits for the key; should it be given up, another asks again.
        while time.monotonic() - begun < float(timeout):
            if not subprocess.run(["ping", "-c", "1", "-W", str(int(float(timeout))), address],
                                  stdout=subprocess.DEVNULL, check=False).returncode:
                break
        took = min(time.monotonic() - begun, float(timeout))
        print(round(took * 1000), flush=True)


def run_pings(address, interval):
    """One every so often; an answer is awaited for up to ten seconds after the end."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.connect((address, 0))
    name, sent, got, wrong, longest, stop = os.getpid() & 0xffff, {}, 0, 0, 0.0, []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(time.monotonic()))
    due, number = time.monotonic(), 0
    while True:
        at = time.monotonic()
        if stop and (not sent or at > stop[0] + 10):
            break
        if not stop and at >= due:
            body = struct.pack("!BBHHHI", 8, 0, 0, name, number & 0xffff, number) + content(number)
            total = sum(struct.unpack(f"!{len(body) // 2}H", body))
            while total >> 16:
                total = (total >> 16) + (total & 0xffff)
            sock.send(body[:2] + struct.pack("!H", ~total & 0xffff) + body[4:])
            sent[number] = at
            number += 1
            due += float(interval)
        left = 0.05 if stop else max(0, due - time.monotonic())
        if not select.select([sock], [], [], left)[0]:
            continue
        data = sock.recv(2000)
        data = data[(data[0] & 15) * 4:]
        kind, _, _, who, _, which = struct.unpack_from("!BBHHHI", data)
        if kind == 0 and who == name and which in sent:
            longest = max(longest, time.monotonic() - sent.pop(which))
            wrong += data[12:] != content(which)
            got += 1
    print(number, number - got, wrong, round(longest * 1000), flush=True)


def content(number):
    return random.Random(number).randbytes(52)


def lateness(cpu, report):
    """Of sleeps on a CPU, until SIGTERM"""
    stop, latest = [], 0.0
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    os.sched_setaffinity(0, [cpu])
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    while not stop:
        due = time.monotonic() + 0.002
        time.sleep(0.002)
        latest = max(latest, time.monotonic() - due)
    os.write(report, struct.pack("d", latest))
    os._exit(0)


def run_wait():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    reader, writer = os.pipe()
    children = []
    for cpu in os.sched_getaffinity(0):
        child = os.fork()
        if not child:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
            lateness(cpu, writer)
        children.append(child)
    print("begins", flush=True)
    signal.sigwait([signal.SIGTERM])
    for child in children:
        os.kill(child, signal.SIGTERM)
    print(round(1000 * max(struct.unpack("d", os.read(reader, 8))[0] for _ in children), 1))


def busy():
    with open("/proc/stat", encoding="ascii") as file:
        words = [int(word) for word in file.readline().split()[1:9]]
    # All but idle and waiting
    return (sum(words) - words[3] - words[4]) / os.sysconf("SC_CLK_TCK")


def run_cpu(*command):
    before = busy()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(round(busy() - before, 2))


if __name__ == "__main__":
    {"make": make, "omerta": run_omerta, "wireguard": run_wireguard, "pings": run_pings,
     "wait": run_wait, "cpu": run_cpu}[sys.argv[1]](*sys.argv[2:])
