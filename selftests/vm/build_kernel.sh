#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# build_kernel.sh NAME: builds a kernel for QEMU from Debian's newest sources with
# the configuration NAME.config, and puts it into the cache as kernel.sh would.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local name=$1 dir=$CACHE/kernels/$1-amd64 source release

	[[ ! -e $dir/stamp || $VM_DIR/$name.config -nt $dir/stamp ]] || return 0
	take_lock "$CACHE/kernels/$name-amd64.lock"
	[[ ! -e $dir/stamp || $VM_DIR/$name.config -nt $dir/stamp ]] || return 0

	"$VM_DIR/deps.sh" build
	source=$("$VM_DIR/source.sh")
	rm -rf "$dir"
	mkdir -p "$dir/build"
	say "building the kernel \"$name\" from $(basename "$source"): this takes a while"
	configure "$source" "$dir/build" "$VM_DIR/$name.config"
	quietly make -C "$dir/build" "-j$(nproc)" bzImage modules_prepare
	# Nothing of this kernel is a module, so that its symbols are all there are.
	cp "$dir/build/vmlinux.symvers" "$dir/build/Module.symvers"
	release=$(make -s -C "$dir/build" kernelrelease)
	install "$dir" "$release"
	touch "$dir/built"
	echo "$release" >"$dir/stamp"
	say "it is ready after $SECONDS s"
}

# What the fragment asks for, it gets, or there is no kernel.
configure() {
	local line

	cp "$3" "$2/.config"
	quietly make -C "$1" "O=$2" olddefconfig
	while read -r line; do
		grep -qxF "$line" "$2/.config" || die "the kernel does not take $line"
	done < <(grep '^CONFIG_' "$3")
}

install() {
	local dir=$1 modules=$1/modules/usr/lib/modules/$2

	cp "$dir/build/arch/x86/boot/bzImage" "$dir/vmlinuz"
	cp "$dir/build/.config" "$dir/config"
	mkdir -p "$modules/kernel"
	touch "$modules"/modules.{order,builtin,builtin.modinfo}
	pack_cpio "$dir/modules" >"$dir/modules.cpio.gz"
}

(($# == 1)) || die "usage: build_kernel.sh NAME"
main "$@"
