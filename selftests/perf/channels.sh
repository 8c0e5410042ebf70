#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures what two channels bring over one: two senders over one, and records that arrive on two
# CPUs over those that arrive on one; policy auto over inline with one sender; and the memory of peers
# without channels. Prints a line "CASE CONTENDER UNIT VALUE" for each run; the contenders, such as
# "one" and "two", take turns.
#
# usage: channels.sh RUNS SECONDS [CASE...]	a case is the name of a function without "case_"
# shellcheck disable=SC2317 # the cases are called by name
set -eu
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=../lib_netns.sh
. ./lib_netns.sh

RUNS=$1 TIME=$2
shift 2
DIR=$(mktemp -d)
# Peers of which one costs so much memory
PEERS=10000
# Records to be injected, of each source
RECORDS=100000
# Numbers of a second channel's keys are greater by this.
SECOND=128

# near NS: packets of a CPU go to the queue of its number.
near() {
	local cpu

	for cpu in 0 1; do
		on "$1" tee "/sys/class/net/omr0/queues/tx-$cpu/xps_cpus" <<<$((1 << cpu))
	done
}

sent() {
	on a ip -s -j link show omr0 | jq '.[0].stats64.tx.packets'
}

# out SENDERS PEERS BYTES HOW: packets per second of senders that are pinned to CPUs, into an outer
# link that takes all at once
out() {
	local before i to=(10.9.0.2 10.9.0.3)
	local -a senders=()

	on a ip link add sink type dummy
	on a ip link set sink up
	on a ip route add "$(outer4 a b)/32" dev sink
	on a ip route add "$(outer4 a c)/32" dev sink
	before=$(sent)
	for ((i = 0; i < $1; i++)); do
		bg a taskset -c "$i" timeout "$WAIT" \
			./perf/udprate 7009 "${to[$((i % $2))]}" "$3" "$TIME" "$4"
		senders+=($!)
	done
	wait "${senders[@]}"
	jq -n --argjson n "$(($(sent) - before))" --argjson t "$TIME" '$n / $t | round'
	on a ip link del sink
}

case_out-64() { out "$1" 1 64 only; }
case_out-1300() { out "$1" 1 1300 only; }
case_out-super() { out "$1" 1 1300 super; }
case_out-64-peers() { out "$1" 2 64 only; }
case_out-1300-peers() { out "$1" 2 1300 only; }
case_out-super-peers() { out "$1" 2 1300 super; }

# alone POLICY BYTES HOW: one sender
alone() {
	on a omertactl link set omr0 policy "$1"
	out 1 1 "$2" "$3"
	on a omertactl link set omr0 policy inline
}

case_alone-64() { alone "$1" 64 only; }
case_alone-1300() { alone "$1" 1300 only; }
case_alone-super() { alone "$1" 1300 super; }

# kB for each of many peers that are never heard of
case_memory() {
	local before

	python3 -c '
import base64, os, sys
for i in range(int(sys.argv[1])):
    key = base64.b64encode(os.urandom(32)).decode()
    print(f"[Peer]\nPublicKey = {key}\nAllowedIPs = 10.{64 + (i >> 16)}.{i >> 8 & 255}.{i & 255}/32")
' "$PEERS" >"$DIR/peers.conf"
	on a ip link add omr1 numtxqueues 2 numrxqueues 2 type omerta channels 2
	before=$(kernel_kb)
	on a omertactl setconf omr1 "$DIR/peers.conf"
	jq -n --argjson kb "$(($(kernel_kb) - before))" --argjson n "$PEERS" '$kb / $n'
	on a ip link del omr1
}

# forget HERE THERE: deletes the key before this one.
forget() {
	on "$1" omertactl key del omr0 peer "${NUM[$2]}" \
		local-id "$((NUM[$1] * 4096 + NUM[$2] * 256 + GEN - 1))"
}

# confirmed HERE THERE: succeeds if the key is confirmed. Before, a further channel carries nothing.
confirmed() {
	on "$1" omertactl -j key show omr0 peer "${NUM[$2]}" |
		jq -e --argjson id "$((NUM[$1] * 4096 + NUM[$2] * 256 + GEN))" \
			'.[] | select(."local-id" == $id) | .confirmed' >/dev/null
}

# new_key HERE CHANNEL: replaces the key of HERE and b.
new_key() {
	local GEN=$((GEN + $2 * SECOND))
	local -a channel=()

	(($2 == 0)) || channel=(channel "$2")
	install_key "$1" b "${channel[@]}"
	install_key b "$1" "${channel[@]}"
	activate b "$1"
	(($2 == 0)) || await confirmed "$1" b
	activate "$1" b
	(($2 == 0)) || await confirmed b "$1"
	forget "$1" b
	forget b "$1"
}

# sink HERE: all that goes to b ends in a device, datagram by datagram, and whole.
sink() {
	on "$1" ip link add sink type dummy
	on "$1" ethtool -K sink tx-udp-segmentation off tx-checksum-ip-generic off >/dev/null
	on "$1" ip link set sink up
	on "$1" ip route add "$(outer4 "$1" b)/32" dev sink
}

