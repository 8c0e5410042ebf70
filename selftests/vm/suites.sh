#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check-suites": tests of the kernel's sources, of others, on omerta
# and on what they were written for. WireGuard's on KERNEL and ARCH_DEB in the environment; the
# others, which want a newer kernel than most are, in User-mode Linux. Prints KTAP.
#
# usage: suites.sh [wireguard|openvpn|net [TEST...]]
set -euo pipefail
. "$(dirname "$0")/lib.sh"

OUT=${OUT:-$CACHE/suites}
KERNEL=${KERNEL:-6.12}
ARCH_DEB=${ARCH_DEB:-amd64}

# machine KERNEL ARCH SCRIPT [TEST...]
machine() {
	prepare_guest "$1" "$2"
	"$VM_DIR/run.sh" -k "$1" -a "$2" -t 3600 -o "$OUT/${3%.sh}" -- "./suites/$3" "${@:4}"
}

wireguard() {
	cp "$source/tools/testing/selftests/wireguard/netns.sh" "$EXTRA"
	machine "$KERNEL" "$ARCH_DEB" netns.sh "$@"
}

# part PATH...: copies a part of the kernel's sources to the machine
part() {
	local path

	for path; do
		mkdir -p "$EXTRA/linux/$(dirname "$path")"
		cp -a "$source/$path" "$EXTRA/linux/$path"
	done
}

# With the program that their scripts want
openvpn() {
	local tests=tools/testing/selftests/net/ovpn libnl

	"$VM_DIR/deps.sh" suites
	part $tests tools/testing/selftests/kselftest tools/net/ynl/pyynl \
		Documentation/netlink/specs/ovpn.yaml
	quietly make -C "$source" O="$EXTRA/headers" headers
	read -ra libnl < <(pkg-config --cflags --libs libnl-genl-3.0)
	quietly gcc -o "$EXTRA/linux/$tests/ovpn-cli" "$source/$tests/ovpn-cli.c" \
		-isystem "$EXTRA/headers/usr/include" -I "$source/tools/testing/selftests" \
		"${libnl[@]}" -l:libmbedcrypto.a
	rm -rf "$EXTRA/headers"
	machine uml amd64 ovpn.sh "$@"
}

# Tests of other devices
net() {
	local program tests=tools/testing/selftests/net

	part $tests/{lib,lib.sh,in_netns.sh,udpgro.sh,udpgso_bench.sh,bareudp.sh,pmtu.sh}
	for program in udpgso_bench_rx udpgso_bench_tx; do
		quietly gcc -o "$EXTRA/linux/$tests/$program" "$source/$tests/$program.c" \
			-I "$source/tools/testing/selftests"
	done
	machine uml amd64 net.sh "$@"
}

# A suite is a process of its own, which ends at its first error.
all() {
	local suite n=0 failed=0

	echo "KTAP version 1"
	echo "1..3"
	for suite in wireguard openvpn net; do
		if "$VM_DIR/suites.sh" "$suite" 2>&1 | sed -u 's/^/    /'; then
			echo "ok $((++n)) - $suite"
		else
			echo "not ok $((++n)) - $suite"
			failed=1
		fi
	done
	exit "$failed"
}

main() {
	case ${1:-all} in
	all) all ;;
	wireguard | openvpn | net) ;;
	*) die "usage: suites.sh [wireguard|openvpn|net [TEST...]]" ;;
	esac
	"$VM_DIR/deps.sh"
	source=$("$VM_DIR/source.sh")
	EXTRA=$(mktemp -d)
	trap 'rm -rf "$EXTRA"' EXIT
	export EXTRA
	"$@"
}

main "$@"
