#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The leaf tests inside the kernel, as the module reports when it is loaded; or
# KUnit in kernels that have it.
set -u

KUNIT=/sys/kernel/debug/kunit

suites() {
	[[ ! -d $KUNIT ]] || ls "$KUNIT"
}

before=$(suites)
dmesg -C
modprobe omerta_test
rc=$?
if [[ -d $KUNIT ]]; then
	mapfile -t new < <(comm -13 <(echo "$before") <(suites))
	./kunit.sh "${new[@]}" || rc=1
else
	dmesg | sed -n 's/^.*omerta_ktap: //p'
fi
((rc != 0)) || modprobe -r omerta_test
exit "$rc"
