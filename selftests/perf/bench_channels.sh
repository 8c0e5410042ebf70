#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-channels": what two channels bring over one, in User-mode Linux, and
# through a bond, for which there is a driver in a stock kernel; and what channels share. In the
# environment:
#   CASES	see perf/channels.sh; bond is perf/bond.sh, tunnel some cases of perf/tunnel.sh, and
#		locks the instructions under the lock that all channels take
#   RUNS, TIME	runs of each case, seconds of each run
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

CASES=${CASES:-$(printf '%s ' out-{64,1300,super}{,-peers} in-{64,1300}{,-peer} alone-{64,1300,super}) memory bond tunnel locks}
TUNNEL_CASES=${TUNNEL_CASES:-tcp-1 tcp-8 tcp-8-back tcp-both udp-64 udp-1300 udp-64-flood trip-64-p50}
out=$TOP_DIR/build/bench-channels

# locks COUNT: counts a packet's instructions at both ends, and those under the lock that commit_burst()
# takes, by the name of that or of the function into which it is inlined
locks() {
	local trace=$TOP_DIR/build/bench-trace

	CONTENDERS=omerta COUNTS=$1 "$TOP_DIR/selftests/perf/bench_trace.sh" >&2
	sed -n "s/ $1 omerta / locks-$1 whole /p" "$trace/lines"
	jq -r --arg name "$1 omerta" '.[$name] | "sending \(.all - .receiving)",
		"receiving \(.receiving)", "locked \(.under | with_entries(
			select(.key | test("^(commit_burst|omerta_rx_deliver)$"))) | add)"' \
		"$trace/sums.json" |
		sed "s/ / insn\/packet /; s/^/icount x86-64 locks-$1 /"
}

main() {
	local in_uml name

	mkdir -p "$out"
	make_tools
	: >"$out/lines"
	in_uml=$(tr ' ' '\n' <<<"$CASES" | sed -E '/^(bond|tunnel|locks)?$/d' | tr '\n' ' ')
	[[ ! $in_uml && " $CASES " != *' tunnel '* ]] || prepare uml
	if [[ $in_uml ]]; then
		"$VM_DIR/run.sh" -o "$out/uml" -k uml -a amd64 -m 2G -t 5400 -- \
			"./perf/channels.sh ${RUNS:-5} ${TIME:-2} $in_uml" |
			sed -u 's/^/uml x86-64 /' | tee -a "$out/lines" >&2
	fi
	if [[ " $CASES " == *' tunnel '* ]]; then
		CASES=$TUNNEL_CASES CONTENDERS="omerta,channels=1 omerta" TIME=${TIME:-2} \
			measure uml "${RUNS:-5}" | tee -a "$out/lines" >&2
	fi
	# The links are the bottleneck there, so an emulated machine is fast enough.
	if [[ " $CASES " == *' bond '* ]]; then
		prepare_guest 6.1 amd64
		"$VM_DIR/run.sh" -o "$out/bond" -k 6.1 -a amd64 -c 2 -m 1G -t 1200 -- \
			"./perf/bond.sh ${RUNS:-5} ${TIME:-2}" | sed -u 's/^/emulated x86-64 /' |
			tee -a "$out/lines" >&2
	fi
	if [[ " $CASES " == *' locks '* ]]; then
		for name in packet bulk; do
			locks "$name" | tee -a "$out/lines" >&2
		done
	fi
	"$TOP_DIR/selftests/perf/channels_report.py" "$TOP_DIR/build/bench-channels.json" \
		<"$out/lines"
}

main
