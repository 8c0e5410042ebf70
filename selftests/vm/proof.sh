#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check-proof": proofs of the leaves by CBMC, see ../proof. Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# It is installed with the first use.
"$VM_DIR/builder.sh" cbmc cbmc --version >/dev/null
mkdir -p "$TOP_DIR/build/proof"
"$TOP_DIR/selftests/proof/prove.py" "$TOP_DIR/build/proof" "$VM_DIR/builder.sh" cbmc cbmc
