#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Channels of a device: queues, sockets and NAPIs beside each other. Needs root, and in practice a
# guest.
#
# usage: channels.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2119,SC2317 # the tests are called by name; no settings
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# A device has no more channels than CPUs, unless it was made with more queues.
QUEUES=4

# make_dev HERE [SETTING...]: as in lib_netns.sh, with that many queues.
make_dev() {
	on "$1" ip link add "$DEV" numtxqueues "$QUEUES" numrxqueues "$QUEUES" type omerta \
		listen-port "$PORT" channels "$QUEUES" "${@:2}"
	on "$1" ip link set "$DEV" addrgenmode none
	set_inner "$1"
}

# says TEXT COMMAND...: the command fails with such a message.
says() {
	! "${@:2}" 2>"$DIR/message" || return
	grep -q "$1" "$DIR/message"
}

# channels NS: their number, as each tool shows it
channels() {
	member "$(on "$1" omertactl -j link show "$DEV")" channels
	on "$1" ethtool -l "$DEV" | awk '/^Combined/ { n = $2 } END { print n }'
	on "$1" ip -d link show "$DEV" | grep -o ' channels [0-9]*' | cut -d ' ' -f 3
	on "$1" ethtool -S "$DEV" | grep -c 'rx_queue_[0-9]*_cpu'
	on "$1" omertactl show "$DEV" | sed -n 's/^  channels: //p'
}

have() {
	is "$(printf "$1\n%.0s" 1 2 3 4 5)" channels a
}

# queue NS CHANNEL COUNTER
queue() {
	on "$1" ethtool -S omr0 | awk -v name="${3/_/_queue_$2_}:" '$1 == name { print $2 }'
}

# sum NS COUNTER: over all channels
sum() {
	on "$1" ethtool -S omr0 | awk -v name="^ *${2/_/_queue_[0-9]_}:" '$0 ~ name { n += $2 } END { print n }'
}

sockets() {
	on "$1" ss -H -u -l -n "sport = :$PORT" | wc -l
}

test_settings() {
	local cpus

	make_ns a
	cpus=$(nproc)
	on a omertactl link add omr0
	have "$((cpus < 8 ? cpus : 8))"
	refused on a ethtool -L omr0 combined "$((cpus + 1))"
	says 'at most as many channels as CPUs or queues' \
		on a omertactl link set omr0 channels "$((cpus + 1))"
	refused on a omertactl link set omr0 channels 0
	refused on a omertactl link set omr0 channels 65
	on a omertactl link set omr0 channels 1
	have 1
	on a ip link del omr0
	make_dev a
	have 4
	on a ip link set omr0 up
	# Nothing changes with what is refused.
	says 'channels change only while the device is down' \
		on a omertactl link set omr0 policy inline channels 2
	refused on a ethtool -L omr0 combined 2
	on a omertactl link set omr0 channels 4
	is auto member "$(on a omertactl -j link show omr0)" policy
	have 4
	on a ip link set omr0 down
	on a ethtool -L omr0 combined 2
	have 2
	on a ip link set omr0 type omerta channels 3
	have 3
	on a ip link set omr0 up
	# Each has a queue with a discipline of its own.
	is 3 eval "on a tc qdisc show dev omr0 | grep -c 'parent .*:[123] '"
}

# All channels' sockets have one port. Nobody else can have or join it.
test_port() {
	make_ns a
	make_dev a
	on a ip link set omr0 up
	is "$((QUEUES * 2))" sockets a
	says 'Address already in use' on a timeout "$WAIT" ./traffic.py hold-port 0.0.0.0 "$PORT" reuse
	says 'Address already in use' on a timeout "$WAIT" ./traffic.py hold-port :: "$PORT" reuse
	on a omertactl link add omr1
	refused on a omertactl link set omr1 listen-port "$PORT"
	bg a ./traffic.py hold-port 0.0.0.0 51999 reuse
	await udp_bound a 51999
	refused on a omertactl link set omr0 listen-port 51999
	is "$((QUEUES * 2))" sockets a
	PORT=51998
	on a omertactl link set omr0 listen-port "$PORT"
	is "$((QUEUES * 2))" sockets a
	on a ip link set omr0 down
	is 0 sockets a
}

# flows FLOWS COUNT: from a to b, each in order and complete
flows() {
	local to

	bg b timeout "$WAIT" ./traffic.py receive-flows "$1" "$2"
	to=$!
	await udp_bound b 7777
	on a ./traffic.py send-flows 10.9.0.2 "$1" "$2"
	wait "$to"
}

# Flows are spread over the queues, and each keeps its order.
test_flows() {
	local policy i

	make_both
	keep_order b to_a
	be_patient a omr0
	for policy in inline percpu auto; do
		on a omertactl link set omr0 policy "$policy"
		on b omertactl link set omr0 policy "$policy"
		flows 64 40
	done
	for ((i = 0; i < QUEUES; i++)); do
		more_than 100 queue a "$i" tx_packets
	done
	is "$((3 * 64 * 40))" sum a tx_packets
	is "$((3 * 64 * 40))" sum b rx_packets
	is "$(sum a tx_records)" sum b rx_records
	no_drops a
	no_drops b
}

