#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check-older": a host with this tree and one with an agent that knows no
# channels, of the commit BASE in the environment. In User-mode Linux. Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# The last one before handshakes agreed on channels
[[ -n ${BASE:-} ]] || BASE=7e49084

main() {
	local old=$TOP_DIR/build/older

	git -C "$TOP_DIR" cat-file -e "$BASE^{commit}" 2>/dev/null || {
		echo "1..0 # SKIP no commit $BASE here"
		exit
	}
	prepare_guest uml amd64
	rm -rf "$old"
	mkdir -p "$old/tree" "$old/extra"
	git -C "$TOP_DIR" archive "$BASE" | tar -x -C "$old/tree"
	quietly make -C "$old/tree/tools/omertactl" omertactl omerta-agent
	cp "$old"/tree/tools/omertactl/{omertactl,omerta-agent} "$old/extra"
	EXTRA=$old/extra "$VM_DIR/run.sh" -k uml -a amd64 -m 512M -t 300 -o "$old/guest" -- \
		'./peer_channels.sh test_older'
}

main
