#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A clone of the machine must not seal under counters that the original uses. To
# be run by "vm/run.sh -f", which does the cloning.
# shellcheck disable=SC2317,SC2119 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

test_clone() {
	compgen -G '/sys/bus/*/drivers/vmgenid' || { echo 'SKIP the kernel has no driver for generation ids'; exit 4; }
	make_both
	pings a 10.9.0.2
	is active key_state a b
	echo 'clone me' >&3
	await is dead key_state a b
	is dead key_state b a
	no_ping a 10.9.0.2
	refused install_key a b
	GEN=2
	install_key b a activate on-first-record
	install_key a b activate now
	pings a 10.9.0.2
}

exec 3>&1
modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests test_clone
