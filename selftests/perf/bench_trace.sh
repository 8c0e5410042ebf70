#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-trace": the instructions of packets by function, all of the machine's,
# of sender, receiver and their kernel. In the environment:
#   BACKEND	icount-x86-64 or icount-arm64
#   COUNTS	a case, see count.sh
#   CONTENDERS	see tunnel.sh
#   INSNS	instructions that are followed of each
#   SEED	see vm/run.sh
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

BACKEND=${BACKEND:-icount-x86-64}
COUNTS=${COUNTS:-packet}
CONTENDERS=${CONTENDERS:-veth wireguard ovpn omerta}
INSNS=${INSNS:-30000000}
out=$TOP_DIR/build/bench-trace
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl

main() {
	local trace=$TOP_DIR/selftests/perf/trace.py contender folded name

	"$VM_DIR/deps.sh" perf
	rm -rf "$out"
	mkdir -p "$out"
	mkfifo "$out/log"
	prepare "$BACKEND"
	for contender in $CONTENDERS; do
		say "$contender"
		TRACE=$out ANNOUNCE=yes CONTENDERS=$contender measure "$BACKEND" 1 |
			tee -a "$out/lines" | sed -un 's/.*\(begin .*\)/\1/p' |
			"$trace" "$out" "$INSNS"
		mv "$out/$BACKEND/symbols" "$out/$contender.symbols"
	done
	"$trace" -r "$out" | tee "$out/table"
	for folded in "$out"/*.folded; do
		name=${folded%.folded}
		perl "$flamegraph" --title "${name##*/}" --countname instructions "$folded" >"$name.svg"
	done
	say "flame graphs: $out/*.svg"
}

main
