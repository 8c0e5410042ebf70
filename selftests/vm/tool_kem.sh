#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# tool_kem.sh [check]: builds omertactl with ML-KEM, for which it takes a newer Debian's
# OpenSSL, and prints where it is: a static program for amd64, which runs anywhere. Or
# tests its ML-KEM there; prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

copy=$TOP_DIR/build/tool-kem

build() {
	"$VM_DIR/builder.sh" tool make -C "$copy/tools/omertactl" CC=x86_64-linux-gnu-gcc-14 "$@"
}

# The linker warns of getaddrinfo(), which will use the libraries of where it runs.
program() {
	quietly build LDFLAGS="-static -s" PKG_CONFIG="pkg-config --static" omertactl omerta-agent
	echo "$copy/tools/omertactl/omertactl"
}

main() {
	take_lock "$copy/lock"
	copy_sources VERSION tools/omertactl include "$copy"
	case ${1:-} in
	'') program ;;
	check) build -s check-kem ;;
	*) die "usage: tool_kem.sh [check]" ;;
	esac
}

main "$@"
