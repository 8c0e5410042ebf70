#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# kernel.sh KVER ARCH: fetches a stock Debian kernel and its headers into
# the cache: vmlinuz, config, modules/, modules.cpio.gz, build/ (for KDIR) and,
# last, stamp with the kernel's release.
# Nothing on the host changes: apt runs on a private state. If there is a KVER.config, the kernel
# is built from source.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/apt.sh"

# Modules that tests may need; the rest of the tree would only slow down the boot.
MODULE_DIRS=(arch crypto lib net drivers/{net,char,virtio})

main() {
	local kver=$1 arch=$2
	local dir=$CACHE/kernels/$kver-$arch

	[[ ! -e $VM_DIR/$kver.config ]] || exec "$VM_DIR/build_kernel.sh" "$kver"
	[[ ! -e $dir/stamp ]] || return 0
	take_lock "$CACHE/kernels/$kver-$arch.lock"
	[[ ! -e $dir/stamp ]] || return 0

	kernel_row "$kver" "$arch" || die "kernels.tsv has no Linux $kver for $arch and this host"
	rm -rf "$dir"
	mkdir -p "$dir"
	say "fetching Linux $kver for $arch"
	fetch "$dir" "$arch"
	install_image "$dir"
	install_headers "$dir"
	rm -rf "$dir/apt" "$dir/image"
	echo "$RELEASE" >"$dir/stamp"
	say "Linux $RELEASE is ready after $SECONDS s"
}

fetch() {
	local dir=$1 arch=$2 deb packages

	configure_apt "$dir/apt" "$arch" "$SUITES"
	quietly private_apt get update
	mapfile -t packages < <(resolve "$arch")
	((${#packages[@]} >= 4)) || die "cannot resolve $IMAGE: got ${packages[*]}"
	(cd "$dir/apt" && quietly private_apt get download "${packages[@]}")
	for deb in "$dir"/apt/linux-{image,base,binary,modules}-*.deb; do
		[[ -e $deb ]] || continue
		dpkg-deb -x "$deb" "$dir/image"
	done
	for deb in "$dir"/apt/linux-{headers,kbuild}-*.deb; do
		dpkg-deb -x "$deb" "$dir/headers"
	done
}

# The packages behind the two metapackages. Newer images are in parts. common has
# no architecture; kbuild holds programs, so it is the host's.
resolve() {
	local arch=$1 image headers

	image=$(depends "$IMAGE:$arch" 'linux-image-[0-9]')
	echo "$image"
	all_depends "$image" '<?linux-(base|binary|modules)-[0-9]' |
		sed 's/^<linux-binary-\(.*\)>/linux-binary-unsigned-\1/'
	headers=$(depends "$HEADERS:$arch" 'linux-headers-[0-9]')
	echo "$headers"
	for_host "$(depends "$headers" '<?linux-headers-[0-9].*-common')"
	for_host "$(depends "$headers" 'linux-kbuild-[0-9]')"
}

# apt-cache shows a package of no architecture as <NAME:ARCH> from afar.
for_host() {
	local name=${1#<}

	echo "${name%%[:>]*}"
}

# modules/usr/lib/modules, as the guest's /usr is merged; also packed, as a part
# of the guest's image that never changes. Kernel and configuration are beside
# the modules, or in /boot with the release in their names.
install_image() {
	local dir=$1 from to sub

	from=$(find "$dir/image" -type d -path '*/lib/modules/[0-9]*' -prune)
	RELEASE=${from##*/}
	cp "$from/config" "$dir" 2>/dev/null || cp "$dir/image/boot/config-$RELEASE" "$dir/config"
	# Kernels of some architectures are not compressed.
	cp "$from/vmlinuz" "$dir" 2>/dev/null ||
		cp "$dir"/image/boot/vmlinu[xz]-"$RELEASE" "$dir/vmlinuz"
	to=$dir/modules/usr/lib/modules/$RELEASE
	mkdir -p "$to"
	cp "$from"/modules.{order,builtin*} "$to"
	for sub in "${MODULE_DIRS[@]}"; do
		[[ -d $from/kernel/$sub ]] || continue
		mkdir -p "$to/kernel/$sub"
		cp -a "$from/kernel/$sub/." "$to/kernel/$sub"
	done
	pack_cpio "$dir/modules" >"$dir/modules.cpio.gz"
}

# The headers' makefiles name each other below /usr/src.
install_headers() {
	local dir=$1 src

	src=$dir/headers/usr/src/linux-headers-$RELEASE
	sed -i "s,/usr/src/,$dir/headers/usr/src/,g" "$src/Makefile"
	ln -sfn "headers/usr/src/linux-headers-$RELEASE" "$dir/build"
}

(($# == 2)) || die "usage: kernel.sh KVER ARCH"
main "$@"
