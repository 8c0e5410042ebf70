#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that the tests before have lost, in a kernel with kmemleak. An object is
# reported when it was there, and unreferenced, for some time.
set -u

FILE=/sys/kernel/debug/kmemleak

echo 'KTAP version 1'
[[ -w $FILE ]] || { echo '1..0 # SKIP the kernel has no kmemleak'; exit 4; }
echo '1..1'
# A loaded module may still refer to memory that it has leaked.
if ! timeout 60 modprobe -r omerta_test omerta; then
	echo "not ok 1 - no leak"
	exit 1
fi
# Not younger than kmemleak's minimum of five seconds, at two scans.
for _ in 1 2 3; do
	read -rt 6 <> <(:)
	echo scan >"$FILE"
done
if [[ -s $FILE ]] && grep -q . "$FILE"; then
	sed 's/^/# /' "$FILE"
	echo 'not ok 1 - no leak'
	exit 1
fi
echo 'ok 1 - no leak'
