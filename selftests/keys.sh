#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Keys at work: activation, limits, what waits for a key, and what the kernel
# sends for the keys' sake. Needs root.
#
# usage: keys.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2119 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_hogs.sh
. ./lib_hogs.sh

test_key_change() {
	local ping

	make_both
	pings a 10.9.0.2
	bg a ping -q -i 0.002 -c 3000 -W "$WAIT" 10.9.0.2 >"$DIR/ping"
	ping=$!
	await more_than 100 dev_stat a tx-packets
	GEN=2
	install_key b a activate on-first-record
	is installed key_state b a
	install_key a b activate now
	await is active key_state b a
	is active key_state a b
	kill -0 "$ping"
	wait "$ping"
	cat "$DIR/ping"
	grep -q '3000 received' "$DIR/ping"
	GEN=1
	is retired key_state a b
	is retired key_state b a
}

test_late_key() {
	local ping

	half_made
	install_key b a
	install_key a b
	bg a ping -c 1 -W "$WAIT" 10.9.0.2
	ping=$!
	await has_sent 1 a
	activate a b
	activate b a
	wait "$ping"
	is 0 dev_stat a tx-drop-no-key
}

has_sent() {
	(($(on "$2" nstat -asz IcmpOutEchos | awk '/Echos/ { print $2 }') >= $1))
}

# numbered_udp NS ADDRESS COUNT [PEER DROPPED]: datagrams that carry their numbers. An
# unconnected socket does not fail because of ICMP errors for earlier ones. Once DROPPED of them
# are dropped, the PEER's key GEN is activated, by the same process so that no packet waits too long
# on a slow machine.
numbered_udp() {
	on "$1" ./traffic.py send-then-activate "$2" "$3" "${5:-0}" \
		${4:+"peer-id=u32:${NUM[$4]}" "local-id=u32:$((NUM[$1] * 4096 + NUM[$4] * 256 + GEN))"}
}

# take_numbers NS COUNT FILE: in the background
take_numbers() {
	bg "$1" ./traffic.py receive-decimal "$2" "$WAIT" >"$3"
	await udp_bound "$1" 7777
}

half_made() {
	make_ns a b
	make_veth a b
	make_dev a
	make_dev b
	make_peer a b
	make_peer b a
	on a ip link set omr0 up
	on b ip link set omr0 up
}

# 128 packets wait, in order; further ones are dropped.
test_full_queue() {
	local numbers

	half_made
	keep_order b to_a
	introduce a b
	watch_events a
	install_key a b
	install_key b a
	take_numbers b 128 "$DIR/numbers"
	numbers=$!
	numbered_udp a 10.9.0.2 200 b 72
	wait "$numbers"
	cmp <(seq 0 127) "$DIR/numbers"
	is 128 dev_stat a tx-packets
	is 72 dev_stat a tx-drop-no-key
	# A key was asked for once.
	saw 'key-needed omr0 2'
}

# Packets are dropped after 12 s without a key, the sender is told, and the next packet
# asks again.
test_waiting_ends() {
	local ping

	half_made
	watch_events a
	numbered_udp a 10.9.0.2 3
	await is 3 dev_stat a tx-drop-no-key
	saw 'key-needed omr0 2'
	bg a ping -c 1 -W "$WAIT" 10.9.0.2 >"$DIR/ping"
	ping=$!
	refused wait "$ping"
	grep 'Destination Host Unreachable' "$DIR/ping"
	is 4 dev_stat a tx-drop-no-key
	saw 'key-needed omr0 2' 'key-needed omr0 2'
}

# Packets wait for a key, and none is lost.
wait_for_key() {
	local id=$((NUM[a] * 4096 + NUM[b] * 256 + GEN)) before

	activate b a
	before=$(peer_stat b a rx-packets)
	# They wait for 12 s only.
	# shellcheck disable=SC2016 # expanded inside
	on a bash -c 'for _ in {1..20}; do
		printf %1200s x >/dev/udp/10.9.0.2/9
	done
	exec omertactl key activate omr0 peer "$1" local-id "$2"' bash "${NUM[b]}" "$id"
	await is $((before + 20)) peer_stat b a rx-packets
	is 0 dev_stat a tx-drop-no-key
}

# hogs_pin LESS NUMBER COMMAND...: hogs pin less than LESS KiB, do not keep packets of others from
# waiting, and free all.
hogs_pin() {
	local before

	half_made
	install_key a b
	install_key b a
	hogs "${@:2}"
	less_than "$1" mem_used "$before"
	wait_for_key
	rm "$DIR/go"
	# An emulated kernel takes long to end namespaces with many devices.
	WAIT=300 await less_than 10000 mem_used "$before"
}

# Packets that wait pin no more than a tenant's share, whatever the number of its devices.
test_tenants_waiting() {
	hogs_pin 25000 1 unshare -Urn
}

