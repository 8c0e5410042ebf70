#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Called by mmdebstrap on behalf of rootfs.sh, as root:
# rootfs_hook.sh setup ROOT | pack ROOT CPIO
set -euo pipefail

# Merged /usr in every release, so that later archives can rely on it: a /lib
# directory in a cpio would replace a /lib link.
setup() {
	local dir

	for dir in bin sbin lib lib64; do
		mkdir -p "$1/usr/$dir"
		ln -s "usr/$dir" "$1/$dir"
	done
}

# Do the work of maintainer scripts.
finish() {
	local root=$1 name

	ln -sf bash "$root/usr/bin/sh"
	ln -sf mawk "$root/usr/bin/awk"
	for name in iptables ip6tables; do
		ln -sf xtables-nft-multi "$root/usr/sbin/$name"
		ln -sf xtables-nft-multi "$root/usr/sbin/$name-save"
		ln -sf xtables-nft-multi "$root/usr/sbin/$name-restore"
	done
	mkdir -p "$root"/{dev,proc,sys,run,tmp,root/out}
	printf '%s\n' 'root:x:0:0:root:/root:/bin/bash' \
		'tcpdump:x:100:100::/:/bin/false' \
		'nobody:x:65534:65534::/:/bin/false' >"$root/etc/passwd"
	printf '%s\n' 'root:x:0:' 'tcpdump:x:100:' 'nogroup:x:65534:' >"$root/etc/group"
	printf '%s\n' '127.0.0.1 localhost' '::1 localhost' >"$root/etc/hosts"
	echo 'hosts: files' >"$root/etc/nsswitch.conf"
}

pack() {
	local root=$1 out=$2

	finish "$root"
	cd "$root"
	# mmdebstrap has the host's /proc and /sys mounted here.
	find . -xdev \( -path './proc/*' -o -path './sys/*' -o -path './dev/*' -o \
		-path ./var/lib/apt -o -path ./var/cache \) -prune -o -print |
		LC_ALL=C sort | cpio --quiet -o -H newc | gzip -1 >"$out"
}

"$@"
