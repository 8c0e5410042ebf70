#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Regenerate the uapi header, the policies and the op table from the spec with
# the kernel's own generator. Usage: regen.sh KERNEL_SOURCE [OUTPUT_ROOT]
set -euo pipefail

ksrc=${1:?usage: regen.sh KERNEL_SOURCE [OUTPUT_ROOT]}
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${2:-$root}
gen=$ksrc/tools/net/ynl/pyynl/ynl_gen_c.py
spec=Documentation/netlink/specs/omerta.yaml

[ -f "$gen" ] || { echo "regen.sh: no generator at $gen" >&2; exit 1; }

# The generator looks for its schema beside the spec and for MAINTAINERS at the
# root of the tree; it gets both in a scratch tree.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/Documentation/netlink/specs" "$tree/kmod" "$tree/include/uapi/linux"
touch "$tree/MAINTAINERS"
cp "$ksrc/Documentation/netlink/genetlink.yaml" "$tree/Documentation/netlink/"
cp "$root/$spec" "$tree/$spec"
cd "$tree"

run() {
	timeout 60 python3 "$gen" --mode "$1" "--$2" --spec "$spec" -o "$3"
}
run uapi header include/uapi/linux/omerta.h
run kernel header kmod/netlink_gen.h
run kernel source kmod/netlink_gen.c

sed -i 's|tools/net/ynl/ynl-regen.sh|Documentation/netlink/regen.sh|' \
	include/uapi/linux/omerta.h kmod/netlink_gen.[ch]
mkdir -p "$out/include/uapi/linux" "$out/kmod"
cp include/uapi/linux/omerta.h "$out/include/uapi/linux/omerta.h"
cp kmod/netlink_gen.[ch] "$out/kmod/"
