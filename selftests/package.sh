#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The packages, in a root of the host's release: built, looked at by lintian,
# installed, built by DKMS for two kernels and for one that comes later, upgraded,
# removed. Prints KTAP.
# shellcheck disable=SC2317 # the tests are called by name
set -euo pipefail
. "$(dirname "$0")/vm/lib.sh"

PACKAGES=(
	apt build-essential ca-certificates debhelper dh-dkms dkms iproute2 libnl-3-dev
	libnl-genl-3-dev libnl-route-3-dev libseccomp-dev libsodium-dev libssl-dev lintian man-db pkgconf
	procps systemd
)

main() {
	local tar

	tar=$CACHE/package/$(host_codename)-$(cat "$TOP_DIR"/selftests/package{,_headers}.sh |
		sha256sum | cut -c1-16).tar
	"$VM_DIR/deps.sh"
	if [[ ! -e $tar ]]; then
		take_lock "$CACHE/package/lock"
		[[ -e $tar ]] || make_root "$tar"
	fi
	work=$(mktemp -d)
	trap 'as_root rm -rf --one-file-system "$work"' EXIT
	as_root tar -C "$work" -xf "$tar"
	mkdir -p "$work/omerta"
	copy_tree "$work/omerta"
	as_root cp "$TOP_DIR/selftests/package_inside.sh" "$work/"
	# shellcheck disable=SC2016 # expanded inside
	as_root unshare -m --propagation private bash -euc '
		mount -t proc proc "$1/proc"
		exec chroot "$1" /package_inside.sh' package "$work"
}

# Headers of two kernels are installed, and those of a third at hand.
make_root() {
	local suites

	say "building a root with tools for packages"
	rm -f "$CACHE/package/$(host_codename)"*.tar
	suites=("$(host_codename)")
	! mirror_for "${suites[0]}-security" >/dev/null || suites+=("${suites[0]}-security")
	(
		IFS=,
		# shellcheck disable=SC2016 # expanded by mmdebstrap
		quietly as_root mmdebstrap --quiet --mode=root --variant=minbase --format=tar \
			--include="${PACKAGES[*]}" --dpkgopt=path-exclude='/usr/share/locale/*' \
			--customize-hook="'$TOP_DIR/selftests/package_headers.sh' \"\$1\"" \
			"$(host_codename)" "$1.new" "$(source_lines "${suites[@]}")"
	)
	mv "$1.new" "$1"
	say "it is ready after $SECONDS s ($(du -h "$1" | cut -f1))"
}

main
