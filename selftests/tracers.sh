#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# tracers.sh: the scripts for bpftrace and drgn, and perf, on a tunnel of the newest stock kernel.
# Prints KTAP.
#
# usage: tracers.sh		here; the guest gets the tools
#        tracers.sh guest	in the guest
# shellcheck disable=SC2317,SC2119 # the tests are called by name, make_both without arguments
set -u
cd "$(dirname "$0")" || exit 1

here() {
	# shellcheck source=vm/lib.sh
	. vm/lib.sh

	set -e
	prepare_guest newest amd64
	# LLVM is large.
	MORE_PACKAGES="bpftrace linux-perf python3-drgn" "$VM_DIR/run.sh" -k newest -a amd64 -m 3G -t 1800 \
		-o "${OUT:-$TOP_DIR/build}/tracers-guest" -- './tracers.sh guest'
}

if [[ ${1:-} != guest ]]; then
	here
	exit
fi

# shellcheck source=lib_netns.sh
. ./lib_netns.sh
WAIT=60
mount -t tracefs tracefs /sys/kernel/tracing
modprobe omerta

# attached PID SCRIPT: bpftrace has opened a perf event for each probe, and one for each CPU's output.
attached() {
	local probes

	probes=$(grep -c '^tracepoint:' "../tracing/$2")
	more_than $((probes + $(nproc) - 1)) eval "ls -l /proc/$1/fd | grep -c perf_event"
}

# watched SCRIPT COMMAND...: runs the command under the script, whose output is in $DIR/watched
watched() {
	local pid

	bpftrace -o "$DIR/watched" "../tracing/$1" 2>"$DIR/said" &
	pid=$!
	await attached "$pid" "$1"
	"${@:2}"
	# It reads what the kernel still has.
	kill -INT "$pid"
	wait "$pid" || { cat "$DIR/said"; return 1; }
	cat "$DIR/watched"
}

some_traffic() {
	pings a 10.9.0.2
	copy a b 10.9.0.2 100000
}

test_latency() {
	local name

	make_both
	watched omerta-latency.bt some_traffic
	for name in queue seal_and_order open; do
		grep -A1 "^@$name:" "$DIR/watched" | grep -q '^\[.*|@*'
	done
	grep -q '^@cipher_seal_ns\[mb-sse2\]: count [1-9]' "$DIR/watched"
	grep -q '^@cipher_open_ns\[mb-sse2\]: count [1-9]' "$DIR/watched"
	# Nothing but results
	refused grep -E '^@(take|assign|receive)' "$DIR/watched"
}

no_answers() {
	on a ping -c 3 -i 0.1 -W 0.1 10.9.0.77 || :
	await is 3 dev_stat a tx-drop-no-peer
}

test_drops() {
	make_both
	watched omerta-drops.bt no_answers
	grep -qE '^@drops\[omr0, 22, [a-z_]+\+?.*\]: 3$' "$DIR/watched"
}

fill_link() {
	on a ./traffic.py send 10.9.0.2 7777 300 1200
	await eval "on a tc -s qdisc show dev omr0 | grep -q 'backlog 0b 0p'"
}

test_queue() {
	make_both
	on a tc qdisc add dev to_b root tbf rate 2mbit burst 3000 limit 1mb
	watched omerta-queue.bt fill_link
	grep -qE '^@stops\[omr0, 0\]: [1-9]' "$DIR/watched"
	grep -q '^@stopped_us\[0\]:' "$DIR/watched"
}

# perf records the same events, and omerta-follow reads them.
test_perf() {
	make_both
	(cd "$DIR" && perf record -q -a -e 'omerta:*' -o "$DIR/perf" -- \
		ip netns exec omt-a ping -c 3 -i 0.2 10.9.0.2)
	perf script -i "$DIR/perf" >"$DIR/script" 2>"$DIR/said"
	grep -q 'omerta:omerta_tx_seal: dev=omr0 ' "$DIR/script"
	../tracing/omerta-follow "$DIR/script" >"$DIR/followed"
	cat "$DIR/followed"
	is 6 awk 'NR > 1 && NF == 9 && !/ - / { n++ } END { print n }' "$DIR/followed"
	perf trace -a -e 'omerta:omerta_tx_send' -- ip netns exec omt-a ping -c 2 -i 0.2 10.9.0.2 \
		>"$DIR/ping" 2>"$DIR/traced"
	more_than 1 grep -c 'omerta:omerta_tx_send' "$DIR/traced"
}

waits() {
	../tracing/omerta-waits >"$DIR/waits" 2>"$DIR/said" || { cat "$DIR/said"; return 1; }
	cat "$DIR/waits"
}

# A slow link, and a peer without a key
test_waits() {
	make_both
	waits
	is 2 grep -c '^omr0 in namespace [0-9]*: registered, [0-9]* references$' "$DIR/waits"
	is 2 grep -c '^  queue 0: runs; 0 packets in its qdisc, 0 bytes in flight$' "$DIR/waits"
	refused grep -E 'peer|locked' "$DIR/waits"

	on a tc qdisc add dev to_b root tbf rate 100kbit burst 3000 limit 1mb
	on a ./traffic.py send 10.9.0.2 7777 300 1200
	waits
	grep -qE '^  queue [0-9]: stopped by byte queue limits; [1-9][0-9]* packets .* [1-9][0-9]* bytes in' \
		"$DIR/waits"
	on a tc qdisc del dev to_b root

	make_ns c
	make_veth a c
	make_peer a c
	on a ping -c 3 -i 0.1 -W 0.1 10.9.0.3 || :
	waits
	grep -A2 '^  peer 3 (c): 1 references$' "$DIR/waits" | grep -q '^    3 packets, [0-9]* bytes: tx no key$'
	grep -q '^    no active key$' "$DIR/waits"

	# No other user can read a file in /root.
	refused setpriv --reuid 65534 python3 /dev/stdin <../tracing/omerta-waits 2>"$DIR/said"
	grep -q "^omerta-waits: cannot read the kernel's memory: run it as root" "$DIR/said"
	refused ../tracing/omerta-waits /no/such/file 2>"$DIR/said"
	grep -q '^omerta-waits: /no/such/file is missing' "$DIR/said"
}

run_tests test_latency test_drops test_queue test_perf test_waits
