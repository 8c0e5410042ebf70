#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-tunnel": measures in User-mode Linux, which runs at
# the processor's own speed. CASES, RUNS and TIME (seconds) choose less or more.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

CASES=${CASES:-tcp-1 tcp-8 tcp-8-back tcp-both cpu udp-64 udp-1300 trip-64-p50 trip-64-p99
	trip-1024-p50 trip-1024-p99 trip-64-p99-loaded loss tcp-1:cut tcp-8:cut tcp-8-back:cut
	tcp-both:cut cpu:cut trip-64-p99-loaded:cut loss:cut}
out=$TOP_DIR/build/bench-tunnel

main() {
	local tool

	"$VM_DIR/deps.sh"
	"$VM_DIR/kernel.sh" uml amd64
	quietly "$VM_DIR/modules.sh" uml amd64
	mkdir -p "$out"
	for tool in pingpong udprate; do
		cc -O2 -o "$TOP_DIR/selftests/perf/$tool" "$TOP_DIR/selftests/perf/$tool.c"
	done
	# shellcheck disable=SC2086 # words
	"$VM_DIR/run.sh" -k uml -m 2G -t 3600 -o "$out" -- \
		./perf/tunnel.sh "${RUNS:-5}" "${TIME:-3}" $CASES | tee "$out/lines" >&2
	"$TOP_DIR/selftests/perf/report.py" uml x86-64 "$TOP_DIR/build/bench-tunnel.json" \
		<"$out/lines"
}

main
