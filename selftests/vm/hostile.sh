#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The campaign behind "make hostile", in User-mode Linux. In the environment:
#   FORM	core, short, normal or all; core is one short test of each script
#   TIME	seconds that the random parts take
#   SEED	of all that is random
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SCRIPTS=(hostile.sh hostile_local.sh account.sh)
declare -A CORE=([hostile.sh]=test_macs [hostile_local.sh]=test_datagrams [account.sh]=test_pinned_long)

# Words for the guest's shell
setting() {
	local name

	for name in FORM TIME SEED; do
		[[ -z ${!name:-} ]] || printf '%s=%q ' "$name" "${!name}"
	done
}

main() {
	local script n=0 failed=0 timeout=7200 out=$TOP_DIR/build/hostile core=''

	[[ ${FORM:-} != all ]] || timeout=86400
	[[ ${FORM:-} != core ]] || core=yes FORM=short
	prepare_guest uml amd64
	echo "KTAP version 1"
	echo "1..${#SCRIPTS[@]}"
	for script in "${SCRIPTS[@]}"; do
		if "$VM_DIR/run.sh" -k uml -m 2G -t "$timeout" -o "$out/$script" -- \
			"$(setting)./$script ${core:+${CORE[$script]}}" | sed -u 's/^/    /'; then
			echo "ok $((++n)) - $script"
		else
			echo "not ok $((++n)) - $script"
			failed=1
		fi
	done
	exit "$failed"
}

main
