#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Channels of a peer: keys and ports beside each other. Needs root, and in practice a guest.
#
# usage: peer_channels.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2119,SC2317 # the tests are called by name; no settings
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

# Packets of each flow
COUNT=100

# make_dev HERE [SETTING...]: as in lib_netns.sh, with two channels on any machine.
make_dev() {
	on "$1" ip link add "$DEV" numtxqueues 2 numrxqueues 2 type omerta \
		listen-port "$PORT" channels 2 "${@:2}"
	on "$1" ip link set "$DEV" addrgenmode none
	set_inner "$1"
}

# channel HERE THERE MEMBER: prints it for the second channel; null if the kernel does not show that
channel() {
	on "$1" omertactl -j peer show "$DEV" peer "${NUM[$2]}" |
		jq -r ".[0].\"further-channels\"[0].\"$3\""
}

# key_of HERE THERE MEMBER: prints it for the second channel's youngest key
key_of() {
	on "$1" omertactl -j key show "$DEV" peer "${NUM[$2]}" |
		jq -r "[.[] | select(.channel == 1)][-1].\"$3\""
}

# The second channel's keys are those of the next 16 numbers.
install_second() {
	local GEN=$((GEN + 16))

	install_key "$1" "$2" channel 1
}

activate_second() {
	local GEN=$((GEN + 16))

	activate "$1" "$2"
}

# two_channels: between a and b, with keys; b opens the second one.
two_channels() {
	on a omertactl peer set omr0 peer b channels 2
	on b omertactl peer set omr0 peer a channels 2
	install_second a b
	install_second b a
	activate_second b a
	await is true key_of a b confirmed
	activate_second a b
}

both_open() {
	await is open channel a b state
	await is open channel b a state
}

# flows FROM TO: many, each in order and complete
flows() {
	local to

	keep_order "$2" "to_$1"
	be_patient "$1" "$DEV"
	bg "$2" timeout "$((5 * WAIT))" ./traffic.py receive-flows 32 "$COUNT"
	to=$!
	await udp_bound "$2" 7777
	on "$1" ./traffic.py send-flows "10.9.0.${NUM[$2]}" 32 "$COUNT"
	wait "$to"
	await refused udp_bound "$2" 7777
}

# carried HERE THERE: succeeds if the second channel carries a part of many flows, under whichever key
carried() {
	local before

	before=$(sent_by_second "$1" "$2")
	flows "$1" "$2"
	# More than keepalives
	more_than "$((200 * COUNT))" grown "$1" "$2" "$before"
}

# sent_by_second HERE THERE: bytes by key
sent_by_second() {
	on "$1" omertactl -j key show "$DEV" peer "${NUM[$2]}" |
		jq -c '[.[] | select(.channel == 1) | {"\(."local-id")": ."tx-bytes"}] | add // {}'
}

# grown HERE THERE BEFORE: bytes since then
grown() {
	jq -n --argjson now "$(sent_by_second "$1" "$2")" --argjson before "$3" \
		'[$now | to_entries[] | .value - ($before[.key] // 0)] | add // 0'
}

test_settings() {
	make_both
	is null channel a b state
	says 'the peer has fewer channels' install_second a b
	refused on a omertactl peer set omr0 peer b channels 0
	refused on a omertactl peer set omr0 peer b channels 65
	on a omertactl peer set omr0 peer b channels 64
	is 63 eval "on a omertactl -j peer show omr0 peer b | jq '.[0].\"further-channels\" | length'"
	is closed channel a b state
	# The device has no more.
	is 2 eval "on a ss -Hlun | grep -vc ':51900 '"
	on a omertactl peer set omr0 peer b channels 2
	install_second a b
	is closed channel a b state
	says 'channel-port changes only while' on a omertactl link set omr0 channel-port 40000
	on a ip link set omr0 down
	is 0 eval "on a ss -Hlun | wc -l"
	says 65411 on a omertactl link set omr0 channel-port 65412
	on a omertactl link set omr0 channel-port 40000
	on a ip -d link show omr0 | grep ' channel-port 40000 '
	on a ip link set omr0 up
	is 2 eval "on a ss -Hlun | grep -c ':40000 '"
	on a ip link set omr0 down
	bg a ./traffic.py hold-port 0.0.0.0 40000
	await udp_bound a 40000
	refused on a ip link set omr0 up
	kill "$!"
	await refused udp_bound a 40000
	on a ip link set omr0 up
	on a omertactl key show omr0 | grep ' channel 1'
	on a omertactl key del omr0 peer b local-id "$((0x1211))"
	refused on a grep -q channel <(omertactl key show omr0)
}

