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
		may suspend it, if it is an x86.
		COMMAND is shell code if it is one word, a command with arguments if more.
		With -n there is one CPU, with the vector instructions of a real one, and each
		instruction is a nanosecond of its clock: what is timed is counted, and the
		same from run to run. SEED in the environment is of what such a machine takes
		for random, 1 by default: another seed is another run.
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
	[[ -z $FORK$SUSPENDS || $MODE == command ]] || usage
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

# The kernel's console goes to a file of its own, so that it does not mix with the
# command's output.
set_qemu() {
	local machine cpu thread tty accel

	# Under emulation a simple CPU model is by far the fastest. While a kernel for
	# x86 changes its code it has a breakpoint there, which QEMU's CPUs may meet
	# when it has long gone, unless they run in turns.
	case $ARCH in
	amd64) machine=q35 cpu=qemu64 thread=single QEMU=qemu-system-x86_64 tty=ttyS0 ;;
	arm64) machine=virt cpu=cortex-a72 thread=multi QEMU=qemu-system-aarch64 tty=ttyAMA0 ;;
	*) die "no machine known for $ARCH" ;;
	esac
	accel=(-accel "tcg,thread=$thread" -cpu "$cpu")
	if [[ -n $COUNT ]]; then
		CPUS=1 KARGS+=' nokaslr norandmaps'
		# To QEMU each byte of "rep movsb" is an instruction. Without these two
		# flags the kernel copies words.
		[[ $ARCH != amd64 ]] || cpu=max,-erms,-fsrm
		accel=(-accel tcg -icount 'shift=0,sleep=off' -cpu "$cpu" -seed "${SEED:-1}"
			-rtc 'base=2026-01-01T00:00:00,clock=vm')
	elif kvm_works; then
		accel=(-accel kvm -cpu host)
	fi
	guest_command=(
		"$QEMU" -M "$machine" "${accel[@]}" -smp "$CPUS" -m "$MEM"
		-display none -nodefaults -no-reboot -serial "file:$OUTDIR/kernel.log"
		-kernel "$CACHE/kernels/$KVER-$ARCH/vmlinuz" -initrd "$work/initrd"
		-append "console=$tty panic=-1 rdinit=/init quiet $KARGS"
	)
	if [[ -n $SUSPENDS ]]; then
		guest_command+=(-serial "file:$work/output" -serial "file:$work/status"
			-serial "file:$work/files")
		return
	fi
	guest_command+=(
		-device virtio-serial-pci
		-chardev "file,id=status,path=$work/status"
		-device 'virtserialport,chardev=status,name=status'
		-chardev "file,id=files,path=$work/files"
		-device 'virtserialport,chardev=files,name=files'
	)
	if [[ $MODE == shell ]]; then
		guest_command+=(-chardev 'stdio,id=tty,signal=off' -device 'virtconsole,chardev=tty')
	else
		guest_command+=(-chardev "file,id=output,path=$work/output"
			-device 'virtserialport,chardev=output,name=output')
	fi
}

# Sees $work as a file system of the host; descriptors are run_guest's.
set_uml() {
	local tty=null,fd:4

	[[ $MODE != shell ]] || tty=fd:0,fd:1
	# shellcheck disable=SC2206 # words
	guest_command=(
		"$CACHE/kernels/$KVER-$ARCH/vmlinuz" "mem=$MEM" "ncpus=$CPUS" seccomp=on
		"initrd=$work/initrd" rdinit=/init "omerta_host=$work" "uml_dir=$work"
		con=null 'con0=null,fd:5' "con1=$tty" console=tty0 panic=-1 quiet $KARGS
	)
}

# /dev/kvm may exist and yet hang a kernel: it has to prove itself. A kernel
# without a root panics, and with -no-reboot that ends QEMU.
kvm_works() {
	local verdict

	verdict=$CACHE/kvm-$(</proc/sys/kernel/random/boot_id)
	[[ $ARCH == "$(dpkg --print-architecture)" && -w /dev/kvm ]] || return 1
	grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo || return 1
	if [[ ! -e $verdict ]]; then
		timeout 20 "$QEMU" -M "$machine" -accel kvm -cpu host -m 256M -display none \
			-nodefaults -no-reboot -kernel "$CACHE/kernels/$KVER-$ARCH/vmlinuz" \
			-append 'panic=-1 quiet' </dev/null >/dev/null 2>&1 &&
			echo yes >"$verdict" || echo no >"$verdict"
	fi
	[[ $(<"$verdict") == yes ]]
}

boot() {
	if [[ $KVER == uml ]]; then
		set_uml
	else
		set_qemu
	fi
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
	local rc=0 stop=TERM

	# It would trip over itself.
	[[ $KVER != uml ]] || stop=KILL
	timeout -s "$stop" -k 10 "$TIMEOUT" "${guest_command[@]}" "$@" <&0 2>"$work/errors" \
		3>&- 4>"$work/output" 5>>"$OUTDIR/kernel.log" &
	guest=$!
	wait "$guest" || rc=$?
	guest=
	return "$rc"
}

# A machine with another generation id and the memory of the first. The first is stopped while its
# memory is read, as later writes could be missed; the clone does not inherit the stopped state.
boot_clone() {
	local end=$((SECONDS + TIMEOUT)) state=migration.store-global-state=off

	{
		until grep -qx 'clone me' "$work/seen"; do
			[[ ! -s $work/status ]] && ((SECONDS < end)) || exit
			sleep 0.2
		done
		echo stop
		echo "migrate \"exec:cat >$work/memory\""
		echo quit
	} | run_guest -monitor stdio -global "$state" \
		-device vmgenid,guid=11111111-2222-3333-4444-555555555555 >"$work/monitor" || return
	# It ended without asking for it.
	[[ -e $work/memory ]] || return 0
	run_guest -global "$state" -device vmgenid,guid=66666666-7777-8888-9999-aaaaaaaaaaaa \
		-incoming "exec:cat $work/memory" </dev/null
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
