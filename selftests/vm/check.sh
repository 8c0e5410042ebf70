#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check": builds, then runs every stage, each printing
# KTAP; ends with the tally over all of them. Logs stay in OUT.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

KERNEL=${KERNEL:-6.12} ARCH_DEB=${ARCH_DEB:-amd64}
OUT=${OUT:-$CACHE/check}
# What looks after its memory needs more of it.
MEM=1G
[[ $KERNEL != debug ]] || MEM=2G
export PYTHONDONTWRITEBYTECODE=1

# stage NAME COMMAND...: runs it, shows and keeps its output. COMMAND cannot rely
# on errexit.
stage() {
	local name=$1 log=$OUT/$1.log rc=0 start=$SECONDS

	shift
	echo "# stage $name"
	"$@" </dev/null 2>&1 | tee "$log" || rc=${PIPESTATUS[0]}
	echo "# stage $name took $((SECONDS - start)) s"
	stages+=("$name" "$rc" "$log")
}

# ktap_one NUMBER NAME COMMAND...: a command as one test.
ktap_one() {
	local number=$1 name=$2 log rc=0

	shift 2
	log=$("$@" 2>&1) || rc=$?
	if ((rc == 0)); then
		echo "ok $number - $name"
	else
		printf '%s\n' "$log" | sed 's/^/# /'
		echo "not ok $number - $name"
	fi
	return "$rc"
}

build() {
	local rc=0

	echo '1..2'
	ktap_one 1 'modules build without warnings' build_modules || rc=1
	ktap_one 2 'omertactl builds' make -C "$TOP_DIR/tools/omertactl" || rc=1
	return "$rc"
}

# -Werror, as a warning that is only printed is gone in the next build; what
# modpost says comes again and again.
build_modules() {
	local log rc=0

	log=$(make -C "$TOP_DIR" vm-modules KERNEL="$KERNEL" ARCH_DEB="$ARCH_DEB" \
		KCFLAGS=-Werror 2>&1) || rc=$?
	printf '%s\n' "$log"
	((rc == 0)) && ! grep -q 'WARNING:' <<<"$log"
}

user_tests() {
	make -s -C "$TOP_DIR/kmod/tests" user >&2 &&
		"$TOP_DIR/kmod/tests/leaf_tests"
}

tool_tests() {
	make -s -C "$TOP_DIR/tools/omertactl" check
}

guest_tests() {
	rm -rf "$OUT/guest"
	"$VM_DIR/run.sh" -k "$KERNEL" -a "$ARCH_DEB" -m "$MEM" -t "${TIMEOUT:-1800}" \
		-o "$OUT/guest" -- ./run_all.sh
}

clone_test() {
	"$VM_DIR/run.sh" -k "$KERNEL" -a "$ARCH_DEB" -f -t 300 -o "$OUT/clone" -- ./vmfork.sh
}

main() {
	stages=()
	take_lock "$OUT/lock"
	"$VM_DIR/deps.sh"
	"$VM_DIR/kernel.sh" "$KERNEL" "$ARCH_DEB"
	"$VM_DIR/rootfs.sh" "$ARCH_DEB" >/dev/null
	stage tally "$VM_DIR/ktap_tally_test.py"
	stage decode "$VM_DIR/decode_capture_test.py"
	stage build build
	stage leaves user_tests
	stage omertactl tool_tests
	stage guest guest_tests
	stage clone clone_test
	"$VM_DIR/ktap_tally.py" "${stages[@]}"
}

main
