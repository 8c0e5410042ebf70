#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# deps.sh [ARCH|build|style|ciphers|dashboard|dissector|docs|kselftest|peers|perf|report|suites]:
# installs packages for building and booting, or the additional ones for the build of a kernel,
# an architecture, or the target of that name.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# objtool of the kernel headers is linked to libelf. The package of that library has different names
# in different releases, libelf-dev does not.
PACKAGES=(
	gcc make bc libc6-dev libelf-dev pahole
	libnl-3-dev libnl-genl-3-dev libnl-route-3-dev libsodium-dev libseccomp-dev
	pkg-config
	qemu-system-x86 mmdebstrap debian-archive-keyring cpio gzip xz-utils kmod
	python3 python3-cryptography mandoc wireguard-tools zsh fish
)
case ${1:-} in
build) PACKAGES=(bison flex patch perl) ;;
style) PACKAGES=(coccinelle codespell perl python3-jsonschema python3-yaml shellcheck sparse) ;;
ciphers) PACKAGES=(clang libclang-rt-dev valgrind) ;;
perf) PACKAGES=(jq libdevel-nytprof-perl linux-perf) ;;
docs) PACKAGES=(graphviz python3-sphinx) ;;
suites) PACKAGES=(libmbedtls-dev) ;;
dashboard) PACKAGES=(python3-pip) ;;
dissector) PACKAGES=(tshark) ;;
kselftest) PACKAGES=(rsync) ;;
peers)
	PACKAGES=(android-libboringssl-dev cmake dpkg-dev libssl-dev ninja-build python3-pip)
	[[ $(dpkg --print-architecture) != amd64 ]] || PACKAGES+=(libipsec-mb-dev)
	;;
report) PACKAGES=(python3-matplotlib) ;;
'') ;;
*)
	arch_facts "$1"
	IFS=, read -ra PACKAGES <<<"$ARCH_PACKAGES"
	;;
esac

missing_packages() {
	local installed pkg

	installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${PACKAGES[@]}" \
		2>/dev/null | awk '$2 == "installed" { print $1 }' || true)
	for pkg in "${PACKAGES[@]}"; do
		grep -qxF "$pkg" <<<"$installed" || echo "$pkg"
	done
}

apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

# The timeout option above covers dpkg's lock only, not that of the lists.
update_lists() {
	local log end=$((SECONDS + 300))

	while ! log=$(apt_get update 2>&1); do
		if [[ $log != *"get lock"* ]] || ((SECONDS > end)); then
			printf '%s\n' "$log" >&2
			return 1
		fi
		sleep 2
	done
}

main() {
	local missing

	command -v apt-get >/dev/null || die "needs Debian's apt-get"
	mapfile -t missing < <(missing_packages)
	((${#missing[@]})) || return 0
	say "installing ${missing[*]}"
	update_lists
	quietly apt_get install --no-install-recommends "${missing[@]}"
}

main