# One 4-tuple serves both directions.
test_by_hand() {
	make_both
	two_channels
	both_open
	carried a b
	carried b a
	no_drops a
	no_drops b
	is 51900 channel a b local-port
	refused is 51900 channel b a local-port
	is "$(channel b a local-port)" channel a b endpoint-port
	is 51900 channel b a endpoint-port
	on a omertactl show omr0 |
		grep -E '^  channel: 1: open, from port 51900 to 192.0.2.2:[0-9]+, latest record '
	# The endpoint is that of the first channel.
	is 192.0.2.2:51900 peer_endpoint a b
	is 192.0.2.1:51900 peer_endpoint b a
}

# A firewall that lets datagrams of one port only pass, from the beginning, and then later.
test_firewall() {
	make_both
	on b iptables -A OUTPUT -o to_a -p udp ! --sport "$PORT" -j DROP
	on a omertactl peer set omr0 peer b channels 2
	on b omertactl peer set omr0 peer a channels 2
	install_second a b
	install_second b a
	activate_second b a
	await is opening channel b a state
	flows b a
	is opening channel b a state
	no_drops a
	# The way that a opens passes the firewall.
	activate_second a b
	both_open
	carried a b
	carried b a
	# Data is lost until the silence is noticed.
	on a iptables -A OUTPUT -o to_b -p udp ! --sport "$PORT" -j DROP
	await eval 'on a ./traffic.py send-flows 10.9.0.2 32 1; is silent channel a b state'
	flows a b
	is silent channel a b state
	on a iptables -F OUTPUT
	both_open
	carried a b
	carried b a
}

# The way that b opens passes its firewall in one direction only. So a opens another way.
test_one_way() {
	make_both
	on b iptables -A INPUT -i to_a -p udp ! --dport "$PORT" -j DROP
	two_channels
	await is open channel a b state
	is opening channel b a state
	await eval 'on a ./traffic.py send-flows 10.9.0.2 32 1; is open channel b a state'
	both_open
	carried a b
	carried b a
}

# No way from a passes. Packets are lost only until a finds that out twice.
test_setbacks() {
	make_both
	on b iptables -A INPUT -i to_a -p udp ! --dport "$PORT" -j DROP
	on a iptables -A OUTPUT -o to_b -p udp ! --sport "$PORT" -j DROP
	two_channels
	await eval 'one_way a b; is silent channel a b state'
	# On a slow machine not the first rest is long enough to be seen.
	WAIT=$((4 * WAIT)) await rests
	flows a b
}

# rests: a's channel is used no sooner than two records after it opened, which tell nothing. Then it is
# silent, and a record that comes does not change that.
rests() {
	await is open channel a b state && record_comes a b && record_comes a b &&
		await eval 'one_way a b; is silent channel a b state' &&
		record_comes a b && is silent channel a b state
}

# record_comes HERE THERE
record_comes() {
	local age

	age=$(channel "$1" "$2" rx-age)
	await less_than "$age" channel "$1" "$2" rx-age
}

# b opened the channel, and its keepalives pass, but nothing from a does. Though no data of its own tells
# b so, they end, and a finds another way.
test_vain_keepalives() {
	make_both
	two_channels
	both_open
	is 51900 channel b a endpoint-port
	on b omertactl peer set omr0 peer a keepalive 1
	on b iptables -A INPUT -i to_a -p udp ! --dport "$PORT" -j DROP
	await is silent channel b a state
	await eval 'one_way a b; is 51900 channel b a local-port'
	both_open
	carried a b
	carried b a
}

# The administrator's endpoint is that of further channels, too.
test_moved_by_hand() {
	make_both
	two_channels
	both_open
	# So the previous way is not left because nothing comes.
	on a omertactl peer set omr0 peer b keepalive 1
	on b omertactl peer set omr0 peer a keepalive 1
	on b ip addr add 192.0.2.77/32 dev to_a
	on a omertactl peer set omr0 peer b endpoint "192.0.2.77:$PORT"
	# b has to know, before a record of its own from the previous address moves a back.
	pings a 10.9.0.2
	await is 192.0.2.77 channel a b endpoint-addr
	both_open
	carried a b
	carried b a
	is 192.0.2.77 channel a b endpoint-addr
}

# comes_from_other: b sends in its second channel from another address.
comes_from_other() {
	on b nft "add rule ip t c oifname to_a udp sport != $PORT ip saddr set 192.0.2.66"
}

# comes_from_both: b sends from there, and then from its own address.
comes_from_both() {
	comes_from_other
	one_way b a
	on b nft flush chain ip t c
	one_way b a
}

