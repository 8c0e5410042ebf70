#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Traffic through tunnels between network namespaces. Needs root, and in
# practice a guest: the module is unloaded and loaded again.
#
# usage: netns.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# Both families: iperf3's socket is dual-stack.
serve() {
	bg "$1" iperf3 -s
	await listening "$1" 5201
}

listening() {
	on "$1" ss -Hltn "sport = :$2" | grep -q .
}

# tcp NS ADDRESS BYTES. iperf3 may stop counting before all has arrived.
tcp() {
	on "$1" timeout "$WAIT" iperf3 -c "$2" -n "$3" -J >"$DIR/iperf3" || {
		cat "$DIR/iperf3"
		return 1
	}
	jq -e --argjson n "$(numfmt --from=iec "$3")" \
		'.end | .sum_sent.bytes >= $n and .sum_received.bytes > $n / 4' "$DIR/iperf3"
}

# Most of it arrives; an emulated CPU may lose some.
udp() {
	on "$1" timeout "$WAIT" iperf3 -u -c "$2" -b 4M -n 256K -J >"$DIR/iperf3"
	jq -e '.end.sum | .packets > 100 and .lost_packets < .packets / 2' "$DIR/iperf3"
}

combination() {
	OUTER=$2
	make_both
	serve b
	pings a "$1"
	pings a -s 1300 "$1"
	tcp a "$1" 4M
	udp a "$1"
}

test_v4_in_v4() { combination 10.9.0.2 4; }
test_v4_in_v6() { combination 10.9.0.2 6; }
test_v6_in_v4() { combination fd09::2 4; }
test_v6_in_v6() { combination fd09::2 6; }

# policy SETTING...: a device's chunk size changes only while it is down.
policy() {
	local size end

	make_both "$@"
	serve b
	for size in 512 4096 65536; do
		for end in a b; do
			on "$end" ip link set "$DEV" down
			on "$end" omertactl link set "$DEV" chunk-size "$size"
			on "$end" ip link set "$DEV" up
		done
		tcp a 10.9.0.2 2M
	done
}

test_policy_inline() { policy policy inline; }
test_policy_percpu() { policy policy percpu; }
test_policy_auto() { policy policy auto percpu-threshold 1; }

# large CHUNK-SIZE MTU [SETTING...]
large() {
	make_ns a b
	make_veth a b
	on a ip link set to_b mtu 65535
	on b ip link set to_a mtu 65535
	make_tunnel chunk-size "$1" "${@:3}"
	on a ip link set "$DEV" mtu "$2"
	on b ip link set "$DEV" mtu "$2"
	serve b
	pings a -M "do" -s "$(($2 - 28))" 10.9.0.2
	pings a -M "do" -s "$(($2 - 48))" fd09::2
	tcp a 10.9.0.2 8M
	tcp a fd09::2 8M
}

test_large_mtu_512() { large 512 63000; }
test_large_mtu_512_percpu() { large 512 63000 policy percpu; }
test_large_mtu_4096() { large 4096 65000; }

test_mtu_refused() {
	local max

	make_ns a
	make_dev a
	max=$(on a omertactl -j show omr0 | jq '.[0]."max-mtu"')
	on a ip link set omr0 mtu "$max"
	refused on a ip link set omr0 mtu "$((max + 1))"
	on a omertactl link set omr0 chunk-size 4096
	max=$(on a omertactl -j show omr0 | jq '.[0]."max-mtu"')
	on a ip link set omr0 mtu "$max"
	refused on a omertactl link set omr0 chunk-size 512
}

# Tunnelled packets and bytes agree exactly at both ends.
test_counters() {
	local size packets=0 bytes=0 end other counter

	make_both
	on a ip addr flush dev omr0 scope global
	on a ip addr add 10.9.0.1/24 dev omr0
	for size in 0 1 468 1360; do
		on a ping -c 5 -i 0.05 -W "$WAIT" -s "$size" 10.9.0.2
		packets=$((packets + 5))
		bytes=$((bytes + 5 * (size + 28)))
	done
	for end in a b; do
		other=$([[ $end == a ]] && echo b || echo a)
		for counter in rx tx; do
			is "$packets" dev_stat "$end" "$counter-packets"
			is "$bytes" dev_stat "$end" "$counter-bytes"
			is "$packets" peer_stat "$end" "$other" "$counter-packets"
			is "$bytes" peer_stat "$end" "$other" "$counter-bytes"
		done
		# And a few empty records, that tell of a new key.
		more_than "$((packets - 1))" peer_stat "$end" "$other" tx-records
		less_than "$((packets + 10))" peer_stat "$end" "$other" tx-records
		for counter in records outer-bytes; do
			# An empty record may come between the two readings.
			await agree "$end" "$other" "$counter"
		done
	done
	no_drops a
	no_drops b
}

