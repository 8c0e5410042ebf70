#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The key agent: two hosts that find keys by themselves. Needs root.
#
# usage: agent.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

test_first_packet() {
	pair_with_agents
	is 0 keys a active
	pings a 10.9.0.2
	pings b fd09::1
	is 1 keys a active
	is 1 keys b active
	is "$(key a local-id)" key b remote-id
	is "$(key a remote-id)" key b local-id
	is "180 240" echo "$(key a seal-time) $(key a open-time)"
	more_than 109 key a soft-time
	less_than 121 key a soft-time
	is 165 key b soft-time
	no_drops a
	no_drops b
	stop a
	stop b
	# Existing keys stay valid.
	pings a 10.9.0.2
}

# shows NS TEXT: omertactl show prints it.
shows() {
	on "$1" omertactl show "$DEV" | grep -F "$2"
}

# counted NS COUNTER: a counter of handshakes
counted() {
	on "$1" omertactl -j stats "$DEV" | jq ".[0][\"agent-stats\"][\"$2\"]"
}

# The state of handshakes is shown, and logged once.
test_state() {
	local key

	pair_with_agents
	shows a "key agent: running, process "
	pings a 10.9.0.2
	shows a 'ago (X25519)'
	shows b 'ago (X25519)'
	refused shows a 'no new key'
	is 1 counted a begun
	is 1 counted a 'done'
	is 1 counted b 'done'
	# Without an agent nothing is known of it any more, and keys do not last.
	stop a
	shows a 'key agent: none, so keys are not renewed'
	refused shows a 'X25519'
	agent a
	refused shows a 'X25519'
	# Silence
	stop b
	on a omertactl key del omr0 peer b local-id "$(key a local-id)"
	no_ping a 10.9.0.2
	await shows a 'no new key: 2 tries since, no answer: endpoint, public keys, PostQuantum or a firewall?'
	more_than 0 counted a failed-no-answer
	refused has_said a 'no answer'
	await has_said a 'omr0: peer 2 "b": no answer: look at its endpoint'
	# No route
	on a ip link set to_b down
	await shows a 'no route to its endpoint, or the device is down'
	on a omertactl -j show omr0 | jq -e '.[0].peer[0].handshake.failure == "not-sent"'
	on a ip link set to_b up
	on a ip addr add "$(outer6 b a)/64" dev to_b nodad
	agent b
	await on a ping -c 1 -W 1 10.9.0.2
	await refused shows a 'no new key'
	await has_said a 'omr0: peer 2 "b": keys are agreed on again'
	is 1 said a 'no answer: look'
	# A peer without an endpoint
	key=$(omertactl genkey | omertactl pubkey)
	on a omertactl peer add omr0 id 7 public-key "$key" allowed-ips 10.9.0.7/32
	no_ping a 10.9.0.7
	# Changes of the network cause further tries at once.
	await eval "on a omertactl show omr0 | grep -E 'no new key: [1-9][0-9]* (try|tries) since, the peer has no endpoint'"
	await has_said a 'omr0: peer 7: it has no endpoint'
}

test_verbose() {
	pair
	agent b
	printf '%s\n' '#!/bin/sh' 'exec omertactl "$@" --verbose' >"$DIR/verbose"
	chmod +x "$DIR/verbose"
	TOOL=$DIR/verbose agent a
	pings a 10.9.0.2
	await has_said a 'omr0: peer 2 "b": an initiation is sent'
	await has_said a 'omr0: peer 2 "b": a key is in use'
	refused has_said b 'a key is'
}

# A packet waits before there is an agent, and no other packet asks for a key. The kernel repeats
# the event for the agent.
test_packet_before_agent() {
	local packet

	pair
	agent b
	bg a omertactl -j monitor >"$DIR/events"
	await listens
	bg a ping -c 1 -W "$WAIT" 10.9.0.2
	packet=$!
	await grep key-needed "$DIR/events"
	agent a
	wait "$packet"
}

# listens: succeeds if a's monitor has joined; creates and deletes a device
listens() {
	on a omertactl link add omr9
	on a omertactl link del omr9
	grep device-gone "$DIR/events"
}

