#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The guest's side of the demo. Traffic between two network namespaces:
#
#   netns a  omr0 10.9.0.1 fd09::1          netns b  omr0 10.9.0.2 fd09::2
#            va   192.0.2.1  -------veth------       vb   192.0.2.2
#
# The capture on va and the markers are judged on the host by decode_capture.py.
set -euo pipefail

PORT=51900 MARKER=${1:-omerta-demo-plaintext-marker} OUT=/root/out
FILE_MIB=16 WAIT=60
DIR=$(mktemp -d)
# shellcheck source=demo_agent.sh
. "$(dirname "$0")/demo_agent.sh"

headline() {
	printf '\n== %s\n' "$*"
}

in_a() {
	ip netns exec a "$@"
}

in_b() {
	ip netns exec b "$@"
}

# await WHAT COMMAND...: polls, since there is nothing to wait on.
await() {
	local what=$1 end=$((SECONDS + WAIT))

	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || { echo "no $what within $WAIT s"; return 1; }
		sleep 0.1
	done
}

make_link() {
	ip netns add a
	ip netns add b
	ip link add va netns a type veth peer name vb netns b
	in_a ip addr add 192.0.2.1/24 dev va
	in_b ip addr add 192.0.2.2/24 dev vb
	in_a ip link set va up
	in_b ip link set vb up
}

# One key per direction; each end reads its secrets from files.
make_keys() {
	(
		umask 077
		head -c32 /dev/urandom | base64 >"$DIR/a-to-b"
		head -c32 /dev/urandom | base64 >"$DIR/b-to-a"
	)
}

# make_end NETNS OWN-NUMBER OTHER-NUMBER OTHER-NAME LOCAL-ID REMOTE-ID RX TX
make_end() {
	local run=(ip netns exec "$1") own=$2 other=$3 name=$4

	"${run[@]}" omertactl link add omr0 listen-port "$PORT"
	"${run[@]}" omertactl peer add omr0 id 1 name "$name" \
		endpoint "192.0.2.$other:$PORT" \
		allowed-ips "10.9.0.$other/32,fd09::$other/128" keepalive 25
	"${run[@]}" omertactl key add omr0 peer 1 local-id "$5" remote-id "$6" \
		rx-key-file "$DIR/$7" tx-key-file "$DIR/$8"
	"${run[@]}" ip addr add "10.9.0.$own/24" dev omr0
	"${run[@]}" ip addr add "fd09::$own/64" dev omr0 nodad
	"${run[@]}" ip link set omr0 up
	"${run[@]}" omertactl key activate omr0 peer 1 local-id "$5"
}

make_tunnel() {
	make_keys
	make_end a 1 2 bob 0x11 0x22 b-to-a a-to-b
	make_end b 2 1 alice 0x22 0x11 a-to-b b-to-a
}

# Without segmentation offloads on the veth the capture shows the datagrams as
# a wire would carry them.
offloads() {
	in_a ethtool -K va gso "$1" tx-udp-segmentation "$1" gro "$1" >/dev/null 2>&1
	in_b ethtool -K vb gso "$1" tx-udp-segmentation "$1" gro "$1" >/dev/null 2>&1
}

start_capture() {
	offloads off
	# Not through in_a: the signal must reach tcpdump itself.
	ip netns exec a tcpdump -i va -s 0 -B 32768 -Z root -w "$OUT/demo.pcap" "udp port $PORT" \
		2>"$DIR/tcpdump" &
	tcpdump=$!
	await 'capture' grep -q 'listening on' "$DIR/tcpdump"
}

stop_capture() {
	kill "$tcpdump"
	wait "$tcpdump" || :
	offloads on
	sed -n 's/^[0-9]* packets \(captured\|dropped by kernel\)/outer link: &/p' "$DIR/tcpdump"
	grep -q '^0 packets dropped by kernel' "$DIR/tcpdump"
}

pings() {
	local pattern

	pattern=$(printf '%s' "${MARKER:0:16}" | od -An -tx1 | tr -d ' \n')
	in_a ping -c 3 -i 0.2 -W 5 -s 512 -p "$pattern" 10.9.0.2 | tail -n 3
	in_a ping -c 3 -i 0.2 -W 5 -s 512 -p "$pattern" fd09::2 | tail -n 3
}

# Random blocks, each behind a line that would be easy to find on the wire.
make_file() {
	python3 - "$MARKER" "$FILE_MIB" >"$DIR/sent" <<-'END'
		import os, sys
		line = sys.argv[1].encode() + b"\n"
		for _ in range(int(sys.argv[2]) * 256):
		    sys.stdout.buffer.write(line + os.urandom(4096 - len(line)))
	END
}

listens() {
	in_b ss -Hltn "sport = :$1" | grep -q .
}

transfer() {
	local sent received server

	make_file
	in_b busybox nc -l -p 5000 >"$DIR/received" </dev/null &
	server=$!
	await 'listener' listens 5000
	# shellcheck disable=SC2016 # for the inner bash
	in_a timeout "$WAIT" bash -c 'cat "$1" >/dev/tcp/10.9.0.2/5000' - "$DIR/sent"
	timeout "$WAIT" tail --pid="$server" -f /dev/null
	sent=$(sha256sum <"$DIR/sent")
	received=$(sha256sum <"$DIR/received")
	echo "sent     $FILE_MIB MiB, SHA-256 ${sent%% *}"
	echo "received $(stat -c %s "$DIR/received") bytes, SHA-256 ${received%% *}"
	[[ $sent == "$received" ]]
}

speed() {
	in_b iperf3 -s -1 -p 5201 >/dev/null &
	await 'iperf3 server' listens 5201
	in_a timeout "$WAIT" iperf3 -c 10.9.0.2 -t 3 -p 5201 | grep -E 'sender|receiver'
	echo '(emulated CPU: not a measure of performance)'
}

main() {
	headline "Two namespaces, Linux $(uname -r), hand-installed keys"
	make_link
	make_tunnel
	in_a ip -br addr show dev omr0
	start_capture
	headline 'Pings through the tunnel, IPv4 and IPv6'
	pings
	headline 'A file over TCP'
	transfer
	stop_capture
	headline 'iperf3 over TCP'
	speed
	headline 'omertactl show (in a)'
	in_a omertactl show omr0
	in_a omertactl link del omr0
	in_b omertactl link del omr0
	second_act
}

trap 'echo "demo: failed at line $LINENO: $BASH_COMMAND"' ERR
main
