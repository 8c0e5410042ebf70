#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kselftest_guest.sh SELFTESTS PROGS: kselftest.sh's part in the guest. Each of the two ways to run
# the tests has to report each of PROGS as passed.
set -u

EXTRA=/root/.vm/extra
read -ra progs <<<"$2"
tests=()
for prog in "${progs[@]}"; do
	tests+=(--test "omerta:$prog")
done

# passed WAY LOG
passed() {
	local prog

	for prog in "${progs[@]}"; do
		grep -qE "^ok [0-9]+ selftests: omerta: $prog\$" "$2" || {
			sed 's/^/# /' "$2"
			echo "not ok $1"
			return 1
		}
	done
	echo "ok $1"
}

echo "KTAP version 1"
echo "1..2"
rc=0
(cd "$EXTRA/installed" && ./run_kselftest.sh "${tests[@]}") >/tmp/installed.log 2>&1
passed '1 - run_kselftest.sh' /tmp/installed.log || rc=1
"$EXTRA/bin/make" -C "$EXTRA/$1" TARGETS=omerta TEST_PROGS="$2" run_tests >/tmp/run_tests.log 2>&1
passed '2 - make run_tests' /tmp/run_tests.log || rc=1
exit "$rc"
