#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# dissector.sh: tests the dissector for Wireshark, also on a capture of a tunnel in a guest. Prints
# KTAP.
#
# usage: dissector.sh		here, where tshark is installed if it lacks
#        dissector.sh guest	in the guest: leaves the capture in its folder "out"
set -euo pipefail
cd "$(dirname "$0")"

# Handshake, keepalives, packets alone and bursts
capture() {
	# shellcheck source=lib_netns.sh
	. ./lib_netns.sh
	# shellcheck source=lib_agent.sh
	. ./lib_agent.sh
	DIR=$(mktemp -d)
	set -x
	pair
	bg a tcpdump -i to_b -s 0 -U -w /root/out/capture udp port 51900 2>"$DIR/err"
	await grep -q listening "$DIR/err"
	agent a
	agent b
	pings a 10.9.0.2
	copy a b 10.9.0.2 300000
	pkill -INT tcpdump
	wait %1
}

here() {
	# shellcheck source=vm/lib.sh
	. vm/lib.sh
	local out

	"$VM_DIR/deps.sh" dissector
	prepare_guest uml amd64
	out=${OUT:-$TOP_DIR/build}/dissector-guest
	if ! "$VM_DIR/run.sh" -k uml -a amd64 -m 512M -t 300 -o "$out" -- './dissector.sh guest' \
		>"$out.log" 2>&1; then
		sed 's/^/# /' "$out.log"
		echo "Bail out! no capture"
		return 1
	fi
	./dissector_test.py "$out/capture"
}

if [[ ${1:-} == guest ]]; then
	capture
else
	here
fi