# Likewise for several user namespaces of one user.
test_owners_waiting() {
	hogs_pin 50000 5 setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urn
}

test_no_key() {
	half_made
	refused on a ping -c 3 -i 0.1 -W 1 10.9.0.2
	await is 3 dev_stat a tx-drop-no-key
	is 0 dev_stat a tx-packets
}

test_keepalive() {
	local a b

	make_both
	# In this order b owes no answer, which it would give after 10 s.
	pings b 10.9.0.1
	pings a 10.9.0.2
	on a omertactl peer set omr0 peer b keepalive 1
	a=$(peer_stat a b tx-records)
	b=$(peer_stat b a tx-records)
	await more_than "$((a + 2))" peer_stat a b tx-records
	await more_than "$((a + 2))" peer_stat b a rx-records
	is "$b" peer_stat b a tx-records
	is 6 dev_stat a tx-packets
	on a omertactl peer set omr0 peer b keepalive off
	no_drops b
}

# key_json HERE THERE: key GEN
key_json() {
	object "$(on "$1" omertactl -j key show "$DEV" peer "${NUM[$2]}")" local-id \
		"$((NUM[$1] * 4096 + NUM[$2] * 256 + GEN))"
}

# key_counter HERE THERE COUNTER: the counter of key GEN
key_counter() {
	member "$(key_json "$1" "$2")" "$3"
}

# A key seals so many records, the one that tells of it among them, and no more.
# The next key takes what waits then.
test_record_limits() {
	half_made
	watch_events a
	install_key a b soft-records 5 hard-records 10
	install_key b a activate now
	await is true key_counter a b confirmed
	activate a b
	GEN=2
	install_key b a activate on-first-record
	install_key a b
	numbered_udp a 10.9.0.2 20 b 0
	await is 20 dev_stat b rx-packets
	is 20 dev_stat a tx-packets
	is 0 dev_stat a tx-drop-no-key
	GEN=1
	is retired key_state a b
	is 10 key_counter a b tx-records
	# Or it would answer after 10 s, which is soon on some machines.
	on b omertactl peer set omr0 peer a keepalive 1
	saw 'key-confirmed omr0 2 4609' 'key-soft omr0 2 4609 records' \
		'key-hard omr0 2 4609 records' 'key-needed omr0 2' 'key-confirmed omr0 2 4610'
}

test_byte_limit() {
	half_made
	# A ping of 100 bytes is a record of 16 + 112 + 16. Activated so, nothing else
	# is sent.
	install_key a b activate on-first-record hard-bytes "$((3 * 144))"
	install_key b a activate now
	await is active key_state a b
	pings a -s 72 10.9.0.2
	is "$((3 * 144))" key_counter a b tx-bytes
	is active key_state a b
	no_ping a -s 0 10.9.0.2
	is retired key_state a b
}

# dies HERE THERE FROM TO: key GEN becomes dead after FROM ms and before TO
dies() {
	local key age

	while key=$(key_json "$1" "$2"); do
		age=$(member "$key" age)
		[[ $(member "$key" state) != dead ]] || break
		((age < $4))
	done
	((age >= $3))
}

# By the clock alone, without traffic. A limit counts from the install.
test_time_limits() {
	half_made
	watch_events a
	install_key a b soft-time 1 seal-time 2 open-time 10
	install_key b a
	await is retired key_state a b
	saw 'key-soft omr0 2 4609 time' 'key-hard omr0 2 4609 time'
	dies a b 10000 11500
	await grep -q dead "$DIR/events"
	saw 'key-soft omr0 2 4609 time' 'key-hard omr0 2 4609 time' 'key-dead omr0 2 4609 time'
	# Records under it go unread.
	activate b a
	await more_than 0 dev_stat a rx-drop-key-unknown
	is 0 dev_stat a rx-packets
}

# The other end is told of a key once a second, ten times at most, until it
# answers under it.
test_confirmation() {
	half_made
	on b ip link set omr0 down
	install_key a b activate now
	await is 10 peer_stat a b tx-records
	watch_events a 2.5
	wait "$!"
	is 10 peer_stat a b tx-records
	on b ip link set omr0 up
	GEN=2
	install_key a b
	install_key b a activate now
	await is true key_counter a b confirmed
	activate a b
	await is true key_counter b a confirmed
	watch_events a 2.5
	wait "$!"
	# One to tell, and no more: it has heard already.
	is 11 peer_stat a b tx-records
}

