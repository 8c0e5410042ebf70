#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make matrix": "make check" on every kernel and architecture, with
# a table at the end as it stands in the README.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

ARCHES=(amd64 arm64)

main() {
	local kernel arch log rc=0

	mapfile -t kernels < <(awk '!/^#/ && !seen[$1]++ { print $1 }' "$VM_DIR/kernels.tsv")
	CELLS=$(for kernel in "${kernels[@]}"; do printf "$kernel-%s " "${ARCHES[@]}"; done)
	log=$(mktemp)
	CLANG=yes UPSTREAM=yes CELLS=$CELLS "$VM_DIR/check.sh" | tee "$log" || rc=$?
	echo
	table "$log"
	tail -n 1 "$log"
	rm -f "$log"
	return "$rc"
}

table() {
	local kernel arch release

	echo "| Debian's Linux | x86-64 | arm64 |"
	echo '|---|---|---|'
	for kernel in "${kernels[@]}"; do
		release=$(<"$CACHE/kernels/$kernel-amd64/stamp")
		printf '| %s |' "${release%-cloud-amd64}"
		for arch in "${ARCHES[@]}"; do
			result "$1" "$kernel-$arch"
		done
		echo
	done
}

# result LOG CELL: from the table that the tally prints: name, passed, failed, skipped.
result() {
	awk -v build="build-$2" -v guest="guest-$2" '
		NF == 4 && ($1 == build || $1 == guest) {
			passed += $2; failed += $3; skipped += $4; stages++
		}
		END {
			if (stages != 2) printf " not run |"
			else if (failed) printf " %d failed |", failed
			else printf " %d passed%s |", passed, skipped ? ", " skipped " skipped" : ""
		}' "$1"
}

main
