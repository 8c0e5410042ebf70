#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory, time and losses are accounted for. Needs root, and in practice a guest.
#
# usage: account.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_hostile.sh
. ./lib_hostile.sh
# shellcheck source=lib_hogs.sh
. ./lib_hogs.sh

# A socket that is not read is charged with at least half of what its packets keep from being
# freed.
pinned() {
	local kind=$1 bytes=$((4 << 20)) free keeper sender charged

	tunnel_with_c
	bg a ./account.py keep omr0 "$bytes" >"$DIR/kept"
	keeper=$!
	await grep -q begins "$DIR/kept"
	free=$(mem_free)
	bg c ./account.py mixed "$kind" 198.51.100.1 "$PORT" "$FROM_C" "$ID_C"
	sender=$!
	WAIT=300 await grep -q '^[0-9]' "$DIR/kept"
	kill "$sender"
	charged=$(($(tail -n 1 "$DIR/kept") / 1024))
	# Both processes need some. Blocks that are free go back when they are idle for seconds.
	await less_than $((2 * charged + 2048)) mem_used "$free"
	echo "# figures: $kind: charged $charged KiB, memory $(mem_used "$free") KiB" >&9
	kill "$keeper"
}

test_pinned_short() { pinned short; }
test_pinned_long() { pinned long; }
test_pinned_longest() { pinned longest; }
test_pinned_stream() { pinned stream; }
test_pinned_long_stream() { pinned long_stream; }
test_pinned_alone() { pinned alone; }
test_pinned_alone_long() { pinned alone_long; }

exec 9>&1
TESTS=(
	test_pinned_short test_pinned_long test_pinned_longest test_pinned_stream
	test_pinned_long_stream test_pinned_alone test_pinned_alone_long
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
