# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # run.sh's variables
# QEMU, as a backend of run.sh, which sources this: set_guest() sets guest_command, and STOP is the
# signal that ends it. boot_clone() is QEMU's alone.

STOP=TERM

# The kernel's console goes to a file of its own, so that it does not mix with the
# command's output.
set_guest() {
	local accel

	arch_facts "$ARCH"
	accel=(-accel "tcg,thread=$THREAD" -cpu "$CPU")
	if [[ -n $COUNT ]]; then
		CPUS=1 KARGS+=' nokaslr norandmaps'
		# To QEMU each byte of "rep movsb" is an instruction. Without these two
		# flags the kernel copies words.
		[[ $ARCH != amd64 ]] || CPU=max,-erms,-fsrm
		accel=(-accel tcg -icount 'shift=0,sleep=off' -cpu "$CPU" -seed "${SEED:-1}"
			-rtc 'base=2026-01-01T00:00:00,clock=vm')
		[[ -z ${TRACE:-} ]] ||
			accel+=(-monitor "unix:$TRACE/monitor,server=on,wait=off")
	elif kvm_works; then
		accel=(-accel kvm -cpu host)
	fi
	guest_command=(
		"$QEMU" -M "$MACHINE" "${accel[@]}" -smp "$CPUS" -m "$MEM"
		-display none -nodefaults -no-reboot -serial "file:$OUTDIR/kernel.log"
		-kernel "$CACHE/kernels/$KVER-$ARCH/vmlinuz" -initrd "$work/initrd"
		-append "console=$CONSOLE panic=-1 rdinit=/init quiet $KARGS"
	)
	[[ -z ${LINK:-} ]] || guest_command+=(-netdev "stream,id=link,$LINK"
		-device "virtio-net-$BUS,netdev=link")
	if [[ -n $SUSPENDS ]]; then
		guest_command+=(-serial "file:$work/output" -serial "file:$work/status"
			-serial "file:$work/files")
		return
	fi
	guest_command+=(
		-device "virtio-serial-$BUS"
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

# /dev/kvm may exist and yet hang a kernel: it has to prove itself. A kernel
# without a root panics, and with -no-reboot that ends QEMU.
kvm_works() {
	local verdict

	verdict=$CACHE/kvm-$(</proc/sys/kernel/random/boot_id)
	native "$ARCH" && [[ -w /dev/kvm ]] || return 1
	grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo || return 1
	if [[ ! -e $verdict ]]; then
		timeout 20 "$QEMU" -M "$MACHINE" -accel kvm -cpu host -m 256M -display none \
			-nodefaults -no-reboot -kernel "$CACHE/kernels/$KVER-$ARCH/vmlinuz" \
			-append 'panic=-1 quiet' </dev/null >/dev/null 2>&1 &&
			echo yes >"$verdict" || echo no >"$verdict"
	fi
	[[ $(<"$verdict") == yes ]]
}

# A machine with another generation id and the memory of the first. The first is stopped while its
# memory is read, as later writes could be missed; the clone does not inherit the stopped state.
boot_clone() {
	local end=$((SECONDS + TIMEOUT)) state=migration.store-global-state=off

	{
		until grep -qsx 'clone me' "$work/seen"; do
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
