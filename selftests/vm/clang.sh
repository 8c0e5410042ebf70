#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# clang.sh: compiles the modules with clang, for a tree of the newest kernel that
# is configured for it, with checks of indirect calls: Debian's headers are configured
# for gcc. Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# tree ARCH: prepares the tree
tree() {
	local source stamp=$CACHE/clang/$1/stamp

	! grep -qs CFI "$stamp" || return 0
	take_lock "$CACHE/clang/$1.lock"
	! grep -qs CFI "$stamp" || return 0
	source=$("$VM_DIR/source.sh")
	rm -rf "$CACHE/clang/$1"
	mkdir -p "$CACHE/clang/$1"
	say "preparing a tree for clang, $1"
	kbuild "$source" "$1" defconfig
	"$source/scripts/config" --file "$CACHE/clang/$1/.config" -e CFI
	kbuild "$source" "$1" olddefconfig
	kbuild "$source" "$1" "-j$(nproc)" modules_prepare
	grep '^CONFIG_CFI=y' "$CACHE/clang/$1/.config" >"$stamp" || die "no CFI for $1"
	say "it is ready after $SECONDS s"
}

# kbuild SOURCE ARCH ARGUMENT...
kbuild() {
	quietly in_root -C "$1" "O=$CACHE/clang/$2" "ARCH=$2" "${@:3}"
}

in_root() {
	"$VM_DIR/builder.sh" clang env -u MAKEFLAGS -u ARCH make LLVM=-19 "$@"
}

# Without the kernel itself, no symbol is known.
compile() {
	local copy=$TOP_DIR/build/clang-$1 log rc=0

	mkdir -p "$copy"
	copy_sources VERSION Kbuild Kconfig kmod include "$copy"
	log=$(in_root -C "$CACHE/clang/$1" "M=$copy" "ARCH=$1" W=1 KCFLAGS=-Werror \
		KBUILD_MODPOST_WARN=1 modules 2>&1) || rc=$?
	printf '%s\n' "$log" | sed '/undefined!/d; s/^/# /' >&2
	((rc == 0)) && ! grep -q 'warning:' <<<"$log"
}

main() {
	local arch n=0 failed=0

	echo '1..2'
	for arch in x86 arm64; do
		tree "$arch"
		if compile "$arch"; then
			echo "ok $((++n)) - clang compiles for $arch without warnings"
		else
			echo "not ok $((++n)) - clang compiles for $arch without warnings"
			failed=1
		fi
	done
	exit "$failed"
}

main
