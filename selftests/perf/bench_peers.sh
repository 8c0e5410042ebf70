#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-peers". In the environment:
#   PEERS	how many; several numbers are measured one after the other
#   CASES	see perf/many.sh
#   RUNS, TIME	runs of each case, seconds of those that take a time
#   MEMORY	of the guest
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

out=$TOP_DIR/build/bench-peers

main() {
	local peers

	rm -rf "$out"
	mkdir -p "$out"
	: >"$out/lines"
	prepare uml
	quietly make -C "$TOP_DIR/tools/omertactl" build/swarm
	cp "$TOP_DIR/tools/omertactl/build/swarm" "$TOP_DIR/selftests/perf"
	cc -O2 -shared -fPIC -o "$TOP_DIR/selftests/perf/slowdisk.so" \
		"$TOP_DIR/selftests/perf/slowdisk.c"
	for peers in ${PEERS:-1000 10000}; do
		"$VM_DIR/run.sh" -o "$out/$peers" -k uml -a amd64 \
			-m "${MEMORY:-3G}" -t 3600 -- \
			"./perf/many.sh ${RUNS:-3} ${TIME:-20} $peers ${CASES:-}" |
			sed -u 's/^/uml x86-64 /' | tee -a "$out/lines" >&2
	done
	"$TOP_DIR/selftests/perf/report.py" "$TOP_DIR/build/bench-peers.json" <"$out/lines"
}

main
