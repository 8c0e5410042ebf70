#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# kselftest.sh: installs the tests as a part of the kernel's selftests, and runs some of them by
# run_kselftest.sh and by "make run_tests" in User-mode Linux. Prints KTAP.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

SELFTESTS=linux/tools/testing/selftests
# Scripts that need little time
PROGS="leaves.sh wire.sh"

install_tests() {
	local source

	source=$("$VM_DIR/source.sh")
	mkdir -p "$EXTRA/$SELFTESTS/omerta" "$EXTRA/linux/scripts" "$EXTRA/bin"
	cp "$source/scripts/subarch.include" "$EXTRA/linux/scripts"
	cp -a "$source"/tools/testing/selftests/{Makefile,lib.mk,run_kselftest.sh,kselftest,*.h} \
		"$EXTRA/$SELFTESTS"
	cp -a "$TOP_DIR"/selftests/{Makefile,config,settings,vectors,*.sh,*.py,*.c} \
		"$EXTRA/$SELFTESTS/omerta"
	quietly make -C "$EXTRA/$SELFTESTS" TARGETS=omerta INSTALL_PATH="$EXTRA/installed" install
	# For the guest, which has none
	cp "$(command -v make)" "$EXTRA/bin"
}

main() {
	prepare_guest uml amd64
	"$VM_DIR/deps.sh" kselftest
	EXTRA=$(mktemp -d)
	trap 'rm -rf "$EXTRA"' EXIT
	export EXTRA
	install_tests
	"$VM_DIR/run.sh" -k uml -a amd64 -t 900 -o "${OUT:-$CACHE/kselftest}" -- \
		"./vm/kselftest_guest.sh $SELFTESTS '$PROGS'"
}

main
