#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# modules.sh KVER ARCH [MAKE-ARGUMENT...]: builds the modules for a kernel in the
# cache, in a copy of the sources at build/KVER-ARCH, so that the objects of
# several kernels do not get in each other's way.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local kver=$1 arch=$2 copy=$TOP_DIR/build/$1-$2 dir=$CACHE/kernels/$1-$2 cmd
	local suite machine=''

	mkdir -p "$copy"
	copy_sources VERSION Kbuild Kconfig kmod include "$copy"
	[[ $arch != arm64 ]] || machine='ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-'
	[[ ! -e $dir/make ]] || machine=$(<"$dir/make")
	# shellcheck disable=SC2206 # words
	cmd=(make -C "$dir/build" "M=$copy" "W=1" $machine "${@:3}")
	suite=$(builder "$kver")
	[[ $suite == - ]] || cmd=("$VM_DIR/builder.sh" "$suite" "${cmd[@]}")
	# ARCH is kbuild's word too, with other values.
	env -u MAKEFLAGS -u MAKEOVERRIDES -u ARCH "${cmd[@]}" modules
}

# The column of kernels.tsv; a kernel built here wants nothing special.
builder() {
	local kver host rest

	while read -r kver host _ _ _ rest; do
		[[ $kver == "$1" ]] || continue
		[[ $host != "$(host_codename)" && $host != '*' ]] || { echo "$rest"; return; }
	done <"$VM_DIR/kernels.tsv"
	echo -
}

(($# >= 2)) || die "usage: modules.sh KVER ARCH [MAKE-ARGUMENT...]"
main "$@"