# No packet in flight is lost: b receives all that a sends.
test_rekeys() {
	local client i

	pair_with_agents
	pings a 10.9.0.2
	serve b
	for i in a:to_b b:to_a; do
		on "${i%:*}" tc qdisc add dev "${i#*:}" root netem delay 2ms 1ms duplicate 2%
	done
	bg a iperf3 -c 10.9.0.2 -b 4M -l 1200 -u -t 0
	client=$!
	await more_than 50 peer_stat a b tx-packets
	for ((i = 0; i < ${REKEYS:-50}; i++)); do
		rekey a
	done
	more_than 0 dev_stat b rx-drop-replay
	kill "$client"
	wait "$client" || true
	await agree a b packets
	await agree b a packets
	is 0 dev_stat a tx-drop-no-key
	for i in key-unknown key-expired auth malformed source; do
		is 0 dev_stat a "rx-drop-$i"
		is 0 dev_stat b "rx-drop-$i"
	done
}

# Half of all is lost, more comes twice, and late.
test_bad_link() {
	# Three of four initiations find no answer.
	local WAIT=300 i

	pair_with_agents
	for i in a:to_b b:to_a; do
		on "${i%:*}" tc qdisc add dev "${i#*:}" root \
			netem delay 20ms 20ms loss 50% duplicate 10%
	done
	await on a ping -c 1 -W 1 10.9.0.2
	rekey a
	for i in a:to_b b:to_a; do
		on "${i%:*}" tc qdisc del dev "${i#*:}" root
	done
	pings a 10.9.0.2
	await agree_on_key
}

test_both_begin() {
	local i old

	pair_with_agents
	pings a 10.9.0.2
	for i in 1 2 3 4 5; do
		old=$(key a local-id)
		signal a STOP
		signal b STOP
		signal a USR1
		signal b USR1
		signal a CONT
		signal b CONT
		await another_key a "$old"
		await agree_on_key
		pings a 10.9.0.2
		no_drops a
	done
}

# The state of an agent is in the kernel and in its file.
test_restart() {
	local old

	pair_with_agents "PersistentKeepalive = 1"
	await agree_on_key
	old=$(key a local-id)
	signal a KILL
	wait "${AGENT[a]}" || true
	signal b KILL
	wait "${AGENT[b]}" || true
	pings a 10.9.0.2
	agent a
	agent b
	is "$old" key a local-id
	rekey a
	await agree_on_key
	rekey b
	await agree_on_key
	pings a 10.9.0.2
	none_lost a
	none_lost b
}

