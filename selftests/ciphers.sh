#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The engine in user space, with each instruction set that this CPU has: whether its
# time depends on secrets, and what it makes of a fuzzer's lists. Prints KTAP.
# shellcheck disable=SC2317 # the checks are called by name
set -uo pipefail
. "$(dirname "$0")/vm/lib.sh"

FUZZ_TIME=${FUZZ_TIME:-20}
tests=$TOP_DIR/kmod/tests
CHECKS=(valgrind_finds_leak valgrind_finds_none sanitizer_finds_leak sanitizer_finds_none
	fuzz)

# Instructions of the compiler that makes the module; AVX-512 is beyond it
follow_binary() {
	valgrind -q --error-exitcode=9 "$tests/user/ct/const_time" "$@"
}

valgrind_finds_leak() {
	follow_binary leak
	(($? == 9))
}

valgrind_finds_none() {
	follow_binary
}

sanitizer_finds_leak() {
	MSAN_OPTIONS=exit_code=9 "$tests/user/msan/const_time" leak
	(($? == 9))
}

sanitizer_finds_none() {
	"$tests/user/msan/const_time"
}

fuzz() {
	(cd "$tests/user/fuzz" &&
		./fuzz_lists -max_total_time="$FUZZ_TIME" -max_len=64 -verbosity=0)
}

main() {
	local check n=0 failed=0 log

	"$VM_DIR/deps.sh" ciphers
	quietly make -s "-j$(nproc)" -C "$tests" fuzz ct || exit 1
	log=$(mktemp)
	printf 'KTAP version 1\n1..%u\n' "${#CHECKS[@]}"
	for check in "${CHECKS[@]}"; do
		if "$check" >"$log" 2>&1; then
			echo "ok $((++n)) - $check"
		else
			sed 's/^/# /' "$log"
			echo "not ok $((++n)) - $check"
			failed=1
		fi
	done
	rm -f "$log"
	exit "$failed"
}

main
