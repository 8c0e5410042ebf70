#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packets that wait: in the device's queue, and what becomes of those that waited
# together. Needs root, and in practice a guest.
#
# usage: queue.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

backlog() {
	member "$(on a tc -s -j qdisc show dev omr0)" backlog
}

# fill RATE: fills the outer link of such a rate, then the device's queue.
fill() {
	on a tc qdisc replace dev to_b root tbf rate "$1" burst 64k limit 32mb
	on a ./traffic.py send 10.9.0.2 9 5000 1300
	more_than 100000 backlog
}

# A device that cannot get rid of what it sealed stops its queue, drops nothing,
# and goes on when there is room.
test_full_queue() {
	local before

	make_both
	on a tc qdisc replace dev omr0 root pfifo limit 10000
	fill 8kbit
	no_drops a
	# Room on the link
	on a tc qdisc del dev to_b root
	await is 0 backlog
	pings a 10.9.0.2
	# Sockets that nothing is charged to
	fill 8kbit
	before=$(backlog)
	on a omertactl link set omr0 listen-port 51999
	await less_than "$before" backlog
	on a tc qdisc del dev to_b root
	await is 0 backlog
	pings a 10.9.0.2
	no_drops a
}

# Packets that the outer link cannot carry wait in the device's qdisc, which lets others pass. The
# link's own queue could hold 33 seconds of packets.
test_pings_beside_bulk() {
	make_both
	# On a slow machine CoDel would have dropped what waits before it is looked at.
	on a tc qdisc replace dev omr0 root fq_codel target 60s interval 60s
	# Emulators can fill it.
	fill 1mbit
	on a ping -c 10 -i 0.2 -w "$WAIT" 10.9.0.2 | tee "$DIR/pings"
	# shellcheck disable=SC2016 # awk's
	less_than 3000 awk -F / '/^rtt/ { print int($5) }' "$DIR/pings"
}

# at_once ADDRESS: a peer can be reached without delay.
at_once() {
	on a ping -c 1 -w 1 -W 1 "$1"
}

# Packets for a peer that cannot be reached yet do not hold up those for others.
test_held_back() {
	make_both
	NUM[x]=7
	on a omertactl peer add omr0 id 7 name x endpoint 192.0.2.7:51900 allowed-ips 10.9.0.7/32
	install_key a x
	activate a x
	pings a 10.9.0.2
	# No host on the outer link has this address.
	bg a ping -c 3 -i 0.1 -W 1 10.9.0.7
	await on_its_way 192.0.2.7
	at_once 10.9.0.2
	# A tunnel in a tunnel that has no key for the peer
	on a omertactl peer add omr0 id 8 name y endpoint 192.0.2.2:51900 allowed-ips 10.9.0.8/32
	DEV=omr1 PORT=51901 IN4=10.10.0. IN6=fd10::
	make_dev a
	make_dev b
	connect a b
	on a omertactl peer add omr1 id 7 name x endpoint 10.9.0.8:51901 allowed-ips 10.10.0.7/32
	install_key a x
	activate a x
	pings a 10.10.0.2
	bg a ping -c 3 -i 0.1 -W 1 10.10.0.7
	await more_than 0 peer_stat a x tx-packets
	at_once 10.10.0.2
}

# Its link-layer address is asked for.
on_its_way() {
	on a ip neigh show "$1" | grep -q INCOMPLETE
}

# varied NS ADDRESS: 2000 packets of all sizes, small ones often in a row
varied() {
	on "$1" ./traffic.py send-varied "$2"
}

# take_varied NS: the same arrives, in order. The process is $! afterwards.
take_varied() {
	bg "$1" timeout "$WAIT" ./traffic.py receive-varied
	await udp_bound "$1" 7777
}

# Packets sent between the two wait, whether the link or the sender is faster.
hold() { on a tc qdisc replace dev to_b root tbf rate 8kbit burst 2k limit 32mb; }
let_go() { on a tc qdisc change dev to_b root tbf rate 20mbit burst 2k limit 32mb; }

# waiting ADDRESS: sends packets that wait together; prints how many records it took.
waiting() {
	local to records

	hold
	records=$(peer_stat a b tx-records)
	take_varied b
	to=$!
	varied a "$1"
	let_go
	wait "$to" || return
	echo $(($(peer_stat a b tx-records) - records))
}

# Packets that wait together share records, and those share datagrams.
test_bunches() {
	make_both channels 1
	keep_order b to_a
	set_qdisc a omr0 pfifo limit 10000
	# A limit learned on the quick link would let much past before anything waits.
	on a tee /sys/class/net/omr0/queues/tx-0/byte_queue_limits/limit_max <<<100000
	less_than 1200 waiting 10.9.0.2
	less_than 1200 waiting fd09::2
	is 4000 peer_stat b a rx-packets
	on a omertactl link set omr0 batch off
	is 2000 waiting 10.9.0.2
	is 6000 peer_stat b a rx-packets
	no_drops a
	no_drops b
}

