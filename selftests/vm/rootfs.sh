#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# rootfs.sh ARCH: makes the guest's root as a compressed cpio in the cache and
# prints its path. It is of the host's release if that has the architecture, since it has to run
# omertactl as it is built there. MORE_PACKAGES has others.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# The whole python3: the choice of modules in python3-minimal differs between releases.
PACKAGES=(
	busybox-static bash coreutils grep sed mawk findutils diffutils tar gzip
	procps util-linux mount kmod netbase python3 jq
	iproute2 iputils-ping ethtool tcpdump iperf3 wireguard-tools
	iptables nftables conntrack ncat psmisc python3-yaml
	python3-prometheus-client python3-jsonschema ansible-core libc-bin ifupdown
	libnl-3-200 libnl-genl-3-200 libnl-route-3-200 libsodium23 libseccomp2 systemd
)
EXCLUDE=(
	'/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*'
	'/usr/lib/python3/dist-packages/ansible_test/*' '/usr/share/ieee-data/*' '/usr/lib/openssh/*'
	'/usr/bin/ssh*'
	'/usr/share/perl*' '/usr/lib/*/perl*' '/usr/bin/perl*'
	'/usr/lib/*/gconv/*' '/usr/share/zoneinfo/*' '/usr/share/bash-completion/*'
	'/usr/lib/*/libdb-*' '/usr/lib/*/libsqlite3*' '/usr/lib/python3*/pydoc_data/*'
	'/usr/lib/python3.*/test/*'
)

main() {
	local arch=$1 out

	# Both scripts decide what is in the image.
	out=$CACHE/rootfs/$arch-$({ cat "$VM_DIR/rootfs.sh" "$VM_DIR/rootfs_hook.sh" &&
		echo "${MORE_PACKAGES:-}"; } | sha256sum | cut -c1-16).cpio.gz
	if [[ ! -e $out ]]; then
		take_lock "$CACHE/rootfs/$arch.lock"
		[[ -e $out ]] || build "$arch" "$out"
	fi
	echo "$out"
}

build() {
	local arch=$1 out=$2 opts=() path suites sources more

	say "building the guest's root for $arch"
	# perf is linked to it.
	[[ ${MORE_PACKAGES:-} == *perf* ]] || EXCLUDE+=('/usr/lib/*/libperl*')
	for path in "${EXCLUDE[@]}"; do
		opts+=("--dpkgopt=path-exclude=$path")
	done
	read -ra more <<<"${MORE_PACKAGES:-}"
	PACKAGES+=("${more[@]}")
	arch_facts "$arch"
	suites=("$ARCH_SUITE")
	# On some mirrors the lists of updates for rare architectures are not those that are signed.
	[[ $arch != a*64 ]] || ! mirror_for "${suites[0]}-security" >/dev/null ||
		suites+=("${suites[0]}-security")
	sources=$(source_lines "${suites[@]}")
	: >"$out.new"
	# Customize hooks do not run in this variant; extract hooks do, after all
	# packages.
	(
		IFS=,
		quietly as_root mmdebstrap --quiet --mode=root --variant=extract --format=null \
			--architectures="$arch" --include="${PACKAGES[*]}" "${opts[@]}" \
			--setup-hook="'$VM_DIR/rootfs_hook.sh' setup \"\$1\"" \
			--extract-hook="'$VM_DIR/rootfs_hook.sh' pack \"\$1\" '$out.new'" \
			"$ARCH_SUITE" - "$sources"
	)
	[[ -s $out.new ]] || die "mmdebstrap left no image"
	mv "$out.new" "$out"
	find "$CACHE/rootfs" -name "$arch-*.cpio.gz" -mtime +30 -delete
	say "the guest's root is ready after $SECONDS s ($(du -h "$out" | cut -f1))"
}

(($# == 1)) || die "usage: rootfs.sh ARCH"
main "$@"
