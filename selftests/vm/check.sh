#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check": the stages of stages.mk, and the tally over all of them. Their
# logs stay in OUT.
#   CELLS	kernels to test with, as KERNEL-ARCH, with ":core" for a choice of the tests or another
#		of run_all.sh's sets
#   JOBS	emulated machines that run in parallel. With more than one all are slower, as tests
#		that watch the time see.
#   GUEST_ONLY, STYLE, CLANG, UPSTREAM, PAIR, FRESH	stages to have or not
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export CELLS=${CELLS:-${KERNEL:-6.12}-${ARCH_DEB:-amd64}}
export OUT=${OUT:-$CACHE/check}
export PYTHONDONTWRITEBYTECODE=1
# With the options of build_test.sh the stages after it need not compile again.
export MODULE_CFLAGS=-Werror

# stages JOBS TARGET...: a stage that fails is the tally's. make fails only if one could not run.
stages() {
	local mark=''

	(($1 == 1)) || mark=yes
	(($# == 1)) || env -u MAKEFLAGS -u MAKEOVERRIDES MARK=$mark \
		make -s -k -f "$VM_DIR/stages.mk" -j "$@" ||
		printf '%s\n' "${*:2}" 2 /dev/null >>"$OUT/stages"
}

main() {
	local list

	take_lock "$OUT/lock"
	rm -f "$OUT/stages"
	"$VM_DIR/deps.sh"
	[[ -n ${GUEST_ONLY:-} ]] || stages 1 host
	stages 1 builds
	stages 4 processes
	stages "${JOBS:-1}" machines
	# Floods are a matter of time: nothing runs in parallel.
	[[ -n ${GUEST_ONLY:-} ]] || stages 1 hostile
	# Here no time is judged.
	stages 3 ${STYLE:+style ciphers dissector ynl} ${CLANG:+clang}
	stages 1 ${UPSTREAM:+suites} ${PAIR:+pair} ${FRESH:+fresh}
	mapfile -t list <"$OUT/stages"
	"$VM_DIR/ktap_tally.py" "${list[@]}"
}

main
