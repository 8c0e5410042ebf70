#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Paths narrower than the devices: datagrams that are sent there, and errors that senders get.
# Needs root, and in practice a guest.
#
# usage: path.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

path_mtu() {
	member "$(on "$1" omertactl -j peer show omr0 peer "${NUM[$2]}")" path-mtu
}

# told MTU SIZE ADDRESS [NS]: a packet of SIZE bytes after the ICMP or UDP header that a, or NS, sends
# to ADDRESS is rejected, and its sender learns the MTU. ping(8) words this differently in each
# release.
told() {
	on "${4:-a}" ./traffic.py expect-mtu "${@:1:3}"
}

# redirect VERSION ADDRESS: packets from c to this address of b go into a's device, past a's
# own routes.
# shellcheck disable=SC2119 # these are no settings of the devices
redirect() {
	make_both
	make_ns c
	make_veth a c
	on a sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	on a ip link set omr0 mtu 1400
	on b ip link set omr0 mtu 1500
	on b omertactl peer set omr0 peer a allowed-ips +198.51.100.0/24,+2001:db8:3::/64
	on b ip route add 198.51.100.0/24 dev omr0
	on b ip route add 2001:db8:3::/64 dev omr0
	on c ip route add 10.9.0.0/24 via 198.51.100.1
	on c ip route add fd09::/64 via 2001:db8:3::1
	on a tc qdisc add dev to_c clsact
	on a tc filter add dev to_c ingress protocol "$1" flower dst_ip "$2" \
		action mirred egress redirect dev omr0
}

# redirected VERSION ADDRESS HEADERS: longer packets than the device takes from routes are
# carried as far as a record can, and the path allows.
redirected() {
	local to=$2 mtu

	redirect "$1" "$to"
	pings c -M "do" -s $((1500 - $3)) "$to"
	copy c b "$to" 3000000
	is 0 dev_stat a tx-drop-too-big
	on a ip link set to_c mtu 65535
	on c ip link set to_a mtu 65535
	told 1400 64000 "$to" c
	on c ip -4 route flush cache
	on c ip -6 route flush cache
	on a omertactl link set omr0 df set
	on a ip link set to_b mtu 1400
	pings a "$to"
	mtu=$(path_mtu a b)
	less_than 1400 path_mtu a b
	told "$mtu" 1400 "$to" c
	copy c b "$to" 1000000
	# Nor has a a route to it.
	on c ip -4 route flush cache
	on c ip -6 route flush cache
	on a ip route del 10.9.0.0/24 dev omr0
	on a ip route del fd09::/64 dev omr0
	told "$mtu" 1400 "$to" c
	no_drops b
}

test_redirected_v4() { redirected ip 10.9.0.2 28; }
test_redirected_v6() { redirected ipv6 fd09::2 48; }

# Fragments that came to b
fragments() {
	# shellcheck disable=SC2016 # awk's
	on b awk '/^Ip:/ && !names { names = 1; split($0, name); next }
		  /^Ip:/ { for (i in name) if (name[i] == "ReasmReqds") sum += $i }
		  /^Ip6ReasmReqds/ { sum += $2 }
		  END { print sum + 0 }' /proc/net/snmp /proc/net/snmp6
}

# Fragments that a made
created() {
	# shellcheck disable=SC2016 # awk's
	on a awk '/^Ip:/ && !names { names = 1; split($0, name); next }
		  /^Ip:/ { for (i in name) if (name[i] == "FragCreates") sum += $i }
		  /^Ip6FragCreates/ { sum += $2 }
		  END { print sum + 0 }' /proc/net/snmp /proc/net/snmp6
}

# forge MTU QUOTE...: an error comes to a that no router on the path has sent.
forge() {
	local mtu=$1

	shift
	if ((OUTER == 4)); then
		on r ./forge.py 203.0.113.66 "$(outer4 b a)" "$(outer4 a b)" "$mtu" "$@"
	else
		on r ./forge.py 2001:db8:bad::66 "$(outer6 b a)" "$(outer6 a b)" "$mtu" "$@"
	fi
}

# kernel_learned MTU: succeeds if the kernel of a has learned this MTU for the path to b
kernel_learned() {
	if ((OUTER == 4)); then
		on a ip route get "$(outer4 a b)" | grep -E "mtu (lock )?$1\b"
	else
		on a ip -6 route get "$(outer6 a b)" | grep -E "mtu $1\b"
	fi
}

# forged MTU QUOTE...: forges errors until the kernel has learned from one.
forged() {
	local mtu=$1

	# The route back comes first.
	try() {
		forge "$@"
		kernel_learned "$mtu"
	}
	await try "$@"
}

flush_routes() {
	on a ip route flush cache
	on a ip -6 route flush cache
}

# learns MTU: a learns that the path takes inner packets of MTU bytes.
learns() {
	copy a b 10.9.0.2 1000000
	is "$1" path_mtu a b
	copy a b fd09::2 1000000
	told "$1" 1352 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s "$(($1 - 28))" 10.9.0.2
	told "$1" "$(($1 - 27))" 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s "$(($1 - 48))" fd09::2
	told "$1" "$(($1 - 47))" fd09::2
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
	# Forget the MTUs that the inner routes have learned.
	on a ip route flush cache
	learns 1308
}

