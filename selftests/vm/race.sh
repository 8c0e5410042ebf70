#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check-race": race.sh in a kernel with KCSAN, and what that reported. Prints
# KTAP. TIME in the environment: seconds for each of its tests.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

OUT=${OUT:-$TOP_DIR/build}/race
DIR=$TOP_DIR/build/race-amd64

# helper NAME: builds a module of race/ for the kernel.
helper() {
	local copy=$DIR/helpers/$1

	mkdir -p "$copy"
	cp -u "$TOP_DIR/selftests/race/$1"/* "$copy"
	quietly make -C "$CACHE/kernels/race-amd64/build" M="$copy" modules
	cp "$copy"/*.ko "$DIR/kmod"
}

# Accesses go through omerta_watch.
rename_accesses() {
	local ko=$DIR/kmod/omerta.ko

	nm "$ko" | awk '$1 == "U" && $2 ~ /^__tsan_(volatile_)?(read|write)/ {
		print $2, "watch_" substr($2, 8) }' >"$DIR/map"
	objcopy --redefine-syms="$DIR/map" "$ko"
}

main() {
	local rc=0

	prepare_guest race amd64
	rm -f "$DIR"/kmod/omerta_test*.ko
	helper watch
	helper planted
	rename_accesses
	mkdir -p "$OUT"
	# 123: the kernel reported something, whatever the tests' status is.
	"$VM_DIR/run.sh" -k race -a amd64 -m 2G -t 3000 -o "$OUT" -- "TIME=${TIME:-} ./race.sh" |
		tee "$OUT/tests.log" || rc=$?
	((rc == 0 || rc == 123)) || exit "$rc"
	rc=0
	"$TOP_DIR/selftests/race/races.py" "$OUT/kernel.log" || rc=1
	grep -q '^ok ' "$OUT/tests.log" && ! grep -q '^not ok' "$OUT/tests.log" || rc=1
	exit "$rc"
}

main
