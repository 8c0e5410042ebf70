#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The demo: a tunnel between two namespaces of a guest carries pings and a file; one
# that two files and two agents make goes on while its keys are changed; then the
# capture of the outer link shows what an observer sees.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

KERNEL=${KERNEL:-6.12} ARCH_DEB=${ARCH_DEB:-amd64}
OUT=${OUT:-$CACHE/demo}
MARKER=omerta-demo-plaintext-marker

# The ping's pattern is the first 16 bytes of the marker, over and over.
decode() {
	"$VM_DIR/decode_capture.py" "$OUT/demo.pcap" --port 51900 --chunk 512 \
		--key-id 0x11 --key-id 0x22 --min-bytes $((16 << 20)) \
		--marker "$MARKER" --marker "${MARKER:0:16}${MARKER:0:16}"
}

verdict() {
	printf '\nDEMO %s\n' "$1"
	[[ $1 == PASSED* ]] || exit 1
}

main() {
	take_lock "$OUT/lock"
	say "fetching a kernel and building for it, if that is not yet done"
	prepare_guest "$KERNEL" "$ARCH_DEB"
	rm -f "$OUT/demo.pcap"
	say "booting Linux $KERNEL"
	"$VM_DIR/run.sh" -k "$KERNEL" -a "$ARCH_DEB" -t 300 -o "$OUT" \
		-- vm/demo_guest.sh "$MARKER" || verdict "FAILED: the guest's part (status $?)"
	printf '\n== What the outer link carried (%s)\n' "$OUT/demo.pcap"
	decode || verdict 'FAILED: the capture'
	verdict 'PASSED: all data arrived, and the outer link showed only sealed records'
}

main
