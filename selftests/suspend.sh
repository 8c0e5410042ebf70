#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The machine sleeps, to RAM, once: emulated ones are awake again at once the next time.
# To be run by "vm/run.sh -s".
#
# usage: suspend.sh [SECONDS]
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

NUM+=([x]=4 [y]=5)
ALARM=/sys/class/rtc/rtc0/wakealarm

# What the agents' keys may be used for, in seconds
SEAL_TIME=180

asleep() {
	local before now

	before=$(date +%s)
	echo 0 >"$ALARM"
	echo "+$TIME" >"$ALARM"
	echo mem >/sys/power/state
	now=$(date +%s)
	more_than "$((TIME - 5))" echo "$((now - before))"
}

# typed_key SETTING...: between x and y
typed_key() {
	install_key y x activate on-first-record "$@"
	install_key x y activate now "$@"
	on x ping -c 1 -W "$WAIT" 10.9.0.5
}

# Keys grow old meanwhile: they are dead as soon as the machine is awake, though hardly
# any of their time was spent so. Agents make new ones, or use on what has time left.
test_sleep() {
	local old start

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
	typed_key soft-time "$((TIME - 6))" seal-time "$((TIME - 4))" open-time "$((TIME - 2))"
	watch_events x
	asleep
	start=$SECONDS
	await is dead key_state x y
	await is dead key_state y x
	await grep -q dead "$DIR/events"
	# Not when they would have been looked at anyway
	less_than 5 echo "$((SECONDS - start))"
	no_ping x 10.9.0.5
	pings a 10.9.0.2
	pings b 10.9.0.1
	if ((TIME > SEAL_TIME)); then
		another_key a "$old"
	else
		is "$old" key a local-id
	fi
	rekey b
	await agree_on_key
}

TIME=${1:-190}
modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
if ! [[ -w $ALARM ]] || ! grep -qw mem /sys/power/state; then
	echo "1..0 # SKIP this machine does not sleep, or is not woken"
	exit 4
fi
run_tests test_sleep
