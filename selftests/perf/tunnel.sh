#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures tunnels between two namespaces against each other, in turns. Prints a
# line "CASE CONTENDER UNIT VALUE" for each run.
#
# usage: tunnel.sh RUNS SECONDS [CASE...]	a case is the name of a function without
#						"case_", with the suffix ":cut" for an outer
#						link without super-packets, ":jumbo" for one
#						with an MTU of 9000
# CONTENDERS in the environment names the tunnels; "omerta,SETTING=VALUE,..." is omerta with
# other settings of omertactl, another gso_max_size, or peer-channels=NUMBER, channels of the peer. With
# another chunk-size its MTU follows.
# shellcheck disable=SC2317 # the cases are called by name
set -eu
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=lib_perf.sh
. ./perf/lib_perf.sh

RUNS=$1 TIME=$2
shift 2
declare -A UNIT=([tcp]=MB/s [cpu]=s/GB [trip]=us [loss]=MB/s [udp]=packets/s
	[out]=packets/s [busy]=%)
# Addresses of a second peer
declare -A THIRD=([veth]=198.51.100.3 [wireguard]=10.8.0.3 [omerta]=10.9.0.3)
# Devices whose packets are counted
declare -A DEVICE=([veth]=sink [wireguard]=wg0 [omerta]=omr0)

# cpu_time busy|idle: seconds so far, of all CPUs of both ends
cpu_time() {
	local end

	for end in a ${REMOTE:+b}; do
		on "$end" cat /proc/stat
	done | awk -v "what=$1" '/^cpu / { n += what == "busy" ? $2 + $3 + $4 + $7 + $8 : $5 + $6 }
		END { print n / 100 }'
}

# busy COMMAND...: percent of all CPUs that it keeps busy
busy() {
	local busy idle

	busy=$(cpu_time busy) idle=$(cpu_time idle)
	"$@" >/dev/null
	awk -v "busy=$(cpu_time busy)" -v "idle=$(cpu_time idle)" -v "busy0=$busy" -v "idle0=$idle" \
		'BEGIN { busy -= busy0; print 100 * busy / (busy + idle - idle0) }'
}

# run_tcp ADDRESS [IPERF3-OPTION...]: leaves what iperf3 says in $DIR/result
run_tcp() {
	local server

	serve_once
	server=$!
	on a timeout "$WAIT" iperf3 -c "$1" -t "$TIME" -O 0.5 -J "${@:2}" >"$DIR/result"
	wait "$server"
}

# tcp ADDRESS [IPERF3-OPTION...]: MB/s
tcp() {
	run_tcp "$@"
	jq '.end.sum_received.bytes / .end.sum_received.seconds / 1e6' "$DIR/result"
}

case_tcp-1() { tcp "$1"; }
case_tcp-8() { tcp "$1" -P 8; }
case_tcp-8-back() { tcp "$1" -P 8 -R; }

case_tcp-both() {
	run_tcp "$1" --bidir
	jq '(.end.sum_received.bits_per_second +
		.end.sum_received_bidir_reverse.bits_per_second) / 8e6' "$DIR/result"
}

# CPU time of the machine: of both ends, and of iperf3.
case_cpu() {
	local before

	before=$(cpu_time busy)
	run_tcp "$1"
	jq --argjson before "$before" --argjson after "$(cpu_time busy)" \
		'($after - $before) / .end.sum_received.bytes * 1e9' "$DIR/result"
}

# trips ADDRESS BYTES COLUMN: microseconds, of a percentile of the round trips
trips() {
	local other

	bg b timeout "$WAIT" ./perf/pingpong 7007
	other=$!
	await listening b 7007
	on a timeout "$WAIT" ./perf/pingpong 7007 "$1" "$2" "$TIME" >"$DIR/trips"
	wait "$other"
	cut -d' ' -f "$3" "$DIR/trips"
}

case_trip-64-p50() { trips "$1" 64 1; }
case_trip-64-p99() { trips "$1" 64 2; }
case_trip-1024-p50() { trips "$1" 1024 1; }
case_trip-1024-p99() { trips "$1" 1024 2; }

# rate ADDRESS BYTES SECONDS [flood]: datagrams per second without loss to speak of; or
# that arrive of as many as can be sent
rate() {
	local other

	bg b timeout "$WAIT" ./perf/udprate 7008
	other=$!
	await listening b 7008
	on a timeout "$WAIT" ./perf/udprate 7008 "$@"
	wait "$other"
}

case_udp-64() { rate "$1" 64 0.5; }
# With 1400 none of the tunnels could send it in one piece.
case_udp-1300() { rate "$1" 1300 0.5; }
# To look at with perf
case_udp-64-flood() { rate "$1" 64 "$TIME" flood; }
case_busy-tcp-8() { busy run_tcp "$1" -P 8; }
case_busy-udp-64-flood() { busy rate "$1" 64 "$TIME" flood; }