# A receiver that has nothing to send sends one empty record after 10 s.
test_silent_receiver() {
	local before others

	make_both
	on b iptables -A OUTPUT -o omr0 -j DROP
	# The records that confirm the keys are empty and need no answer.
	await is true key_counter a b confirmed
	await is true key_counter b a confirmed
	await agree a b records
	await agree b a records
	before=$(peer_stat b a tx-records)
	others=$(peer_stat a b tx-records)
	numbered_udp a 10.9.0.2 2
	await is "$((before + 1))" peer_stat b a tx-records
	await is "$((before + 1))" peer_stat a b rx-records
	# The empty record has no answer.
	watch_events a 11
	wait "$!"
	is "$((before + 1))" peer_stat b a tx-records
	is "$((others + 2))" peer_stat a b tx-records
}

# swapped_key NS: the files of the other end of a's key
swapped_key() {
	on "$1" omertactl key add "${DEV:-omr0}" peer 2 local-id 5 remote-id 6 \
		rx-key-file "$DIR/omr0-a-b.$GEN" tx-key-file "$DIR/omr0-b-a.$GEN"
}

# Secrets stay used after their time, too.
test_once_only_in_time() {
	make_both
	GEN=2
	install_key a b seal-time 1 open-time 1
	await is dead key_state a b
	refused install_key a b 2>"$DIR/err"
	grep 'installed before' "$DIR/err"
	on a omertactl peer del omr0 peer b
	make_peer a b
	refused install_key a b
	# Keys freed by handshakes, devices and user namespaces are forgotten.
	on a omertactl link add omr1
	on a omertactl peer add omr1 id 1
	is '1000 ' on a ./hostile_local.py keys omr1 1000 handshake
	on a omertactl link del omr1
	# No other test fills the memory of this user.
	is '200 ' tenants 2 100 setpriv --reuid 65532 --regid 65532 --clear-groups \
		--inh-caps=-all
	refused install_key a b 2>"$DIR/err"
	grep 'installed before' "$DIR/err"
}

# Keys of handshakes leave nothing behind, those by hand one entry each.
test_used_secrets() {
	local before

	make_both
	before=$(used_secrets a)
	for _ in {1..50}; do
		echo key-new ifname=str:omr0 peer-id=u32:2 local-id=u32:1 remote-id=u32:1 \
			rx-secret=random:32 tx-secret=random:32 handshake=hex:
		echo key-del ifname=str:omr0 peer-id=u32:2 local-id=u32:1
	done | on a ./nl.py | refused grep -v '^0 '
	is "$before" used_secrets a
	GEN=2
	install_key a b
	is $((before + 1)) used_secrets a
	on a omertactl link del omr0
	make_dev a
	is $((before + 1)) used_secrets a
	# An expired key of a handshake can be installed again, after a grace period.
	make_peer a b
	for _ in 1 2; do
		await on a ./nl.py key-new ifname=str:omr0 peer-id=u32:2 local-id=u32:1 remote-id=u32:1 \
			"rx-secret=hex:$(printf '%064d' 1)" "tx-secret=hex:$(printf '%064d' 2)" \
			handshake=hex: seal-time=u32:1 open-time=u32:1
		await is dead sh -c "ip netns exec omt-a omertactl -j key show omr0 | jq -r '.[-1].state'"
	done
}

# used_secrets NS
used_secrets() {
	member "$(on "$1" omertactl -j link show omr0)" used-secrets
}

# used_in_living: used-secrets as shown in the namespace that test_bounds_of_secrets leaves
# alive
used_in_living() {
	member "$(nsenter -t "$living" -U -n omertactl -j link show t0)" used-secrets
}

# tenants COUNT KEYS [COMMAND...]: number of keys that are accepted in COUNT user namespaces, one
# after the other, and the last error
tenants() {
	on b "${@:3}" ./hostile_local.py tenants "$1" "$2"
}

# Bounds of remembered secrets: one for each user namespace; one for all that a user made;
# one for those of root that ended. Reaching a bound does not affect others.
test_bounds_of_secrets() {
	local full='EDQUOT memory of used keys is full' living
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
	local other=(setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all)

	# A fresh module remembers nothing.
	modprobe -r omerta
	modprobe omerta
	make_both
	# shellcheck disable=SC2016 # expanded inside
	bg b unshare -Urn bash -euc 'omertactl link add t0
		omertactl peer add t0 id 1
		./hostile_local.py keys t0 3000
		exec tail -f /dev/null --pid="$0"' "$BASHPID" >"$DIR/living"
	living=$!
	WAIT=300 await grep -qx '3000 ' "$DIR/living"
	is 3000 used_in_living
	# Inner namespaces count for the outermost one. All living ones of root together have no
	# bound.
	is "4096 $full for this user namespace; use a key agent" tenants 3 1500 unshare -Ur
	# The module notices the end of a namespace after some seconds.
	await is "0 $full for this user's namespaces; use a key agent" tenants 1 1
	is 4096 used_in_living
	is "4096 $full for this user's namespaces; use a key agent" tenants 3 1500 "${nobody[@]}"
	is "0 $full for this user's namespaces; use a key agent" tenants 1 1 "${nobody[@]}"
	is '30 ' tenants 1 30 "${other[@]}"
	GEN=2
	install_key a b
	install_key b a
	kill "$living"
	# Later tests begin with an empty memory.
	cleanup
	modprobe -r omerta
	modprobe omerta
}

