#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the given KTAP programs and prints their results as one KTAP stream.

cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# A program that hangs is a failure, too.
limit=
command -v timeout >/dev/null && limit="timeout 1200"

for program; do
	label=${program#build/}
	label=${label#tests/}
	# shellcheck disable=SC2086
	$limit "$program" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	sed -E "s,^(not ok|ok) [0-9]+ ,\\1 @ $label: ,; /^KTAP version/d; /^1\.\./d" \
		"$tmp/out" >>"$tmp/all"
	# A crash, a sanitizer's report or a plan that does not fit
	planned=$(sed -n 's/^1\.\.//p' "$tmp/out")
	seen=$(grep -c -E '^(not )?ok ' "$tmp/out")
	if [ "$rc" -gt 1 ] || [ "$planned" != "$seen" ] || [ -s "$tmp/err" ]; then
		sed 's/^/# /' "$tmp/err" >>"$tmp/all"
		echo "not ok @ $label: ran to its end (status $rc, $seen of ${planned:-?} results)" \
			>>"$tmp/all"
	else
		echo "ok @ $label: ran to its end" >>"$tmp/all"
	fi
done

echo "KTAP version 1"
echo "1..$(grep -c -E '^(not )?ok @ ' "$tmp/all")"
awk '/^(not )?ok @ / { sub(/@/, ++n) } { print }' "$tmp/all"
! grep -q '^not ok' "$tmp/all"