# longest COMMAND...: UDP payload bytes of a's longest datagram to b while the command runs
longest() {
	local records capture

	capture=''
	# None was sent before it listens.
	until [[ $capture && $(peer_stat a b tx-records) == "$records" ]]; do
		[[ ! $capture ]] || { kill "$capture"; wait "$capture" || :; }
		: >"$DIR/err"
		records=$(peer_stat a b tx-records)
		bg b tcpdump --immediate-mode -s 128 -lnqi to_a udp and src 192.0.2.1 \
			2>"$DIR/err" >"$DIR/seen"
		capture=$!
		await grep -q listening "$DIR/err"
	done
	"$@" >/dev/null || return
	# Packets in the device's queue are no records yet.
	await is 0 backlog
	await seen_all "$records"
	kill "$capture"
	wait "$capture" || :
	sed 's/.*length //' "$DIR/seen" | sort -n | tail -n 1
}

seen_all() {
	(($(grep -c length "$DIR/seen") == $(peer_stat a b tx-records) - $1))
}

# one_ping ADDRESS LENGTH
one_ping() {
	on a ping -c 1 -W "$WAIT" -s $(($2 - ${OVERHEAD:-28})) "$1"
}

# together ADDRESS: 500 small packets that wait together
together() {
	hold
	on a ./traffic.py send "$1" 9 500 40
	let_go
}

# A route that takes less than the device bounds padding and batches.
route_mtu() {
	local to=$1 padded batch

	pings a "$to"
	padded=$(longest one_ping "$to" 1299)
	batch=$(longest together "$to")
	on a ip link set omr0 mtu 1299
	less_than "$padded" longest one_ping "$to" 1299
	padded=$(longest one_ping "$to" 1299)
	less_than "$batch" longest together "$to"
	batch=$(longest together "$to")
	on a ip link set omr0 mtu 1388
	on a ip route replace "$to" dev omr0 mtu 1299
	is "$padded" longest one_ping "$to" 1299
	is "$batch" longest together "$to"
	on a ip route del "$to" dev omr0
}

test_route_mtu() {
	make_both channels 1
	# Each datagram on its own
	on a ethtool -K to_b tx-udp-segmentation off
	set_qdisc a omr0 pfifo limit 10000
	on a tee /sys/class/net/omr0/queues/tx-0/byte_queue_limits/limit_max <<<100000
	on b iptables -A INPUT -p udp --dport 9 -j DROP
	on b ip6tables -A INPUT -p udp --dport 9 -j DROP
	route_mtu 10.9.0.2
	OVERHEAD=48 route_mtu fd09::2
	# Less than any IPv6 route
	on a ip route replace 10.9.0.2 dev omr0 mtu 600
	less_than 700 longest together 10.9.0.2
	no_drops a
}

# timestamp ADDRESS [BYTES]: a socket gets one time stamp for a datagram of BYTES; many bytes are the
# segments of one packet.
timestamp() {
	on a ./traffic.py time-stamps "$1" "${2:-100}" "$WAIT"
}

test_timestamps() {
	local to

	make_both
	on b iptables -A INPUT -p udp --dport 9 -j DROP
	on b ip6tables -A INPUT -p udp --dport 9 -j DROP
	for to in 10.9.0.2 fd09::2; do
		pings a "$to"
		timestamp "$to"
		timestamp "$to" 64000
	done
	on a ethtool -T omr0 | grep -q software-transmit
}

# A packet with a link layer's padding, forwarded say, does not spoil a batch.
test_padded_packets() {
	local to

	make_both channels 1
	keep_order b to_a
	set_qdisc a omr0 pfifo limit 10000
	hold
	bg b timeout "$WAIT" ./traffic.py receive-padded
	to=$!
	await udp_bound b 7777
	on a ./traffic.py send-padded
	let_go
	wait "$to"
	less_than 350 peer_stat a b tx-records
	no_drops b
}