# other_address: a and b, whose second channel uses another address of b than the first one
other_address() {
	make_both
	on b ip addr add 192.0.2.66/32 dev to_a
	on b ethtool -K to_a tx off
	on b nft 'add table ip t; add chain ip t c { type filter hook postrouting priority 300; }'
	# b does not see the other address, and so does not send from there.
	on b nft 'add chain ip t d { type filter hook prerouting priority -300; }'
	on b nft 'add rule ip t d ip daddr 192.0.2.66 ip daddr set 192.0.2.2'
	comes_from_other
	two_channels
	both_open
	is 192.0.2.66 channel a b endpoint-addr
	is "192.0.2.2:$PORT" peer_endpoint a b
}

# Copies that come first from another address do not hold the channel's way.
test_copies() {
	other_address
	# Long after the latest record from its own address the other one would be right.
	await stays_there
}

stays_there() {
	comes_from_both && is 192.0.2.2 channel a b endpoint-addr && comes_from_other &&
		one_way b a && one_way b a && is 192.0.2.2 channel a b endpoint-addr
}

# long_flows: a long packet of each flow from a arrives.
long_flows() {
	local to

	bg b ./traffic.py receive-flows 32 1
	to=$!
	await udp_bound b 7777
	on a ./traffic.py send-flows 10.9.0.2 32 1 1300
	timeout 3 tail -s 0.1 -f /dev/null --pid="$to" || kill "$to"
	wait "$to"
}

# An error about a path that is too narrow counts at both ends of a further channel.
test_narrow_v6() {
	OUTER=6
	make_routed
	on r sysctl -q net.ipv6.icmp.ratelimit=0
	make_tunnel
	two_channels
	both_open
	# So it does not become silent if long packets are lost.
	on b omertactl peer set omr0 peer a keepalive 1
	narrow 1400
	await long_flows
	is open channel a b state
}

# Senders learn the path's MTU though no packet of theirs takes the first channel.
test_narrow_inherit() {
	make_routed
	make_tunnel df inherit
	two_channels
	both_open
	# shellcheck disable=SC2016 # expanded inside
	on a sh -c 'printf %x "$(((1 << $(nproc)) - 1))" >/sys/class/net/omr0/queues/tx-1/xps_cpus'
	# As above
	on b omertactl peer set omr0 peer a keepalive 1
	narrow 1400
	await on a ./traffic.py expect-mtu 1308 1352 10.9.0.2
	is open channel a b state
}

# A further channel does not lead into the tunnel, where the check for loops would not see it.
test_nested() {
	local before

	other_address
	on a omertactl peer set omr0 peer b allowed-ips +192.0.2.66/32
	carried a b
	on a ip route add 192.0.2.66/32 dev omr0
	before=$(sent_by_second a b)
	flows a b
	is 0 grown a b "$before"
	is "192.0.2.2:$PORT" peer_endpoint a b
}

# behind_nat: a is behind a port-restricted NAT, a process of b's namespace. b begins, and knows a's
# place by its first record.
behind_nat() {
	make_ns a b
	make_veth a b
	make_dev a
	make_dev b
	PORT=1000 make_peer a b
	on b omertactl peer add omr0 id 1 name a allowed-ips 10.9.0.1/32
	keep_order b lo
	bg b ./nat.py 192.0.2.2:1000 "192.0.2.2:$PORT" >"$DIR/nat"
	NAT=$!
	await grep ready "$DIR/nat"
	install_key a b activate now
	install_key b a
	on a ip link set omr0 up
	on b ip link set omr0 up
	activate b a
	pings a 10.9.0.2
	on a omertactl peer set omr0 peer b channels 2
	on b omertactl peer set omr0 peer a channels 2
	install_second a b
	install_second b a
	activate_second b a
	await eval 'more_than 0 key_of b a tx-records'
	is opening channel b a state
	activate_second a b
	both_open
}

# one_way FROM TO: data in both channels
one_way() {
	on "$1" ./traffic.py send-flows "10.9.0.${NUM[$2]}" 32 1
}

