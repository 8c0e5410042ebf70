#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-compare": measures the module and the tool of another
# commit and of this tree in turns, with this tree's scripts. Each turn is a guest of
# its own. In the environment:
#   BASE	the other commit
#   BACKENDS	see lib_bench.sh
#   CASES, TIME	of uml, see tunnel.sh
#   ROUNDS	turns of each tree in uml
#   COUNTS, BYTES	of icount, see count.sh
#   SEEDS	a count of each tree for each, see vm/run.sh
#   CONTENDERS	see tunnel.sh; with settings both tools must know those of lib_perf.sh
#   STRICT	yes: fail if a count is more than 1 % worse
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

BACKENDS=${BACKENDS:-icount-x86-64 uml}
CASES=${CASES:-tcp-1 tcp-1:cut tcp-8 cpu udp-64 udp-64:cut udp-1300 trip-64-p50 trip-64-p50-loaded}
COUNTS=${COUNTS:-bulk bulk:cut packet packet-1300 trip}
CONTENDERS=${CONTENDERS:-omerta}
# Each guest is new, so without settings all are the tool's own defaults.
# shellcheck disable=SC2034 # of settings(), by its name
[[ $CONTENDERS == *,* ]] || DEFAULTS=
out=$TOP_DIR/build/bench-compare
declare -A TREES
failed=''

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	git -C "$TOP_DIR" worktree remove --force "${TREES[base]}" || :
	rm -rf "$scratch"
}

# turn TREE ROUND BACKEND
turn() {
	say "$3, round $2: $1"
	TREE=${TREES[$1]} SEED=$2 measure "$3" 1 | sed -u "s/^/$1 $2 /" | tee -a "$out/lines" >&2 && return
	say "$3, round $2: $1 failed"
	failed=yes
}

# Every second round the other tree begins, so that neither gains from what drifts.
take_turns() {
	local backend round order

	for backend in $BACKENDS; do
		order='base new'
		for round in $([[ $backend == uml ]] && seq "${ROUNDS:-5}" || echo "${SEEDS:-1 2 3}"); do
			turn "${order% *}" "$round" "$backend"
			turn "${order#* }" "$round" "$backend"
			order="${order#* } ${order% *}"
		done
	done
}

main() {
	local commit backend name kver arch

	[[ -n ${BASE:-} ]] || die "usage: make bench-compare BASE=COMMIT"
	commit=$(git -C "$TOP_DIR" rev-parse --verify --quiet "$BASE^{commit}") ||
		die "no commit $BASE"
	rm -rf "$out"
	mkdir -p "$out"
	: >"$out/lines"
	scratch=$(mktemp -d)
	TREES=([base]=$scratch/base [new]=$TOP_DIR)
	trap cleanup EXIT
	trap 'exit 1' INT TERM HUP
	quietly git -C "$TOP_DIR" worktree add --detach "${TREES[base]}" "$commit"
	for backend in $BACKENDS; do
		prepare "$backend"
		read -r kver arch <<<"$(guest_of "$backend")"
		for name in base new; do
			say "$backend: building $name"
			quietly "${TREES[$name]}/selftests/vm/modules.sh" "$kver" "$arch"
		done
	done
	take_turns
	for name in base new; do
		echo "$name: $(git -C "${TREES[$name]}" log -1 --format='%h %s')"
	done
	[[ -z $(git -C "$TOP_DIR" status --porcelain) ]] || echo "new has changes beyond its commit"
	"$TOP_DIR/selftests/perf/compare_report.py" ${STRICT:+--strict="$STRICT"} \
		"$TOP_DIR/build/bench-compare.json" <"$out/lines" || exit
	[[ -z $failed ]] || die "not all could be measured"
}

main