# none_lost NS: but for handshakes when there was no agent
none_lost() {
	local stats

	stats=$(on "$1" omertactl -j stats omr0)
	[[ ! ${stats/-drop-control\":/} =~ -drop-[a-z-]*\":[1-9] ]] || { echo "$stats"; return 1; }
}

# The times in initiations grow, whatever the clock does. Both hosts have the same one.
test_clock_steps() {
	local step

	pair_with_agents
	pings a 10.9.0.2
	for step in -3600 +7200 -3600; do
		date -s "@$(($(date +%s) + step))"
		rekey a
		await agree_on_key
		rekey b
		await agree_on_key
		pings a 10.9.0.2
	done
	none_lost a
	none_lost b
}

# lose_times NS: its agent begins anew, and does not know what it sent and got
lose_times() {
	stop "$1"
	rm "$DIR/$1.state"/*.times
	agent "$1"
}

# Clocks that are years apart, and times that are lost: the other end tells what it knows,
# so a key takes one more initiation. All hosts here have the same clock.
test_two_clocks() {
	local now

	now=$(date +%s)
	pair_with_agents
	capture
	date -s "@$((now + 5 * 365 * 86400))"
	rekey a
	await agree_on_key
	await is 1 initiations a
	date -s "@$now"
	lose_times a
	rekey a
	await agree_on_key
	await is 3 initiations a
	pings a 10.9.0.2
	has_said a 'knows a time of this host that is ahead of its clock'
	# It knows that time from now on.
	rekey a
	await agree_on_key
	await is 4 initiations a
	# As if it had no clock of its own. The kernel takes no time before its start.
	date -s "@$(($(cut -d . -f 1 /proc/uptime) + 100))"
	lose_times a
	rekey a
	await agree_on_key
	await is 6 initiations a
	# The other end begins.
	rekey b
	await agree_on_key
	date -s "@$now"
	rekey a
	await agree_on_key
	pings a 10.9.0.2
	none_lost a
	none_lost b
}

# last_time NS: its agent knows the last possible time of its peer
last_time() {
	sed -i "/^$(sed 's,/,\\/,g' "$DIR/$1.pub") /! s/ .*/ 7fffffffffffffff00000000/" "$DIR/$1.state"/*.times
}

# forget NS PEER
forget() {
	on "$1" env "STATE_DIRECTORY=$DIR/$1.state" omertactl times forget omr0 peer "$2" config "$DIR/$1.conf"
}

# The times that are given up by hand, with an agent and without
test_forget_time() {
	local old

	pair_with_agents
	rekey a
	await agree_on_key
	stop b
	last_time b
	agent b
	old=$(key a local-id)
	signal a USR1
	await has_said a 'knows the last possible time of this host'
	is "$old" key a local-id
	forget b a
	signal a USR1
	await another_key a "$old"
	await agree_on_key
	stop b
	last_time b
	chown 65534:65534 "$DIR/b.state" "$DIR/b.state"/* "$DIR/b.conf" "$DIR/b.key"
	chmod o+x "$DIR"
	forget b a
	is 65534 stat -c %u "$DIR/b.state"/*.times
	agent b
	rekey a
	await agree_on_key
	last_time b
	forget b "$(cat "$DIR/a.pub")"
	says 'no peer of omr0 has this name' forget b zoe
	none_lost a
	none_lost b
}

# Each side goes elsewhere, and its agent with it.
test_moves() {
	local old

	pair_with_agents
	pings a 10.9.0.2
	on b ip addr del 192.0.2.2/24 dev to_a
	on b ip addr add 192.0.2.22/24 dev to_a
	pings b 10.9.0.1
	rekey a
	await agree_on_key
	on a ip addr del 192.0.2.1/24 dev to_b
	on a ip addr add 192.0.2.11/24 dev to_b
	# Nobody sends: b finds a where it was, until a tries.
	rekey a
	await agree_on_key
	rekey b
	await agree_on_key
	pings b 10.9.0.1
}

# relay PORT: a finds b at that port, and b finds a at the next
relay() {
	bg b ./relay.py "192.0.2.2:$1" "192.0.2.2:$(($1 + 1))" 192.0.2.2 "$PORT"
	RELAY=$!
	await udp_bound b "$1"
}

# Each sees the other at a place of a NAT's; then the NATs choose others for b's view.
test_nat() {
	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b 'Endpoint = 192.0.2.2:1000' 'PersistentKeepalive = 1'
	config_peer b a
	relay 1000
	host a
	host b
	agent a
	agent b
	await agree_on_key
	pings b 10.9.0.1
	is 192.0.2.2:1000 peer_endpoint a b
	is 192.0.2.2:1001 peer_endpoint b a
	kill "$RELAY"
	wait "$RELAY" || true
	bg b ./relay.py 192.0.2.2:1000 192.0.2.2:1007 192.0.2.2 "$PORT"
	await is 192.0.2.2:1007 peer_endpoint b a
	pings b 10.9.0.1
	rekey b
	await agree_on_key
	is 192.0.2.2:1000 peer_endpoint a b
}

# A packet outlasts two tries that get no answer.
test_lost_tries() {
	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b 'Endpoint = 192.0.2.2:1000'
	config_peer b a
	bg b ./relay.py 192.0.2.2:1000 192.0.2.2:1001 192.0.2.2 "$PORT" 2 >"$DIR/apart"
	await udp_bound b 1000
	host a
	host b
	agent a
	agent b
	on a ping -c 1 -W "$WAIT" 10.9.0.2
	# Tries begin 5 s apart; the first one may take longer to arrive.
	more_than 4900 cat "$DIR/apart"
	no_drops a
	no_drops b
}

# A name that means something else after a while
test_named_endpoint() {
	mkdir -p /etc/netns/omt-a
	echo '192.0.2.77 b.test' >/etc/netns/omt-a/hosts
	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b "Endpoint = b.test:$PORT" "PersistentKeepalive = 1"
	config_peer b a
	host a
	host b
	agent a
	agent b
	is 192.0.2.77:51900 peer_endpoint a b
	echo '192.0.2.2 b.test' >/etc/netns/omt-a/hosts
	await agree_on_key
	pings a 10.9.0.2
}

psk() {
	(umask 077 && omertactl genpsk >"$DIR/$1")
}

test_preshared_key() {
	psk psk
	pair_with_agents 'PresharedKeyFile = psk'
	pings a 10.9.0.2
	# A different one at one end: existing keys end, and no new one is made.
	psk psk
	cp "$DIR/psk" "$DIR/psk2"
	signal a HUP
	await is 0 keys a active
	# b offers one for each try, which a cannot take.
	await more_than 0 keys b installed
	no_ping a 10.9.0.2
	is 0 keys a active
	is 0 keys a installed
	# And at the other: the next is agreed on at once.
	sed -i 's/^PresharedKeyFile.*/PresharedKeyFile = psk2/' "$DIR/b.conf"
	signal b HUP
	answers_at_once a 10.9.0.2
	await agree_on_key
}

# answers_at_once NS ADDRESS: before an initiation is tried again
answers_at_once() {
	on "$1" ping -c 1 -W 4 "$2"
}

# new_identity NS: another private key in its file
new_identity() {
	(umask 077 && omertactl genkey >"$DIR/$1.key")
	omertactl pubkey <"$DIR/$1.key" >"$DIR/$1.pub"
}

# know HERE THERE: the file of HERE has the public key that THERE has now
know() {
	sed -i "s|^PublicKey = .*|PublicKey = $(cat "$DIR/$2.pub")|" "$DIR/$1.conf"
	signal "$1" HUP
	await knows "$1" "$2"
}

knows() {
	is "$(cat "$DIR/$2.pub")" member "$(on "$1" omertactl -j peer show omr0 peer "${NUM[$2]}")" public-key
}

# A host with another private key is another host: its old keys end, and new ones are agreed on
# at once. The same applies if the other end is another host.
test_new_identity() {
	local old

	pair_with_agents
	pings a 10.9.0.2
	capture
	new_identity a
	signal a HUP
	await is 0 keys a active
	# Without traffic, to b, which does not know it
	await more_than 0 initiations a
	know b a
	is 0 keys b active
	answers_at_once a 10.9.0.2
	await agree_on_key
	# While no agent was there
	stop a
	pings a 10.9.0.2
	new_identity a
	agent a
	await is 0 keys a active
	know b a
	answers_at_once a 10.9.0.2
	await agree_on_key
	# By hand
	new_identity b
	on a omertactl peer set omr0 peer b public-key "$(cat "$DIR/b.pub")"
	is 0 keys a active
	old=$(key b local-id)
	signal b HUP
	await another_key b "$old"
	answers_at_once b 10.9.0.1
	await agree_on_key
}

# capture: the control datagrams between a and b, to $DIR/pcap
capture() {
	bg a tcpdump -i to_b -U -w "$DIR/pcap" 'udp[8:4] & 0xfffffff0 = 0x4f4d5220' 2>"$DIR/err"
	CAPTURE=$!
	await grep -q listening "$DIR/err"
}

# initiations NS: that were captured from it
initiations() {
	tcpdump -nr "$DIR/pcap" "src $(outer4 a "$1") and udp[8:4] = 0x4f4d5220" 2>/dev/null | wc -l
}

# policy NS VALUE: sets PostQuantum towards the other host
policy() {
	sed -i "s/^PostQuantum.*/PostQuantum = $2/" "$DIR/$1.conf"
	signal "$1" HUP
}

# has_said NS TEXT: succeeds if its agent has printed the text
has_said() {
	grep -qF "$2" "$DIR/$1.says"
}

# longest: UDP payload among the control datagrams that crossed the link
longest() {
	tcpdump -nr "$DIR/pcap" 2>/dev/null | sed 's/.*length //' | sort -n | tail -n 1
}

# With ML-KEM, which only another omertactl may have: it is used where both have it, and
# nothing else where one insists.
test_post_quantum() {
	local TOOL=omertactl old

	printf '%s\n' '[Peer]' 'Id = 1' 'PostQuantum = on' >"$DIR/wants"
	if ! omertactl check "$DIR/wants" no-agent; then
		TOOL=../omertactl-kem
		[[ -e $TOOL ]] || { echo "SKIP no omertactl with ML-KEM for this machine"; exit 4; }
	fi
	pair 'PostQuantum = required'
	capture
	agent a
	agent b
	pings a 10.9.0.2
	rekey b
	await agree_on_key
	await is 1336 longest
	no_drops a
	no_drops b
	# b must not: a, which insists, gets no other key, and what there is goes on.
	policy b off
	old=$(key a local-id)
	signal a USR1
	await has_said b 'wants keys with ML-KEM-768, which PostQuantum rules out'
	is "$old" key a local-id
	pings a 10.9.0.2
	# b may: and is told what came of it.
	policy b on
	await another_key a "$old"
	await agree_on_key
	await has_said b 'are agreed on with ML-KEM-768'
	# Nor does a take keys without it.
	policy b off
	old=$(key b local-id)
	signal b USR1
	await has_said a 'wants keys without ML-KEM-768, which PostQuantum requires'
	is "$old" key b local-id
	policy a off
	await another_key b "$old"
	await agree_on_key
	pings b 10.9.0.1
}

# Whom b does not know it does not answer.
test_unknown_peer() {
	pair
	on b omertactl peer set omr0 peer a public-key none
	agent a
	agent b
	no_ping a 10.9.0.2
	is 0 keys a active
	is 0 keys b installed
}

# ids NS: the ids of its keys
ids() {
	on "$1" omertactl -j key show omr0 | jq -c 'map(."local-id") | sort'
}

# took_less MS BEFORE: a's agent since then. Time on an emulated CPU says nothing, so
# User-mode Linux has to judge.
took_less() {
	! grep -q 'User Mode Linux' /proc/cpuinfo || less_than $(($2 + $1)) cpu_ms a
}

# hostile ARGUMENT...: from b's first CPU, not from where the peer is
hostile() {
	on b taskset 1 timeout 300 ./hostile.py "$@" 192.0.2.1 "$PORT" "$(cat "$DIR/a.pub")"
}

# unmoved OLD-IDS: nothing that strangers sent had an effect.
unmoved() {
	is "$1" ids a
	is 192.0.2.2:51900 peer_endpoint a b
	pings a 10.9.0.2
}

# The handshakes of before, and what can be made of them: nothing is taken, not even by
# an agent that begins anew.
test_hostile_replays() {
	local old sent

	pair
	capture
	agent a
	agent b
	pings a 10.9.0.2
	rekey b
	await agree_on_key
	stop b
	kill "$CAPTURE"
	wait "$CAPTURE"
	on a omertactl link set omr0 control-rate 1000000 control-source-rate 1000000 control-share 8
	old=$(ids a)
	# Both within the time that those keys have left
	sent=$(hostile replay "$DIR/pcap" 40)
	unmoved "$old"
	stop a
	agent a
	sent+=+$(hostile replay "$DIR/pcap" 40)
	unmoved "$old"
	# It has read most of them.
	is 0 dev_stat a rx-drop-control-limit
	less_than $(((sent) / 2)) dev_stat a rx-drop-control-full
}

# A flood takes neither time nor memory, and the peer still gets keys.
test_hostile_flood() {
	local old memory cpu flood

	pair_with_agents
	pings a 10.9.0.2
	# The time of interrupts is charged to the interrupted process.
	taskset -p 2 "${AGENT[a]}"
	hostile flood 1
	memory=$(memory_kb a)
	old=$(ids a)
	# The kernel's limits, one at a time
	on a omertactl link set omr0 control-rate 1000000
	cpu=$(cpu_ms a)
	hostile flood 4
	took_less 2000 "$cpu"
	unmoved "$old"
	# As if from many places
	on a omertactl link set omr0 control-rate 200 control-source-rate 1000000
	cpu=$(cpu_ms a)
	hostile flood 4
	took_less 2000 "$cpu"
	unmoved "$old"
	# The agent's own
	on a omertactl link set omr0 control-rate 1000000
	hostile flood 4 &
	flood=$!
	rekey b
	await agree_on_key
	wait "$flood"
	is 192.0.2.2:51900 peer_endpoint a b
	less_than $((memory + 512)) memory_kb a
}

# An id that is another host's now: the first one gets no key for it. And one that
# comes back is known again.
test_replaced_peer() {
	local old

	pair_with_agents
	pings a 10.9.0.2
	old=$(key a local-id)
	capture
	on a omertactl peer del omr0 peer b
	on a omertactl peer add omr0 id 2 name c allowed-ips "${IN4}2/32" \
		public-key "$(omertactl genkey | omertactl pubkey)"
	signal b USR1
	# b still wants a key.
	await more_than 1 initiations b
	is '[]' ids a
	on a omertactl peer set omr0 peer c public-key "$(cat "$DIR/b.pub")" endpoint "$(endpoint a b)"
	await another_key a "$old"
	await agree_on_key
	is 1 keys a active
}

# A keepalive that finds no key asks for one.
test_keepalive_begins() {
	local i

	pair_with_agents 'PersistentKeepalive = 1'
	await agree_on_key
	for i in a b; do
		on "$i" omertactl key del omr0 peer "$([[ $i == a ]] && echo b || echo a)" \
			local-id "$(key "$i" local-id)"
	done
	await agree_on_key
}

# status NS FIELD: field of /proc/PID/status of its agent
status() {
	awk -v f="$2:" '$1 == f { print $2 }' "/proc/${AGENT[$1]}/status"
}

# Capabilities and user of the agent, and the process that resolves names
test_powers() {
	local resolver

	pair
	mkdir "$DIR/a.state"
	chmod o+x "$DIR"
	chown 65534:65534 "$DIR/a.state"
	# It could not read them again.
	says 'the agent runs as the owner of' on a env "STATE_DIRECTORY=$DIR/a.state" \
		omertactl agent omr0 config "$DIR/a.conf"
	chown 65534:65534 "$DIR/a.conf" "$DIR/a.key"
	agent a
	agent b
	pings a 10.9.0.2
	is 65534 status a Uid
	is 65534 status a Gid
	is 1 status a NoNewPrivs
	# A filter
	is 2 status a Seccomp
	# CAP_NET_ADMIN
	is 0000000000001000 status a CapEff
	is 0000000000001000 status a CapPrm
	more_than 0 status a VmLck
	grep -E '^Max core file size +0 +0 ' "/proc/${AGENT[a]}/limits"
	is 65534 stat -c %u "$DIR/a.state"/*.times
	resolver=$(pgrep -P "${AGENT[a]}")
	is 0000000000000000 sed -n 's/^CapPrm:\t//p' "/proc/$resolver/status"
	is 65534 sed -nE 's/^Uid:\t([0-9]+).*/\1/p' "/proc/$resolver/status"
	is 2 sed -n 's/^Seccomp:\t//p' "/proc/$resolver/status"
	# Its input, outputs and socket
	is 4 sh -c "ls /proc/$resolver/fd | wc -l"
	stop a
	await gone "$resolver"
}

gone() {
	! kill -0 "$1"
}

# It continues without the process that resolves names.
test_resolver_gone() {
	local cpu

	pair_with_agents
	pkill -KILL -P "${AGENT[a]}"
	pings a 10.9.0.2
	cpu=$(cpu_ms a)
	rekey a
	pings a 10.9.0.2
	less_than $((cpu + 300)) cpu_ms a
}

test_refusals() {
	local run=(env "STATE_DIRECTORY=$DIR/a.state" timeout "$WAIT" omertactl agent omr0 config "$DIR/a.conf")

	mkdir "$DIR/a.state"
	pair
	says 'no such device' on a omertactl agent omr9 config "$DIR/a.conf"
	says 'No such file' on a omertactl agent omr0 config "$DIR/none"
	chmod o+r "$DIR/a.key"
	says ':3:18: PrivateKeyFile: ' on a "${run[@]}"
	says 'others may access it (mode 0604): chmod o-rwx' on a "${run[@]}"
	chmod o-r "$DIR/a.key"
	says 'needs the capability CAP_NET_ADMIN' on a setpriv --bounding-set -net_admin --inh-caps -net_admin "${run[@]}"
	agent a
	says 'another agent has it' on a "${run[@]}"
	mkdir "$DIR/other"
	says 'another socket is bound' env "STATE_DIRECTORY=$DIR/other" \
		ip netns exec omt-a omertactl agent omr0 config "$DIR/a.conf"
	sed -i 's/PrivateKeyFile/#/' "$DIR/a.conf"
	stop a
	says 'PrivateKeyFile or PrivateKey is missing' on a "${run[@]}"
}

# The file again, with another peer: the first one does not notice.
test_reload() {
	local old

	pair_with_agents
	pings a 10.9.0.2
	old=$(key a local-id)
	make_ns c
	make_veth a c
	config c
	config_peer a c "Endpoint = $(endpoint a c)"
	config_peer c a
	host c
	agent c
	signal a HUP
	await on a omertactl peer show omr0 peer c
	pings a 10.9.0.3
	is "$old" on a sh -c "omertactl -j key show omr0 peer b | jq -r '.[0].\"local-id\"'"
	no_drops b
	# One that is wrong changes nothing.
	echo 'Endpoint = nonsense' >>"$DIR/a.conf"
	signal a HUP
	pings a 10.9.0.2
	pings a 10.9.0.3
}

# said NS TEXT: number of lines of its agent with the text
said() {
	grep -c "$2" "$DIR/$1.says"
}

# Each end says once why there is no key, and counts.
test_wrong_preshared_key() {
	local end listener

	pair
	for end in a b; do
		omertactl genpsk >"$DIR/$end.psk"
		chmod 600 "$DIR/$end.psk"
		echo "PresharedKeyFile = $end.psk" >>"$DIR/$end.conf"
	done
	./traffic.py notifications "$DIR/notify" >"$DIR/notified" &
	listener=$!
	await test -e "$DIR/notify"
	NOTIFY_SOCKET=$DIR/notify agent a
	agent b
	no_ping a 10.9.0.2
	refused has_said a 'do not open'
	await has_said a 'omr0: peer 2 "b": its responses do not open: give both hosts the same PresharedKey'
	await has_said b 'omr0: peer 1 "a": it keeps initiating and uses no key of ours'
	await grep -E 'STATUS=in vain: ([4-9]|1[0-9]) responses that do not open' "$DIR/notified"
	is 1 said a 'do not open'
	is 1 said b 'uses no key'
	shows a 'tries since, its responses do not open: another preshared key?'
	await shows b 'no new key: it uses no key of ours: another preshared key, or responses lost?'
	# Mended, it is in use with the next try.
	cp "$DIR/a.psk" "$DIR/b.psk"
	signal b HUP
	await on a ping -c 1 -W 1 10.9.0.2
	kill "$listener"
}

test_device_gone() {
	pair_with_agents
	on a omertactl link del omr0
	wait "${AGENT[a]}"
}

# An alternative name is as good as the other one.
test_altname() {
	pair
	on a ip link property add dev omr0 altname tunnel-to-b
	agent b
	DEV=tunnel-to-b agent a
	pings a 10.9.0.2
}

# A device that leaves the agent's network namespace: it says so, and fails.
test_moved_device() {
	pair_with_agents
	pings a 10.9.0.2
	make_ns c
	on a ip link set omr0 netns omt-c
	fails_with 2 wait "${AGENT[a]}"
	grep 'omr0 is in another network namespace now' "$DIR/a.says"
}

# fails_with STATUS COMMAND...
fails_with() {
	local status=0

	"${@:2}" || status=$?
	is "$1" echo "$status"
}

TESTS=(
	test_first_packet test_packet_before_agent test_rekeys test_bad_link test_both_begin
	test_restart
	test_clock_steps test_two_clocks test_forget_time test_moves test_nat test_lost_tries test_named_endpoint
	test_preshared_key test_new_identity
	test_wrong_preshared_key test_post_quantum test_unknown_peer test_replaced_peer
	test_keepalive_begins test_powers test_state test_verbose test_resolver_gone
	test_hostile_replays
	test_hostile_flood test_refusals test_reload
	test_device_gone test_altname test_moved_device
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
