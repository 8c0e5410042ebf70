#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# WireGuard's own test, netns.sh of the kernel's sources, on WireGuard and on omerta. Needs
# root, a machine of its own, and the script in UPSTREAM.
#
# usage: netns.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=../lib_test.sh
. ../lib_test.sh

cleanup() { :; }

UPSTREAM=${UPSTREAM:-/root/.vm/extra}

# whole NAME COMMAND...: all that it says is in a file of that name. It sleeps by waiting for
# input.
whole() {
	set -o pipefail
	"${@:2}" < <(exec sleep infinity) 2>&1 | tee "/root/out/$1.log"
}

test_wireguard() {
	modprobe wireguard || { echo "SKIP no module wireguard"; exit 4; }
	sed -f wireguard.sed "$UPSTREAM/netns.sh" >"$DIR/netns.sh"
	whole wireguard bash "$DIR/netns.sh"
}

test_omerta() {
	modprobe omerta
	sed -f netns.sed "$UPSTREAM/netns.sh" >"$DIR/netns.sh"
	PATH=$PWD:$PATH whole omerta bash "$DIR/netns.sh"
}

TESTS=(test_wireguard test_omerta)

run_tests "${@:-${TESTS[@]}}"