# record HERE BYTES CHANNEL: keeps records of HERE to b
record() {
	local taker sender

	bg "$1" ./perf/inject take sink "$RECORDS" "$DIR/$1.$3.records" >"$DIR/taker"
	taker=$!
	await grep -q ready "$DIR/taker"
	bg "$1" taskset -c "$3" ./perf/udprate 7009 10.9.0.2 "$2" "$WAIT" only
	sender=$!
	wait "$taker"
	kill "$sender"
	wait "$sender" || :
}

received() {
	on b ip -s -j link show omr0 | jq '.[0].stats64.rx.packets'
}

# no_more: nothing has been received since the last call
no_more() {
	local last=${seen:-}

	seen=$(received)
	[[ $seen == "$last" ]]
}

second_channel() {
	on a omertactl -j peer show omr0 peer b | jq -r '.[0]."further-channels"[0].state'
}

# take_in BYTES END.CHANNEL...: packets per second that b delivers of records that arrive on a CPU for each
# such source
take_in() {
	local bytes=$1 from before mac i=0 seen='' end ends
	local -a injectors=()

	shift
	ends=$(printf '%s\n' "${@%.*}" | uniq)
	for from; do
		GEN=$(($(<"$DIR/gen-$from") + 1))
		echo "$GEN" >"$DIR/gen-$from"
		new_key "${from%.*}" "${from#*.}" >&2
	done
	# Until then the first one carries all.
	await is open second_channel
	# Nothing later comes to b, which would make these records old.
	for end in $ends; do
		sink "$end"
	done
	for from; do
		record "${from%.*}" "$bytes" "${from#*.}" >&2
	done
	before=$(received)
	for from; do
		mac=$(on b cat "/sys/class/net/to_${from%.*}/address")
		bg "${from%.*}" taskset -c "$i" ./perf/inject send to_b "$mac" "$DIR/$from.records" \
			>"$DIR/$from.time"
		injectors+=($!)
		await grep -q ready "$DIR/$from.time"
		i=$((i + 1))
	done
	pkill -USR1 -f '^./perf/inject send'
	wait "${injectors[@]}"
	await no_more
	for end in $ends; do
		on "$end" ip link del sink
	done
	# Losses would look like slowness.
	less_than 100 echo "$((before + $# * RECORDS - seen))" >&2
	# The later of them
	for from; do
		sed 1d "$DIR/$from.time"
	done | jq -s --argjson n "$((seen - before))" '$n / max | round'
}

# in_peers BYTES SOURCES: the records of a peer each
in_peers() {
	local -a from=(a.0 c.0)

	take_in "$1" "${from[@]:0:$2}"
}

# in_one_peer BYTES SOURCES: the records of a channel each, of one peer
in_one_peer() {
	local -a from=(a.0 a.1)

	take_in "$1" "${from[@]:0:$2}"
}

case_in-64() { in_peers 64 "$1"; }
case_in-1300() { in_peers 1300 "$1"; }
case_in-64-peer() { in_one_peer 64 "$1"; }
case_in-1300-peer() { in_one_peer 1300 "$1"; }

setup() {
	local end

	(($(nproc) > 1)) || { echo "# SKIP one CPU only"; exit 4; }
	make_ns a b c
	make_veth a b
	make_veth a c
	make_veth c b
	for end in a b c; do
		make_dev "$end" policy inline channels 2
	done
	connect a b
	connect a c
	make_peer b c
	make_peer c b
	install_key b c
	install_key c b
	activate b c
	activate c b
	near a
	near c
	# A second channel of one peer
	on a omertactl peer set omr0 id 2 channels 2
	on b omertactl peer set omr0 id 1 channels 2
	(
		GEN=$((GEN + SECOND))
		install_key a b channel 1
		install_key b a channel 1
		activate b a
		await confirmed a b
		activate a b
		await confirmed b a
	)
	# A channel is silent if nothing comes while its records are kept.
	on b omertactl peer set omr0 id 1 keepalive 1
	# By a run, in a process of its own
	echo 1 | tee "$DIR"/gen-{a.0,a.1,c.0}
	# Delivery costs as little as can be.
	on b iptables -t raw -A PREROUTING -i omr0 -j DROP -p udp
	pings a 10.9.0.2
	pings a 10.9.0.3
}

setup >"$DIR/log" 2>&1 || { cat "$DIR/log"; exit 1; }
for name; do
	unit=packets/s
	case $name in
	alone-*) contenders='inline auto' ;;
	memory) contenders=omerta unit=kB/peer ;;
	*) contenders='one two' ;;
	esac
	for ((i = 0; i < RUNS; i++)); do
		for contender in $contenders; do
			argument=$contender spin=''
			case $contender in
			one)
				# User-mode Linux is slow beside an idle CPU of its own, probably as each
				# system call then wakes a CPU of the host.
				taskset -c 1 sh -c 'while :; do :; done' &
				argument=1 spin=$!
				;;
			two) argument=2 ;;
			esac
			value=$("case_$name" "$argument")
			[[ -z $spin ]] || { kill "$spin"; wait "$spin" || :; }
			echo "$name $contender $unit $value"
		done
	done
done