# shown JSON NAME: that member of each channel, added up
shown() {
	python3 -c 'import json, sys
print(sum(c[sys.argv[1]] for c in json.load(sys.stdin)[0]["channel-stats"]))' "$2" <<<"$1"
}

# metric NAME: over all channels of a
metric() {
	on a omertactl metrics | sed -n "s/^omerta_channel_$1{device=\"omr0\",channel=\"[0-3]\"} //p" |
		awk '{ n += $1 } END { print n }'
}

# dropped: adds up what "show" says of channels.
dropped() {
	sed -n '/^  channel /p' | grep -o '[0-9]* dropped' | awk '{ n += $1 } END { print n }'
}

# All tools show the same counters.
test_shown() {
	local json all

	make_both
	flows 64 4
	json=$(on a omertactl -j stats omr0)
	is 256 shown "$json" tx-packets
	is "$(sum a rx_records)" shown "$json" rx-records
	# Without rights, too
	all=$(on a setpriv --reuid 65534 --regid 65534 --clear-groups omertactl -j stats omr0)
	is 256 shown "$all" tx-packets
	is 256 metric transmit_packets_total
	more_than 0 metric transmit_records_total
	# Drops are of the channel whose queue or socket brought the packets.
	on a ping -c 3 -W 0.1 10.9.0.77 || :
	await is 3 metric transmit_drops_total
	on b ./traffic.py strangers 5 100 192.0.2.2
	await is 5 metric receive_drops_total
	json=$(on a omertactl -j stats omr0)
	is 3 shown "$json" tx-drops
	is 5 shown "$json" rx-drops
	is 3 sum a tx_drops
	is 5 sum a rx_drops
	on a omertactl metrics | grep '^omerta_channel_transmit_cpu{device="omr0",channel="0"} [0-9]'
	on a omertactl show omr0 | tee "$DIR/shown"
	is 4 grep -cE '^  channel [0-3]: [0-9]+ packets in [0-9]+ records received( \(CPU [0-9]+\))?(, [0-9]+ dropped)?, [0-9]+ packets in [1-9][0-9]* records sent \(CPU [0-9]+\)(, [0-9]+ dropped)?$' "$DIR/shown"
	is 8 dropped <"$DIR/shown"
	# b may just send its answer.
	await nothing_more
}

# nothing_more: "top" has no records of the first channel in a second.
nothing_more() {
	on a omertactl top every 1 count 1 |
		grep -E '^  channels: 0 /s received \(0 /s records(, CPU [0-9]+)?\), 0 /s sent \(0 /s records, CPU [0-9]+\); '
}

# bql CHANNEL FILE: prints such a number of a's queue
bql() {
	on a cat "/sys/class/net/omr0/queues/tx-$1/byte_queue_limits/$2"
}

# hold RATE: limits a's outer link, which has room for whatever its device lets past.
hold() {
	on a tc qdisc replace dev to_b root tbf rate "$1" burst 64k limit 64mb
}

# fills CHANNELS: sends more than that many are allowed in flight; prints how many bytes wait outside.
fills() (
	# Commands in $() do not end a test otherwise.
	set -e
	on a ip link set omr0 down
	on a ethtool -L omr0 combined "$1"
	on a ip link set omr0 up
	be_patient a omr0
	for ((i = 0; i < $1; i++)); do
		on a tee "/sys/class/net/omr0/queues/tx-$i/byte_queue_limits/limit_min" \
			<<<100000000 >&2
	done
	pings a 10.9.0.2 >&2
	# BQL takes the least limit from the first bytes that complete.
	on a ./traffic.py send-flows 10.9.0.2 64 2
	for ((i = 0; i < $1; i++)); do
		await is 100000000 bql "$i" limit >&2
	done
	hold 8kbit
	on a ./traffic.py send-flows 10.9.0.2 64 200 1300
	outer_backlog
	on a tc qdisc del dev to_b root
)

# The bytes in flight of all channels together are limited as those of one.
test_in_flight() {
	local one all

	make_both
	# In this order, as a queueing discipline for one queue would stay.
	all=$(fills "$QUEUES")
	one=$(fills 1)
	more_than 500000 echo "$one"
	less_than "$((one * 3 / 2))" echo "$all"
	pings a 10.9.0.2
	no_drops a
}

# Another channel's queue than the first one waits for the outer link as well, and reports what has left.
test_limits() {
	local i

	make_both
	be_patient a omr0
	for ((i = 0; i < QUEUES; i++)); do
		# All packets take the third queue.
		on a tee "/sys/class/net/omr0/queues/tx-$i/xps_cpus" \
			<<<"$(printf %x "$((i == 2 ? (1 << $(nproc)) - 1 : 0))")"
	done
	pings a 10.9.0.2
	hold 1mbit
	on a ./traffic.py send 10.9.0.2 9 1000 1300
	more_than 0 bql 2 inflight
	more_than 0 queue a 2 tx_stopped_bql
	less_than 300000 outer_backlog
	is 0 bql 0 inflight
	is 0 queue a 0 tx_stopped_bql
	on a tc qdisc del dev to_b root
	await more_than 999 queue a 2 tx_packets
	# NAPI does not run for a few more bytes.
	await less_than 8192 bql 2 inflight
	no_drops a
}

