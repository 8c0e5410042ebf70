# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # run.sh's variables
# User-mode Linux, as a backend of run.sh, see backend_qemu.sh.

# It would trip over a milder one.
STOP=KILL

# Sees $work as a file system of the host; descriptors are run_guest's.
set_guest() {
	local tty=null,fd:4

	[[ $MODE != shell ]] || tty=fd:0,fd:1
	# shellcheck disable=SC2206 # words
	guest_command=(
		"$CACHE/kernels/$KVER-$ARCH/vmlinuz" "mem=$MEM" "ncpus=$CPUS" seccomp=on
		"initrd=$work/initrd" rdinit=/init "omerta_host=$work" "uml_dir=$work"
		con=null 'con0=null,fd:5' "con1=$tty" console=tty0 panic=-1 quiet $KARGS
	)
}
