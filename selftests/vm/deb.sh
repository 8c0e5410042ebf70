#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# deb.sh: builds the packages from a copy of the sources, into build/deb.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local copy=$TOP_DIR/build/deb/omerta

	rm -rf "$TOP_DIR/build/deb"
	mkdir -p "$copy"
	copy_tree "$copy"
	(cd "$copy" && dpkg-buildpackage -us -uc -b)
}

main
