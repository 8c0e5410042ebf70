#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# build_test.sh KERNEL ARCH: builds what a machine with that kernel needs. Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# A printed warning would be gone in the next build. modpost repeats its warnings.
export MODULE_CFLAGS=-Werror

# shellcheck disable=SC2317 # called by report
modules() {
	local log rc=0

	log=$("$VM_DIR/modules.sh" "$1" "$2" 2>&1) || rc=$?
	printf '%s\n' "$log"
	((rc == 0)) && ! grep -q 'WARNING:' <<<"$log"
}

main() {
	local rc=0

	native "$2" || "$VM_DIR/deps.sh" "$2"
	"$VM_DIR/kernel.sh" "$1" "$2"
	"$VM_DIR/rootfs.sh" "$2" >/dev/null
	if [[ $2 == amd64 ]]; then
		echo '1..3'
	else
		echo '1..2'
	fi
	report 1 'modules build without warnings' modules "$@" || rc=1
	report 2 'omertactl builds' "$VM_DIR/tool.sh" "$2" || rc=1
	# image.sh includes it.
	[[ $2 != amd64 ]] || report 3 'omertactl with ML-KEM builds' "$VM_DIR/tool_kem.sh" || rc=1
	exit "$rc"
}

(($# == 2)) || die "usage: build_test.sh KERNEL ARCH"
main "$@"
