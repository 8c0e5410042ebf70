#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Requests during which an allocation fails, each in its turn, in a kernel that
# can make it: no such request has an effect.
#
# usage: faults.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

[[ -w /proc/self/fail-nth ]] || { echo '1..0 # SKIP the kernel cannot inject faults'; exit 4; }

FAILSLAB=/sys/kernel/debug/failslab
FAIL_PAGES=/sys/kernel/debug/fail_page_alloc
# No trace of each in the log
echo 0 | tee "$FAILSLAB/verbose" >"$FAIL_PAGES/verbose"

# faults LEAST REQUEST...: fails at LEAST times or more before it succeeds.
faults() {
	local least=$1 before after n

	shift
	before=$(state)
	# Requests may wait for memory, and shall fail nevertheless.
	echo N >"$FAILSLAB/ignore-gfp-wait"
	n=$(on a ./nl.py faults "$@")
	after=$(state)
	echo "$n failures"
	((n >= least))
	[[ $before != "$after" ]]
}

# state: the objects; nl.py also checks that a failed request has no effect
state() {
	on a omertactl dump | cut -f 1-4 | sort
}

test_device() {
	make_ns a
	faults 5 device-new ifname=str:f0 listen-port=u16:51900 -- device-del ifname=str:f0
	on a omertactl link del f0
}

test_peer() {
	make_ns a
	make_dev a
	faults 5 peer-new ifname=str:omr0 id=u32:2 allowed-ips=nest:addr=hex:0a000000,prefix-len=u8:8 allowed-ips=nest:addr=hex:0a000100,prefix-len=u8:24 -- peer-del ifname=str:omr0 id=u32:2
	faults 2 peer-set ifname=str:omr0 id=u32:2 allowed-ips=nest:addr=hex:0b000000,prefix-len=u8:8 allowed-ips=nest:addr=hex:0b000100,prefix-len=u8:24 -- peer-set ifname=str:omr0 id=u32:2 allowed-ips=nest:addr=hex:0b000000,prefix-len=u8:8,flags=u32:1 allowed-ips=nest:addr=hex:0b000100,prefix-len=u8:24,flags=u32:1
	on a omertactl peer show omr0 peer 2 | grep 11.0.1.0/24
}

test_key() {
	make_ns a
	make_dev a
	on a omertactl peer add omr0 id 2
	faults 3 key-new ifname=str:omr0 peer-id=u32:2 local-id=u32:5 remote-id=u32:6 rx-secret=random:32 tx-secret=random:32 -- key-del ifname=str:omr0 peer-id=u32:2 local-id=u32:5
	is installed on a sh -c "omertactl -j key show omr0 | jq -r '.[0].state'"
}

# The memory of used secrets has nothing of keys that were not installed, and those of a
# handshake may be tried again.
test_handshake_key() {
	local request='key-new ifname=str:omr0 peer-id=u32:2 local-id=u32:5 remote-id=u32:6' used

	make_ns a
	make_dev a
	on a omertactl peer add omr0 id 2
	used=$(used_secrets)
	request+=" rx-secret=hex:$(printf '%064d' 1) tx-secret=hex:$(printf '%064d' 2) handshake=hex:"
	# shellcheck disable=SC2086 # words
	faults 3 $request -- key-del ifname=str:omr0 peer-id=u32:2 local-id=u32:5
	is "$used" used_secrets
	on a omertactl key del omr0 peer 2 local-id 5
	# After a grace period
	# shellcheck disable=SC2086 # words
	await on a ./nl.py $request
}

used_secrets() {
	member "$(on a omertactl -j link show omr0)" used-secrets
}

# The socket, and what it is bound to, ends with the script that counts.
test_control() {
	local key=public-key=random:32 bind
	local request='ifname=str:omr0 endpoint-addr=hex:c0000202 endpoint-port=u16:51900'

	make_both
	echo N >"$FAILSLAB/ignore-gfp-wait"
	request+=" data=hex:4f4d5220$(printf '%0296d' 0) local-id=u32:7"
	# If its reader gave a key, an initiation and its id are remembered before it is sent.
	for bind in ifname=str:omr0 "ifname=str:omr0 $key"; do
		# shellcheck disable=SC2086 # words
		more_than 0 on a ./nl.py faults control-bind $bind -- control-unbind ifname=str:omr0
		# shellcheck disable=SC2086 # words
		more_than 0 on a ./nl.py faults control-send $request -- device-get ifname=str:omr0 -- control-bind $bind
	done
	more_than 0 dev_stat b rx-drop-control
	is false on a sh -c "omertactl -j link show omr0 | jq '.[0].\"control-bound\"'"
}

# unreliable PERCENT: share of the allocations that fail, of those that may not sleep
unreliable() {
	local dir

	for dir in "$FAILSLAB" "$FAIL_PAGES"; do
		echo Y >"$dir/ignore-gfp-wait"
		echo -1 >"$dir/times"
		echo "$1" >"$dir/probability"
	done
}

no_memory() {
	local end

	for end in a b; do
		dev_stat "$end" rx-drop-nomem
		dev_stat "$end" tx-drop-nomem
	done | awk '{ n += $1 } END { print n }'
}

# Traffic under failing allocations loses packets, and nothing else.
test_traffic() {
	echo 0 >"$FAIL_PAGES/min-order"
	make_both policy percpu
	pings a 10.9.0.2
	unreliable 20
	on a ping -q -c 300 -i 0.01 -s 1300 10.9.0.2 || true
	on a ping -q -f -c 3000 -l 100 -s 1300 10.9.0.2 || true
	unreliable 0
	more_than 0 no_memory
	pings a 10.9.0.2
}

TESTS=(
	test_device test_peer test_key test_handshake_key test_control test_traffic
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
