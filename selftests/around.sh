#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Neighbours of a tunnel, on it and below it: other tunnels, bridges, VRFs, NAT, queueing
# disciplines, XDP, mirrors, links that come and go. Needs root.
#
# usage: around.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2119 # the tests are called by name; arguments are optional
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# wants NS COMMAND...: a test cannot run if this fails, as the kernel lacks something.
wants() {
	on "$@" || { echo "SKIP the kernel does not support: ${*:2}"; exit 4; }
}

# carried LINK-TYPE...: both ends get such a link over the tunnel, with 10.88.0.1 and .2
carried() {
	local ns

	for ns in a b; do
		on "$ns" ip link set in0 up
		on "$ns" ip addr add "10.88.0.${NUM[$ns]}/24" dev in0
	done
	pings a 10.88.0.2
	pings b -s 1200 10.88.0.1
	copy a b 10.88.0.2 500000
	no_drops a
	no_drops b
}

test_vxlan() {
	make_both
	wants a ip link add in0 type vxlan id 7 remote 10.9.0.2 local 10.9.0.1 dstport 4789
	on b ip link add in0 type vxlan id 7 remote 10.9.0.1 local 10.9.0.2 dstport 4789
	carried
}

test_geneve() {
	make_both
	wants a ip link add in0 type geneve id 7 remote fd09::2
	on b ip link add in0 type geneve id 7 remote fd09::1
	carried
}

test_gre() {
	make_both
	wants a ip link add in0 type gre remote 10.9.0.2 local 10.9.0.1
	on b ip link add in0 type gre remote 10.9.0.1 local 10.9.0.2
	carried
}

test_ipip() {
	make_both
	wants a ip link add in0 type ipip remote 10.9.0.2 local 10.9.0.1
	on b ip link add in0 type ipip remote 10.9.0.1 local 10.9.0.2
	carried
}

# Two networks that are one, by layer 2 over the tunnel
test_bridge() {
	local ns

	make_both
	wants a ip link add br0 type bridge
	on b ip link add br0 type bridge
	wants a ip link add over0 type gretap remote 10.9.0.2 local 10.9.0.1
	on b ip link add over0 type gretap remote 10.9.0.1 local 10.9.0.2
	for ns in a b; do
		ip netns add "omt-host-$ns"
		ip link add name in0 netns "omt-host-$ns" type veth peer name port0 netns "omt-$ns"
		on "$ns" ip link set over0 master br0
		on "$ns" ip link set port0 master br0
		on "$ns" ip link set over0 up
		on "$ns" ip link set port0 up
		on "$ns" ip link set br0 up
		on "host-$ns" ip addr add "10.88.0.${NUM[$ns]}/24" dev in0
		on "host-$ns" ip link set in0 mtu 1300 up
	done
	pings host-a 10.88.0.2
	copy host-a host-b 10.88.0.2 500000
	ip netns del omt-host-a
	ip netns del omt-host-b
}

# The tunnel's device in a VRF
test_vrf_inside() {
	make_both
	wants a ip link add red type vrf table 10
	on a ip link set red up
	on a ip link set omr0 master red
	pings b 10.9.0.1
	on a ip vrf exec red true || { echo "SKIP no cgroup2 for ip vrf exec"; exit 4; }
	pings a -I red 10.9.0.2
}

# A gateway: a's clients reach b's network behind one address, with TCP's segments cut to fit.
test_nat() {
	make_both
	make_ns c
	make_veth a c
	on a sysctl -qw net.ipv4.ip_forward=1
	on c ip route add default via "$(outer4 c a)"
	wants a iptables -t nat -A POSTROUTING -o omr0 -j MASQUERADE
	wants a iptables -t mangle -A FORWARD -o omr0 -p tcp --tcp-flags SYN,RST SYN \
		-j TCPMSS --clamp-mss-to-pmtu
	pings c 10.9.0.2
	copy c b 10.9.0.2 500000
	on b ip link set omr0 mtu 1280
	copy c b 10.9.0.2 500000
}

