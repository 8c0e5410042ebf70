#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A clone of the machine must not seal under counters that the original uses. To
# be run by "vm/run.sh -f", which does the cloning.
# shellcheck disable=SC2317,SC2119 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

NUM+=([x]=4 [y]=5)

epoch() {
	member "$(on "$1" omertactl -j link show "$DEV")" epoch
}

# Keys that were typed in are of no use any more, nor are those that could have been
# typed in before. Agents make new ones.
test_clone() {
	local before

	compgen -G '/sys/bus/*/drivers/vmgenid' || { echo 'SKIP the kernel has no driver for generation ids'; exit 4; }
	pair_with_agents
	pings a 10.9.0.2
	make_ns x y
	make_veth x y
	make_dev x
	make_dev y
	connect x y
	pings x 10.9.0.5
	before=$(epoch x)
	echo 'clone me' >&3
	await is dead key_state x y
	is dead key_state y x
	no_ping x 10.9.0.5
	refused install_key x y
	GEN=2
	refused install_key x y epoch "$before" 2>"$DIR/errors"
	grep 'the machine was cloned' "$DIR/errors"
	install_key y x activate on-first-record epoch "$(epoch y)"
	install_key x y activate now
	pings x 10.9.0.5
	pings a 10.9.0.2
	pings b 10.9.0.1
}

exec 3>&1
modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests test_clone