# A packet that fits, and is sent padded until the path is known.
test_df_padding() {
	make_routed
	make_tunnel df set
	narrow 1395
	pings a 10.9.0.2
	await told 1303 1352 10.9.0.2
	on a omertactl link set omr0 df unset
	is null path_mtu a b
	on a omertactl link set omr0 df set
	on a ping -c 1 -W "$WAIT" -M "do" -s 1275 10.9.0.2
	is 0 fragments
}

# A sender that ignores the MTU of its route is told that of the path.
test_df_probes() {
	make_routed
	make_tunnel df set
	narrow 1400
	learns 1308
	on a ip route change 10.9.0.0/24 dev omr0 mtu 1000
	on a ./traffic.py expect-mtu 1308 1352 10.9.0.2 probe
}

# Packets that IPv6 may always send pass, in fragments if necessary.
test_df_least_v6() {
	make_routed
	make_tunnel df set
	narrow 1300
	await told 1208 1352 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s 1160 fd09::2
	is 0 fragments
	on a ping -c 1 -W "$WAIT" -M "do" -s 1232 fd09::2
	more_than 1 fragments
	told 1280 1233 fd09::2
	copy a b fd09::2 1000000
}

# A router that takes too little, or says so, cannot stop IPv4 either.
test_df_least_v4() {
	local before

	make_routed
	make_tunnel df set
	pings a 10.9.0.2
	on r ip route change 192.0.2.2 dev to_b mtu 500
	await told 576 1352 10.9.0.2
	copy a b 10.9.0.2 100000
	more_than 1 fragments
	# The kernel believes in no less than 552, so that this fits, for all it knows.
	on a ping -c 1 -s 440 -W "$WAIT" 10.9.0.2
	# Forget what was learned.
	flush_routes
	on a omertactl link set omr0 df set
	before=$(fragments)
	on r ip route change 192.0.2.2 dev to_b mtu 600
	await told 576 1352 10.9.0.2
	copy a b 10.9.0.2 100000
	more_than "$before" fragments
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

# IPv6's routers cut nothing: errors that name our datagrams have the sender do it.
test_df_unset_v6() {
	OUTER=6
	make_routed
	make_tunnel
	pings a 10.9.0.2
	is 0 fragments
	narrow 1400
	await on a ping -c 1 -W 1 -M "do" -s 1352 10.9.0.2
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

# whole LENGTH: datagrams to b are not fragmented.
whole() {
	on a ping -c 3 -i 0.1 -W "$WAIT" -M "do" -s "$1" 10.9.0.2
	copy a b 10.9.0.2 1000000
	is 0 fragments
	is 0 created
}

# with_forged: forged ICMP errors over OUTER claim the narrowest path that the kernel believes. Some
# quotes name our sockets, others none.
with_forged() {
	local quote min=552

	((OUTER == 4)) || min=1280
	make_routed
	make_tunnel df "$1"
	pings a 10.9.0.2
	for quote in "$PORT" echo; do
		forged "$min" "$quote"
		"${@:2}"
		flush_routes
	done
}

unset_whole() {
	copy a b fd09::2 1000000
	whole 1352
	is null path_mtu a b
}

# A record of 1280 bytes less the headers, its own (16) and three tags
not_below_1280() {
	local mtu=$((OUTER == 4 ? 1188 : 1168))

	await told "$mtu" 1352 10.9.0.2
	is "$mtu" path_mtu a b
	whole $((mtu - 28))
}

test_forged_unset_v4() { OUTER=4 with_forged unset unset_whole; }
test_forged_unset_v6() { OUTER=6 with_forged unset unset_whole; }
test_forged_set_v4() { OUTER=4 with_forged set not_below_1280; }
test_forged_set_v6() { OUTER=6 with_forged set not_below_1280; }
test_forged_inherit_v4() { OUTER=4 with_forged inherit not_below_1280; }
test_forged_inherit_v6() { OUTER=6 with_forged inherit not_below_1280; }

# Datagrams that are longer than the route's own MTU are still cut by that.
forged_route_mtu() {
	OUTER=$1
	make_routed
	on a ip -4 route change default via inet6 fe80::9 dev to_r mtu 1450
	on a ip -6 route change default via fe80::9 dev to_r mtu 1450
	make_tunnel
	pings a 10.9.0.2
	forged "$2" echo
	is 0 created
	on a ping -c 1 -W "$WAIT" -M "do" -s 1352 10.9.0.2
	is 2 created
	on a ping -c 1 -W "$WAIT" -M "do" -s 1272 10.9.0.2
	is 2 created
}

test_forged_route_mtu_v4() { forged_route_mtu 4 552; }
test_forged_route_mtu_v6() { forged_route_mtu 6 1280; }

# A route that the kernel has locked is used unfragmented all the same: a narrow path refuses it.
test_forged_lock() {
	make_routed
	make_tunnel df set
	pings a 10.9.0.2
	forged 552 "$PORT"
	await told 1188 1352 10.9.0.2
	on r ip route change 192.0.2.2 dev to_b mtu 1000
	await told 924 1160 10.9.0.2
	on a ping -c 1 -W "$WAIT" -M "do" -s 896 10.9.0.2
	copy a b 10.9.0.2 1000000
	is 0 fragments
}

# long_control: a sends a long control datagram, which no socket at b reads.
long_control() {
	on a ./control.py omr0 <<<"bind
send 2001:db8:2::2 $PORT 1336x20" | grep -c '^ok$'
}

# An initiation with ML-KEM arrives over IPv6 whether an error about the path was forged, as
# fragments may be dropped on the way, or true.
test_control_v6() {
	OUTER=6
	make_routed
	make_tunnel
	pings a 10.9.0.2
	is 2 long_control
	await is 1 dev_stat b rx-drop-control
	is 0 created
	forged 1280 echo
	on b sysctl -q net.ipv6.ip6frag_low_thresh=0 net.ipv6.ip6frag_high_thresh=0
	is 2 long_control
	await is 2 dev_stat b rx-drop-control
	is 2 created
	on b sysctl -q net.ipv6.ip6frag_high_thresh=4194304
	flush_routes
	narrow 1300
	# The router tells of its link.
	is 2 long_control
	on a ip -6 route get 2001:db8:2::2
	is 2 long_control
	await is 3 dev_stat b rx-drop-control
	is 4 created
}

# IPv4 paths below 1280 bytes are found by errors that quote what was sent.
narrow_v4() {
	make_routed
	make_tunnel df "$1"
	pings a 10.9.0.2
	on r ip route change 192.0.2.2 dev to_b mtu 1000
	await told 924 1352 10.9.0.2
	is 924 path_mtu a b
	on a ping -c 1 -W "$WAIT" -M "do" -s 896 10.9.0.2
	told 924 897 10.9.0.2
	copy a b 10.9.0.2 1000000
	is 0 fragments
}

test_df_narrow_set() { narrow_v4 set; }
test_df_narrow_inherit() { narrow_v4 inherit; }

drained() {
	on a tc -s qdisc show dev omr0 | grep 'backlog 0b 0p'
}

# believed OUTER MTU PATH_MTU: an error counts, whatever the kernel has forgotten of it, if it
# quotes a key's id and a counter that was sent under it; other peers may be in that place.
believed() {
	local id=$((NUM[b] * 4096 + NUM[a] * 256 + GEN)) sent quote

	OUTER=$1
	make_routed
	make_tunnel df set
	on a omertactl peer add omr0 id 50 endpoint "$(endpoint a b)"
	on a omertactl peer add omr0 id 51 endpoint "$(endpoint a b)"
	# Counters below 65,536 of the last are too old.
	on a omertactl link set omr0 batch off
	# A queue that is too slow loses some.
	sent=0
	while ((sent <= 65536 + 1000)); do
		on a ./traffic.py send 10.9.0.2 9 550 64 1
		sent=$(peer_stat a b tx-records)
	done
	# None is left to be sent, with a counter that a forgery would hit.
	await drained
	pings a 10.9.0.2
	sent=$(peer_stat a b tx-records)
	for quote in "$((id + 1)) $((sent - 1))" "$id $((sent + 1000))" "$id 1000"; do
		# shellcheck disable=SC2086 # two words
		forged "$2" "$PORT" $quote
		flush_routes
		pings a 10.9.0.2
		is 1388 path_mtu a b
	done
	forged "$2" "$PORT" "$id" "$((sent - 1))"
	flush_routes
	pings a 10.9.0.2
	is "$3" path_mtu a b
	on a omertactl link set omr0 df set
	pings a 10.9.0.2
	is 1388 path_mtu a b
}

# Less the headers (28, 48), a record's (16) and two or three tags
test_quoted_v4() { believed 4 600 524; }
test_quoted_v6() { believed 6 1300 1188; }

# A path may grow again.
test_df_grows() {
	make_routed
	on a sysctl -q net.ipv4.route.mtu_expires=5
	make_tunnel df set
	pings a 10.9.0.2
	narrow 1400
	await told 1308 1352 10.9.0.2
	narrow 1500
	await on a ping -c 1 -W 1 -M "do" -s 1352 10.9.0.2
	is 1388 path_mtu a b
}

TESTS=(
	test_df_set_v4 test_df_set_v6 test_df_set_fwmark test_df_padding test_df_probes
	test_df_least_v6 test_df_least_v4 test_df_unset test_df_unset_v6 test_df_inherit
	test_df_grows test_df_narrow_set test_df_narrow_inherit test_quoted_v4 test_quoted_v6
	test_forged_unset_v4 test_forged_unset_v6 test_forged_set_v4 test_forged_set_v6
	test_forged_inherit_v4 test_forged_inherit_v6 test_forged_route_mtu_v4
	test_forged_route_mtu_v6 test_forged_lock test_control_v6
	test_redirected_v4 test_redirected_v6
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
