#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Counts instructions of tunnels between two namespaces, on a machine whose clock
# counts them (run.sh -n). Prints a line "CASE CONTENDER UNIT VALUE" each.
#
# usage: count.sh [CASE...]	like tunnel.sh. In the environment:
#   BYTES	length of "bulk"
#   ANNOUNCE	yes: a line "begin CASE CONTENDER" before each run, and symbols in /root/out
# shellcheck disable=SC2317 # the cases are called by name
set -eu
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=lib_perf.sh
. ./perf/lib_perf.sh

declare -A UNIT=([bulk]=insn/B [cipher]=insn/B [packet]=insn/packet
	[packet-1300]=insn/packet [packet-read]=insn/packet [trip]=insn/trip)
BYTES=${BYTES:-$((256 << 20))} PACKETS=4000 TRIPS=20000
# QEMU takes a moment to follow.
[[ -z ${ANNOUNCE:-} ]] || PACKETS=16000

# Nanoseconds that the only CPU has not been idle
ran() {
	awk '$1 == "cpu0" { print $8 }' /proc/schedstat
}

# spent COMMAND...: nanoseconds, that is instructions
spent() {
	local start

	[[ -z ${ANNOUNCE:-} ]] || echo "begin $name $contender" >&2
	start=$(ran)
	"$@" >"$DIR/result"
	echo $(($(ran) - start))
}

client() {
	on a timeout "$WAIT" iperf3 -J -c "$@"
}

# counted ADDRESS OPTION NUMBER [OPTION...]: per unit of what OPTION gives iperf3,
# without what a run costs whatever its length
counted() {
	local few many server

	serve_once
	server=$!
	few=$(spent client "$1" "${@:4}" "$2" "$(($3 / 4))")
	wait "$server"
	serve_once
	server=$!
	many=$(spent client "$1" "${@:4}" "$2" "$3")
	wait "$server"
	awk -v "i=$((many - few))" -v "n=$(($3 - $3 / 4))" 'BEGIN { print i / n }'
}

# cost LENGTH CHUNK-SIZE PAYLOAD: instructions to seal and open such a TCP packet
cost() {
	# Not with modprobe, which would remove omerta too.
	rmmod omerta_cost 2>/dev/null || :
	dmesg -C
	modprobe omerta_cost
	dmesg | awk -v "l=$1" -v "s=$2" -v "p=$3" \
		'/omerta_cost:/ && $(NF - 2) == l && $(NF - 1) == s { print $NF / p; found = 1 }
		 END { exit !found }'
}

# The cipher's part of "bulk": both have their default MTU.
case_cipher() {
	case $contender in
	omerta) cost 1388 512 1336 ;;
	wireguard) cost 1424 1424 1368 ;;
	esac
}

case_bulk() { counted "$1" -n "$BYTES"; }
# datagrams ADDRESS BYTES: per datagram that arrives. Their reader is not woken by them: it reads
# them all in the end.
datagrams() {
	local number server
	local -a insns=() numbers=()

	for number in $((PACKETS / 4)) "$PACKETS"; do
		bg b timeout "$WAIT" ./perf/udprate 7008 later
		server=$!
		await listening b 7008
		insns+=("$(spent on a timeout "$WAIT" ./perf/udprate 7008 "$1" "$2" "$number" exactly)")
		wait "$server"
		numbers+=("$(<"$DIR/result")")
	done
	awk -v "i=$((insns[1] - insns[0]))" -v "n=$((numbers[1] - numbers[0]))" \
		'BEGIN { print i / n }'
}

case_packet() { datagrams "$1" 64; }
case_packet-1300() { datagrams "$1" 1300; }
# With a reader that is woken for them
case_packet-read() { counted "$1" -k "$PACKETS" -u -l 64 -b 0; }

# Round trips one after the other: none of their packets waits for another, so no two
# are ever sent or received together.
case_trip() {
	local few many

	few=$(spent on a ping -qfc "$((TRIPS / 4))" "$1")
	many=$(spent on a ping -qfc "$TRIPS" "$1")
	awk -v "i=$((many - few))" -v "n=$((TRIPS - TRIPS / 4))" 'BEGIN { print i / n }'
}

setup >&2
[[ -z ${ANNOUNCE:-} ]] || cat /proc/kallsyms >/root/out/symbols
for name; do
	[[ $name != *:cut ]] || cut_outer off
	for contender in $CONTENDERS; do
		settle "$contender"
		value=$("case_${name%:cut}" "${ADDRESS[${contender%%,*}]}")
		[[ -z $value ]] || echo "$name $contender ${UNIT[${name%:cut}]} $value"
	done
	[[ $name != *:cut ]] || cut_outer on
done
