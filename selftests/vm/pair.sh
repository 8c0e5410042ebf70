#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# pair.sh: a tunnel between two emulated machines of different byte orders, and word sizes. Prints
# KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Kernel and architecture of the machines a and b of each pair
PAIRS=('6.1 s390x 6.12 amd64' '6.1 s390x 6.1 i386')

# shellcheck disable=SC2317 # called by report
pair() {
	local dir rc=0 first

	dir=$(mktemp -d)
	LINK="server=on,addr.type=unix,addr.path=$dir/link" "$VM_DIR/run.sh" -k "$1" -a "$2" -t 900 \
		-o "$dir/a" -- './pair.sh a' >"$dir/a.log" 2>&1 &
	first=$!
	until [[ -S $dir/link ]]; do
		kill -0 "$first" || break
		sleep 0.2
	done
	LINK="server=off,addr.type=unix,addr.path=$dir/link" "$VM_DIR/run.sh" -k "$3" -a "$4" -t 900 \
		-o "$dir/b" -- './pair.sh b' >"$dir/b.log" 2>&1 || rc=$?
	wait "$first" || rc=$?
	echo "a: $2"
	cat "$dir/a.log"
	echo "b: $4"
	cat "$dir/b.log"
	rm -rf "$dir"
	return "$rc"
}

main() {
	local words n=0 rc=0

	echo 'KTAP version 1'
	echo "1..${#PAIRS[@]}"
	for words in "${PAIRS[@]}"; do
		read -ra words <<<"$words"
		prepare_guest "${words[@]:0:2}"
		prepare_guest "${words[@]:2}"
		report "$((++n))" "${words[1]} and ${words[3]}" pair "${words[@]}" || rc=1
	done
	exit "$rc"
}

main
