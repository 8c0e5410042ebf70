#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory and time are accounted for. Needs root, and in practice a guest.
#
# usage: account.sh [TEST...]	the names of functions; all without
# FORM=short in the environment: some of them
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

# longest KIND: a run of NAPI takes no more than half a millisecond of CPU time, whatever the
# peer sends. On one CPU, as time that is spent waiting for another counts, too.
longest() {
	local kind=$1 figures=/sys/module/omerta_poll_time/parameters

	tunnel_with_c policy inline
	modprobe omerta_poll_time
	trap 'rmmod omerta_poll_time' EXIT
	on c taskset 1 ./account.py loads "$kind" "${ROUNDS:-3}" 198.51.100.1 "$PORT" "$FROM_C" "$ID_C"
	echo "# figures: $kind: $(<"$figures/polls") runs, the longest of $(<"$figures/longest") ns;" \
		"by log2(us): $(<"$figures/by_time")" >&9
	more_than 10 cat "$figures/polls"
	less_than 500000 cat "$figures/longest"
}

test_poll_long() { longest long; }
test_poll_long_forged() { longest long_forged; }
test_poll_batches() { longest batches; }
test_poll_strange() { longest strange; }
test_poll_pings() { longest pings; }
test_poll_syns() { longest syns; }
test_poll_short() { longest short; }
test_poll_empty() { longest empty; }
test_poll_stream() { longest stream; }
test_poll_forged() { longest forged; }
test_poll_mixed() { longest mixed; }
test_poll_junk() { longest junk; }

exec 9>&1
TESTS=(
	test_pinned_short test_pinned_long test_pinned_longest test_pinned_stream
	test_pinned_long_stream test_pinned_alone test_pinned_alone_long
	test_poll_long test_poll_long_forged test_poll_batches test_poll_strange
	test_poll_pings test_poll_syns test_poll_short test_poll_empty test_poll_stream
	test_poll_forged test_poll_mixed test_poll_junk
)

# A choice of each kind
[[ ${FORM:-} != short ]] ||
	TESTS=(test_pinned_long test_pinned_stream test_poll_long test_poll_batches test_poll_pings)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
