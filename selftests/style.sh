#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Style and mistakes that machines find: one test for each tool. Prints KTAP.
# shellcheck disable=SC2317 # the checks are called by name
set -uo pipefail
. "$(dirname "$0")/vm/lib.sh"
cd "$TOP_DIR" || exit 1

# Sources by hand: no generated code, no vectors.
code() {
	find kmod tools include -name build -prune -o -name '*.[ch]' \
		! -name '*.mod.c' ! -name '*gen.[ch]' ! -name 'vec_*.h' ! -path '*/user/include/*' -print
}

scripts() {
	grep -rlE '^#!.*\b(ba)?sh\b|shellcheck shell=' selftests kmod tools Documentation .ci \
		--include='*' --exclude-dir=build
}

layers() {
	selftests/layers.py
}

# style.allow lists accepted objections, "FILE TYPE", with their reasons.
checkpatch() {
	local tree file
	tree=$("$VM_DIR/source.sh")
	for file in $(code | grep -v '^tools/'); do
		perl "$tree/scripts/checkpatch.pl" --strict --no-tree --terse --show-types \
			-f "$file" 2>/dev/null
	done | sed -nE 's/^([^:]*):([0-9]*): [A-Z]+:([A-Z_0-9]+): (.*)/\1 \3 line \2: \4/p' |
		grep -vFf <(grep -v '^#' selftests/style.allow) || true
}

sparse() {
	"$VM_DIR/kernel.sh" 6.12 amd64
	rm -rf build/6.12-amd64/kmod
	"$VM_DIR/modules.sh" 6.12 amd64 C=2 "CHECK=sparse" 2>&1 | grep -E '/kmod/.*: (warning|error)'
}

coccinelle() {
	local tree

	tree=$("$VM_DIR/source.sh")
	find "$tree"/scripts/coccinelle -name '*.cocci' -print0 |
		xargs -0 -P "$(nproc)" -I '{}' timeout 120 spatch --very-quiet --no-show-diff -D report \
			--cocci-file '{}' --include-headers -I kmod --dir kmod 2>/dev/null |
		grep -v 'gen\.\|\.mod\.c'
}

shell() {
	local file

	for file in $(scripts); do
		(cd "$(dirname "$file")" && shellcheck -x -f gcc "$(basename "$file")") |
			sed "s,^,$(dirname "$file")/,"
	done
}

spelling() {
	git ls-files -z | grep -zvE 'vec_|\.tsv$' |
		xargs -0 codespell -q 3 -I selftests/style.words
}

manual() {
	mandoc -T lint -W warning Documentation/man/*
}

# The generated files are what the generator makes of the spec.
drift() {
	local tree out

	tree=$("$VM_DIR/source.sh")
	out=$(mktemp -d)
	Documentation/netlink/regen.sh "$tree" "$out" >/dev/null
	diff -r include "$out/include"
	for file in {netlink/,bench/bench_}gen.{h,c}; do
		diff "kmod/$file" "$out/kmod/$file"
	done
	rm -rf "$out"
}

# Only compat.h knows versions of kernels, and only VERSION that of the project, but for Debian's
# changelog.
versions() {
	head -n 1 debian/changelog | grep -qF "($(cat VERSION))" ||
		echo "debian/changelog has another version than VERSION"
	grep -rnE 'LINUX_VERSION_CODE|KERNEL_VERSION|linux/version\.h' kmod include tools \
		--include='*.[ch]' --exclude='*.mod.c' --exclude=compat.h
}

# Where a long has 32 bits, it holds two seconds in nanoseconds.
products() {
	grep -rnE '[A-Za-z0-9_]+ \* NSEC_PER_M?SEC' kmod --include='*.[ch]' |
		grep -vE '\(u64\)[A-Za-z0-9_.>-]+ \* |[0-9]ULL \* '
}

# A test that no list names never runs.
listed() {
	local file name

	while IFS=: read -r file name; do
		grep -qwE "$name" <(grep -hv "^$name()" selftests/*.sh selftests/vm/*) ||
			echo "$file: $name runs nowhere"
	done < <(grep -oE '^test_[a-z0-9_]+' selftests/*.sh)
}

language() {
	selftests/language.py
}

documents() {
	Documentation/pictures/make.sh --check
	sphinx-build -q -W --keep-going -b html Documentation build/docs 2>&1
}

CHECKS=(
	layers checkpatch sparse coccinelle shell spelling manual drift versions products listed
	language documents
)

main() {
	local i out failed=0

	"$VM_DIR/deps.sh"
	"$VM_DIR/deps.sh" style
	"$VM_DIR/deps.sh" docs
	echo "1..${#CHECKS[@]}"
	for i in "${!CHECKS[@]}"; do
		out=$("${CHECKS[$i]}")
		if [[ -z $out ]]; then
			echo "ok $((i + 1)) - ${CHECKS[$i]}"
		else
			printf '%s\n' "$out" | sed 's/^/# /'
			echo "not ok $((i + 1)) - ${CHECKS[$i]}"
			failed=1
		fi
	done
	exit "$failed"
}

main
