#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures a peer with two channels over one with one, through a bond of two shaped links. Prints a
# line "CASE CONTENDER UNIT VALUE" for each run; the contenders, "one" and "two" channels, take turns.
# The kernel has the bonding driver.
#
# usage: bond.sh RUNS SECONDS
set -eu
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=../lib_netns.sh
. ./lib_netns.sh

RUNS=$1 TIME=$2
DIR=$(mktemp -d)
# Far below what the machine can seal
RATE=20mbit
# The bond's hash is of the source port xor the destination port, without its lowest bit: the second
# channel takes the other link if the two differ in the second bit.
declare -A CHANNEL_PORT=([a]=52000 [b]=52002)

make_bond() {
	local here=$1 there=$2 i

	on "$here" ip link add "to_$there" type bond mode balance-xor xmit_hash_policy layer3+4
	for i in 0 1; do
		on "$here" ip link set "link$i" master "to_$there"
		on "$here" ip link set "link$i" up
		on "$here" tc qdisc add dev "link$i" root tbf rate "$RATE" burst 16k latency 50ms
	done
	set_outer "$here" "$there"
}

# make_tunnel DEV PORT IN4 IN6 CHANNELS
make_tunnel() {
	local DEV=$1 PORT=$2 IN4=$3 IN6=$4 here there

	for here in a b; do
		on "$here" ip link add "$DEV" numtxqueues 2 numrxqueues 2 type omerta listen-port "$PORT" \
			channels 2 channel-port "$((CHANNEL_PORT[$here] + PORT - 51900))"
		set_inner "$here"
	done
	connect a b
	(($5 == 2)) || return 0
	for here in a b; do
		there=${here/a/2}
		there=${there/b/1}
		on "$here" omertactl peer set "$DEV" id "$there" channels 2
	done
	GEN=17 install_key a b channel 1
	GEN=17 install_key b a channel 1
	GEN=17 activate b a
	GEN=17 activate a b
	await second_open a
	await second_open b
}

second_open() {
	[[ $(on "$1" omertactl -j peer show omr1 | jq -r '.[0]."further-channels"[0].state') == open ]]
}

setup() {
	local i

	make_ns a b
	for i in 0 1; do
		ip link add "link$i" netns omt-a type veth peer name "link$i" netns omt-b
	done
	make_bond a b
	make_bond b a
	make_tunnel omr0 51900 10.9.0. fd09:: 1
	make_tunnel omr1 51908 10.8.0. fd08:: 2
	pings a 10.9.0.2
	pings a 10.8.0.2
}

# rate ADDRESS: MB/s of many streams
rate() {
	bg b timeout "$WAIT" iperf3 -s -1 >/dev/null
	await listening b 5201
	on a timeout "$WAIT" iperf3 -c "$1" -P 16 -t "$TIME" -O 1 -J >"$DIR/result"
	wait
	jq '.end.sum_received.bytes / .end.sum_received.seconds / 1e6' "$DIR/result"
}

setup >"$DIR/log" 2>&1 || { cat "$DIR/log"; exit 1; }
for ((i = 0; i < RUNS; i++)); do
	echo "bond one MB/s $(rate 10.9.0.2)"
	echo "bond two MB/s $(rate 10.8.0.2)"
done
