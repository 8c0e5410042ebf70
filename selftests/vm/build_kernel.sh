#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# build_kernel.sh NAME: builds a kernel from Debian's newest sources with the
# configuration NAME.config and the patches in ../NAME, and puts it into the cache
# as kernel.sh would. The file "recipe" there says what it was made of, "make" with
# which arguments.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local name=$1 dir=$CACHE/kernels/$1-amd64

	! up_to_date || return 0
	take_lock "$CACHE/kernels/$name-amd64.lock"
	! up_to_date || return 0
	"$VM_DIR/deps.sh" build
	build
	recipe >"$dir/recipe"
	echo "$release" >"$dir/stamp"
	say "it is ready after $SECONDS s"
}

# By content, as a new clone's files are all newer than the cache.
recipe() {
	cat "$VM_DIR/$name.config" "${patches[@]}" | sha256sum
}

up_to_date() {
	mapfile -t patches < <(find "$VM_DIR/../$name" -name '*.patch' 2>/dev/null | sort)
	[[ -e $dir/stamp && $(<"$dir/recipe") == "$(recipe)" ]] 2>/dev/null
}

build() {
	local source

	source=$("$VM_DIR/source.sh")
	rm -rf "$dir"
	mkdir -p "$dir/build"
	say "building the kernel \"$name\" from $(basename "$source")"
	((${#patches[@]} == 0)) || patch_source
	set_machine
	configure
	with_progress make -C "$dir/build" "-j$(nproc)" "${machine[@]}" "$target" modules_prepare
	# Nothing of this kernel is a module, so that its symbols are all there are.
	cp "$dir/build/vmlinux.symvers" "$dir/build/Module.symvers"
	release=$(make -s -C "$dir/build" "${machine[@]}" kernelrelease)
	install
}

# In a tree of links: patch writes new files instead of changing old ones.
patch_source() {
	local patch

	cp -al "$source" "$dir/source"
	source=$dir/source
	for patch in "${patches[@]}"; do
		quietly patch -d "$source" -p1 --no-backup-if-mismatch -i "$patch"
	done
}

set_machine() {
	case $name in
	uml) machine=(ARCH=um) target=linux image=linux ;;
	*) machine=() target=bzImage image=arch/x86/boot/bzImage ;;
	esac
}

# Fails unless the kernel gets all options of the fragment.
configure() {
	local line

	cp "$VM_DIR/$name.config" "$dir/build/.config"
	quietly make -C "$source" "O=$dir/build" "${machine[@]}" olddefconfig
	while read -r line; do
		grep -qxF "$line" "$dir/build/.config" || die "the kernel does not take $line"
	done < <(grep '^CONFIG_' "$VM_DIR/$name.config")
}

# with_progress COMMAND...: as quietly, with a line each half minute.
with_progress() {
	local log rc=0 steps=0 next=$((SECONDS + 30))

	log=$(mktemp)
	"$@" </dev/null 2>&1 | tee "$log" |
		while read -r; do
			((++steps))
			((SECONDS >= next)) || continue
			say "$steps steps after $SECONDS s"
			next=$((SECONDS + 30))
		done || rc=$?
	((rc == 0)) || tail -n 50 "$log" >&2
	rm -f "$log"
	return "$rc"
}

install() {
	local modules=$dir/modules/usr/lib/modules/$release

	cp "$dir/build/$image" "$dir/vmlinuz"
	cp "$dir/build/.config" "$dir/config"
	mkdir -p "$modules/kernel"
	touch "$modules"/modules.{order,builtin,builtin.modinfo}
	pack_cpio "$dir/modules" >"$dir/modules.cpio.gz"
	echo "${machine[*]}" >"$dir/make"
}

(($# == 1)) || die "usage: build_kernel.sh NAME"
main "$@"
