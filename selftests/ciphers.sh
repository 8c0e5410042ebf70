#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests the engine in user space, with each instruction set of this CPU: its time must not depend
# on secrets, and it must survive a fuzzer's lists. Then the tool must survive a fuzzer's
# handshakes and configuration files. Prints KTAP.
# shellcheck disable=SC2317 # the checks are called by name
set -uo pipefail
. "$(dirname "$0")/vm/lib.sh"

FUZZ_TIME=${FUZZ_TIME:-20}
tests=$TOP_DIR/kmod/tests
tool=$TOP_DIR/tools/omertactl
CHECKS=(valgrind_finds_leak valgrind_finds_none sanitizer_finds_leak sanitizer_finds_none
	fuzz_lists fuzz_agent fuzz_config)

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

# fuzz FOLDER PROGRAM BYTES [OPTION...]
fuzz() {
	(cd "$1" && "./$2" -max_total_time="$FUZZ_TIME" -max_len="$3" -verbosity=0 "${@:4}")
}

fuzz_lists() {
	fuzz "$tests/user/fuzz" fuzz_lists 64
}

fuzz_agent() {
	fuzz "$tool/build/fuzz" fuzz_agent 600
}

fuzz_config() {
	# Mistakes are told on standard error, all of them.
	fuzz "$tool/build/fuzz" fuzz_config 600 -seed_inputs="$tool/tests/fuzz_config.seed" \
		-close_fd_mask=2
}

main() {
	local check n=0 failed=0 log

	"$VM_DIR/deps.sh" ciphers
	quietly make -s "-j$(nproc)" -C "$tests" fuzz ct || exit 1
	quietly make -s "-j$(nproc)" -C "$tool" fuzz || exit 1
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
