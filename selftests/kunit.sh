#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kunit.sh SUITE...: prints the results of KUnit as one KTAP stream.
set -u

cd /sys/kernel/debug/kunit || exit 1
echo "KTAP version 1"
echo "1..$#"
n=0 failed=0
for suite; do
	n=$((n + 1))
	# A suite's file has a plan of its own and the number 1.
	grep -vx 'KTAP version 1\|1\.\.1' "$suite/results" |
		sed "s/^\(not \)\?ok 1 /\1ok $n /"
	grep -q '^ok 1 ' "$suite/results" || failed=1
done
exit $((failed || n == 0))
