#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make check": builds, then runs every stage, each printing
# KTAP; ends with the tally over all of them. Logs stay in OUT.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# Kernels to test with, as KERNEL-ARCH, with ":core" for a choice of the tests or
# another of run_all.sh's sets.
CELLS=${CELLS:-${KERNEL:-6.12}-${ARCH_DEB:-amd64}}
OUT=${OUT:-$CACHE/check}
# Emulated machines that run side by side. With more than one all are slower, as tests
# with a choice of the tests may be.
JOBS=${JOBS:-1}
export PYTHONDONTWRITEBYTECODE=1

# stage NAME COMMAND...: runs it, shows and keeps its output. COMMAND cannot rely
# on errexit.
stage() {
	local name=$1 log=$OUT/$1.log rc=0 start=$SECONDS

	shift
	echo "# stage $name"
	"$@" </dev/null 2>&1 | tee "$log" || rc=${PIPESTATUS[0]}
	echo "# stage $name took $((SECONDS - start)) s"
	stages+=("$name" "$rc" "$log")
}

# ktap_one NUMBER NAME COMMAND...: a command as one test.
ktap_one() {
	local number=$1 name=$2 log rc=0

	shift 2
	log=$("$@" 2>&1) || rc=$?
	if ((rc == 0)); then
		echo "ok $number - $name"
	else
		printf '%s\n' "$log" | sed 's/^/# /'
		echo "not ok $number - $name"
	fi
	return "$rc"
}

# build KERNEL ARCH
build() {
	local rc=0

	echo '1..2'
	ktap_one 1 'modules build without warnings' build_modules "$@" || rc=1
	ktap_one 2 'omertactl builds' "$VM_DIR/tool.sh" "$2" || rc=1
	return "$rc"
}

# -Werror, as a printed warning would be gone in the next build. modpost repeats its warnings.
build_modules() {
	local log rc=0

	log=$("$VM_DIR/modules.sh" "$1" "$2" KCFLAGS=-Werror 2>&1) || rc=$?
	printf '%s\n' "$log"
	((rc == 0)) && ! grep -q 'WARNING:' <<<"$log"
}

# user_tests PROGRAM
user_tests() {
	make -s "-j$(nproc)" -C "$TOP_DIR/kmod/tests" "$1" >&2 && "$TOP_DIR/kmod/tests/$1"
}

tool_tests() {
	make -s -C "$TOP_DIR/tools/omertactl" check
}

# guest_tests KERNEL ARCH [SET]: SET is run_all.sh's.
guest_tests() {
	local out=$OUT/guest-$1-$2${3:+-$3} mem=1G

	# KASAN and kmemleak need more memory.
	[[ $1 != debug ]] || mem=2G
	rm -rf "$out"
	"$VM_DIR/run.sh" -k "$1" -a "$2" -m "$mem" -t "${TIMEOUT:-3600}" -o "$out" \
		-- ./run_all.sh "${@:3}"
}

clone_test() {
	if [[ $2 != amd64 || $1 == uml ]]; then
		echo "1..0 # SKIP only QEMU for x86 has generation ids"
		return
	fi
	"$VM_DIR/run.sh" -k "$1" -a "$2" -f -t 600 -o "$OUT/clone-$1" -- ./vmfork.sh
}

suspend_test() {
	if [[ $2 != amd64 || $1 == uml ]]; then
		echo "1..0 # SKIP only QEMU for x86 is woken by a clock"
		return
	fi
	"$VM_DIR/run.sh" -k "$1" -a "$2" -s -t 900 -o "$OUT/suspend-$1" -- \
		./suspend.sh
}