# make_third: a second peer of a, in a namespace of its own
make_third() {
	local address

	[[ -z ${REMOTE:-} ]] || { echo "# out cases with two peers: not between hosts"; exit 1; }
	make_ns c
	make_veth a c
	make_dev c
	connect a c
	wg genkey >"$DIR/c.key"
	wg pubkey <"$DIR/c.key" >"$DIR/c.pub"
	make_wireguard c a
	on a wg set wg0 peer "$(<"$DIR/c.pub")" endpoint "$(outer4 a c):51820" \
		allowed-ips "${THIRD[wireguard]}/32"
	for address in "${THIRD[@]}"; do
		pings a "$address" >/dev/null
	done
}

sent() {
	on a ip -s -j link show "${DEVICE[${contender%%,*}]}" | jq '.[0].stats64.tx.packets'
}

# out ADDRESS BYTES SENDERS PEERS: datagrams per second of senders that are pinned to CPUs, into
# an outer link that takes all at once. There are keys already.
out() {
	local before i to
	local -a senders=()

	[[ $4 == 1 || -e /run/netns/omt-c ]] || make_third >&2
	on a ip link add sink type dummy
	on a ip link set sink up
	on a ip route add "$(outer4 a b)/32" dev sink
	[[ $4 == 1 ]] || on a ip route add "$(outer4 a c)/32" dev sink
	before=$(sent)
	for ((i = 0; i < $3; i++)); do
		to=$1
		((i % $4 == 0)) || to=${THIRD[${contender%%,*}]}
		bg a taskset -c "$((i % $(nproc)))" timeout "$WAIT" \
			./perf/udprate 7009 "$to" "$2" "$TIME" only
		senders+=($!)
	done
	wait "${senders[@]}"
	jq -n --argjson n "$(($(sent) - before))" --argjson t "$TIME" '$n / $t | round'
	on a ip link del sink
}

case_out-64() { out "$1" 64 1 1; }
case_out-1300() { out "$1" 1300 1 1; }
case_out-64-two() { out "$1" 64 2 1; }
case_out-1300-two() { out "$1" 1300 2 1; }
case_out-64-two-peers() { out "$1" 64 2 2; }
case_out-1300-two-peers() { out "$1" 1300 2 2; }

# loaded_trips ADDRESS STREAMS BYTES COLUMN: beside so many bulk streams, through an
# outer link that is the bottleneck and sends packet by packet
loaded_trips() {
	local server bulk

	on a tc qdisc replace dev "${LINK[a]}" root handle 1: \
		tbf rate 100mbit burst 16k latency 50ms
	# Without a tunnel: this machine's result with the best queue
	[[ $contender != veth ]] ||
		on a tc qdisc add dev "${LINK[a]}" parent 1: fq_codel
	serve_once
	server=$!
	bg a timeout "$WAIT" iperf3 -c "$1" -P "$2" -t "$((TIME + 2))" >/dev/null
	bulk=$!
	# The queues are full by then.
	await more_than 4000000 outer_bytes
	trips "$1" "$3" "$4"
	wait "$bulk"
	wait "$server"
	on a tc qdisc del dev "${LINK[a]}" root
}

# One is kept short by TCP itself, as the sender is on the same machine.
case_trip-64-p50-loaded() { loaded_trips "$1" 1 64 1; }
case_trip-64-p99-loaded() { loaded_trips "$1" 1 64 2; }
case_trip-1024-p50-loaded() { loaded_trips "$1" 1 1024 1; }
case_trip-1024-p99-loaded() { loaded_trips "$1" 1 1024 2; }
case_trip-64-p99-loaded-8() { loaded_trips "$1" 8 64 2; }

outer_bytes() {
	on a tc -s -j qdisc show dev "${LINK[a]}" | jq '.[0].bytes'
}

# tbf cuts super-packets, so that all lose single datagrams; netem would lose them whole.
case_loss() {
	on a tc qdisc replace dev "${LINK[a]}" root handle 1: tbf rate 30gbit burst 2k limit 64mb
	on a tc qdisc add dev "${LINK[a]}" parent 1:1 netem delay 5ms loss 1% limit 10000
	on b tc qdisc replace dev "${LINK[b]}" root netem delay 5ms limit 10000
	tcp "$1"
	on a tc qdisc del dev "${LINK[a]}" root
	on b tc qdisc del dev "${LINK[b]}" root
}

setup >&2
for name; do
	[[ $name != *:cut ]] || cut_outer off
	[[ $name != *:jumbo ]] || widen 9000
	for ((i = 0; i < RUNS; i++)); do
		for contender in $CONTENDERS; do
			settle "$contender"
			value=$("case_${name%:*}" "${ADDRESS[${contender%%,*}]}")
			echo "$name $contender ${UNIT[${name%%[-:]*}]} $value"
		done
	done
	[[ $name != *:cut ]] || cut_outer on
	[[ $name != *:jumbo ]] || widen 1500
done
