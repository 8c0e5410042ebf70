#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Measures devices with many peers, omerta's and WireGuard's in turns. Prints a line
# "CASE CONTENDER UNIT VALUE" for each run.
#
# usage: many.sh RUNS SECONDS PEERS [CASE...]	SECONDS for each load; a case is the name of a
#						function without "case_"
# Namespace a has the device, b all its peers: see tools/omertactl/tests/swarm.c.
# WIREGUARD_MAX in the environment: with more peers omerta is measured alone.
# shellcheck disable=SC2317 # the cases are called by name
set -eu
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
# shellcheck source=../lib_agent.sh
. ./lib_agent.sh

RUNS=$1 TIME=$2 PEERS=$3
shift 3
DIR=$(mktemp -d)
SWARM=./perf/swarm
HOST=192.0.2.1 PEERS_NET=10.64.0.0/10

set_up() {
	modprobe omerta
	modprobe -q wireguard || :
	make_ns a b
	make_veth a b
	on b ip route add local "$PEERS_NET" dev lo
	on a ip route add "$PEERS_NET" via 192.0.2.2
	(umask 077 && omertactl genkey >"$DIR/a.key")
	omertactl pubkey <"$DIR/a.key" >"$DIR/a.pub"
	printf '[Interface]\nListenPort = %s\nPrivateKey = %s\n\n' "$PORT" "$(<"$DIR/a.key")" |
		(umask 077 && cat - <("$SWARM" config "$PEERS") >"$DIR/omr0.conf")
	# For agent()
	ln -s omr0.conf "$DIR/a.conf"
	printf '[Interface]\nListenPort = %s\n' "$PORT" >"$DIR/empty.conf"
	python3 -c '
import os, struct, sys
for _ in range(1000):
    data = b"OMR\x20" + os.urandom(148)
    sys.stdout.buffer.write(struct.pack(">H", len(data)) + data)' >"$DIR/junk"
	# Handshakes of hosts that are none of its peers
	"$SWARM" strangers "$(<"$DIR/a.pub")" "$PEERS" 1000 >"$DIR/strangers"
}

# timed COMMAND...: ms
timed() {
	local from=$EPOCHREALTIME

	"$@" >/dev/null
	awk "BEGIN { print ($EPOCHREALTIME - $from) * 1000 }"
}

declare -A TYPE=([omerta]=omerta [wireguard]=wireguard) NAME=([omerta]=omr0 [wireguard]=wg0)

# tool CONTENDER ARGUMENT...
tool() {
	if [[ $1 == omerta ]]; then
		on a omertactl "${@:2}"
	else
		on a wg "${@:2}"
	fi
}

add() { on a ip link add "${NAME[$1]}" type "${TYPE[$1]}"; }
remove() { on a ip link del "${NAME[$1]}"; }
filled() {
	add "$1"
	tool "$1" setconf "${NAME[$1]}" "$DIR/omr0.conf"
}

# ran: CPU time of the agent in ms, by its own clock, since ticks may miss short runs
ran() {
	python3 -c 'import sys, time; print(time.clock_gettime(~int(sys.argv[1]) << 3 | 2) * 1e3)' \
		"${AGENT[a]}"
}

# of_cpu COMMAND...: percent of a CPU that the agent takes while the command runs
of_cpu() {
	local before from=$EPOCHREALTIME

	before=$(ran)
	"$@" >/dev/null
	awk "BEGIN { print ($(ran) - $before) / 10 / ($EPOCHREALTIME - $from) }"
}

only_omerta() {
	[[ $1 == omerta ]] || return 77
}

# The cases: each is for one contender, and prints values; 77 for one that has no such thing
declare -A UNIT=(
	[check]=ms [setconf]=ms [setconf-again]=ms [syncconf]=ms [syncconf-again]=ms [show]=ms
	[delete]=ms [link-delete]=ms [memory]=kB/peer [up]=ms [agent-start]=ms
	[agent-memory]=kB/peer [agent-idle]=% [agent-junk]=% [agent-strangers]=%
	[rekey-answer]=% [rekey-begin]=% [answer-p50]=ms [answer-longest]=ms
	[answer-longest-20]=ms
)

# value CASE CONTENDER VALUE
value() {
	[[ $3 ]] || { echo "$1: no value" >&2; return 1; }
	echo "$1-$PEERS $2 ${UNIT[$1]} $3"
}

