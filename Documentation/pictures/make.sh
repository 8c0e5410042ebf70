#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# make.sh [--check]: makes an SVG of each .dot file here, with the checksum of its source; or
# checks that each SVG is of the current source. Other versions of graphviz draw other files.
set -euo pipefail
cd "$(dirname "$0")"

checksum() {
	sha256sum <"$1" | cut -c 1-16
}

picture() {
	local dot=$1 svg=${1%.dot}.svg

	dot -Tsvg "$dot" | sed "2i <!-- made by make pictures from $dot, $(checksum "$dot") -->" >"$svg"
}

main() {
	local dot rc=0

	for dot in *.dot; do
		case ${1:-} in
		'') picture "$dot" ;;
		--check)
			grep -q "from $dot, $(checksum "$dot") " "${dot%.dot}.svg" || {
				echo "${dot%.dot}.svg is not made from $dot: run make pictures"
				rc=1
			} ;;
		*)
			echo "usage: make.sh [--check]" >&2
			exit 2 ;;
		esac
	done
	return "$rc"
}

main "$@"