# move NS OLD NEW DEV
move() {
	on "$1" ip addr del "$2" dev "$4"
	on "$1" ip addr add "$3" dev "$4" nodad
}

test_roaming_v4() {
	make_both
	pings a 10.9.0.2
	move a 192.0.2.1/24 192.0.2.11/24 to_b
	pings a 10.9.0.2
	is 192.0.2.11:51900 peer_endpoint b a
	is 192.0.2.2:51900 peer_endpoint a b
	pings b 10.9.0.1
	move b 192.0.2.2/24 192.0.2.12/24 to_a
	pings b 10.9.0.1
	is 192.0.2.12:51900 peer_endpoint a b
	is 192.0.2.11:51900 peer_endpoint b a
	on a omertactl link set omr0 listen-port 51999
	pings a 10.9.0.2
	is 192.0.2.11:51999 peer_endpoint b a
}

test_roaming_v6() {
	OUTER=6
	make_both
	pings a 10.9.0.2
	move a 2001:db8:2::1/64 2001:db8:2::11/64 to_b
	pings a 10.9.0.2
	is '[2001:db8:2::11]:51900' peer_endpoint b a
	move b 2001:db8:2::2/64 2001:db8:2::12/64 to_a
	pings b 10.9.0.1
	is '[2001:db8:2::12]:51900' peer_endpoint a b
	# From one family to the other.
	on a omertactl peer set omr0 peer b endpoint 192.0.2.2:51900
	pings a 10.9.0.2
	is 192.0.2.1:51900 peer_endpoint b a
}

test_source_filter() {
	make_both
	pings a 10.9.0.2
	on a ip addr add 10.9.5.1/32 dev omr0
	on a ip addr add fd09:5::1/128 dev omr0 nodad
	is 0 dev_stat b rx-drop-source
	no_ping a -I 10.9.5.1 10.9.0.2
	is 1 dev_stat b rx-drop-source
	no_ping a -I fd09:5::1 fd09::2
	is 2 dev_stat b rx-drop-source
	on b omertactl peer set omr0 peer a allowed-ips +10.9.5.1
	on b ip route add 10.9.5.1 dev omr0
	pings a -I 10.9.5.1 10.9.0.2
	is 2 dev_stat b rx-drop-source
}

test_several_peers() {
	make_ns a b c
	make_veth a b
	make_veth a c
	make_dev a
	make_dev b
	make_dev c
	connect a b
	connect a c
	pings a 10.9.0.2
	pings a fd09::3
	pings b 10.9.0.1
	pings c 10.9.0.1
	# An address that both b and c have.
	on b ip addr add 10.9.7.1/32 dev omr0
	on c ip addr add 10.9.7.1/32 dev omr0
	on a ip route add 10.9.7.0/24 dev omr0
	no_ping a 10.9.7.1
	more_than 0 dev_stat a tx-drop-no-peer
	on a omertactl peer set omr0 peer b allowed-ips +10.9.7.0/24
	moves_to b
	on a omertactl peer set omr0 peer c allowed-ips +10.9.7.0/24
	moves_to c
	on a omertactl peer del omr0 peer c
	no_ping a 10.9.7.1
	pings a 10.9.0.2
}

moves_to() {
	local before

	before=$(peer_stat a "$1" rx-packets)
	pings a 10.9.7.1
	is "$((before + 3))" peer_stat a "$1" rx-packets
}

test_moved_device() {
	make_both
	make_ns x
	pings a 10.9.0.2
	on a ip link set omr0 netns omt-x
	NUM[x]=1
	set_inner x
	on x ip link set omr0 up
	pings x 10.9.0.2
	pings b fd09::1
	serve b
	tcp x 10.9.0.2 2M
	on a ss -Hlun 'sport = :51900' | grep -q .
	is '' on x ss -Hlun
	# Without the netns of its sockets it is mute but there.
	bg b ping -q -i 0.01 10.9.0.1
	ip netns del omt-a
	await is 0 on x cat /sys/class/net/omr0/carrier
	no_ping x 10.9.0.2
	on x omertactl link del omr0
}

