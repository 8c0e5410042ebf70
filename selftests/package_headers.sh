#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Called by mmdebstrap on behalf of package.sh: package_headers.sh ROOT. Installs
# the headers of the oldest series' newest kernel and of the newest kernel of all,
# and fetches those of the kernel before that.
set -euo pipefail

in_root() {
	chroot "$1" env DEBIAN_FRONTEND=noninteractive "${@:2}"
}

mapfile -t headers < <(in_root "$1" apt-cache search --names-only \
	'^linux-headers-[0-9].*-cloud-amd64$' | awk '$1 ~ /[+-][^-]*-cloud/ { print $1 }' |
	grep -E '[0-9]+\.[0-9]+\.[0-9]+' | sort -V)
((${#headers[@]} >= 3))
series=$(sed -E 's/linux-headers-([0-9]+\.[0-9]+).*/\1/' <<<"${headers[0]}")
oldest=$(printf '%s\n' "${headers[@]::${#headers[@]}-2}" | grep -F "headers-$series." | tail -n 1)
in_root "$1" apt-get -qq install --no-install-recommends "$oldest" "${headers[-1]}"
mkdir -p "$1/later"
in_root "$1" apt-get -qq -d -o Dir::Cache::archives=/later install --no-install-recommends \
	"${headers[-2]}"
rm -rf "$1/later/partial" "$1/later/lock"