# While flows change channels no packet is lost or comes twice, though some may overtake others.
test_number_changes() {
	local before i sender to

	make_both
	keep_order b to_a
	be_patient a omr0
	two_channels
	both_open
	before=$(dev_stat b rx-packets)
	bg b timeout "$((5 * WAIT))" ./traffic.py receive-flows 32 '' changed
	to=$!
	await udp_bound b 7777
	bg a ./traffic.py send-flows-until 10.9.0.2 32 "$DIR/enough"
	sender=$!
	for i in 1 2 3; do
		GEN=$((GEN + 1))
		await more_than "$((before + i * 2000 - 1000))" dev_stat b rx-packets
		# a still sends in the second channel when b does not want it any more.
		on b omertactl peer set omr0 peer a channels 1
		await more_than "$((before + i * 2000 - 500))" dev_stat b rx-packets
		on a omertactl peer set omr0 peer b channels 1
		await more_than "$((before + i * 2000))" dev_stat b rx-packets
		on b omertactl peer set omr0 peer a channels 2
		on a omertactl peer set omr0 peer b channels 2
		install_second a b
		install_second b a
		activate_second b a
		activate_second a b
		both_open
	done
	touch "$DIR/enough"
	wait "$sender"
	wait "$to"
	no_drops a
	no_drops b
	carried a b
}

# CPUs come and go: no packet of a flow is lost, overtakes another or comes twice.
test_cpu_hotplug() {
	local before cpu=/sys/devices/system/cpu/cpu1/online sender state to

	[[ -w $cpu ]] || { echo "SKIP no CPU can be taken offline"; exit 4; }
	make_both policy percpu
	keep_order b to_a
	be_patient a omr0
	two_channels
	both_open
	bg b timeout "$((5 * WAIT))" ./traffic.py receive-flows 32
	to=$!
	await udp_bound b 7777
	bg a ./traffic.py send-flows-until 10.9.0.2 32 "$DIR/enough"
	sender=$!
	for state in 0 1 0 1; do
		before=$(dev_stat b rx-packets)
		await more_than "$((before + 1000))" dev_stat b rx-packets
		echo "$state" >"$cpu"
	done
	before=$(sent_by_second a b)
	await eval "more_than 1000 grown a b '$before'"
	touch "$DIR/enough"
	wait "$sender"
	wait "$to"
	no_drops a
	no_drops b
}

# talks HERE THERE: sends in both channels, and gets answers. A way that worked like this may be lost
# more than once, and the channel does not rest. No end finds it silent soon after, either.
talks() {
	local to

	bg "$2" ./traffic.py give-back
	to=$!
	await udp_bound "$2" 7777
	on "$1" timeout "$WAIT" ./traffic.py returned "10.9.0.${NUM[$2]}" 64
	kill "$to"
	await refused udp_bound "$2" 7777
}

# nat_forgets FROM TO OUTSIDE INSIDE: the second channel, while data goes from one end to the other only,
# without so much as an error in return
nat_forgets() {
	local place
	local -a silence=(OUTPUT -o omr0 -j DROP)

	talks "$1" "$2"
	place=$(channel "$3" "$4" endpoint-port)
	on "$2" iptables -A "${silence[@]}"
	kill -USR1 "$NAT"
	await eval "one_way $1 $2; refused is $place channel $3 $4 endpoint-port"
	both_open
	one_way "$1" "$2"
	on "$2" iptables -D "${silence[@]}"
	talks "$1" "$2"
	carried "$1" "$2"
	carried "$2" "$1"
}

test_nat() {
	local place

	# As many as wait in a socket
	COUNT=4
	behind_nat
	carried a b
	carried b a
	is 51900 channel b a local-port
	nat_forgets b a b a
	nat_forgets a b b a
	# It forgets everything.
	talks a b
	place=$(channel b a endpoint-port)
	kill -USR2 "$NAT"
	await on a ping -c 1 -W 1 10.9.0.2
	# shellcheck disable=SC2016 # expanded later
	await eval 'one_way a b; refused is "$place" channel b a endpoint-port'
	talks a b
	carried a b
	carried b a
}

# wants NS NUMBER: by its file, of which its agent is told
wants() {
	sed -i "s/^Channels = .*/Channels = $2/" "$DIR/$1.conf"
	signal "$1" HUP
	await is "$2" eval "on $1 omertactl -j peer show omr0 | jq '.[0].channels // 1'"
}

