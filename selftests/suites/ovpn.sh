#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# OpenVPN's own tests over UDP, net/ovpn of the kernel's sources, on ovpn and on omerta. Needs
# root, a machine of its own, and a part of the sources in UPSTREAM, with their ovpn-cli.
#
# usage: ovpn.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=../lib_test.sh
. ../lib_test.sh

cleanup() { :; }

UPSTREAM=${UPSTREAM:-/root/.vm/extra/linux}
HERE=$PWD

# script NAME FILE SED: one of theirs, changed by our file SED. All that it says is in a file
# with NAME's.
script() {
	cp -a "$UPSTREAM" "$DIR/linux"
	cd "$DIR/linux/tools/testing/selftests/net/ovpn"
	sed -i -f "$HERE/$3" ./*.sh
	set -o pipefail
	bash "./$2" 2>&1 | tee "/root/out/$1-$2.log"
	! grep -q '^not ok' "/root/out/$1-$2.log"
}

on_ovpn() {
	script ovpn "$1" ovpn-control.sed
}

on_omerta() {
	export OVPN_CLI=$HERE/ovpn-cli OVPN_YNL=$HERE/ovpn-events
	script omerta "$1" ovpn.sed
}

test_ovpn() { on_ovpn test.sh; }
test_ovpn_chachapoly() { on_ovpn test-chachapoly.sh; }
test_ovpn_float() { on_ovpn test-float.sh; }
test_ovpn_large_mtu() { on_ovpn test-large-mtu.sh; }
test_ovpn_mark() { on_ovpn test-mark.sh; }
test_ovpn_symmetric_id() { on_ovpn test-symmetric-id.sh; }
test_ovpn_symmetric_id_float() { on_ovpn test-symmetric-id-float.sh; }
test_ovpn_close_socket() { on_ovpn test-close-socket.sh; }

test_omerta() { on_omerta test.sh; }
test_omerta_chachapoly() { on_omerta test-chachapoly.sh; }
test_omerta_float() { on_omerta test-float.sh; }
test_omerta_large_mtu() { on_omerta test-large-mtu.sh; }
test_omerta_mark() { on_omerta test-mark.sh; }
test_omerta_symmetric_id() { on_omerta test-symmetric-id.sh; }
test_omerta_symmetric_id_float() { on_omerta test-symmetric-id-float.sh; }
test_omerta_close_socket() { on_omerta test-close-socket.sh; }

TESTS=(
	test_ovpn test_ovpn_chachapoly test_ovpn_float test_ovpn_large_mtu test_ovpn_mark
	test_ovpn_symmetric_id test_ovpn_symmetric_id_float test_ovpn_close_socket
	test_omerta test_omerta_chachapoly test_omerta_float test_omerta_large_mtu test_omerta_mark
	test_omerta_symmetric_id test_omerta_symmetric_id_float test_omerta_close_socket
)

run_tests "${@:-${TESTS[@]}}"
