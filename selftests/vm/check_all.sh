#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check-all": the other targets of tests, one after the other,
# and the tally over all of their stages.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

OUT=${OUT:-$CACHE/check-all}

# part NAME COMMAND...: adds its stages, which check.sh leaves in its OUT. A command that
# leaves none is a stage, with its output as log.
part() {
	local name=$1 out=$OUT/$1 rc=0

	shift
	rm -rf "$out"
	mkdir -p "$out"
	echo "# part $name"
	OUT=$out "$@" </dev/null 2>&1 | tee "$out/output" || rc=${PIPESTATUS[0]}
	echo "# part $name took $SECONDS s, with those before it"
	if [[ -e $out/stages ]]; then
		mapfile -t -O "${#stages[@]}" stages <"$out/stages"
	else
		stages+=("$name" "$rc" "$out/output")
	fi
}

main() {
	stages=()
	mkdir -p "$OUT"
	take_lock "$OUT/lock"
	part matrix env STYLE=yes "$VM_DIR/matrix.sh"
	part uml make -s -C "$TOP_DIR" check-uml
	part debug make -s -C "$TOP_DIR" check-debug
	part hostile env FORM=all "$VM_DIR/hostile.sh"
	part intree make -s -C "$TOP_DIR" check-intree
	part kselftest make -s -C "$TOP_DIR" check-kselftest
	part package make -s -C "$TOP_DIR" check-package
	part fresh make -s -C "$TOP_DIR" check-fresh
	part tracers make -s -C "$TOP_DIR" check-tracers
	part networkmanager make -s -C "$TOP_DIR" check-networkmanager
	part dashboard make -s -C "$TOP_DIR" check-dashboard
	part proof make -s -C "$TOP_DIR" check-proof
	part race make -s -C "$TOP_DIR" check-race
	part older make -s -C "$TOP_DIR" check-older
	part model make -s -C "$TOP_DIR" check-model
	"$VM_DIR/ktap_tally.py" "${stages[@]}"
}

main
