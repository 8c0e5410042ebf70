#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Traffic through tunnels between network namespaces. Needs root.
#
# usage: netns.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

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
	copy a b "$1" 1000001
}

test_v4_in_v4() { combination 10.9.0.2 4; }
test_v4_in_v6() { combination 10.9.0.2 6; }
test_v6_in_v4() { combination fd09::2 4; }
test_v6_in_v6() { combination fd09::2 6; }

# policy SETTING...: a device's chunk size changes only while it is down.
policy() {
	local size end

	make_both "$@"
	for size in 512 4096 65536; do
		for end in a b; do
			on "$end" ip link set "$DEV" down
			on "$end" omertactl link set "$DEV" chunk-size "$size"
			on "$end" ip link set "$DEV" up
		done
		copy a b 10.9.0.2 2000000
	done
}

engine_of() {
	on "$1" omertactl -j show "$DEV" | jq -r '.[0].engine'
}

# Every engine that the CPU has understands the library, and the other way round.
test_engines() {
	local engine engines=lib

	make_both
	for engine in mb-{avx512ifma,avx512vl,avx2,ssse3,sse2,neon}; do
		! on a omertactl link set "$DEV" engine "$engine" || engines+=" $engine"
	done
	if [[ $engines == lib && $(uname -m) != @(x86_64|aarch64) ]]; then
		echo "SKIP no engine for this architecture"
		exit 4
	fi
	[[ $engines == *" "* ]]
	for engine in $engines; do
		on a omertactl link set "$DEV" engine "$engine"
		is "$engine" engine_of a
		copy a b 10.9.0.2 300000
		copy b a 10.9.0.1 300000
	done
	on a omertactl link set "$DEV" engine auto
	on b omertactl link set "$DEV" engine lib
	copy a b 10.9.0.2 300000
	copy b a 10.9.0.1 300000
	no_drops a
	no_drops b
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
	copy b a 10.9.0.1 3000001
}

test_large_mtu_512() { large 512 63000; }
test_large_mtu_512_percpu() { large 512 63000 policy percpu; }
test_large_mtu_4096() { large 4096 65000; }

# numbered COUNT: datagrams of one chunk and of many by turns, from a. A part of them has
# arrived at b before the next, which would not have room in its socket on a slow machine.
numbered() {
	local i part=120

	for ((i = 0; i < $1; i += part)); do
		on a taskset 1 ./traffic.py send-numbers 10.9.0.2 \
			"$i" $((i + part)) 1 300 10 15000
		await is $((i + part)) dev_stat b rx-packets
	done
}

# take_numbered NS COUNT FILE: in the background
take_numbered() {
	bg "$1" timeout "$WAIT" ./traffic.py receive-numbers "$2" >"$3"
	await udp_bound "$1" 7777
}

# order SENDER-POLICY RECEIVER-POLICY [SETTING...]
order() {
	make_ns a b
	make_veth a b
	on a ip link set to_b mtu 65535
	on b ip link set to_a mtu 65535
	keep_order b to_a
	introduce a b
	make_tunnel "${@:3}"
	on a ip link set omr0 mtu 63000
	# fq_codel would drop packets that waited for long.
	on a tc qdisc replace dev omr0 root pfifo limit 1000
	on a omertactl link set omr0 policy "$1"
	on b omertactl link set omr0 policy "$2"
}

# Datagrams of which each carries one packet, in the background
capture_600() {
	bg a timeout "$WAIT" tcpdump -i to_b -n -s 64 -w "$DIR/pcap" -Q out -c 600 'udp[8:4] != 0 and greater 90' 2>"$DIR/err"
	await grep -q listening "$DIR/err"
}

