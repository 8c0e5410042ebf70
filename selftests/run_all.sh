#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All tests that need a running kernel, in the guest. Prints one KTAP stream.
#
# usage: run_all.sh [SET]	core, some of each kind; netns, keys, agent, host or others, which
#				are all together; wide, for a machine with many CPUs; campaign,
#				attacks at rates for a debug kernel
set -u

cd "$(dirname "$0")" || exit 1

tests=(leaves.sh badinput.sh wire.sh keys.sh ends.sh path.sh queue.sh losses.sh control.sh agent.sh up.sh units.sh bench.sh netns.sh channels.sh peer_channels.sh around.sh trace.sh link.sh json.sh)
# Kernels made for it
[[ ! -e /sys/kernel/debug/kunit/poly1305 ]] || tests+=('kunit.sh poly1305 chacha20poly1305 blake2s')
[[ ! -e /proc/self/fail-nth ]] || tests+=(faults.sh)
# Another architecture's unit tests
[[ ! -e ../unit ]] || tests+=('../unit/tests/run.sh build/test_cmd build/test_wire')
case ${1:-} in
'') ;;
core)
	tests=(
		leaves.sh wire.sh
		'keys.sh test_key_change test_time_limits test_once_only'
		'netns.sh test_v4_in_v6 test_policy_percpu test_order_in test_super_packets
			test_roaming_v6'
		'control.sh test_round_trip test_local_address test_flood'
		'agent.sh test_first_packet'
		'up.sh test_up_down'
		'units.sh test_start_stop test_restart'
		'around.sh test_vxlan test_nat test_qdiscs'
		'trace.sh test_packets_followed test_drops_seen_once'
		'link.sh test_add test_other_namespaces'
		'json.sh test_state'
		'ends.sh test_module_unloaded'
		'channels.sh test_settings test_flows'
		'bench.sh test_chunks test_split'
	)
	;;
wide) tests=(channels.sh 'peer_channels.sh test_by_hand test_number_changes test_cpu_hotplug test_agents') ;;
netns | keys | agent) tests=("$1.sh") ;;
host) tests=(up.sh units.sh around.sh trace.sh link.sh json.sh) ;;
campaign)
	export FORM=debug
	tests=(hostile_local.sh hostile.sh)
	;;
others) mapfile -t tests < <(printf '%s\n' "${tests[@]}" | grep -vxE '(netns|keys|agent|up|units|around|trace|link|json)\.sh') ;;
*) echo "Bail out! no set '$1'"; exit 1 ;;
esac
[[ ! -e /sys/kernel/debug/kmemleak ]] || tests+=(leaks.sh)
# At the processor's own speed
if grep -q 'User Mode Linux' /proc/cpuinfo; then
	export REKEYS="${REKEYS:-500}"
fi
echo "KTAP version 1"
echo "1..${#tests[@]}"
failed=0
for i in "${!tests[@]}"; do
	read -rd '' -a words <<<"${tests[$i]}"
	"./${words[0]}" "${words[@]:1}" 2>&1 | sed -u 's/^/    /'
	if [ "${PIPESTATUS[0]}" -eq 0 ]; then
		echo "ok $((i + 1)) - ${words[0]}"
	else
		echo "not ok $((i + 1)) - ${words[0]}"
		failed=1
	fi
done
exit "$failed"