# A datagram goes to the channel of the CPU that it arrives on.
test_near() {
	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	QUEUES=2
	make_both
	pings a 10.9.0.2
	each_cpu_takes 20
}

# each_cpu_takes NUMBER: so many packets that arrive on a CPU are received in its channel.
each_cpu_takes() {
	local cpu before

	for cpu in 0 1; do
		on b tee /sys/class/net/to_a/queues/rx-0/rps_cpus <<<$((1 << cpu))
		before=$(queue b "$cpu" rx_packets)
		on a ping -q -c "$1" -i 0.01 10.9.0.2
		more_than "$((before + $1 - 1))" queue b "$cpu" rx_packets
	done
}

# While keys change and the sender roams, no packet is lost, and none comes twice or early.
test_moves() {
	local to sender

	make_both
	keep_order b to_a
	be_patient a omr0
	bg b timeout "$((5 * WAIT))" ./traffic.py receive-flows 32
	to=$!
	await udp_bound b 7777
	bg a ./traffic.py send-flows-until 10.9.0.2 32 "$DIR/enough"
	sender=$!
	for GEN in 2 3 4; do
		await more_than "$((GEN * 1000))" dev_stat b rx-packets
		install_key a b
		install_key b a
		activate b a
		activate a b
		on a omertactl link set omr0 listen-port "5190$GEN"
	done
	touch "$DIR/enough"
	wait "$sender"
	wait "$to"
	no_drops a
	no_drops b
	pings a 10.9.0.2
	is 51904 member "$(on b omertactl -j peer show omr0)" endpoint-port
}

# NAPI gets threads for the channels in use, and loses them.
test_threads() {
	make_both
	on b ip link set omr0 down
	on b ethtool -L omr0 combined 2
	on b ip link set omr0 up
	on b timeout "$WAIT" tee /sys/class/net/omr0/threaded <<<1
	is 2 pgrep -c '^napi/omr0'
	pings a 10.9.0.2
	on b timeout "$WAIT" tee /sys/class/net/omr0/threaded <<<0
	pings a 10.9.0.2
	# It is remembered while the device is down.
	on b timeout "$WAIT" tee /sys/class/net/omr0/threaded <<<1
	on b ip link set omr0 down
	on b ethtool -L omr0 combined 3
	on b ip link set omr0 up
	is 3 pgrep -c '^napi/omr0'
	pings a 10.9.0.2
}

# A datagram to everyone comes once.
test_everyone() {
	make_both
	on a ./traffic.py everyone 192.0.2.255 "$PORT" 3
	on a ./traffic.py everyone ff02::1%to_b "$PORT" 3
	await more_than 5 dev_stat b rx-drop-type
	pings a 10.9.0.2
	is 6 dev_stat b rx-drop-type
}

# A frame to everyone may have a datagram for one: each channel takes its own.
test_group_frames() {
	local mac

	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	QUEUES=2
	make_both
	for mac in ff:ff:ff:ff:ff:ff 03:bf:c0:00:02:02; do
		on a ip neigh replace 192.0.2.2 lladdr "$mac" nud permanent dev to_b
		each_cpu_takes 5
	done
}

# Many peers at one endpoint are removed as fast as others, while RTNL is held.
test_one_place() {
	local port start took=()

	make_ns a
	for port in '7' 'i + 1'; do
		awk 'BEGIN {
			print "[Interface]"
			for (i = 1; i <= 30000; i++)
				printf "[Peer]\nId = %d\nEndpoint = 192.0.2.9:%d\n", i, '"$port"'
		}' >"$DIR/peers"
		on a omertactl link add omr0
		on a omertactl setconf omr0 "$DIR/peers"
		start=$(date +%s%3N)
		on a ip link del omr0
		took+=($(($(date +%s%3N) - start)))
	done
	echo "${took[*]} ms"
	((took[0] < 3 * took[1] + 200))
}

# Datagrams in both directions while the number of channels and the port change
test_changes() {
	local i sender before

	make_both
	bg a ./traffic.py send-until-killed 10.9.0.2 9 10 11 12
	sender=$!
	bg b ./traffic.py send-until-killed 10.9.0.1 9 10 11 12
	for ((i = 0; i < 12; i++)); do
		on b ip link set omr0 down
		on b ethtool -L omr0 combined "$((i % QUEUES + 1))"
		on b ip link set omr0 up
		on b omertactl link set omr0 listen-port "$((51900 + i % 3))"
		# Traffic goes on.
		before=$(sum b rx_records)
		await more_than "$before" sum b rx_records
	done
	kill "$sender" "$!"
	on b omertactl link set omr0 listen-port "$PORT"
	# Then a knows the port.
	pings b 10.9.0.1
	pings a 10.9.0.2
}

TESTS=(test_settings test_port test_flows test_shown test_in_flight test_limits test_near test_moves
	test_threads test_everyone test_group_frames test_one_place test_changes)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