# Records left in the order of their counters.
left_in_order() {
	python3 - "$DIR/pcap" <<-'END'
		import struct, sys
		data = open(sys.argv[1], "rb").read()[24:]
		counters = []
		while data:
		    size = struct.unpack_from("I", data, 8)[0]
		    # Behind the headers of Ethernet, IPv4 and UDP
		    counters.append(struct.unpack_from("<Q", data, 16 + 42 + 8)[0])
		    data = data[16 + size:]
		assert len(counters) == 600, len(counters)
		assert counters == sorted(set(counters)), counters
	END
}

# Records that several CPUs seal leave in order.
test_order_out() {
	local dump numbers

	order percpu inline
	# A datagram for each packet
	on a omertactl link set omr0 batch off
	on a ethtool -K to_b tx-udp-segmentation off
	capture_600
	dump=$!
	take_numbered b 600 "$DIR/numbers"
	numbers=$!
	numbered 600
	wait "$dump"
	wait "$numbers"
	sort -n "$DIR/numbers" | cmp - <(seq 0 599)
	left_in_order
	no_drops a
	no_drops b
}

# And those that several CPUs open come out in the order of their arrival.
test_order_in() {
	local numbers

	order inline percpu
	take_numbered b 600 "$DIR/numbers"
	numbers=$!
	numbered 600
	wait "$numbers"
	cmp <(seq 0 599) "$DIR/numbers"
	no_drops a
	no_drops b
}

# helped: number of times that CPUs have started to help others since trace_help()
helped() {
	grep -c 'function worker_work \[omerta\]' "$TRACING/trace" || true
}

trace_help() {
	TRACING=/sys/kernel/tracing
	mountpoint -q "$TRACING" || mount -t tracefs none "$TRACING" || {
		echo "SKIP no tracefs"
		exit 4
	}
	echo 1 >"$TRACING/events/sched/sched_kthread_work_execute_start/enable"
	echo >"$TRACING/trace"
}

# shared DEVICE SENDER-POLICY RECEIVER-POLICY: CPUs share bursts that wait together in front of a
# device that sends some at a time, even if each is too short to be split. Packets with different
# ECN fields are in different bursts.
shared() {
	local dump numbers

	if (($(nproc) < 2)); then
		echo "SKIP one CPU"
		exit 4
	fi
	# The records of two flows leave in order if they have the same queue.
	order "$2" "$3" channels 1
	on a omertactl link set omr0 percpu-threshold 16384
	on b omertactl link set omr0 percpu-threshold 16384
	on a tc qdisc replace dev "$1" root netem slot 100ms limit 1000
	on a sh -c 'echo 1000000 >/sys/class/net/omr0/queues/tx-0/byte_queue_limits/limit_min'
	capture_600
	dump=$!
	take_numbered b 600 "$DIR/numbers"
	numbers=$!
	trace_help
	on a ./traffic.py send-numbers-marked 10.9.0.2 600
	await is 600 dev_stat b rx-packets
	echo 0 >"$TRACING/events/sched/sched_kthread_work_execute_start/enable"
	wait "$dump"
	wait "$numbers"
	more_than 0 helped
	left_in_order
	no_drops a
	no_drops b
}

test_shared_out() {
	shared omr0 percpu inline
	sort -n "$DIR/numbers" | cmp - <(seq 0 599)
}

test_shared_in() {
	shared to_b inline percpu
	cmp <(seq 0 599) "$DIR/numbers"
}

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

	make_both batch off
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

# A record in flight does not move an endpoint back that was just set; a later record does.
test_endpoint_held() {
	make_both
	pings a 10.9.0.2
	on b tc qdisc add dev to_a root netem delay 600ms
	records=$(peer_stat a b rx-records)
	on b bash -c 'echo >/dev/udp/10.9.0.1/9'
	await waits_on_link
	on a omertactl peer set omr0 peer b endpoint 192.0.2.77:51900
	await more_than "$records" peer_stat a b rx-records
	is 192.0.2.77:51900 peer_endpoint a b
	await answers b 10.9.0.1
	is 192.0.2.2:51900 peer_endpoint a b
}

