#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What Verifpal finds in handshake.vp and in variants of it. Prints KTAP."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).with_name("handshake.vp").read_text()
CONFIGURED = "Initiator -> Responder: [i_pub]\n"
RUN = "principal Initiator[\n\tknows public name"
NO_PSK = ("knows private psk", "knows public psk")
NO_EE = ("DH_KEX(r_eph, i_e)", "zero"), ("DH_KEX(i_eph, r_e)", "zero")


def after(anchor, text):
    return (anchor, anchor + text)


def before(anchor, text):
    return (anchor, text + anchor)


def stolen(who, key):
    return after(CONFIGURED, f"\nprincipal {who}[\n\tleaks {key}\n]\n")


STOLEN_I = stolen("Initiator", "i_s")
STOLEN_R = stolen("Responder", "r_s")
STOLEN_LATER = before(
    "queries[",
    "phase[1]\n\nprincipal Responder[\n\tleaks r_s, psk\n]\n\n"
    "principal Initiator[\n\tleaks i_s\n]\n\n",
)

# name, concurrent sessions, changes, and the verdicts on the model's queries in their
# order: c for confidentiality, a for authentication, 0 if it holds. An initiation may
# be replayed (the first a1), as the model has no order of times.
VARIANTS = [
    ("as it is", 2, [], "c0c0c0a1a0a0a0"),
    ("no psk", 2, [NO_PSK], "c0c0c0a1a0a0a0"),
    ("all stolen later", 2, [STOLEN_LATER], "c0c0c1a1a0a0a0"),
    ("all stolen later, no ee", 2, [STOLEN_LATER, *NO_EE], "c1c1c1a1a0a0a0"),
    ("initiator's key stolen", 2, [STOLEN_I], "c0c0c0a1a0a0a0"),
    ("responder's key stolen", 2, [STOLEN_R], "c0c0c1a1a0a0a0"),
    ("initiator's key stolen, no psk", 2, [STOLEN_I, NO_PSK], "c0c1c0a1a0a1a0"),
    ("responder's key stolen, no psk", 2, [STOLEN_R, NO_PSK], "c1c0c1a1a1a0a1"),
    ("both begin", 2, "both", "c0c0c0a1a0a0a0" * 2),
]


def change(model, changes):
    for old, new in changes:
        if old not in model:
            sys.exit(f"handshake.vp has no {old!r}")
        model = model.replace(old, new)
    return model


def both_begin(model):
    """A second run, begun by the other host with the same static keys; what is made in
    it has other names."""
    start, end = model.index(RUN), model.index("queries[")
    hosts, run, queries = model[:start], model[start:end], model[end:]
    queries = re.findall(r"\t.*\n", queries)
    other = {"Initiator": "Responder", "i_s": "r_s", "i_pub": "r_pub"}
    other |= {new: old for old, new in other.items()}
    made = set(re.findall(r"\w*_\w+|time", run)) - {"AEAD_ENC", "AEAD_DEC", "DH_KEX"}
    for name in made - other.keys():
        other[name] = name + "_back"

    def back(text):
        return re.sub(r"\w+", lambda m: other.get(m[0], m[0]), text)

    known = re.compile(r"\tknows .*\n")
    queries = "".join(queries)
    return hosts + run + back(known.sub("", run)) + f"queries[\n{queries}{back(queries)}]\n"


def verdicts(verifpal, folder, model, sessions):
    path = pathlib.Path(folder, "variant.vp")
    path.write_text(model)
    done = subprocess.run(
        [verifpal, "verify", "--quiet", "--result-code", "--sessions", str(sessions), path],
        capture_output=True, text=True,
    )
    return done.stdout.strip() or done.stderr.strip()


def main():
    verifpal = shutil.which("verifpal")
    if not verifpal:
        print("1..0 # SKIP no verifpal: cargo install verifpal")
        return 0
    failed = 0
    print(f"KTAP version 1\n1..{len(VARIANTS)}")
    with tempfile.TemporaryDirectory() as folder:
        for n, (name, sessions, changes, expected) in enumerate(VARIANTS, 1):
            model = both_begin(MODEL) if changes == "both" else change(MODEL, changes)
            found = verdicts(verifpal, folder, model, sessions)
            if found != expected:
                failed = 1
                print(f"# expected {expected}, found {found}")
            print(f"{'not ok' if found != expected else 'ok'} {n} - {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
