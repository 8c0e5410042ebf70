#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# builder.sh SUITE COMMAND...: runs a command in a Debian release of its own that
# has a compiler, for kernels whose headers bring programs that the host cannot
# run. Sees the checkout and the cache under their usual names.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PACKAGES=(
	base-files bash binutils coreutils dash diffutils findutils gcc-14-for-host
	gcc-14-for-host:arm64 grep kmod make mawk pahole perl-base sed
)

main() {
	local root=$CACHE/builder/$1

	if [[ ! -e $root/stamp ]]; then
		take_lock "$root.lock"
		[[ -e $root/stamp ]] || build "$1" "$root"
	fi
	enter "$root" "${@:2}"
}

# Nothing is configured, so no program of another architecture need run.
build() {
	local suite=$1 root=$2

	say "building a root of Debian $suite with a compiler"
	as_root rm -rf "$root"
	mkdir -p "$root"
	(
		IFS=,
		quietly as_root mmdebstrap --quiet --mode=root --variant=extract --format=directory \
			--architectures=amd64,arm64 --include="${PACKAGES[*]}" \
			--dpkgopt=path-exclude='/usr/share/doc/*' \
			--dpkgopt=path-exclude='/usr/share/locale/*' \
			--dpkgopt=path-exclude='/usr/share/man/*' \
			"$suite" "$root" "$(source_lines "$suite")"
	)
	as_root ln -sf dash "$root/usr/bin/sh"
	as_root ln -sf mawk "$root/usr/bin/awk"
	as_root touch "$root/stamp"
	say "it is ready after $SECONDS s ($(as_root du -sh "$root" | cut -f1))"
}

# The mounts are gone with the last process in there.
enter() {
	local root=$1 owner

	owner=$(id -u):$(id -g)
	shift
	# shellcheck disable=SC2016 # expanded inside
	as_root unshare -m --propagation private bash -euc '
		root=$1 owner=$2
		for dir in /proc /dev "$3" "$4"; do
			mkdir -p "$root$dir"
			mount --rbind "$dir" "$root$dir"
		done
		exec chroot --userspec="$owner" "$root" "${@:5}"
	' builder "$root" "$owner" "$TOP_DIR" "$CACHE/kernels" "$@"
}

(($# > 1)) || die "usage: builder.sh SUITE COMMAND..."
main "$@"