# Packets to different peers, with different ECN fields, or with and without DF, are in different
# bunches.
test_mixed_bunches() {
	local to

	make_both df inherit channels 1
	make_ns c
	make_veth a c
	make_dev c
	connect a c
	set_qdisc a omr0 pfifo limit 10000
	pings a 10.9.0.3
	hold
	# tcpdump on a slow kernel falls behind: buffer all of them.
	bg b tcpdump -i to_a -n -v -l -s 64 -B 16384 'udp port 51900' >"$DIR/dump" 2>"$DIR/err"
	await grep -q listening "$DIR/err"
	bg b timeout "$WAIT" ./traffic.py receive-marked 500
	to=$!
	bg c timeout "$WAIT" ./traffic.py receive-marked 250
	await udp_bound b 7777
	await udp_bound c 7777
	on a ./traffic.py send-marked 10.9.0.2 10.9.0.3
	let_go
	wait "$to"
	wait "$!"
	less_than 450 peer_stat a b tx-records
	# The long ones, one in a record, and nothing else, have this mark.
	await is 163 grep -c 'length 1324)' "$DIR/dump"
	is 163 grep -c '(tos 0x1,ECT(1).* length 1324)' "$DIR/dump"
	is 163 grep -c '(tos 0x1,ECT(1)' "$DIR/dump"
	is 82 grep -c 'flags \[DF\].* length 1324)' "$DIR/dump"
	no_drops b
	no_drops c
}

# forwarded: 2000 small packets come to a from c, right after each other, and arrive at
# b, few of them late; prints how many records it took.
forwarded() {
	local backlog=/proc/sys/net/core/netdev_max_backlog before status=0

	before=$(<"$backlog")
	echo 10000 >"$backlog"
	forward || status=$?
	echo "$before" >"$backlog"
	return "$status"
}

# c sends 2000 packets to b as quickly as a can forward them: they wait in a shaper, whose timer runs
# on CPU 0 like the program that sends them. So a's helper is CPU 1.
send_through() {
	on c tc qdisc replace dev to_a root tbf rate 8kbit burst 2k limit 32mb
	on c taskset 1 ./traffic.py send-numbers 10.9.0.2 0 2000
	on c tc qdisc change dev to_a root tbf rate 2gbit burst 64k limit 32mb
}

forward() {
	local records to

	records=$(peer_stat a b tx-records)
	bg b timeout "$WAIT" ./traffic.py receive-nearly-in-order 2000
	to=$!
	await udp_bound b 7777
	send_through
	wait "$to" || return
	echo $(($(peer_stat a b tx-records) - records))
}

# a forwards for c, as quickly as it can.
make_forwarding() {
	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	# With "auto" it would depend on measurements.
	make_both policy percpu channels 1
	make_ns c
	make_veth a c
	on a sysctl -q net.ipv4.ip_forward=1
	on c ip route add 10.9.0.0/24 via 198.51.100.1
	on b omertactl peer set omr0 peer 1 allowed-ips 10.9.0.1/32,198.51.100.3/32
	set_qdisc a omr0 pfifo limit 10000
	# No packet shall wait for an address.
	pings c 198.51.100.1
	pings a 10.9.0.2
	# So that they do not wait for the link, together
	on a tee /sys/class/net/omr0/queues/tx-0/byte_queue_limits/limit_min <<<100000000
	# Late is what another CPU took, not what another CPU received.
	keep_order a to_c
	keep_order b to_a
}

# An emulator may stop a CPU for longer than others wait for it.
forwarded_with_help() {
	less_than 1900 forwarded || less_than 1900 forwarded ||
		less_than 1900 forwarded
}

# Another CPU helps a fast sender, and finds several packets at a time.
test_quick_sender() {
	make_forwarding
	forwarded_with_help
	on a omertactl link set omr0 policy inline
	is 2000 forwarded
	no_drops a
	no_drops b
}

# released CPU: 500 packets wait in the qdisc, until another, on that CPU, finds that all
# may leave it; prints how many records they took.
released() {
	local received records

	set_qdisc a omr0 tbf rate 80bit burst 200b limit 32mb
	received=$(peer_stat b a rx-packets)
	records=$(peer_stat a b tx-records)
	# shellcheck disable=SC2046 # words
	on a ./traffic.py send-released "$1" $(qdisc_at a omr0)
	await is $((received + 501)) peer_stat b a rx-packets
	echo $(($(peer_stat a b tx-records) - records))
}

# The helper of a quick sender takes together what leaves the qdisc together.
test_released() {
	local cpu

	make_forwarding
	forwarded_with_help
	# One of them is not the helper. A record holds up to seven packets.
	for cpu in 0 1; do
		less_than 110 released "$cpu"
	done
	no_drops b
}

# Packets that wait for keys of many peers are limited as a whole, though no socket's
# buffer limits them any more.
test_waiting_for_keys() {
	local i

	make_ns a
	make_dev a
	for i in {2..23}; do
		on a omertactl peer add omr0 id "$i" endpoint "192.0.2.$i:51900" \
			allowed-ips "10.9.0.$i/32"
	done
	on a ip link set omr0 up
	on a ip route add 192.0.2.0/24 dev lo
	on a ./traffic.py send-super 16 10.9.0.{2..21}
	on a ./traffic.py send-small 200 10.9.0.22
	# One packet for each peer may wait all the same, until it has waited for long enough.
	refused on a ping -c 2 -i 0.2 -W 1 10.9.0.23 >"$DIR/pings"
	grep 'icmp_seq=2 Destination Host Unreachable' "$DIR/pings"
	refused grep 'icmp_seq=1 ' "$DIR/pings"
	await is '' waits_not 10.9.0.23
}

