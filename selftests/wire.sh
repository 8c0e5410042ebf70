#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The wire format against an independent implementation: a device in a namespace,
# wire_peer.py as its peer in another. An argument chooses tests by their names.
set -u

HERE=$(cd "$(dirname "$0")" && pwd)
DIR=$(mktemp -d)

cleanup() {
	ip netns del wire-a
	ip netns del wire-b
	rm -rf "$DIR"
} 2>/dev/null

setup() {
	local a=(ip netns exec wire-a) name

	modprobe omerta
	ip netns add wire-a
	ip netns add wire-b
	ip link add va netns wire-a type veth peer name vb netns wire-b
	"${a[@]}" ip addr add 192.0.2.1/24 dev va
	ip -n wire-b addr add 192.0.2.2/24 dev vb
	ip -n wire-a link set va up
	ip -n wire-b link set vb up
	# Packets that wait for its address could be overtaken, and a shaped link hardly carries questions.
	ip -n wire-a neigh add 192.0.2.2 dev va \
		lladdr "$(ip netns exec wire-b cat /sys/class/net/vb/address)"
	# One CPU receives all packets: those of different senders could overtake each other.
	ip netns exec wire-b tee /sys/class/net/vb/queues/rx-0/rps_cpus <<<1
	for name in rx tx; do
		(umask 077 && head -c 32 /dev/urandom | base64 >"$DIR/$name")
	done
	# The other end takes batches, but wants an answer for each question.
	"${a[@]}" omertactl link add o0 listen-port 51900 batch off channels 1
	ip -n wire-a link set o0 addrgenmode none
	"${a[@]}" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/o0/keep_addr_on_down'
	"${a[@]}" omertactl peer add o0 id 1 allowed-ips 10.9.0.2/32,fd09::2/128
	"${a[@]}" omertactl key add o0 peer 1 local-id 17 remote-id 34 activate now \
		rx-key-file "$DIR/rx" tx-key-file "$DIR/tx"
	ip -n wire-a link set o0 mtu 63491
	"${a[@]}" ip addr add 10.9.0.1/24 dev o0
	"${a[@]}" ip addr add fd09::1/64 dev o0 nodad
	ip -n wire-a link set o0 up
}

trap cleanup EXIT
(set -e; setup) >&2 || exit 1
PYTHONDONTWRITEBYTECODE=1 ip netns exec wire-b \
	python3 "$HERE/wire_peer.py" "$DIR/rx" "$DIR/tx" "$@"
