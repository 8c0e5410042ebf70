#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# stage.sh NAME COMMAND...: a stage of the tests. COMMAND's output goes to OUT/NAME.log, and to
# stdout: with its name in each line if MARK is set. OUT/stages gets its name, status and log, as
# ktap_tally.py wants them.
set -euo pipefail

main() {
	local name=$1 log=$OUT/$1.log rc=0

	shift
	# make's, for the target that this is
	unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
	rm -rf "${OUT:?}/$name"
	echo "# stage $name"
	"$@" </dev/null 2>&1 | tee "$log" | sed -u "${MARK:+s/^/$name: /}" || rc=${PIPESTATUS[0]}
	echo "# stage $name took $SECONDS s"
	printf '%s\n' "$name" "$rc" "$log" >>"$OUT/stages"
}

main "$@"
