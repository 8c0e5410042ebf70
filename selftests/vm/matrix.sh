#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make matrix": "make check" on every kernel and architecture, with
# a table at the end as it stands in the README.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local kernel arch log cells='' rc=0

	mapfile -t kernels < <(awk '!/^#/ && !seen[$1]++ { print $1 }' "$VM_DIR/kernels.tsv")
	mapfile -t arches < <(awk '!/^#/ { print $1 }' "$VM_DIR/arches.tsv")
	for kernel in "${kernels[@]}"; do
		for arch in "${arches[@]}"; do
			! kernel_row "$kernel" "$arch" || cells+="$kernel-$arch "
		done
	done
	log=$(mktemp)
	CLANG=yes UPSTREAM=yes PAIR=yes CELLS=$cells "$VM_DIR/check.sh" | tee "$log" || rc=$?
	echo
	table "$log"
	tail -n 1 "$log"
	rm -f "$log"
	return "$rc"
}

table() {
	local kernel arch release

	printf "| Debian's Linux |%s\n" "$(printf ' %s |' "${arches[@]}")"
	printf '|---|%s\n' "$(printf -- '---|%.0s' "${arches[@]}")"
	for kernel in "${kernels[@]}"; do
		release=$(<"$CACHE/kernels/$kernel-amd64/stamp")
		release=${release%-amd64}
		printf '| %s |' "${release%-cloud}"
		for arch in "${arches[@]}"; do
			if kernel_row "$kernel" "$arch"; then
				result "$1" "$kernel-$arch"
			else
				printf ' |'
			fi
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
