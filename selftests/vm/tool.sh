#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# tool.sh ARCH: builds omertactl for the guest and prints where it is: with the
# host's libraries, or with those of another architecture, fetched for it; then its unit tests, too.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/apt.sh"

LIBS=(
	libnl-3-dev libnl-3-200 libnl-genl-3-dev libnl-genl-3-200
	libnl-route-3-dev libnl-route-3-200 libsodium-dev libsodium23 libseccomp-dev libseccomp2
)

main() {
	local arch=$1 dir=$TOP_DIR/tools/omertactl

	if native "$arch"; then
		quietly make -C "$dir"
		echo "$dir/omertactl"
		return
	fi
	arch_facts "$arch"
	root=$CACHE/libs/$arch-$(words_hash "$ARCH_SUITE" "${LIBS[@]}")
	if [[ ! -e $root/stamp ]]; then
		take_lock "$root.lock"
		[[ -e $root/stamp ]] || fetch "$root" "$arch"
	fi
	cross "$root" "$TOP_DIR/build/tool-$arch"
}

fetch() {
	local root=$1 arch=$2 deb

	say "fetching libraries for $arch"
	rm -rf "$root"
	mkdir -p "$root"
	configure_apt "$root/apt" "$arch" "$ARCH_SUITE"
	quietly private_apt get update
	(cd "$root/apt" && quietly private_apt get download "${LIBS[@]/%/:$arch}")
	for deb in "$root"/apt/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	rm -rf "$root/apt"
	touch "$root/stamp"
}

# In a copy of the sources, so that objects do not mix. The libraries may be of a newer release than the
# compiler's libc.
cross() {
	local root=$1 copy=$2 lib=$1/usr/lib/$TRIPLET

	mkdir -p "$copy"
	copy_sources VERSION tools/omertactl include "$copy"
	PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root quietly make \
		-C "$copy/tools/omertactl" CC="$CROSS-gcc" \
		all build/test_cmd build/test_wire \
		LDFLAGS="-Wl,--allow-shlib-undefined -L$lib -L$root/lib/$TRIPLET -Wl,-rpath-link,$lib -Wl,-rpath-link,$root/lib/$TRIPLET"
	echo "$copy/tools/omertactl/omertactl"
}

(($# == 1)) || die "usage: tool.sh ARCH"
main "$@"