test_netns_deleted() {
	make_both
	pings a 10.9.0.2
	bg b ping -q -i 0.002 10.9.0.1
	bg b ping -q -s 1300 -i 0.002 fd09::1
	await more_than 50 dev_stat a rx-packets
	ip netns del omt-a
	await refused on b ip link show to_a
	ip netns pids omt-b | xargs -r kill
	ip netns del omt-b
}

test_module_unloaded() {
	make_both
	serve b
	bg a iperf3 -c 10.9.0.2 -t 60
	bg b ping -q -i 0.002 10.9.0.1
	await more_than 200 dev_stat b rx-packets
	timeout "$WAIT" modprobe -r omerta
	refused on a ip link show omr0
	modprobe omerta
	make_tunnel
	pings a 10.9.0.2
}

test_loop() {
	make_both
	pings a 10.9.0.2
	on a omertactl peer set omr0 peer b endpoint 10.9.0.2:51900
	refused on a ping -c 3 -i 0.1 -W 1 10.9.0.2
	is 3 dev_stat a tx-drop-loop
	on a omertactl peer set omr0 peer b endpoint "[fd09::2]:51900"
	refused on a ping -c 3 -i 0.1 -W 1 10.9.0.2
	is 6 dev_stat a tx-drop-loop
	# The route, not the endpoint, begins to lead into the tunnel.
	on a omertactl peer set omr0 peer b endpoint 192.0.2.2:51900
	pings a 10.9.0.2
	on a ip route add 192.0.2.2/32 dev omr0
	refused on a ping -c 3 -i 0.1 -W 1 10.9.0.2
	is 9 dev_stat a tx-drop-loop
	on a ip route del 192.0.2.2/32 dev omr0
	pings a 10.9.0.2
}

# All traffic goes through the tunnel, but for marked datagrams.
test_fwmark() {
	make_both
	pings a 10.9.0.2
	pings b 10.9.0.1
	on b ip addr add 203.0.113.2/32 dev lo
	on a omertactl peer set omr0 peer b endpoint 203.0.113.2:51900 allowed-ips 0.0.0.0/0,::/0
	on a ip route add default dev omr0
	on a ip route add default via 192.0.2.2 dev to_b table 51
	on a ip rule add fwmark 0x51 lookup 51
	refused on a ping -c 1 -W 1 10.9.0.2
	is 1 dev_stat a tx-drop-loop
	on a omertactl link set omr0 fwmark 0x51
	on a iptables -t mangle -A OUTPUT -p udp --dport 51900 -m mark --mark 0x51
	pings a 10.9.0.2
	pings a 203.0.113.2
	is 203.0.113.2:51900 peer_endpoint a b
	is 192.0.2.1:51900 peer_endpoint b a
	on a iptables -t mangle -L OUTPUT -vnx | awk '/51900/ && $1 >= 6 { found = 1 } END { exit !found }'
	on a omertactl link set omr0 fwmark off
	refused on a ping -c 1 -W 1 10.9.0.2
	is 2 dev_stat a tx-drop-loop
}

inner_endpoint() {
	endpoint() { echo "10.9.0.${NUM[$2]}:$PORT"; }
}

test_tunnel_in_tunnel() {
	make_both
	inner_endpoint
	DEV=omr1 PORT=51901 IN4=10.10.0. IN6=fd10::
	make_dev a
	make_dev b
	on a ip link set omr1 mtu 1280
	on b ip link set omr1 mtu 1280
	connect a b
	serve b
	pings a 10.10.0.2
	pings a -s 1200 fd10::2
	tcp a 10.10.0.2 2M
	udp a 10.10.0.2
}

TESTS=(
	test_v4_in_v4 test_v4_in_v6 test_v6_in_v4 test_v6_in_v6
	test_policy_inline test_policy_percpu test_policy_auto
	test_large_mtu_512 test_large_mtu_512_percpu test_large_mtu_4096 test_mtu_refused
	test_counters
	test_roaming_v4 test_roaming_v6 test_source_filter test_several_peers
	test_moved_device test_netns_deleted test_module_unloaded
	test_loop test_fwmark test_tunnel_in_tunnel
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
