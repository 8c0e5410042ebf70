#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All that the module does at the same time, for a kernel with KCSAN: traffic both ways, settings,
# keys, dumps, roaming, renaming, namespaces, teardown. Whether there were data races is for
# race/races.py to say. Needs root, and a guest of its own.
#
# usage: race.sh	TIME in the environment: seconds for each test
# shellcheck disable=SC2317,SC2119 # the tests are called by name, make_both without arguments
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

TIME=${TIME:-150}
WAIT=120
KCSAN=/sys/kernel/debug/kcsan
SKIP=/sys/module/kcsan/parameters/skip_watch

# repeat COMMAND...: in the background until the test's time is over. A command may fail: a device or
# a peer is gone at times.
repeat() {
	(
		set +ex
		while ((SECONDS < END)); do "$@"; done
	) >/dev/null 2>&1 &
	REPEATED+=("$!")
}

begin() {
	END=$((SECONDS + TIME))
	REPEATED=()
}

# over: the time is, and KCSAN has watched accesses of omerta.
over() {
	local before

	before=$(watched)
	wait "${REPEATED[@]}"
	more_than $((before + 1000)) watched
}

watched() {
	cat /sys/module/omerta_watch/parameters/watched
}

streams() {
	on "$1" timeout 30 iperf3 -c "$2" -t 5 --bidir
}

# Small packets, which leave in batches, and those that cannot be sent
packets() {
	on a ./traffic.py send 10.9.0.2 7777 200 40
	on b ./traffic.py send 10.9.0.1 7777 100 15000
	on a ./traffic.py send 10.9.0.77 7777 20 40
}

settings() {
	local setting

	for setting in 'policy percpu' 'policy inline' 'policy auto' 'cpus 0' 'cpus all' 'batch off' \
		'batch on' 'engine lib' 'percpu-threshold 1024' 'percpu-threshold 49152' 'df set' \
		'df unset' 'fwmark 7' 'fwmark off' 'control-rate 50' 'engine auto'; do
		# shellcheck disable=SC2086 # two words
		on a omertactl link set omr0 $setting
		sleep 0.2
	done
}

reads() {
	local command

	for command in show dump 'stats omr0 all' 'key show omr0 peer b' metrics; do
		# shellcheck disable=SC2086 # words
		on a omertactl $command
	done
	on a ip -d -s link show omr0
	on a ethtool -S omr0
}

keys() {
	local second

	GEN=$((GEN % 127 + 1))
	second=$((GEN + 127))
	install_key b a activate on-first-record
	install_key a b activate now
	GEN=$second install_key b a channel 1 activate on-first-record
	GEN=$second install_key a b channel 1 activate now
	sleep 1
}

# channels: changes the number of the peer's, also to more than the device has, and the device's
channels() {
	local n

	for n in 2 1 3 2; do
		on a omertactl peer set omr0 peer b channels "$n"
		sleep 1.5
	done
	for n in 1 2; do
		on b ip link set omr0 down
		on b ethtool -L omr0 combined "$n"
		on b ip link set omr0 up
		sleep 1.5
	done
}

peers() {
	on a omertactl peer add omr0 id 9 name nine endpoint 192.0.2.99:5 allowed-ips 10.9.0.77/32
	sleep 0.3
	on a omertactl peer set omr0 peer nine allowed-ips +10.9.0.78/32 keepalive 1
	sleep 0.3
	on a omertactl peer del omr0 peer nine
}

roam() {
	local last

	for last in 11 1; do
		on a ip addr add "192.0.2.$last/24" dev to_b
		on a ip addr del "192.0.2.$((12 - last))/24" dev to_b
		sleep 2
	done
}

test_planted() {
	local skip

	# More often than later, as the kernel's own accesses are watched as well
	skip=$(cat "$SKIP")
	echo 200 >"$SKIP"
	modprobe omerta_planted
	await eval "dmesg | grep -q 'KCSAN: .*planted_\(read\|write\)'"
	await eval "dmesg | grep -q 'KCSAN: .*planted_\(send\|receive\)'"
	modprobe -r omerta_planted
	echo "$skip" >"$SKIP"
}

test_at_work() {
	make_both
	on a omertactl peer set omr0 peer b channels 2
	on b omertactl peer set omr0 peer a channels 2
	serve b
	begin
	repeat channels
	repeat streams a 10.9.0.2
	repeat packets
	repeat settings
	repeat reads
	repeat keys
	repeat peers
	repeat roam
	over
	on a omertactl link set omr0 policy auto
	pings a 10.9.0.2
}

# The device goes down and up, is renamed, moves to another namespace and back, and disappears.
unrest() {
	on a ip link set omr0 down
	on a ip link set omr0 name omr5
	on a ip link set omr5 name omr0
	on a ip link set omr0 netns omt-c
	on c ip link set omr0 netns omt-a
	set_inner a
	on a ip link set omr0 up
	sleep 1
	on a omertactl link del omr0
	make_dev a
	make_peer a b
	GEN=$((GEN + 1))
	install_key b a activate on-first-record
	install_key a b activate now
	on a ip link set omr0 up
	sleep 1
}

test_unrest() {
	make_both
	make_ns c
	serve b
	begin
	repeat streams a 10.9.0.2
	repeat packets
	repeat reads
	repeat unrest
	over
}

# tunnel NS up|down
tunnel() {
	on "$1" env "STATE_DIRECTORY=$DIR/state-$1" "RUNTIME_DIRECTORY=$DIR/run-$1" \
		omertactl "$2" "$DIR/conf-$1/omr0.conf"
}

restart() {
	tunnel a down
	tunnel a up
	on a ping -c 5 10.9.0.2
}

# Handshakes by two agents, with new sessions all the time
test_agents() {
	local ns other

	make_ns a b
	make_veth a b
	for ns in a b; do
		make_secret "$DIR/$ns"
	done
	for ns in a b; do
		umask 077
		other=$([[ $ns == a ]] && echo b || echo a)
		cat >"$DIR/omr0.conf" <<-END
			[Interface]
			PrivateKey = $(cat "$DIR/$ns")
			ListenPort = 51900
			Address = 10.9.0.${NUM[$ns]}/24
			[Peer]
			PublicKey = $(omertactl pubkey <"$DIR/$other")
			Endpoint = $(endpoint "$ns" "$other")
			AllowedIPs = 10.9.0.${NUM[$other]}/32
			Channels = 2
		END
		mkdir -p "$DIR/conf-$ns" "$DIR/state-$ns" "$DIR/run-$ns"
		mv "$DIR/omr0.conf" "$DIR/conf-$ns"
		tunnel "$ns" up
	done
	await on a ping -c 1 -W 1 10.9.0.2
	begin
	repeat streams a 10.9.0.2
	repeat packets
	repeat reads
	repeat restart
	over
	tunnel b down
}

[[ -e $KCSAN ]] || skip "the kernel has no KCSAN"
modprobe omerta_watch skip="0x$(awk '$3 == "kcsan_skip" { print $1 }' /proc/kallsyms)" || exit 1
modprobe omerta || exit 1
echo on >"$KCSAN"
LIMIT=$((TIME + 300))
run_tests test_planted test_at_work test_unrest test_agents
