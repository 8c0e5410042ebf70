#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Each loss is in one counter. Needs root, and in practice a guest.
#
# usage: losses.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2119 # the tests are called by name, make_both without arguments
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# drops NS: all that its device received in vain, and what found no socket
drops() {
	local sum name stats

	sum=$(on "$1" nstat -asz UdpNoPorts | awk '$1 == "UdpNoPorts" { print $2 }')
	stats=$(on "$1" omertactl -j stats omr0)
	for name in type checksum socket down; do
		sum=$((sum + $(member "$stats" "rx-drop-$name")))
	done
	echo "$sum"
}

# statistic NS NAME: one that "ip -s link" shows
statistic() {
	on "$1" cat "/sys/class/net/omr0/statistics/$2"
}

# send_some: 500 datagrams that are no records, to b
send_some() {
	on a taskset 1 ./traffic.py send 192.0.2.2 51900 500 400
}

# Also super-packets, which the kernel counts as one.
test_full_socket() {
	local sent

	make_both
	starve_napi b
	sent=$(on a taskset 1 ./traffic.py send-mixed 192.0.2.2 51900)
	kill -9 "$SPINNER"
	await is "$sent" drops b
	more_than 1000 dev_stat b rx-drop-socket
	more_than 1000 dev_stat b rx-drop-type
	is "$(dev_stat b rx-drop-socket)" statistic b rx_missed_errors
	is "$(dev_stat b rx-drop-type)" statistic b rx_dropped
}

# begin_sender PORT...: from a to b; end_sender waits until all is counted.
begin_sender() {
	bg a ./traffic.py send-until-killed 192.0.2.2 "$@" >"$DIR/sent"
	FLOOD=$!
	await more_than 0 dev_stat b rx-drop-type
}

end_sender() {
	kill "$FLOOD"
	wait "$FLOOD"
	await is "$(cat "$DIR/sent")" drops b
}

test_other_ports() {
	local i

	make_both
	# Datagrams for the port that is not open find no socket.
	begin_sender 51900 51901
	for ((i = 1; i <= 20; i++)); do
		on b omertactl link set omr0 listen-port $((51900 + i % 2))
	done
	end_sender
}

# Even what waits when the port changes is received.
test_taken_over() {
	make_both
	starve_napi b
	send_some
	on b taskset 1 omertactl link set omr0 listen-port 51901
	kill -9 "$SPINNER"
	await is 500 dev_stat b rx-drop-type
}

test_down() {
	local down

	make_both
	starve_napi b
	send_some
	bg b taskset 1 ip link set omr0 down
	down=$!
	await is 500 statistic b rx_dropped
	kill -9 "$SPINNER"
	wait "$down"
	is 500 dev_stat b rx-drop-down
}

test_down_and_up() {
	local i

	make_both
	begin_sender 51900
	for ((i = 0; i < 20; i++)); do
		on b ip link set omr0 down
		on b ip link set omr0 up
	done
	end_sender
}

# Drop monitors see what was received in vain, and not what was received.
test_drop_monitor() {
	local trace=/sys/kernel/tracing

	[[ -e $trace/events ]] || mount -t tracefs none "$trace" || :
	[[ -e $trace/events/skb/kfree_skb ]] || { echo "SKIP no tracepoint kfree_skb"; exit 4; }
	make_both
	echo 1 >"$trace/events/skb/kfree_skb/enable"
	echo >"$trace/trace"
	pings a 10.9.0.2
	is 0 dropped
	on a ./traffic.py bad-records 192.0.2.2 $((2 * 4096 + 1 * 256 + GEN))
	await is 5 dev_stat b rx-drop-type
	await is 5 dev_stat b rx-drop-auth
	await is 10 dropped
	echo 0 >"$trace/events/skb/kfree_skb/enable"
}

# dropped: IPv4 packets that drop monitors were told of; but for answers to ping, which has a
# raw socket
dropped() {
	grep 'kfree_skb:.* protocol=2048 ' /sys/kernel/tracing/trace | grep -vc NO_SOCKET || :
}

# Without a qdisc nothing can wait: a sender gets no error, and what is too much is dropped.
test_noqueue() {
	make_both
	on a tc qdisc replace dev omr0 root noqueue
	on a tc qdisc replace dev to_b root tbf rate 8kbit burst 64k limit 32mb
	on a ./traffic.py send 10.9.0.2 9 5000 1300
	more_than 100 dev_stat a tx-drop-queue
	# shellcheck disable=SC2016 # expanded inside
	is 5000 eval 'echo $(($(dev_stat a tx-packets) + $(dev_stat a tx-drop-queue)))'
	is "$(dev_stat a tx-drop-queue)" statistic a tx_dropped
	refused eval "dmesg | grep 'asks to queue packet'"
	on a tc qdisc del dev to_b root
	pings a 10.9.0.2
}

TESTS=(
	test_full_socket test_other_ports test_taken_over test_down test_down_and_up test_drop_monitor
	test_noqueue
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
