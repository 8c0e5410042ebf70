#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# omerta_bench and omertactl bench: that they measure what they say, refuse what they
# cannot, and can be interrupted. No figure is judged.
# shellcheck disable=SC2317 # tests are called by name
set -u

HERE=$(cd "$(dirname "$0")" && pwd)
. "$HERE/lib_test.sh"
# shellcheck disable=SC2034 # of await()
WAIT=60

# PREEMPT_RT lacks this strategy.
NAPI=(napi)
! is_realtime || NAPI=()

cleanup() {
	:
}

# bench JQ-CONDITION ARGUMENT...: succeeds if the condition holds for the results
bench() {
	omertactl -j bench "${@:2}" runs 2 time 1 >"$DIR/json" 2>"$DIR/errors"
	cat "$DIR/json" "$DIR/errors"
	jq -e "$1" "$DIR/json"
}

positive='all(.["min-ns"] > 0 and .["min-ns"] <= .["median-ns"] and .["median-ns"] <= .["max-ns"])'

test_chunks() {
	bench "length >= 18 and $positive" chunks
	bench 'map(."chunk-size") == [512, 1024, 2048, 3000, 512, 1024, 2048, 3000]' \
		chunks engine lib bytes 3000
	bench 'map(.direction) == ["seal", "open"]' chunks engine lib bytes 1
}

# The library takes no lists.
test_curves() {
	bench "length == 44 and $positive and all(.list == 1)" curves engine lib
	bench 'map(.list) | unique == [1, 2, 3, 4, 8, 16]' curves engine auto
}

# Twice as much work takes longer: all of it is done.
test_in_proportion() {
	local bytes

	for bytes in 65536 1048576; do
		omertactl -j bench chunks engine lib bytes "$bytes" runs 10 time 1 |
			jq '.[0]."min-ns"' >"$DIR/$bytes"
	done
	(($(<"$DIR/1048576") > 4 * $(<"$DIR/65536")))
	(($(<"$DIR/1048576") < 64 * $(<"$DIR/65536")))
}

