#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Say which options a kernel lacks for omerta, by the names that can be set, or that it
# is too old.
# Usage: check_config.sh KDIR
set -euo pipefail

kdir=${1:?usage: check_config.sh KDIR}
config=$kdir/.config
OLDEST=6.1
[ -r "$config" ] || {
	echo "check-config: no $config; install the kernel's headers or set KDIR=" >&2
	exit 1
}

bad=0
need() { # need OPTION WHAT-TO-SET
	grep -Eq "^CONFIG_$1=[ym]" "$config" && return
	echo "CONFIG_$1 is missing: $2"
	bad=1
}

version=$(sed -nE '/^# Linux\//{ s/^[^ ]* [^ ]* ([0-9.]+).*/\1/p; q }' "$config")
sort -CV <<<"$OLDEST"$'\n'"$version" || {
	echo "Linux $version is too old: omerta wants $OLDEST or later"
	bad=1
}
need MODULES "set CONFIG_MODULES=y"
need INET "set CONFIG_INET=y"
need IPV6 "set CONFIG_IPV6=y"
need NET_UDP_TUNNEL "hidden; set CONFIG_WIREGUARD=m or CONFIG_NET_FOU=m, which select it"
need DST_CACHE "hidden; set CONFIG_WIREGUARD=m, which selects it"
need CRYPTO_LIB_CHACHA20POLY1305 "hidden; set CONFIG_WIREGUARD=m, which selects it"
need CRYPTO_LIB_SHA256 "hidden; set CONFIG_CRYPTO_SHA256=m, which selects it"
[ "$bad" -eq 0 ] && echo "check-config: $config has all that omerta needs"
exit "$bad"
