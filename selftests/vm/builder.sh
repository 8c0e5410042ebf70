#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# builder.sh gcc|riscv64|clang|tool|peers|herd|cbmc COMMAND...: runs a command in a root of a newer Debian.
# gcc, riscv64 and clang are for kernels that need a newer compiler, or whose headers contain programs that
# the host cannot run; tool has the libraries of omertactl, peers others' ciphers, herd herd7, cbmc a model checker. The
# checkout and the cache have the same paths there.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SUITE=trixie
APT_OPTIONS=()
PACKAGES=(
	base-files bash binutils coreutils dash diffutils findutils grep kmod make mawk pahole
	perl-base sed
)

main() {
	local root

	case $1 in
	gcc) PACKAGES+=(gcc-14-for-host gcc-14-for-host:arm64) ;;
	riscv64) PACKAGES+=(gcc-14-riscv64-linux-gnu gcc-riscv64-linux-gnu perl) ;;
	clang) PACKAGES+=(bc bison clang-19 flex libc6-dev libelf-dev lld-19 llvm-19 m4 perl
		python3-minimal) ;;
	tool) PACKAGES+=(gcc-14-for-host libasan8 libc6-dev libnl-3-dev libnl-genl-3-dev
		libnl-route-3-dev libseccomp-dev libsodium-dev libssl-dev libubsan1 libzstd-dev pkgconf pkgconf-bin zlib1g-dev) ;;
	peers) PACKAGES+=(gcc-14-for-host libc6-dev libipsec-mb-dev libssl-dev libzstd-dev zlib1g-dev) ;;
	# Some mirrors have an expired state of a testing suite; it is signed nevertheless.
	herd) SUITE=forky PACKAGES+=(herdtools7)
		APT_OPTIONS=('Acquire::Check-Valid-Until "false"') ;;
	cbmc) PACKAGES+=(cbmc gcc-14-for-host gcc-for-host libc6-dev) ;;
	*) die "no root with $1 is known" ;;
	esac
	root=$CACHE/builder/$1-$(words_hash "$SUITE" "${PACKAGES[@]}")
	if [[ ! -e $root/stamp ]]; then
		take_lock "$root.lock"
		[[ -e $root/stamp ]] || build "$root"
	fi
	enter "$root" "${@:2}"
}

# Nothing is configured, so no program of another architecture need run.
build() {
	local root=$1

	say "building a root of Debian $SUITE with ${PACKAGES[-1]}"
	as_root rm -rf "$root"
	mkdir -p "$root"
	(
		IFS=,
		quietly as_root mmdebstrap --quiet --mode=root --variant=extract --format=directory \
			--architectures=amd64,arm64 --include="${PACKAGES[*]}" \
			--dpkgopt=path-exclude='/usr/share/doc/*' \
			--dpkgopt=path-exclude='/usr/share/locale/*' \
			--dpkgopt=path-exclude='/usr/share/man/*' \
			"${APT_OPTIONS[@]/#/--aptopt=}" \
			"$SUITE" "$root" "$(source_lines "$SUITE")"
	)
	as_root ln -sf dash "$root/usr/bin/sh"
	as_root ln -sf mawk "$root/usr/bin/awk"
	as_root touch "$root/stamp"
	say "it is ready after $SECONDS s ($(as_root du -sh "$root" | cut -f1))"
}

# The mounts are gone with the last process in there.
enter() {
	local root=$1 owner=()

	# Root of a user namespace may not choose groups.
	(($(id -u) == 0)) || owner=("--userspec=$(id -u):$(id -g)")
	shift
	# There, a mount can only be had with those on it.
	# shellcheck disable=SC2016 # expanded inside
	as_root unshare -m --propagation private bash -euc '
		root=$1
		for dir in /proc /dev "$2" "$3"; do
			mkdir -p "$root$dir"
			mount --rbind "$dir" "$root$dir"
		done
		export PERL_BADLANG=0
		shift 3
		exec chroot "$@"
	' builder "$root" "$TOP_DIR" "$CACHE" "${owner[@]}" "$root" "$@"
}

(($# > 1)) || die "usage: builder.sh gcc|riscv64|clang|tool|peers|herd|cbmc COMMAND..."
main "$@"