# A device's life, as WireGuard's takes long to fill and to empty
case_life() {
	local dev=${NAME[$1]} file=$DIR/omr0.conf before took

	add "$1"
	before=$(kernel_kb)
	took=$(timed tool "$1" setconf "$dev" "$file")
	value setconf "$1" "$took"
	value memory "$1" "$(awk "BEGIN { print ($(kernel_kb) - $before) / $PEERS }")"
	value show "$1" "$(timed tool "$1" showconf "$dev")"
	value syncconf-again "$1" "$(timed tool "$1" syncconf "$dev" "$file")"
	value setconf-again "$1" "$(timed tool "$1" setconf "$dev" "$file")"
	value delete "$1" "$(timed tool "$1" syncconf "$dev" "$DIR/empty.conf")"
	value syncconf "$1" "$(timed tool "$1" syncconf "$dev" "$file")"
	# It takes 40 ms for each.
	[[ $1 == omerta ]] || ((PEERS <= 1000)) || tool "$1" setconf "$dev" "$DIR/empty.conf"
	took=$(timed remove "$1")
	if [[ $1 == omerta ]] || ((PEERS <= 1000)); then
		value link-delete "$1" "$took"
	fi
}

case_check() {
	only_omerta "$1"
	value check "$1" "$(timed omertactl check "$DIR/omr0.conf")"
}

case_up() {
	only_omerta "$1"
	value up "$1" "$(timed on a omertactl up "$DIR/omr0.conf")"
	on a omertactl down "$DIR/omr0.conf"
}

# flooded FILE: 900 a second from anywhere
flooded() {
	on b ./flood "$1" "$HOST" "$PORT" 900 "$TIME" random
}

# The device's peers begin all of their handshakes in 120 s, evenly.
swarm_begins() {
	local rate=$(((PEERS + 119) / 120))

	on b "$SWARM" begin "$(<"$DIR/a.pub")" "$HOST" "$PORT" "$PEERS" "$rate" "$TIME" \
		>"$DIR/begun"
	[[ $(<"$DIR/begun") == "$((rate * TIME)) of $((rate * TIME)) "* ]] ||
		{ echo "not all were answered: $(<"$DIR/begun")" >&2; return 1; }
}

# begun COLUMN: column of the swarm's output, in ms
begun() {
	awk "{ print \$$1 / 1000 }" "$DIR/begun"
}

new_keys() {
	((PEERS == $(on a omertactl -j key show omr0 |
		jq 'map(select(.state == "active" and .age < '$((SECONDS - BEGAN + 1))'000)) | length')))
}

# An agent's
case_agent() {
	local before swarm

	only_omerta "$1"
	filled omerta
	on a ip link set omr0 up
	timed agent a >"$DIR/took"
	value agent-start "$1" "$(<"$DIR/took")"
	value agent-memory "$1" "$(awk "BEGIN { print $(memory_kb a) / $PEERS }")"
	# Once it has adopted the peers that came while it started
	sleep 2
	value agent-idle "$1" "$(of_cpu sleep "$TIME")"
	value agent-junk "$1" "$(of_cpu flooded "$DIR/junk")"
	value agent-strangers "$1" "$(of_cpu flooded "$DIR/strangers")"
	# Until it does not count as busy any more
	sleep 2
	value rekey-answer "$1" "$(of_cpu swarm_begins)"
	value answer-p50 "$1" "$(begun 4)"
	value answer-longest "$1" "$(begun 6)"
	# Percent of the 120 s in which all are due
	bg b "$SWARM" answer "$(<"$DIR/a.pub")" "$PEERS" >"$DIR/answered"
	swarm=$!
	before=$(ran)
	BEGAN=$SECONDS
	signal a USR1
	WAIT=600 await new_keys
	value rekey-begin "$1" "$(awk "BEGIN { print ($(ran) - $before) / 10 / 120 }")"
	kill "$swarm"
	wait "$swarm"
	stop a
	remove omerta
}

# With a disk that takes 20 ms for each write that is waited for
case_disk() {
	only_omerta "$1"
	filled omerta
	on a ip link set omr0 up
	LD_PRELOAD=$PWD/perf/slowdisk.so agent a
	swarm_begins
	value answer-longest-20 "$1" "$(begun 6)"
	stop a
	remove omerta
}

main() {
	local run name contender rc

	set_up
	(($#)) || set -- check life up agent disk
	for ((run = 1; run <= RUNS; run++)); do
		for name; do
			for contender in wireguard omerta; do
				[[ $contender == omerta ]] || ((PEERS <= ${WIREGUARD_MAX:-10000})) ||
					continue
				# Behind || it would go on after an error.
				set +e
				(set -e; "case_$name" "$contender") 2>>"$DIR/log"
				rc=$?
				set -e
				((!rc || rc == 77)) || { tail -n 50 "$DIR/log" >&2; exit 1; }
			done
		done
	done
}

main "$@"
