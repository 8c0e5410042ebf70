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

# Secrets that a quantum computer computes from a recorded handshake
X25519_BROKEN_LATER = before(
    "queries[",
    "phase[1]\n\nprincipal Responder[\n\tleaks r_s, r_e\n]\n\n"
    "principal Initiator[\n\tleaks i_s, i_e\n]\n\n",
)
KEM_BROKEN = after("generates i_e, time, i_id, i_channels, i_kem\n", "\tleaks i_kem\n")

# Mode 01: a secret for the initiator's fresh key, of which the psk is made, too
ENCAPSULATED = [
    (
        "generates i_e, time, i_id, i_channels\n",
        "generates i_e, time, i_id, i_channels, i_kem\n\ti_ek = PUBKEY(i_kem)\n",
    ),
    ("CONCAT(time, i_id, i_channels)", "CONCAT(time, i_id, i_channels, i_ek)"),
    ("generates r_e, r_id, r_channels\n", "generates r_e, r_id, r_channels, r_secret\n"),
    (
        "\t_, _, r_asked = SPLIT(got_t)?\n",
        "\t_, _, r_asked, got_ek = SPLIT(got_t)?\n"
        "\tr_text = PKE_ENC(got_ek, r_secret)\n"
        "\tr_psk = HASH(psk, r_secret, HASH(got_ek, r_text))\n",
    ),
    ("HKDF(r_c6, psk, nil)", "HKDF(r_c6, r_psk, nil)"),
    ("r_eph, sealed_id\n", "r_eph, sealed_id, r_text\n"),
    (
        "\ti_c7, i_t7, i_k7 = HKDF(i_c6, psk, nil)\n",
        "\ti_secret = PKE_DEC(i_kem, r_text)\n"
        "\ti_psk = HASH(psk, i_secret, HASH(i_ek, r_text))\n"
        "\ti_c7, i_t7, i_k7 = HKDF(i_c6, i_psk, nil)\n",
    ),
]

# Modes 02 and 03: neither number of channels can be another one at the other end. A message of a
# concurrent session would have its number, so there must be none.
NUMBERS = before(
    "\tconfidentiality? i_data\n",
    "\tequivalence? i_channels, r_asked\n\tequivalence? r_channels, i_agreed\n",
)

# name, concurrent sessions, changes, and the verdicts on the model's queries in their
# order: c for confidentiality, a for authentication, e for equivalence, 0 if it holds. An
# initiation may be replayed (the first a1), as the model has no order of times; with ML-KEM
# Verifpal does not come to that.
VARIANTS = [
    ("as it is", 2, [], "c0c0c0c0a1a0a0a0a0"),
    ("no psk", 2, [NO_PSK], "c0c0c0c0a1a0a0a0a0"),
    ("all stolen later", 2, [STOLEN_LATER], "c0c0c0c1a1a0a0a0a0"),
    ("all stolen later, no ee", 2, [STOLEN_LATER, *NO_EE], "c1c1c1c1a1a0a0a0a0"),
    ("initiator's key stolen", 2, [STOLEN_I], "c0c0c0c0a1a0a0a0a0"),
    ("responder's key stolen", 2, [STOLEN_R], "c0c0c0c1a1a0a0a0a0"),
    ("initiator's key stolen, no psk", 2, [STOLEN_I, NO_PSK], "c0c1c0c0a1a0a1a1a0"),
    ("responder's key stolen, no psk", 2, [STOLEN_R, NO_PSK], "c1c0c1c1a1a1a0a0a1"),
    ("X25519 broken later, no psk", 2, [NO_PSK, X25519_BROKEN_LATER], "c1c1c1c1a1a0a0a0a0"),
    ("the same with ML-KEM", 2, [NO_PSK, *ENCAPSULATED, X25519_BROKEN_LATER], "c0c0c0c1a0a0a0a0a0"),
    ("ML-KEM broken", 2, [NO_PSK, *ENCAPSULATED, KEM_BROKEN], "c0c0c0c0a0a0a0a0a0"),
    ("with ML-KEM, no psk", 2, [NO_PSK, *ENCAPSULATED], "c0c0c0c0a0a0a0a0a0"),
    ("numbers of channels", 1, [NUMBERS], "e0e0c0c0c0c0a0a0a0a0a0"),
    ("numbers of channels, initiator's key stolen", 1, [NUMBERS, STOLEN_I, NO_PSK], "e1e0c0c1c0c0a1a0a1a1a0"),
    ("numbers of channels, responder's key stolen", 1, [NUMBERS, STOLEN_R, NO_PSK], "e1e1c1c0c1c1a1a1a0a0a1"),
    ("numbers of channels with ML-KEM", 1, [NUMBERS, *ENCAPSULATED], "e0e0c0c0c0c0a0a0a0a0a0"),
    ("both begin", 2, "both", "c0c0c0c0a1a0a0a0a0" * 2),
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
