#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# modules.sh KVER ARCH [MAKE-ARGUMENT...]: builds the modules for a kernel in the
# cache, in a copy of the sources at build/KVER-ARCH, so that the objects of
# several kernels do not get in each other's way. MODULE_CFLAGS are more options for their compiler.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local kver=$1 arch=$2 copy=$TOP_DIR/build/$1-$2 dir=$CACHE/kernels/$1-$2 cmd
	local machine=''

	mkdir -p "$copy"
	copy_sources VERSION Kbuild Kconfig kmod include "$copy"
	arch_facts "$arch"
	native "$arch" || machine="ARCH=$KERNEL_ARCH CROSS_COMPILE=$CROSS-"
	[[ ! -e $dir/make ]] || machine=$(<"$dir/make")
	# shellcheck disable=SC2206 # words
	cmd=(make -C "$dir/build" "M=$copy" "W=1" $machine "${@:3}")
	[[ -z ${MODULE_CFLAGS:-} ]] || cmd+=("KCFLAGS=$MODULE_CFLAGS")
	# A kernel built here has no row, and wants nothing special.
	! kernel_row "$kver" "$arch" || [[ $BUILDER == - ]] ||
		cmd=("$VM_DIR/builder.sh" "$BUILDER" "${cmd[@]}")
	# ARCH is kbuild's word too, with other values.
	env -u MAKEFLAGS -u MAKEOVERRIDES -u ARCH "${cmd[@]}" modules
}

(($# >= 2)) || die "usage: modules.sh KVER ARCH [MAKE-ARGUMENT...]"
main "$@"