# waits_on_link: succeeds if a datagram from b waits in its link's qdisc
waits_on_link() {
	on b tc -s qdisc show dev to_a | grep -q 'backlog [1-9]'
}

answers() {
	on "$1" ping -c 1 -W 1 "$2"
}

# b has an address behind two links, and takes no source from the wrong one.
two_links() {
	local ns

	make_both
	ip link add up2 netns omt-a type veth peer name up2 netns omt-b
	for ns in a b; do
		on "$ns" ip link set up2 up
		on "$ns" ip addr add "198.51.100.${NUM[$ns]}/24" dev up2
		on "$ns" ip addr add "2001:db8:3::${NUM[$ns]}/64" dev up2 nodad
	done
	on b ip addr add 203.0.113.9/32 dev lo
	on b ip addr add 2001:db8:9::9/128 dev lo
	on b sysctl -qw net.ipv4.conf.{all,to_a,up2}.rp_filter=1
}

# goes_by SOURCE ROUTE...: records go out by a route that is replaced, from that source.
goes_by() {
	on a ip route replace "${@:2}"
	pings a 10.9.0.2
	is "$1:51900" peer_endpoint b a
}

test_source_of_route_v4() {
	two_links
	on a omertactl peer set omr0 peer b endpoint 203.0.113.9:51900
	goes_by 192.0.2.1 203.0.113.9 via 192.0.2.2
	goes_by 198.51.100.1 203.0.113.9 via 198.51.100.2
	is 203.0.113.9:51900 peer_endpoint a b
	goes_by 192.0.2.1 203.0.113.9 via 192.0.2.2
	no_drops a
	no_drops b
}

test_source_of_route_v6() {
	two_links
	on a omertactl peer set omr0 peer b endpoint '[2001:db8:9::9]:51900'
	goes_by '[2001:db8:2::1]' 2001:db8:9::9 via 2001:db8:2::2
	goes_by '[2001:db8:3::1]' 2001:db8:9::9 via 2001:db8:3::2
	is '[2001:db8:9::9]:51900' peer_endpoint a b
	goes_by '[2001:db8:2::1]' 2001:db8:9::9 via 2001:db8:2::2
	no_drops a
	no_drops b
}

# A VRF's device counts as the way that the route takes.
test_source_in_vrf() {
	make_both
	on a ip link add red type vrf table 10 || { echo "SKIP no VRF"; exit 4; }
	on a ip link set red up
	on a ip link set to_b master red
	on a ip addr add 192.0.2.5/24 dev to_b
	on a ip rule add fwmark 7 table 10
	on a omertactl link set omr0 fwmark 7
	on a sysctl -qw net.ipv4.udp_l3mdev_accept=1
	on b omertactl peer set omr0 peer a endpoint 192.0.2.5:51900
	pings b 10.9.0.1
	is 192.0.2.5:51900 peer_endpoint b a
}