# A line in each file. a initiates, and opens the channel.
test_agents() {
	local key before i sender to

	pair_with_agents 'Channels = 2'
	keep_order b to_a
	be_patient a "$DEV"
	pings a 10.9.0.2
	both_open
	is 51900 channel b a local-port
	is "$(channel a b local-port)" channel b a endpoint-port
	key=$(key_of a b local-id)
	is "$(($(key a local-id) + 1))" echo "$key"
	carried a b
	carried b a
	# Other keys, and no packet is lost, or comes twice or early.
	before=$(dev_stat b rx-packets)
	bg b timeout "$((5 * WAIT))" ./traffic.py receive-flows 32
	to=$!
	await udp_bound b 7777
	bg a ./traffic.py send-flows-until 10.9.0.2 32 "$DIR/enough"
	sender=$!
	for i in 1 2 3; do
		await more_than "$((before + i * 1000))" dev_stat b rx-packets
		rekey a
	done
	touch "$DIR/enough"
	wait "$sender"
	wait "$to"
	refused is "$key" key_of a b local-id
	await is true key_of a b confirmed
	is "$(($(key a local-id) + 1))" key_of a b local-id
	is "$(($(key b local-id) + 1))" key_of b a local-id
	no_drops a
	no_drops b
	# b has another address: only the first channel tells a so, and then a opens the second one there.
	on b ip addr del 192.0.2.2/24 dev to_a
	on b ip addr add 192.0.2.77/24 dev to_a
	await on b ping -c 1 -W 1 10.9.0.1
	await is 192.0.2.77:51900 peer_endpoint a b
	await is 192.0.2.77 channel a b endpoint-addr
	both_open
	carried b a
	# One channel is enough for a, and then it is not.
	wants a 1
	rekey a
	await agree_on_key
	is null channel a b state
	flows a b
	flows b a
	wants a 2
	both_open
	carried b a
}

# a, which has another key than b, initiates; the responder b is behind the NAT, so it has to open it.
test_agents_nat() {
	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b 'Channels = 2'
	config_peer b a 'Endpoint = 192.0.2.1:1000' 'Channels = 2' 'PersistentKeepalive = 1'
	keep_order a lo
	bg a ./nat.py 192.0.2.1:1000 "192.0.2.1:$PORT" >"$DIR/nat"
	NAT=$!
	await grep ready "$DIR/nat"
	COUNT=4
	host a
	host b
	agent a
	agent b
	await agree_on_key
	pings a 10.9.0.2
	both_open
	is 51900 channel a b local-port
	# a is the initiator now; the channel stays b's.
	rekey a
	await agree_on_key
	carried a b
	carried b a
	nat_forgets a b a b
	nat_forgets b a a b
	# Neither end has a way now. b opens it, as the responder.
	on a ip link set omr0 down
	on a ip link set omr0 up
	on b ip link set omr0 down
	on b ip link set omr0 up
	await on b ping -c 1 -W 1 10.9.0.1
	rekey a
	both_open
	is 51900 channel a b local-port
	carried a b
	carried b a
}

# The other end wants one channel.
test_one_sided() {
	local file

	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b "Endpoint = $(endpoint a b)" 'Channels = 2'
	config_peer b a
	for file in a b; do
		host "$file"
		agent "$file"
	done
	pings a 10.9.0.2
	is closed channel a b state
	is null channel b a state
	flows a b
	flows b a
	no_drops a
	no_drops b
}

# The second implementation initiates, opens a channel, and sends data in it.
test_python() {
	local first second before

	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b 'Channels = 3'
	host a
	agent a
	bg b ./channel_peer.py 192.0.2.1 "$PORT" "$DIR/b.key" "$(cat "$DIR/a.pub")" 5 2 >"$DIR/ports"
	await test -s "$DIR/ports"
	read -r first second <"$DIR/ports"
	# While it says nothing, a would try another way in the end.
	before=$(sent_by_second a b)
	on a timeout "$WAIT" ./traffic.py returned 10.9.0.2 32
	more_than 0 grown a b "$before"
	more_than 31 key_of a b rx-records
	is open channel a b state
	is "$second" channel a b endpoint-port
	is 51900 channel a b local-port
	is "192.0.2.2:$first" peer_endpoint a b
	is 1793 key_of a b remote-id
	no_drops a
}

# An agent that does not know of channels, beside this kernel; see vm/older.sh.
test_older() {
	local older=/root/.vm/extra/omertactl

	[[ -x $older ]] || { echo "SKIP no older omertactl: make check-older"; exit 4; }
	pair 'Channels = 2'
	sed -i '/^Channels/d' "$DIR/b.conf"
	on b omertactl peer set omr0 peer a channels 1
	agent a
	TOOL=$older agent b
	# An initiation in a mode that it does not know is lost, and the next one is not.
	pings a 10.9.0.2
	is closed channel a b state
	flows a b
	flows b a
	rekey b
	await agree_on_key
	pings b 10.9.0.1
	no_drops a
}

TESTS=(test_settings test_by_hand test_firewall test_one_way test_setbacks test_vain_keepalives
	test_moved_by_hand test_copies test_narrow_v6 test_narrow_inherit test_nested test_number_changes
	test_cpu_hotplug
	test_nat test_agents test_agents_nat test_one_sided test_python test_older)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