# Dumps end after the last id that there can be.
test_last_id() {
	make_ns a
	make_dev a
	on a omertactl peer add omr0 id 4294967294 name other
	on a omertactl peer add omr0 id 4294967295 name last
	make_secret "$DIR/rx"
	make_secret "$DIR/tx"
	on a omertactl key add omr0 peer last local-id 5 remote-id 6 rx-key-file "$DIR/rx" \
		tx-key-file "$DIR/tx"
	is 2 eval "on a timeout 30 omertactl -j peer show omr0 | jq length"
	is 1 eval "on a timeout 30 omertactl -j key show omr0 | jq length"
}

# Secrets are used once, whatever became of the key, the device or the namespace.
test_once_only() {
	make_both
	pings a 10.9.0.2
	on a omertactl key del omr0 peer b local-id 4609
	refused install_key a b
	on a omertactl link del omr0
	make_dev a
	make_peer a b
	refused install_key a b
	make_ns x
	NUM[x]=1
	on x omertactl link add omr0
	on x omertactl peer add omr0 id 2
	refused on x omertactl key add omr0 peer 2 local-id 5 remote-id 6 \
		rx-key-file "$DIR/omr0-b-a.1" tx-key-file "$DIR/omr0-a-b.1" 2>"$DIR/err"
	grep 'installed before' "$DIR/err"
	is 0 sh -c 'ip netns exec omt-x omertactl -j key show omr0 | jq length'
	# Nor are the other end's files accepted, as they would count from 0 again.
	GEN=3
	install_key a b
	on a omertactl link add omr1
	on a omertactl peer add omr1 id 2
	for DEV in omr0 omr1; do
		refused swapped_key a 2>"$DIR/err"
		grep 'is a tx-secret of this machine' "$DIR/err"
	done
	on a omertactl link del omr1
	DEV=omr0
	on a omertactl link del omr0
	refused swapped_key x 2>"$DIR/err"
	grep 'is a tx-secret of this machine' "$DIR/err"
	make_dev a
	make_peer a b
	refused swapped_key a 2>"$DIR/err"
	grep 'is a tx-secret of this machine' "$DIR/err"
	# While a key lives in another namespace, the other end may be here.
	GEN=4
	install_key a b
	swapped_key x
	GEN=2
	install_key b a activate on-first-record
	on a ip link set omr0 up
	install_key a b activate now
	pings a 10.9.0.2
}

# A peer with another public key is another host: its keys end.
test_other_peer() {
	local i key

	make_both
	watch_events a
	for i in 1 2; do
		key=$(omertactl genkey | omertactl pubkey)
		# The first request identifies the peer, the second changes nothing.
		on a omertactl peer set omr0 peer b public-key "$key"
		on a omertactl peer set omr0 peer b public-key "$key" keepalive 0
		[[ $i == 2 ]] || is active key_state a b
	done
	is dead key_state a b
	await grep -q dead "$DIR/events"
	saw 'key-dead omr0 2 4609 identity'
	no_ping a 10.9.0.2
	GEN=2
	install_key b a activate on-first-record
	install_key a b activate now
	pings a 10.9.0.2
	# Or without a public key
	on a omertactl peer set omr0 peer b public-key none
	is dead key_state a b
}

# An image of the machine would bring used counters back, and keep secrets.
test_hibernation() {
	[[ -e /dev/snapshot ]] || { echo "SKIP no hibernation"; exit 4; }
	make_both
	pings a 10.9.0.2
	watch_events a
	# Opening this announces a snapshot from user space. One that the kernel takes itself has
	# broken the virtio ports of guests (Linux 7.3).
	: </dev/snapshot
	is dead key_state a b
	is dead key_state b a
	await grep -q dead "$DIR/events"
	saw 'key-dead omr0 2 4609 vm-fork'
	no_ping a 10.9.0.2
	refused install_key a b
	GEN=2
	install_key b a activate on-first-record
	install_key a b activate now
	pings a 10.9.0.2
}

TESTS=(
	test_last_id
	test_key_change test_late_key test_no_key test_full_queue test_waiting_ends
	test_tenants_waiting test_owners_waiting
	test_record_limits test_byte_limit test_time_limits test_once_only
	test_once_only_in_time test_used_secrets test_bounds_of_secrets
	test_confirmation test_keepalive test_silent_receiver test_hibernation
	test_other_peer
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
