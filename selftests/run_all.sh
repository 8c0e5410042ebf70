#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All tests that need a running kernel, in the guest. Prints one KTAP stream.
set -u

cd "$(dirname "$0")" || exit 1

tests=(leaves.sh badinput.sh wire.sh keys.sh netns.sh)
# Kernels made for it
[[ ! -e /proc/self/fail-nth ]] || tests+=(faults.sh)
[[ ! -e /sys/kernel/debug/kmemleak ]] || tests+=(leaks.sh)
echo "KTAP version 1"
echo "1..${#tests[@]}"
failed=0
for i in "${!tests[@]}"; do
	"./${tests[$i]}" 2>&1 | sed 's/^/    /'
	if [ "${PIPESTATUS[0]}" -eq 0 ]; then
		echo "ok $((i + 1)) - ${tests[$i]}"
	else
		echo "not ok $((i + 1)) - ${tests[$i]}"
		failed=1
	fi
done
exit "$failed"
