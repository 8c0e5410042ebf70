#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Boots a kernel, in QEMU or (-k uml) as a process of its own, runs COMMAND there in
# selftests/ and gives its output and exit status back. See usage() for the options
# and the other statuses.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

usage() {
	cat >&2 <<-END
		usage: run.sh [-k KVER] [-a ARCH] [-m MEM] [-c CPUS] [-t TIMEOUT] [-o OUTDIR]
		              [-A KERNEL-ARGS] [-n] -- COMMAND...
		       run.sh [options] -i     interactive shell
		       run.sh [options] -f|-s -- COMMAND...
		With -f the machine is cloned when COMMAND writes the line "clone me": it is
		stopped for good, and goes on as a copy of another generation. With -s COMMAND
		may suspend it, if it is an x86. Neither these nor -n are for User-mode Linux.
		COMMAND is shell code if it is one word, a command with arguments if more.
		With -n there is one CPU, with the vector instructions of a real one, and each
		instruction is a nanosecond of its clock: what is timed is counted, and the
		same from run to run. SEED in the environment is of what such a machine takes
		for random, 1 by default: another seed is another run.
		TRACE in the environment is a directory for its monitor.
		LINK in the environment are options of QEMU's "-netdev stream", to another machine.
		EXTRA in the environment is a directory to be had there as /root/.vm/extra.
		What it writes to /root/out appears in OUTDIR, with dmesg and kernel.log.
		status: COMMAND's; 123 trouble in the kernel's log, 124 timeout (seconds),
		125 the guest died or could not start
	END
	exit 125
}

KVER=6.12 ARCH=amd64 MEM=1G CPUS=2 TIMEOUT=600 OUTDIR='' KARGS='' MODE=command FORK='' COUNT='' SUSPENDS=''

# Reports that the kernel makes about itself. An "INFO:" is a stall or a hung
# task; "unregister_netdevice" is a leaked reference to a netdevice.
TROUBLE='BUG:|WARNING:|Oops|Kernel panic|KASAN|KFENCE|KCSAN|UBSAN'
TROUBLE+='|unreferenced object|suspected memory leaks'
TROUBLE+='|possible (recursive|circular|irq lock)|inconsistent lock state|suspicious RCU'
TROUBLE+='|INFO: |general protection fault|refcount_t:|unregister_netdevice: waiting'
TROUBLE+='|Call Trace:|DEBUG_LOCKS_WARN_ON|ODEBUG:|Out of memory|stalled pool shutdown'

