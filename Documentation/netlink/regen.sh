#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Regenerate uapi headers, policies and tables of operations from the specs with the
# kernel's own generator. Usage: regen.sh KERNEL_SOURCE [OUTPUT_ROOT]
set -euo pipefail

ksrc=${1:?usage: regen.sh KERNEL_SOURCE [OUTPUT_ROOT]}
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${2:-$root}
gen=$ksrc/tools/net/ynl/pyynl/ynl_gen_c.py

[ -f "$gen" ] || { echo "regen.sh: no generator at $gen" >&2; exit 1; }

# The generator looks for its schema beside the spec and for MAINTAINERS at the
# root of the tree; it gets both in a scratch tree.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/Documentation/netlink/specs"
touch "$tree/MAINTAINERS"
cp "$ksrc/Documentation/netlink/genetlink.yaml" "$tree/Documentation/netlink/"
cp "$root"/Documentation/netlink/specs/*.yaml "$tree/Documentation/netlink/specs/"
cd "$tree"

# family SPEC UAPI-HEADER SOURCE, the latter without its ending
family() {
	local spec=Documentation/netlink/specs/$1.yaml

	mkdir -p "$(dirname "$2")" "$(dirname "$3")"
	timeout 60 python3 "$gen" --mode uapi --header --spec "$spec" -o "$2"
	timeout 60 python3 "$gen" --mode kernel --header --spec "$spec" -o "$3.h"
	timeout 60 python3 "$gen" --mode kernel --source --spec "$spec" -o "$3.c"
	sed -i 's|tools/net/ynl/ynl-regen.sh|Documentation/netlink/regen.sh|' "$2" "$3".[ch]
	cp --parents -t "$out" "$2" "$3".[ch]
}
family omerta include/uapi/linux/omerta.h kmod/netlink/gen
family omerta-bench include/uapi/linux/omerta_bench.h kmod/bench/bench_gen
