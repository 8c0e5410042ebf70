#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# omertactl up and down: hosts that are made of a file each, and all that goes when they
# are not wanted any more. Needs root.
#
# usage: up.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

# up NS [WORD...]: from $DIR/omr0.NS/omr0.conf
up() {
	host_files "$1"
	on "$1" env "STATE_DIRECTORY=$DIR/$1.state" "RUNTIME_DIRECTORY=$DIR/$1.run" \
		omertactl up "$DIR/$1.etc/omr0.conf" "${@:2}"
}

down() {
	on "$1" env "STATE_DIRECTORY=$DIR/$1.state" "RUNTIME_DIRECTORY=$DIR/$1.run" \
		omertactl down "$DIR/$1.etc/omr0.conf"
}

host_files() {
	mkdir -p "$DIR/$1.state" "$DIR/$1.run" "$DIR/$1.etc"
	cp "$DIR/$1.conf" "$DIR/$1.etc/omr0.conf"
	cp -p "$DIR/$1.key" "$DIR/$1.etc/"
}

# state NS: all that "up" changes
state() {
	on "$1" ip -br link show | awk '{ print $1 }'
	on "$1" ip rule
	on "$1" ip -6 rule
	on "$1" ip -4 route show table all
	# Others come by themselves.
	on "$1" ip -6 route show table all | grep -vE 'fe80|ff00'
}

two_files() {
	make_ns a b
	make_veth a b
	config a 'Address = 10.9.0.1/24, fd09::1/64' 'MTU = 1300'
	config b 'Address = 10.9.0.2/24' 'Address = fd09::2/64'
	config_peer a b "Endpoint = $(endpoint a b)" "$@"
	config_peer b a
}

test_up_down() {
	local before

	two_files
	before=$(state a)
	up a
	up b
	pings a 10.9.0.2
	pings a fd09::2
	on a ip -j link show omr0 | jq -e '.[0].mtu == 1300'
	agree_on_key
	says 'exists' up a
	pings a 10.9.0.2
	# However the agent ends
	kill -KILL "$(cat "$DIR/a.run/omr0.pid")"
	down a
	down b
	is "$before" state a
	says 'no such device' down a
}

# Everything but the tunnel's own packets goes in, both families, and back out.
test_default_route() {
	local before with

	two_files 'AllowedIPs = 0.0.0.0/0, ::/0'
	before=$(state a)
	up a
	up b
	on b ip addr add 203.0.113.9/32 dev lo
	on b ip addr add 2001:db8:9::9/128 dev lo
	# The first packets may be lost with the initiations before b was up.
	await on a ping -c 1 -W 1 203.0.113.9
	pings a 203.0.113.9
	pings a 2001:db8:9::9
	# Nearer ones are reached as before.
	on a ip route get 192.0.2.2 | grep 'dev to_b'
	# Another that wants to be the default gets nowhere, and leaves this one alone.
	with=$(state a)
	sed 's/^ListenPort.*/ListenPort = 0/; /^Address/d' "$DIR/a.etc/omr0.conf" >"$DIR/a.etc/omr1.conf"
	says 'route 10.9.0.2/32: File exists' on a omertactl up "$DIR/a.etc/omr1.conf" no-agent
	is "$with" state a
	# So does one with the same mark.
	printf '%s\n' '[Interface]' 'FwMark = 51900' >"$DIR/a.etc/omr1.conf"
	on a omertactl up "$DIR/a.etc/omr1.conf" no-agent
	on a omertactl down "$DIR/a.etc/omr1.conf"
	is "$with" state a
	# Nor is the mark lost.
	sed -i 's|^AllowedIPs = 0.0.0.0/0, ::/0||' "$DIR/a.etc/omr0.conf"
	kill -HUP "$(cat "$DIR/a.run/omr0.pid")"
	await no_default
	on a omertactl -j link show omr0 | jq -e '.[0].fwmark == 51900'
	down a
	is "$before" state a
	# With the routes gone, and with the device
	up a
	on a ip link set omr0 down
	down a
	is "$before" state a
	up a
	on a ip link del omr0
	says 'no such device' down a
	is "$before" state a
}

no_default() {
	! on a omertactl peer show omr0 | grep '::/0'
}

# If a step fails, all steps before it are undone.
test_up_fails() {
	local before

	two_files 'AllowedIPs = 0.0.0.0/0'
	before=$(state a)
	sed -i 's|^MTU.*|MTU = 65000|' "$DIR/a.conf"
	says 'with ChunkSize 512 it is at most 63491' up a
	is "$before" state a
	sed -i 's|^MTU.*|MTU = 1300|' "$DIR/a.conf"
	chmod o+r "$DIR/a.key"
	says 'others may access it' up a
	chmod o-r "$DIR/a.key"
	# Somebody has the port.
	sed -i "s|^ListenPort.*|ListenPort = 7007|" "$DIR/a.conf"
	bg a ./traffic.py hold-port 0.0.0.0 7007
	await on a grep -q ' 00000000:1B5F ' /proc/net/udp
	says 'listen-port is in use' up a
	is "$before" state a
	sed -i "s|^ListenPort.*|ListenPort = $PORT|" "$DIR/a.conf"
	host_files a
	# The agent cannot keep its times.
	touch "$DIR/not-a-directory"
	says 'the agent did not start' env "STATE_DIRECTORY=$DIR/not-a-directory" \
		"RUNTIME_DIRECTORY=$DIR" ip netns exec omt-a omertactl up "$DIR/a.etc/omr0.conf"
	is "$before" state a
}

# A connection through the tunnel survives another module.
test_new_module() {
	local said

	two_files
	up a
	up b
	pings a 10.9.0.2
	bg b ./traffic.py serve-echoes 10.9.0.2
	await eval "on b ss -Hltn 'sport = :7777' | grep -q ."
	bg a ./traffic.py converse 10.9.0.2 >"$DIR/said"
	await more_than 5 stat -c %s "$DIR/said"
	down a
	down b
	modprobe -r omerta
	said=$(stat -c %s "$DIR/said")
	modprobe omerta
	up a
	up b
	await more_than "$((said + 5))" stat -c %s "$DIR/said"
	pings a fd09::2
}

# A file with two thousand of them
many_routes() {
	python3 - >"$DIR/a.conf" <<-'END'
		print('[Interface]\nAddress = 10.9.0.1/24\n[Peer]')
		print('PublicKey =', 'A' * 42 + 'E=')
		for i in range(1000):
		    print(f'AllowedIPs = 10.{100 + i // 250}.{i % 250}.0/24, fd00:{i:x}::/32')
	END
	host_files a
}

# In several batches, of which the first refusal is the error.
test_many_routes() {
	local before

	make_ns a
	: >"$DIR/a.key"
	many_routes
	before=$(state a)
	up a no-agent
	is 1000 eval "on a ip route show dev omr0 proto boot | grep -c '^10\.1'"
	is 1000 eval "on a ip -6 route show dev omr0 proto boot | grep -c ::/32"
	down a
	is "$before" state a
	# All of a batch, and more
	printf 'route add 10.102.%d.0/24 dev lo\n' {7..156} | on a ip -batch -
	before=$(state a)
	says 'route 10.102.7.0/24: File exists' up a no-agent
	is "$before" state a
}

TESTS=(test_up_down test_default_route test_up_fails test_many_routes
	test_new_module)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