# waits_not ADDRESS: the error that a ping there gets within a second
waits_not() {
	on a ping -c 1 -W 1 "$1" | grep -o 'Unreachable' || :
}

# A helper on a CPU that never comes to it does not keep its device from going down.
test_starved_helper() {
	local down

	make_forwarding
	forwarded_with_help
	starve 1
	send_through
	await more_than 0 backlog
	bg a taskset 1 ip link set omr0 down
	down=$!
	await refused kill -0 "$down"
	wait "$down"
	kill -0 "$SPINNER"
	kill -9 "$SPINNER"
	on a ip link set omr0 up
	pings a 10.9.0.2
}

# Workers on a CPU that never runs them keep no device from going down, at either end of the
# tunnel.
test_starved_workers() {
	local down ns

	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	make_both policy percpu cpus 0-1 percpu-threshold 1
	pings a 10.9.0.2
	starve 1
	# Receiving softirqs run on the sender's CPU. The queue may come to wait for a helper.
	on a taskset 1 ./traffic.py offer 10.9.0.2 500 8000
	for ns in a b; do
		bg "$ns" taskset 1 ip link set omr0 down
		down=$!
		await refused kill -0 "$down"
		wait "$down"
	done
	kill -0 "$SPINNER"
	kill -9 "$SPINNER"
	for ns in a b; do
		on "$ns" ip link set omr0 up
	done
	pings a 10.9.0.2
}

# turns: how often a worker has finished
turns() {
	sed -n 's/^voluntary_ctxt_switches:\s*//p' "/proc/$WORKER/status"
}

# A worker with a higher priority than the process that occupies its CPU works, others do not.
test_priority() {
	local before

	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	make_both policy percpu cpus 0-1 percpu-threshold 1
	pings a 10.9.0.2
	WORKER=$(pgrep '^omerta/1$')
	starve 1 50
	before=$(turns)
	offer_at_0
	is "$before" turns
	chrt -f -p 60 "$WORKER"
	offer_at_0
	await more_than "$before" turns
	chrt -o -p 0 "$WORKER"
	kill -9 "$SPINNER"
	pings a 10.9.0.2
}

# Like on(), but never waits for RCU
offer_at_0() {
	nsenter --net=/run/netns/omt-a taskset 1 ./traffic.py offer 10.9.0.2 500 8000
}

# An unprivileged reader waits neither for a NAPI whose thread gets no CPU, nor for a process that
# waits for that NAPI with the device's lock and RTNL.
test_starved_napi() {
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all) shown down

	make_both fwmark 5
	is 5 member "$(on b omertactl -j link show)" fwmark
	starve_napi b
	on a taskset 1 ping -c 1 -W 1 10.9.0.2 || :
	bg b taskset 1 ip link set omr0 down
	down=$!
	await grep 'State:.D' "/proc/$down/status"
	for shown in omr0 ''; do
		# shellcheck disable=SC2086 # none of all
		bg b taskset 1 "${nobody[@]}" omertactl -j link show $shown >"$DIR/shown"
		await refused kill -0 $!
		shown=$(<"$DIR/shown")
		is 51900 member "$shown" listen-port
		refused grep -E 'fwmark|control|secrets|epoch|peers' <<<"$shown"
	done
	# It sleeps between looks, and looks are seen as R.
	await grep 'State:.D' "/proc/$down/status"
	kill -9 "$SPINNER"
	wait "$down"
}

test_fq_codel() {
	local default

	make_ns a
	default=$(</proc/sys/net/core/default_qdisc)
	echo pfifo_fast >/proc/sys/net/core/default_qdisc
	on a ip link add omr1 type omerta
	make_dev a
	on a ip link set omr0 up
	on a ip link set omr1 up
	echo "$default" >/proc/sys/net/core/default_qdisc
	on a tc qdisc show dev omr1 | grep 'qdisc pfifo_fast'
	on a tc qdisc show dev omr0 | grep 'qdisc fq_codel'
	# It is the user's to change.
	on a tc qdisc replace dev omr0 root pfifo
	on a omertactl link set omr0 fwmark 5
	on a tc qdisc show dev omr0 | grep 'qdisc pfifo'
}

TESTS=(
	test_fq_codel test_full_queue test_pings_beside_bulk test_held_back
	test_waiting_for_keys test_bunches test_route_mtu test_timestamps test_padded_packets
	test_mixed_bunches test_quick_sender
	test_released test_starved_helper test_starved_workers test_priority
	test_starved_napi
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
