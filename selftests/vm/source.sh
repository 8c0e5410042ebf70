#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# source.sh: fetches Debian's newest kernel source into the cache, unpacks it and
# prints where.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/apt.sh"

SUITE=trixie-backports

main() {
	local dir=$CACHE/source

	if [[ ! -e $dir/stamp ]]; then
		take_lock "$dir.lock"
		[[ -e $dir/stamp ]] || fetch "$dir"
	fi
	echo "$dir/$(<"$dir/stamp")"
}

fetch() {
	local dir=$1 name

	say "fetching the kernel's sources"
	rm -rf "$dir"
	mkdir -p "$dir"
	configure_apt "$dir/apt" "$(dpkg --print-architecture)" "$SUITE"
	quietly private_apt get update
	name=$(private_apt cache search --names-only '^linux-source-[0-9.]+$' |
		awk '{ print $1 }' | sort -V | tail -n 1)
	[[ -n $name ]] || die "$SUITE has no kernel source"
	(cd "$dir/apt" && quietly private_apt get download "$name")
	dpkg-deb -x "$dir"/apt/linux-source-*.deb "$dir/apt/tree"
	tar -C "$dir" -xf "$dir/apt/tree/usr/src/$name.tar.xz"
	rm -rf "$dir/apt"
	echo "$name" >"$dir/stamp"
	say "$name is ready after $SECONDS s"
}

main
