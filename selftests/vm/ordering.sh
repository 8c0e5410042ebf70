#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# ordering.sh: checks the module's memory barriers with the kernel's memory model. Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

main() {
	local source

	source=$("$VM_DIR/source.sh")
	# It is installed with the first use.
	"$VM_DIR/builder.sh" herd herd7 -version >/dev/null
	"$TOP_DIR/selftests/model/ordering.py" "$source/tools/memory-model" \
		"$VM_DIR/builder.sh" herd herd7
}

main