# Forwarded between two tunnels and plain links, with each way of joining packets
test_forwarding() {
	local way

	make_both
	make_ns c
	make_veth b c
	on b sysctl -qw net.ipv4.ip_forward=1
	on a omertactl peer set omr0 peer b allowed-ips "+198.51.100.0/24"
	on a ip route add 198.51.100.0/24 dev omr0
	on c ip route add 10.9.0.0/24 via "$(outer4 c b)"
	for way in 'gro on' 'gro off' 'gro on rx-gro-list on' 'gro on rx-udp-gro-forwarding on'; do
		# shellcheck disable=SC2086 # words
		on b ethtool -K omr0 $way
		# shellcheck disable=SC2086 # words
		on b ethtool -K to_c $way
		pings a "$(outer4 b c)"
		copy a c "$(outer4 b c)" 500000
		copy c a 10.9.0.1 500000
	done
}

test_qdiscs() {
	local qdisc tried=0

	make_both
	wants a ip link add try0 type dummy
	for qdisc in pfifo 'pfifo_fast' 'tbf rate 50mbit burst 64k latency 50ms' fq fq_codel sfq \
		cake 'netem delay 1ms' 'red limit 400000 avpkt 1000' codel 'htb default 1' prio; do
		# shellcheck disable=SC2086 # words
		if on a tc qdisc replace dev try0 root $qdisc; then
			# shellcheck disable=SC2086 # words
			on a tc qdisc replace dev omr0 root $qdisc
			tried=$((tried + 1))
			pings a 10.9.0.2
			copy a b 10.9.0.2 300000
		fi
	done
	on a tc qdisc del dev omr0 root
	copy a b 10.9.0.2 300000
	((tried >= 2)) || { echo "SKIP the kernel has $tried of the qdiscs"; exit 4; }
}

# Packets in both directions are mirrored to another link.
test_mirrored() {
	make_both
	wants a ip link add mirror0 type dummy
	on a ip link set mirror0 up
	wants a ip link add try0 type dummy
	wants a tc qdisc add dev try0 clsact
	wants a tc filter add dev try0 ingress matchall action mirred egress mirror dev mirror0
	on a tc qdisc add dev omr0 clsact
	on a tc filter add dev omr0 ingress matchall action mirred egress mirror dev mirror0
	on a tc filter add dev omr0 egress matchall action mirred egress mirror dev mirror0
	copy a b 10.9.0.2 300000
	copy b a 10.9.0.1 300000
	on a ip -j -s link show mirror0 | jq -e '.[0].stats64.tx.packets > 10'
}

# The outer link goes down and up, and offloads change, while packets flow.
test_flapping() {
	local i

	make_both
	bg a ping -i 0.1 10.9.0.2
	for i in 1 2 3 4 5; do
		on a ip link set to_b down
		on a ip link set to_b up
		on b ethtool -K to_a gro "$( ((i % 2)) && echo off || echo on)"
		on a ethtool -K omr0 tso "$( ((i % 2)) && echo off || echo on)"
		# IPv6 addresses of a link go with it.
		await on a ping -c 1 -W 1 10.9.0.2
	done
	copy a b 10.9.0.2 300000
}

# Two halves instead of a default route; the endpoint has a route of its own.
test_halves() {
	make_both
	on a omertactl peer set omr0 peer b allowed-ips 0.0.0.0/1,128.0.0.0/1,fd09::2/128
	on a ip route add 0.0.0.0/1 dev omr0
	on a ip route add 128.0.0.0/1 dev omr0
	on b ip addr add 203.0.113.9/32 dev lo
	on b ip addr add 9.9.9.9/32 dev lo
	pings a 203.0.113.9
	pings a 9.9.9.9
	copy a b 203.0.113.9 300000
}

# A packet filter of the device's driver's form, without a driver
test_xdp() {
	make_both
	./traffic.py xdp-pass >"$DIR/pass.o"
	wants b ip link set lo xdpgeneric obj "$DIR/pass.o" sec xdp
	on b ip link set lo xdpgeneric off
	on b ip link set omr0 xdpgeneric obj "$DIR/pass.o" sec xdp
	pings a 10.9.0.2
	copy a b 10.9.0.2 300000
	copy b a 10.9.0.1 300000
	on b ip link set omr0 xdpgeneric off
	pings a 10.9.0.2
}

TESTS=(test_vxlan test_geneve test_gre test_ipip test_bridge test_vrf_inside test_nat test_forwarding
	test_qdiscs test_mirrored test_flapping test_halves test_xdp)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