cell() {
	local kernel=${1%-*} rest=${1##*-}
	local arch=${rest%:*} set=${rest#*:}

	[[ $rest == *:* ]] || set=''
	[[ $arch != arm64 ]] || "$VM_DIR/deps.sh" arm64
	"$VM_DIR/kernel.sh" "$kernel" "$arch"
	"$VM_DIR/rootfs.sh" "$arch" >/dev/null
	# image.sh includes it if it can be built; a stage of its own tests that.
	[[ $arch != amd64 ]] || "$VM_DIR/tool_kem.sh" >/dev/null || :
	[[ " ${stages[*]} " == *" build-$kernel-$arch "* ]] ||
		stage "build-$kernel-$arch" build "$kernel" "$arch"
	if [[ $kernel == uml && -z $set ]]; then
		guest_in_parts "$kernel" "$arch"
	else
		start_in_turn "guest-$kernel-$arch${set:+-$set}" \
			guest_tests "$kernel" "$arch" ${set:+"$set"}
		[[ $kernel == uml ]] || booted[$kernel $arch]=$set
	fi
}

# Four at a time, as they wait for most of it: not under emulation, which is slow
# enough to disturb the others.
guest_in_parts() {
	local part

	for part in others netns keys agent; do
		start "guest-$1-$2-$part" guest_tests "$@" "$part"
	done
	follow_all
}

# Stages that were started and not yet shown: names, and their processes by name
running=()
declare -A pid
# Sets of tests by machine that had them, "KERNEL ARCH"
declare -A booted

# The status is the last line.
beside() {
	local rc=0

	"$@" || rc=$?
	echo "$rc"
}

# start NAME COMMAND...
start() {
	beside "${@:2}" >"$OUT/$1.beside" 2>&1 </dev/null &
	pid[$1]=$!
	running+=("$1")
	# shellcheck disable=SC2064 # these, now
	trap "kill ${pid[*]} 2>/dev/null || :" EXIT
}

# start_in_turn NAME COMMAND...: starts when fewer than JOBS machines run
start_in_turn() {
	start "$1" in_turn "${@:2}"
}

in_turn() {
	local rc=0

	read -rn 1 -u "$turns" _
	"$@" || rc=$?
	printf ' ' >&"$turns"
	return "$rc"
}

# As stages, one after the other, each from its beginning to its end
follow_all() {
	local name

	for name in "${running[@]}"; do
		stage "$name" follow "$name"
		unset "pid[$name]"
	done
	running=()
	trap - EXIT
}

follow() {
	tail -n +1 -s 0.5 -f --pid="${pid[$1]}" "$OUT/$1.beside" | sed -u '$d'
	return "$(tail -n 1 "$OUT/$1.beside")"
}

# Tests without a kernel
host_stages() {
	stage tally "$VM_DIR/ktap_tally_test.py"
	stage sources "$VM_DIR/sources_test.sh"
	stage decode "$VM_DIR/decode_capture_test.py"
	stage compare "$TOP_DIR/selftests/perf/compare_report_test.py"
	stage ordering "$VM_DIR/ordering.sh"
	stage leaves user_tests leaf_tests
	stage lists user_tests lists
	stage omertactl tool_tests
	stage ml-kem "$VM_DIR/tool_kem.sh" check
}

# A minimal root of the suite that this machine is not
fresh_roots() {
	SUITES=other USERS=newcomer CELLS=$FRESH "$TOP_DIR/selftests/fresh.sh"
}

# On CPUs of which one is isolated, which a kernel that looks after itself watches
isolated_test() {
	"$VM_DIR/run.sh" -k "$1" -a "$2" -m 2G -t 1200 -A isolcpus=domain,1 \
		-o "$OUT/isolated-$1" -- ./netns.sh test_policy_percpu test_policy_auto
}

# Tests that need a machine of their own
own_machines() {
	local machine kernel arch set

	for machine in "${!booted[@]}"; do
		read -r kernel arch <<<"$machine"
		set=${booted[$machine]}
		start_in_turn "clone-$kernel-$arch" clone_test "$kernel" "$arch"
		start_in_turn "suspend-$kernel-$arch" suspend_test "$kernel" "$arch"
		[[ $kernel != debug ]] ||
			start_in_turn "isolated-$kernel-$arch" isolated_test "$kernel" "$arch"
	done
	follow_all
}

# The campaign's, by the choice of tests that the kernels have
campaign_form() {
	local cell

	for cell in $CELLS; do
		[[ $cell == *:core ]] || { echo short; return; }
	done
	echo core
}

main() {
	local cell

	stages=()
	take_lock "$OUT/lock"
	# A byte for each machine that may still start
	exec {turns}<> <(:)
	printf "%${JOBS}s" >&"$turns"
	"$VM_DIR/deps.sh"
	[[ -n ${GUEST_ONLY:-} ]] || host_stages
	for cell in $CELLS; do
		cell "$cell"
	done
	follow_all
	own_machines
	# Floods are a matter of time: nothing runs beside them.
	[[ -n ${GUEST_ONLY:-} ]] || stage hostile env FORM="$(campaign_form)" "$VM_DIR/hostile.sh"
	# Here no time is judged.
	[[ -z ${STYLE:-} ]] || start style "$TOP_DIR/selftests/style.sh"
	[[ -z ${STYLE:-} ]] || start ciphers "$TOP_DIR/selftests/ciphers.sh"
	[[ -z ${CLANG:-} ]] || start clang "$VM_DIR/clang.sh"
	follow_all
	[[ -z ${UPSTREAM:-} ]] || stage suites env OUT="$OUT/suites" "$VM_DIR/suites.sh"
	[[ -z ${FRESH:-} ]] || stage fresh fresh_roots
	printf '%s\n' "${stages[@]}" >"$OUT/stages"
	"$VM_DIR/ktap_tally.py" "${stages[@]}"
}

main
