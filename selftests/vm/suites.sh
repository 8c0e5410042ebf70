#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check-suites": tests of the kernel's sources, of others, on omerta
# and on what they were written for. KERNEL and ARCH_DEB in the environment say where.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

OUT=${OUT:-$CACHE/suites}

main() {
	local kernel=${KERNEL:-6.12} arch=${ARCH_DEB:-amd64} source

	"$VM_DIR/deps.sh"
	source=$("$VM_DIR/source.sh")/tools/testing/selftests
	EXTRA=$(mktemp -d)
	trap 'rm -rf "$EXTRA"' EXIT
	export EXTRA
	cp "$source/wireguard/netns.sh" "$EXTRA"
	"$VM_DIR/kernel.sh" "$kernel" "$arch"
	"$VM_DIR/rootfs.sh" "$arch" >/dev/null
	quietly "$VM_DIR/modules.sh" "$kernel" "$arch"
	"$VM_DIR/tool.sh" "$arch" >/dev/null
	"$VM_DIR/run.sh" -k "$kernel" -a "$arch" -t 3600 -o "$OUT" -- ./suites/netns.sh "$@"
}

main "$@"