test_dispatch() {
	local strategy

	bench "$positive" dispatch bytes 16384
	for strategy in inline percpu unbound kthread "${NAPI[@]}"; do
		jq -e --arg s "$strategy" 'any(.strategy == $s)' "$DIR/json"
	done
	((${#NAPI[@]})) || grep 'PREEMPT_RT does not let other CPUs schedule NAPI' "$DIR/errors"
	jq -e '[.[].schedule] | unique == ["dynamic", "guided", "own", "static"]' "$DIR/json"
	jq -e 'any(.strategy == "padata")' "$DIR/json" ||
		grep 'this kernel has no padata' "$DIR/errors"
}

# With one CPU there is no other to hand work to.
test_split() {
	(($(nproc) > 1)) || { echo "SKIP one CPU"; exit 4; }
	bench "$positive" split bytes 4096
	jq -e 'map(select(.strategy != "inline")) |
		length >= 12 and all(.["start-p50-ns"] > 0 and .["start-p99-ns"] >= .["start-p50-ns"])' \
		"$DIR/json"
}

test_scaling() {
	bench "$positive and any(.engine == \"copy\") and any(.engine != \"copy\")" \
		scaling bytes 16384
	jq -e --argjson n "$(nproc)" '[.[].workers] | max == $n' "$DIR/json"
}

# refuses MESSAGE ARGUMENT...
refuses() {
	local out

	! out=$(omertactl bench "${@:2}" 2>&1) || return 1
	echo "$out"
	[[ $out == *"$1"* ]]
}

test_refused() {
	local many=$(($(nproc) + 1))

	refuses 'engine must be copy' dispatch engine nonsense
	refuses 'engine must be copy' chunks engine nonsense
	refuses 'must be a number 1..67108864' chunks bytes 0
	refuses 'must be a number 1..67108864' scaling bytes 67108865
	refuses 'fewer CPUs online than workers' run strategy percpu workers "$many"
	refuses 'inline has one worker' run workers 2
	refuses 'inline has one worker' run strategy inline schedule static
	refuses 'must be a number 1..100000' run rounds 100001
	refuses 'would take longer than 5 s' run rounds 100000 bytes 16777216
	refuses 'would take longer than 5 s' run rounds 100000 bytes 16777216 strategy kthread
	((!${#NAPI[@]})) || refuses 'would take longer than 5 s' run rounds 100000 chunk-size 1 strategy napi
	refuses 'must be own, static, dynamic or guided' run schedule none
	refuses 'varies chunk-size and direction' chunks chunk-size 512
	refuses 'varies chunk-size, bytes, direction and list' curves list 2
	refuses 'must be a number 1..16' run list 17
	refuses 'must be seal, open or both' dispatch direction up
}

test_unprivileged() {
	omertactl bench run
	refused setpriv --bounding-set -sys_admin --inh-caps -sys_admin \
		omertactl bench run 2>"$DIR/errors"
	grep 'needs CAP_SYS_ADMIN' "$DIR/errors"
}

# An interrupt ends what would take hours, and the module can go.
test_interrupted() {
	local how rc

	for how in inline percpu 'percpu schedule dynamic' "${NAPI[@]}"; do
		rc=0
		# shellcheck disable=SC2086 # words
		timeout -s INT -k 3 1 \
			omertactl bench run rounds 100000 bytes 16777216 strategy $how || rc=$?
		((rc == 124))
	done
	modprobe -r omerta_bench
	modprobe omerta_bench
}

# least_ns: nanoseconds that 100000 chunks of a byte take to be sealed, undisturbed
least_ns() {
	for _ in {1..5}; do
		member "$(omertactl -j bench run engine lib chunk-size 1 bytes 100000 direction seal)" \
			wall-ns
	done | sort -n | head -n 1
}

# A round may be too long in itself: three seconds to seal, three before that to make what
# is opened, and to open.
test_long_round() {
	local ns how

	ns=$(least_ns)
	for how in percpu "${NAPI[@]}"; do
		refuses 'would take longer than 5 s' run engine lib chunk-size 1 \
			bytes "$((3000000000 * 100000 / ns))" strategy "$how" schedule dynamic
	done
}

# on_cpu1 SETTING...: as soon as no other request is measured
on_cpu1() {
	until taskset -c 1 omertactl bench run "$@" 2>"$DIR/errors" ||
		! grep 'another request is being measured' "$DIR/errors"; do :; done
}

# CPU hotplug waits for a measurement on that CPU, and a measurement never waits for hotplug.
test_cpu_hotplug() {
	local cpu=/sys/devices/system/cpu/cpu1/online strategy pid

	[[ -w $cpu ]] || { echo "SKIP no CPU can be taken offline"; exit 4; }
	for strategy in unbound padata; do
		omertactl bench run strategy "$strategy" 2>"$DIR/errors" ||
			{ grep 'this kernel has no padata' "$DIR/errors" && continue; }
		on_cpu1 rounds 100000 bytes 1048576 strategy "$strategy" &
		pid=$!
		await refuses 'another request is being measured' run
		echo 0 >"$cpu"
		wait "$pid"
		echo 1 >"$cpu"
		omertactl bench run
	done
}

# loaded: succeeds if the module is loaded
loaded() {
	grep -q '^omerta_bench ' /proc/modules
}

# Resolving the family loads no module, neither for root nor for the user nobody.
test_not_loaded() {
	modprobe -r omerta_bench
	refused setpriv --reuid 65534 --regid 65534 --clear-groups omertactl bench run
	refused loaded
	refused omertactl bench run 2>"$DIR/errors"
	grep 'omerta_bench' "$DIR/errors"
	refused loaded
	modprobe omerta_bench
	loaded
}

TESTS=(test_chunks test_curves test_in_proportion test_dispatch test_split test_scaling test_refused
	test_unprivileged test_interrupted test_long_round test_cpu_hotplug
	test_not_loaded)

modprobe omerta_bench || { echo "1..0 # SKIP no module omerta_bench"; exit 4; }
# Others want to unload omerta.
trap 'modprobe -r omerta_bench' EXIT
run_tests "${@:-${TESTS[@]}}"
