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
	local kind=$1 bytes=$((16 << 20)) free keeper sender charged

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
	await less_than $((2 * charged + 4096)) mem_used "$free"
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
# peer sends. On one CPU, as time that is spent waiting for another counts, too. So does time
# that the host's own host takes: it makes one in thousands of runs longer, and one in a hundred
# may be. Without the limit it is most of them.
longest() {
	local kind=$1 figures=/sys/module/omerta_poll_time/parameters runs by_time longer

	tunnel_with_c policy inline
	modprobe omerta_poll_time
	trap 'rmmod omerta_poll_time' EXIT
	on c taskset 1 ./account.py loads "$kind" "$ROUNDS" 198.51.100.1 "$PORT" "$FROM_C" "$ID_C"
	runs=$(<"$figures/polls")
	IFS=, read -ra by_time <"$figures/by_time"
	# 512 us and more
	longer=$((by_time[10] + by_time[11] + by_time[12] + by_time[13] + by_time[14] + by_time[15]))
	echo "# figures: $kind: $runs runs, the longest of $(<"$figures/longest") ns;" \
		"by log2(us): ${by_time[*]}" >&9
	more_than 10 echo "$runs"
	less_than $((runs / 100 + 1)) echo "$longer"
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

ROUNDS=${ROUNDS:-3}

# A choice of each kind
[[ ${FORM:-} != short ]] || {
	ROUNDS=1
	TESTS=(test_pinned_long test_pinned_stream test_poll_long test_poll_batches test_poll_pings)
}

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