parse_options() {
	local opt

	while getopts k:a:m:c:t:o:A:ifns opt; do
		case $opt in
		k) KVER=$OPTARG ;;
		a) ARCH=$OPTARG ;;
		m) MEM=$OPTARG ;;
		c) CPUS=$OPTARG ;;
		t) TIMEOUT=$OPTARG ;;
		o) OUTDIR=$OPTARG ;;
		A) KARGS=$OPTARG ;;
		i) MODE=shell ;;
		f) FORK=yes ;;
		n) COUNT=yes ;;
		s) SUSPENDS=yes ;;
		*) usage ;;
		esac
	done
	shift $((OPTIND - 1))
	COMMAND=("$@")
	BACKEND=qemu
	[[ $KVER != uml ]] || BACKEND=uml
	# shellcheck source=backend_qemu.sh
	. "$VM_DIR/backend_$BACKEND.sh"
	[[ -z $FORK$SUSPENDS || $MODE == command ]] || usage
	[[ -z $FORK$SUSPENDS$COUNT || $BACKEND == qemu ]] || usage
	[[ $MODE == shell || ${#COMMAND[@]} -gt 0 ]] || usage
}

main() {
	local rc=0

	parse_options "$@"
	work=$(mktemp -d)
	trap cleanup EXIT
	trap 'exit 125' INT TERM HUP
	OUTDIR=${OUTDIR:-$work/out}
	mkdir -p "$OUTDIR"
	OUTDIR=$(cd "$OUTDIR" && pwd)
	write_overlay "$work/vm"
	OVERLAY=$work/vm "$VM_DIR/image.sh" "$KVER" "$ARCH" "$work/initrd" || exit 125
	: >"$work/status"
	: >"$work/files"
	: >"$OUTDIR/kernel.log"
	rm -f "$OUTDIR/dmesg"
	boot || rc=$?
	finish "$rc"
}

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[[ -z ${guest:-} ]] || kill "$guest" 2>/dev/null || :
	rm -rf "$work"
}

# Files for the guest's init.
write_overlay() {
	local size

	mkdir -p "$1"
	if ((${#COMMAND[@]} == 1)); then
		printf '%s\n' "${COMMAND[0]}" >"$1/command"
	else
		printf '%q ' "${COMMAND[@]}" >"$1/command"
	fi
	size=$(stty size 2>/dev/null) || size='24 80'
	printf 'MODE=%s SUSPENDS=%s ROWS=%s COLUMNS=%s\nexport TERM=%q\n' "$MODE" \
		"$SUSPENDS" "${size% *}" "${size#* }" "${TERM:-linux}" >"$1/env"
	[[ -z ${EXTRA:-} ]] || cp -a "$EXTRA" "$1/extra"
}

boot() {
	set_guest
	if [[ $MODE == shell ]]; then
		"${guest_command[@]}" 5>>"$OUTDIR/kernel.log"
	else
		boot_command
	fi
}

# Through a FIFO: QEMU disconnects its stdio device at the end of standard
# input, and its file device would truncate our standard output. It stays open
# here, as two machines may write to it one after the other.
boot_command() {
	local cat rc=0

	mkfifo "$work/output"
	tee "$work/seen" <"$work/output" &
	cat=$!
	exec 3<>"$work/output"
	if [[ -n $FORK ]]; then
		boot_clone || rc=$?
	else
		run_guest </dev/null >>"$OUTDIR/kernel.log" || rc=$?
	fi
	exec 3>&-
	wait "$cat"
	return "$rc"
}

# In the background, so that a signal to this script is not held up until the
# end.
run_guest() {
	local rc=0

	timeout -s "$STOP" -k 10 "$TIMEOUT" "${guest_command[@]}" "$@" <&0 2>"$work/errors" \
		3>&- 4>"$work/output" 5>>"$OUTDIR/kernel.log" &
	guest=$!
	wait "$guest" || rc=$?
	guest=
	return "$rc"
}

# finish GUEST-STATUS: exits with the run's status.
finish() {
	local status

	sed -i 's/\r$//' "$OUTDIR/kernel.log"
	status=$(<"$work/status")
	tar -C "$OUTDIR" -xf "$work/files" 2>/dev/null || [[ -z $status ]] ||
		say "not all that the guest left in /root/out could be read"
	if kernel_trouble; then
		exit 123
	elif (($1 == 124 || $1 == 137)); then
		log_end "timeout: the guest was stopped after $TIMEOUT s"
		exit 124
	elif [[ -z $status ]]; then
		cat "$work/errors" >&2 || :
		log_end "the guest ended without giving a status ($1)"
		exit 125
	fi
	exit "$status"
}

# The console has what dmesg cannot tell after a crash; dmesg has what was
# logged before init raised the console's level.
kernel_trouble() {
	local found file

	for file in "$OUTDIR/kernel.log" "$OUTDIR/dmesg"; do
		[[ -e $file ]] || continue
		found=$(grep -nE -B2 -A25 "$TROUBLE" "$file" | sed -n 1,80p) || continue
		say "trouble in the kernel's log:"
		printf '%s\n' "$found" >&2
		return 0
	done
	return 1
}

log_end() {
	say "$1; the end of the kernel's log:"
	tail -n 20 "$OUTDIR/kernel.log" >&2
}

main "$@"
