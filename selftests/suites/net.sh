#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tests of other devices, net of the kernel's sources, on omerta in their place. Needs root, a
# machine of its own, and a part of the sources in UPSTREAM, with their programs.
#
# usage: net.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=../lib_test.sh
. ../lib_test.sh

cleanup() { :; }

UPSTREAM=${UPSTREAM:-/root/.vm/extra/linux}
HERE=$PWD
export TUNNEL=$HERE/tunnel

# script NAME SED|- COMMAND...: one of theirs, changed by our file SED. All that it says is in
# a file with NAME.
script() {
	cp -a "$UPSTREAM" "$DIR/linux"
	cd "$DIR/linux/tools/testing/selftests/net"
	[[ $2 == - ]] || sed -i -f "$HERE/$2" "${3#./}"
	set -o pipefail
	bash "${@:3}" 2>&1 | tee "/root/out/$1.log"
}

pmtu() { script "$1" "$2" pmtu.sh pmtu_ipv{4,6}_vxlan{4,6}_exception; }

test_veth_udpgro() { script veth-udpgro - ./udpgro.sh; }
test_lo_udpgso() { script lo-udpgso - ./udpgso_bench.sh; }
test_bareudp() { script bareudp - bareudp.sh; }
test_vxlan_pmtu() { pmtu vxlan-pmtu pmtu-control.sed; }

test_omerta_udpgro() { script omerta-udpgro udpgro.sed ./udpgro.sh; }
test_omerta_udpgso() { script omerta-udpgso udpgso_bench.sed ./udpgso_bench.sh; }
test_omerta_bareudp() { script omerta-bareudp bareudp.sed bareudp.sh; }
test_omerta_pmtu() { pmtu omerta-pmtu pmtu.sed; }

TESTS=(
	test_veth_udpgro test_lo_udpgso test_bareudp test_vxlan_pmtu
	test_omerta_udpgro test_omerta_udpgso test_omerta_bareudp test_omerta_pmtu
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
