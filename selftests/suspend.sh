#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The machine sleeps, to RAM, once: emulated ones are awake again at once the next time.
# To be run by "vm/run.sh -s".
#
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

NUM+=([x]=4 [y]=5)
ALARM=/sys/class/rtc/rtc0/wakealarm

asleep() {
	local before now

	before=$(date +%s)
	echo 0 >"$ALARM"
	echo "+$TIME" >"$ALARM"
	echo mem >/sys/power/state
	now=$(date +%s)
	more_than "$((TIME - 5))" echo "$((now - before))"
}

# typed_key: between x and y
typed_key() {
	install_key y x activate on-first-record
	install_key x y activate now
	on x ping -c 1 -W "$WAIT" 10.9.0.5
}

# All keys are wiped, those by hand as well. Agents make new ones as soon as there are
# packets; keys by hand want fresh files.
test_sleep() {
	local old

	# shellcheck disable=SC2119 # no settings of its own
	pair_with_agents
	pings a 10.9.0.2
	old=$(key a local-id)
	make_ns x y
	make_veth x y
	make_dev x
	make_dev y
	make_peer x y
	make_peer y x
	on x ip link set "$DEV" up
	on y ip link set "$DEV" up
	typed_key
	watch_events x
	asleep
	is dead key_state x y
	is dead key_state y x
	is 0 keys a active
	is 0 keys a retired
	await grep -q 'key-dead .* suspend' "$DIR/events"
	no_ping x 10.9.0.5
	refused install_key x y
	GEN=2
	typed_key
	pings a 10.9.0.2
	pings b 10.9.0.1
	another_key a "$old"
	await agree_on_key
	rekey b
	await agree_on_key
}

TIME=20
modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
if ! [[ -w $ALARM ]] || ! grep -qw mem /sys/power/state; then
	echo "1..0 # SKIP this machine does not sleep, or is not woken"
	exit 4
fi
run_tests test_sleep
