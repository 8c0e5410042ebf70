#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Paths that take less than the devices do: what is sent there, and what senders are
# told. Needs root, and in practice a guest.
#
# usage: path.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# Between a and b is a router, which has a narrow link to b.
make_routed() {
	local ns

	make_ns a b r
	on r sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	# The source of its ICMP errors.
	on r ip addr add 198.51.100.9/32 dev lo
	on r ip addr add 2001:db8:9::9/128 dev lo nodad
	for ns in a b; do
		ip link add to_r netns "omt-$ns" type veth peer name "to_$ns" netns omt-r
		on r ip addr add fe80::9/64 dev "to_$ns" nodad
		on r ip link set "to_$ns" up
		on "$ns" ip addr add "192.0.2.${NUM[$ns]}/32" dev to_r
		on "$ns" ip addr add "2001:db8:2::${NUM[$ns]}/128" dev to_r nodad
		on "$ns" ip link set to_r up
		on "$ns" ip -4 route add default via inet6 fe80::9 dev to_r
		on "$ns" ip -6 route add default via fe80::9 dev to_r
		on r ip route add "192.0.2.${NUM[$ns]}" dev "to_$ns"
		on r ip -6 route add "2001:db8:2::${NUM[$ns]}" dev "to_$ns"
	done
}

narrow() {
	on r ip link set to_b mtu "$1"
	on b ip link set to_r mtu "$1"
}

path_mtu() {
	member "$(on "$1" omertactl -j peer show omr0 peer "${NUM[$2]}")" path-mtu
}

# told MTU PING_ARGUMENT...: a ping is refused and says so.
told() {
	local mtu=$1

	shift
	! on a ping -c 1 -W 1 -M "do" "$@" >"$DIR/told" 2>&1 && grep -Ei "mtu ?[=:] ?$mtu\b" "$DIR/told"
}

# Fragments that came to b
fragments() {
	# shellcheck disable=SC2016 # awk's
	on b awk '/^Ip:/ && !names { names = 1; split($0, name); next }
		  /^Ip:/ { for (i in name) if (name[i] == "ReasmReqds") sum += $i }
		  /^Ip6ReasmReqds/ { sum += $2 }
		  END { print sum + 0 }' /proc/net/snmp /proc/net/snmp6
}

# learns MTU: a learns that the path takes inner packets of MTU bytes.
learns() {
	copy a b 10.9.0.2 1000000
	is "$1" path_mtu a b
	copy a b fd09::2 1000000
	told "$1" -s 1352 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s "$(($1 - 28))" 10.9.0.2
	told "$1" -s "$(($1 - 27))" 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s "$(($1 - 48))" fd09::2
	told "$1" -s "$(($1 - 47))" fd09::2
}

# 1400 bytes less the outer headers (28, 48), a record's (16) and three tags
set_to() {
	OUTER=$1
	make_routed
	make_tunnel df set "${@:3}"
	pings a 10.9.0.2
	is 1388 path_mtu a b
	narrow 1400
	learns "$2"
	is 0 fragments
	more_than 0 dev_stat a tx-drop-too-big
}

test_df_set_v4() { set_to 4 1308; }
test_df_set_v6() { set_to 6 1288; }

# Paths are learned for the route that the datagrams take.
test_df_set_fwmark() {
	local mark

	make_routed
	for mark in 7 8; do
		on a ip rule add fwmark "$mark" table "$mark"
		on a ip -4 route add default via inet6 fe80::9 dev to_r table "$mark"
	done
	on a ip route del default
	make_tunnel df set fwmark 7
	narrow 1400
	learns 1308
	on a omertactl link set omr0 fwmark 8
	pings a 10.9.0.2
	is 1388 path_mtu a b
	# What the inner routes have learned
	on a ip route flush cache
	learns 1308
}

# A packet that fits, and is sent padded until the path is known.
test_df_padding() {
	make_routed
	make_tunnel df set
	narrow 1395
	pings a 10.9.0.2
	await told 1303 -s 1352 10.9.0.2
	on a omertactl link set omr0 df unset
	is null path_mtu a b
	on a omertactl link set omr0 df set
	on a ping -c 1 -W "$WAIT" -M "do" -s 1275 10.9.0.2
	is 0 fragments
}

# What IPv6 may always send passes in fragments, if need be.
test_df_least_v6() {
	make_routed
	make_tunnel df set
	narrow 1300
	await told 1208 -s 1352 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s 1160 fd09::2
	is 0 fragments
	on a ping -c 1 -W "$WAIT" -M "do" -s 1232 fd09::2
	more_than 1 fragments
	told 1280 -s 1233 fd09::2
	copy a b fd09::2 1000000
}

# A router that takes too little, or says so, cannot stop IPv4 either.
test_df_least_v4() {
	make_routed
	make_tunnel df set
	pings a 10.9.0.2
	# Less than 552 bytes, and the kernel locks the route: fragments are wanted.
	on r ip route change 192.0.2.2 dev to_b mtu 500
	await on a ping -c 1 -W 1 -M "do" -s 1352 10.9.0.2
	on a ip route flush cache
	on r ip route change 192.0.2.2 dev to_b mtu 600
	await told 576 -s 1352 10.9.0.2
	copy a b 10.9.0.2 100000
	more_than 1 fragments
}

test_df_unset() {
	make_routed
	make_tunnel
	narrow 1400
	on a ping -c 1 -W "$WAIT" -M "do" -s 1352 10.9.0.2
	copy a b 10.9.0.2 1000000
	more_than 100 fragments
	is null path_mtu a b
	no_drops a
}

test_df_inherit() {
	local before

	make_routed
	make_tunnel df inherit
	narrow 1400
	learns 1308
	is 0 fragments
	# Else it would be cut inside.
	on a ip route flush cache
	on a ping -c 1 -W "$WAIT" -M dont -s 1352 10.9.0.2
	before=$(fragments)
	((before > 0))
	copy a b 10.9.0.2 1000000
	is "$before" fragments
}

# A path may grow again.
test_df_grows() {
	make_routed
	on a sysctl -q net.ipv4.route.mtu_expires=5
	make_tunnel df set
	pings a 10.9.0.2
	narrow 1400
	await told 1308 -s 1352 10.9.0.2
	narrow 1500
	await on a ping -c 1 -W 1 -M "do" -s 1352 10.9.0.2
	is 1388 path_mtu a b
}

TESTS=(
	test_df_set_v4 test_df_set_v6 test_df_set_fwmark test_df_padding
	test_df_least_v6 test_df_least_v4 test_df_unset test_df_inherit test_df_grows
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