# Records get lost that a sends from the address that b sent to, so a comes to use another.
test_source_of_silence() {
	make_both
	on a ip addr add 192.0.2.5/24 dev to_b
	on b omertactl peer set omr0 peer a endpoint 192.0.2.5:51900
	pings b 10.9.0.1
	is 192.0.2.5:51900 peer_endpoint b a
	on b iptables -A INPUT -s 192.0.2.5 -j DROP
	no_ping a 10.9.0.2
	WAIT=40 await on a ping -c 1 -W 1 10.9.0.2
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

# The error that an administrator leaves at the socket is not taken for the next datagram.
test_aborted_socket() {
	make_both
	pings a 10.9.0.2
	on b ss -HuaK sport = :51900 | tee "$DIR/aborted"
	grep -q 51900 "$DIR/aborted" || { echo "SKIP no ss that aborts UDP sockets, or no udp_diag"; exit 4; }
	on a ping -c 1 -W 5 10.9.0.2
}

test_several_peers() {
	local drops

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
	drops=$(dev_stat a tx-drop-no-peer)
	no_ping a 10.9.7.1
	is "$((drops + 1))" dev_stat a tx-drop-no-peer
	pings a 10.9.0.2
}

moves_to() {
	local before

	before=$(peer_stat a "$1" rx-packets)
	pings a 10.9.7.1
	is "$((before + 3))" peer_stat a "$1" rx-packets
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

# Routes that depend on the port that datagrams come from are looked up for that port.
port_rules() {
	OUTER=$1
	make_both
	on a ip "-$1" rule add sport 51999 prohibit
	pings a 10.9.0.2
	on a omertactl link set omr0 listen-port 51999
	no_ping a 10.9.0.2
	on a omertactl link set omr0 listen-port "$PORT"
	pings a 10.9.0.2
}

test_port_rules_v4() { port_rules 4; }
test_port_rules_v6() { port_rules 6; }

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
	copy a b 10.10.0.2 2000000
	udp a 10.10.0.2
}

# make_onion: adds a peer whose datagrams are carried by another peer of the same device.
make_onion() {
	local rx=$DIR/onion-ba tx=$DIR/onion-ab

	make_secret "$rx"
	make_secret "$tx"
	on b omertactl link add omr1 listen-port 51901
	on b ip link set omr1 addrgenmode none
	on b ip addr add 10.10.0.2/24 dev omr1
	on b ip addr add fd10::2/64 dev omr1 nodad
	on b omertactl peer add omr1 id 1 name a allowed-ips 10.10.0.1/32,fd10::1/128
	on b omertactl key add omr1 peer 1 local-id 109 remote-id 901 \
		rx-key-file "$tx" tx-key-file "$rx"
	on b ip link set omr1 up
	on a ip addr add 10.10.0.1/24 dev omr0
	on a ip addr add fd10::1/64 dev omr0 nodad
	on a omertactl peer add omr0 id 9 name onion endpoint "$1" \
		allowed-ips 10.10.0.2/32,fd10::2/128
	on a omertactl key add omr0 peer 9 local-id 901 remote-id 109 \
		rx-key-file "$rx" tx-key-file "$tx"
	on b omertactl key activate omr1 peer 1 local-id 109
	on a omertactl key activate omr0 peer 9 local-id 901
}

onion() {
	make_both
	make_onion "$1"
	serve b
	pings a 10.10.0.2
	pings b -I 10.10.0.2 10.10.0.1
	pings a -s 1400 fd10::2
	copy a b 10.10.0.2 2000000
	udp a 10.10.0.2
	pings a 10.9.0.2
	is 0 dev_stat a tx-drop-loop
}

test_onion_v4() {
	onion 10.9.0.2:51901
	# Into itself
	on a omertactl peer set omr0 peer 9 endpoint 10.10.0.2:51901
	no_ping a 10.10.0.2
	is 1 dev_stat a tx-drop-loop
	# To where no peer is
	on a omertactl peer set omr0 peer 9 endpoint 10.9.0.77:51901
	no_ping a 10.10.0.2
	is 2 dev_stat a tx-drop-loop
	# Each into the other. The last that looks for its route sees it.
	on a omertactl peer set omr0 peer 9 endpoint 10.9.0.2:51901
	on a omertactl peer set omr0 peer b endpoint 10.10.0.2:51900
	no_ping a 10.10.0.2
	no_ping a 10.9.0.2
	more_than 3 dev_stat a tx-drop-loop
	more_than 0 peer_stat a b tx-packets
	less_than 1000 dev_stat a tx-drop-loop
	on a omertactl peer set omr0 peer b endpoint 192.0.2.2:51900
	pings a 10.9.0.2
	pings a 10.10.0.2
}

test_onion_v6() {
	onion "[fd09::2]:51901"
}

loops() {
	echo $(($(DEV=omr0 dev_stat a tx-drop-loop) + $(DEV=omr1 dev_stat a tx-drop-loop)))
}

# Each leads into the other. The last that looks for its route sees it.
test_mutual_tunnels() {
	make_both
	pings a 10.9.0.2
	inner_endpoint
	DEV=omr1 PORT=51901 IN4=10.10.0. IN6=fd10::
	make_dev a
	make_dev b
	connect a b
	pings a 10.10.0.2
	on a omertactl peer set omr0 peer b endpoint 10.10.0.2:51900
	no_ping a 10.9.0.2
	no_ping a -s 1300 10.10.0.2
	more_than 1 loops
	less_than 100 dev_stat a tx-packets
	on a omertactl peer set omr0 peer b endpoint 192.0.2.2:51900
	pings a 10.9.0.2
	pings a 10.10.0.2
}

# seen FILTER COMMAND...: tcpdump's line for the first packet that matches in namespace b, or $AT, on
# the device $ON
seen() {
	local dump

	bg "${AT:-b}" timeout "$WAIT" tcpdump -i "$ON" -n -v -c 1 "$1" >"$DIR/dump" 2>"$DIR/err"
	dump=$!
	await grep -q listening "$DIR/err"
	"${@:2}"
	wait "$dump"
	cat "$DIR/dump"
}

# The outer header is ECT if the inner one is (like the kernel's tunnels, by RFC 3168, CE itself is
# not copied). CE of the outer header is copied to inner packets that are ECT: RFC 6040.
test_ecn() {
	make_both
	pings a 10.9.0.2
	ON=to_a seen 'udp and greater 100' on a ping -c 1 -Q 2 10.9.0.2 | grep 'tos 0x2,ECT(0)'
	ON=to_a seen 'udp and greater 100' on a ping -c 1 -Q 3 10.9.0.2 | grep 'tos 0x2,ECT(0)'
	# The DSCP stays inside.
	ON=to_a seen 'udp and greater 100' on a ping -c 1 -Q 0xb8 10.9.0.2 | grep 'tos 0x0,'
	ON=omr0 seen 'icmp[icmptype] = 8' on a ping -c 1 -Q 0xba 10.9.0.2 | grep 'tos 0xba,ECT(0)'
	on b iptables -t mangle -A PREROUTING -i to_a -p udp -j TOS --set-tos 3/3
	ON=omr0 seen 'icmp[icmptype] = 8' on a ping -c 1 -Q 2 10.9.0.2 | grep 'tos 0x3,CE'
	ON=omr0 seen 'icmp[icmptype] = 8' on a ping -c 1 -Q 0xb9 10.9.0.2 | grep 'tos 0xbb,CE'
	is 0 dev_stat b rx-drop-ecn
	no_ping a -Q 0 10.9.0.2
	is 1 dev_stat b rx-drop-ecn
}

# Super-packets, of two packets at least, go through whole, and where the outer link
# cuts the datagrams, those that come together still make one.
test_super_packets() {
	local end

	make_both
	# Other limits for a while
	on a ip link set omr0 mtu 40000
	on a ip link set omr0 mtu 1388
	ON=to_a seen 'udp and greater 2000' copy a b 10.9.0.2 1000000
	ON=omr0 seen 'tcp and greater 2000' copy a b 10.9.0.2 1000000
	ON=omr0 seen 'ip6 and greater 2000' copy a b fd09::2 1000000
	for end in "a to_b" "b to_a"; do
		# shellcheck disable=SC2086 # two words
		on ${end% *} ethtool -K ${end#* } tx-udp-segmentation off
	done
	ON=omr0 seen 'tcp and greater 2000' copy a b 10.9.0.2 1000000
	ON=omr0 seen 'ip6 and greater 2000' copy a b fd09::2 1000000
	# Super-packets can be turned off.
	on a ethtool -K omr0 tso off
	copy a b 10.9.0.2 1000000
	no_drops a
	no_drops b
}

# held_copy ADDRESS: copies. Many packets wait for the link, and arrive right after each other on any
# machine.
held_copy() {
	local transfer

	on a tc qdisc replace dev to_b root tbf rate 5mbit burst 64k limit 64mb
	copy a b "$1" 8000000 &
	transfer=$!
	await more_than 300000 outer_backlog
	on a tc qdisc change dev to_b root tbf rate 10gbit burst 1mb limit 64mb
	wait "$transfer"
	on a tc qdisc del dev to_b root
}

# An administrator may allow longer super-packets (BIG TCP). They take several bursts.
test_big_packets() {
	local end can

	make_both
	on a sysctl -q net.ipv4.tcp_min_tso_segs=100
	for end in a b; do
		can=$(on "$end" ./traffic.py long-packets omr0 200000)
		[[ $can == yes ]] ||
			{ echo "SKIP before Linux 6.3 the stack segments them"; exit 4; }
	done
	# No queue or window is shorter than the link's.
	on a sysctl -q net.ipv4.tcp_congestion_control=reno
	on b sysctl -q net.ipv4.tcp_rmem='4096 8000000 8000000'
	# shellcheck disable=SC2016 # expanded inside
	on a sh -c 'for q in /sys/class/net/omr0/queues/tx-*; do
		echo 100000000 >$q/byte_queue_limits/limit_min
	done'
	# Received ones are merged.
	for end in a b; do
		AT=$end ON=omr0 seen 'ip6 and greater 70000' held_copy fd09::2
		AT=$end ON=omr0 seen 'ip and greater 70000' held_copy 10.9.0.2
	done
	# A change of the MTU leaves alone what the administrator has set.
	on a ip link set omr0 mtu 1300
	is 200000 member "$(on a ip -d -j link show omr0)" gso_max_size
	no_drops a
	no_drops b
}

# Datagrams that an application has cut by the kernel arrive as if sent one by one.
test_udp_segments() {
	make_both
	bg b ./traffic.py receive-segments 62 >"$DIR/got"
	await udp_bound b 7777
	on a ./traffic.py send-segments 10.9.0.2 fd09::2
	wait "$!"
	for _ in 1 2; do
		for i in {0..29}; do
			echo "1000 $i 1"
		done
		echo '7 30 1'
	done | cmp - "$DIR/got"
	no_drops b
}

# Packet sockets see packets that arrive with their headers.
test_capture() {
	local dump

	make_both
	bg b tcpdump -i omr0 -n -l -c 6 -Q in 'icmp[icmptype] = 8 or (ip6 and icmp6)' >"$DIR/dump" 2>"$DIR/err"
	dump=$!
	await grep -q listening "$DIR/err"
	on a ping -c 3 -i 0.1 -W "$WAIT" -s 1300 10.9.0.2
	on a ping -c 3 -i 0.1 -W "$WAIT" fd09::2
	wait "$dump"
	cat "$DIR/dump"
	is 3 grep -c 'IP 10.9.0.1 > 10.9.0.2: ICMP echo request, .* length 1308$' "$DIR/dump"
	is 3 grep -c 'IP6 fd09::1 > fd09::2: ICMP6, echo request, .* length 64$' "$DIR/dump"
}

TESTS=(
	test_v4_in_v4 test_v4_in_v6 test_v6_in_v4 test_v6_in_v6
	test_engines test_policy_inline test_policy_percpu test_policy_auto
	test_large_mtu_512 test_large_mtu_512_percpu test_large_mtu_4096 test_mtu_refused
	test_order_out test_order_in test_shared_out test_shared_in test_counters
	test_super_packets test_big_packets test_udp_segments
	test_capture test_ecn test_roaming_v4 test_roaming_v6
	test_endpoint_held
	test_source_of_route_v4 test_source_of_route_v6 test_source_of_silence
	test_source_in_vrf test_source_filter test_aborted_socket
	test_several_peers test_loop test_fwmark test_port_rules_v4 test_port_rules_v6
	test_tunnel_in_tunnel test_mutual_tunnels test_onion_v4 test_onion_v6
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
