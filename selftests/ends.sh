#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Devices that change their name or place or end, and CPUs that do, under traffic.
# Needs root, and in practice a guest: the module is unloaded and loaded again.
#
# usage: ends.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

test_rename() {
	make_both
	pings a 10.9.0.2
	on a ip link set omr0 down
	on a ip link set omr0 name tunnel-to-b
	on a ip link set tunnel-to-b up
	DEV=tunnel-to-b
	pings a 10.9.0.2
	is 6 dev_stat a tx-packets
	is active key_state a b
	refused on a omertactl link show omr0
	# The name is free again.
	on a omertactl link add omr0
}

test_moved_device() {
	make_both
	make_ns x
	pings a 10.9.0.2
	on a ip link set omr0 netns omt-x
	NUM[x]=1
	set_inner x
	on x ip link set omr0 up
	pings x 10.9.0.2
	pings b fd09::1
	copy x b 10.9.0.2 2000000
	on a ss -Hlun 'sport = :51900' | grep -q .
	is '' on x ss -Hlun
	# Without the netns of its sockets it is mute but there.
	bg b ping -q -i 0.01 10.9.0.1
	ip netns del omt-a
	await is 0 on x cat /sys/class/net/omr0/carrier
	no_ping x 10.9.0.2
	on x omertactl link del omr0
}

test_netns_deleted() {
	make_both
	pings a 10.9.0.2
	bg b ping -q -i 0.002 10.9.0.1
	bg b ping -q -s 1300 -i 0.002 fd09::1
	await more_than 50 dev_stat a rx-packets
	ip netns del omt-a
	await refused on b ip link show to_a
	ip netns pids omt-b | xargs -r kill
	ip netns del omt-b
}

test_module_unloaded() {
	make_both
	serve b
	bg a iperf3 -c 10.9.0.2 -t 60
	bg b ping -q -i 0.002 10.9.0.1
	await more_than 200 dev_stat b rx-packets
	timeout "$WAIT" modprobe -r omerta
	refused on a ip link show omr0
	modprobe omerta
	make_tunnel
	pings a 10.9.0.2
}

created() {
	dmesg | grep -cE ": $1( [0-9a-fx]+)? $2\$"
}

# All objects are freed, in whichever order they end.
test_balance() {
	local what

	# Objects of earlier tests may still be waiting to be freed.
	timeout "$WAIT" modprobe -r omerta
	modprobe omerta
	dmesg -C
	echo 'module omerta +p' >/sys/kernel/debug/dynamic_debug/control
	make_both
	serve b
	bg a timeout "$WAIT" iperf3 -c 10.9.0.2 -t 60
	await more_than 1000 dev_stat b rx-packets
	for GEN in 2 3 4; do
		install_key b a activate on-first-record
		install_key a b activate now
		await is active key_state b a
	done
	on a omertactl key del omr0 peer b local-id 4609
	on a omertactl peer del omr0 peer b
	refused on a ip link add omr0 type omerta
	on b ip link del omr0
	make_ns x
	ip -n omt-x link add omr0 type omerta
	on x omertactl peer add omr0 id 5
	ip netns del omt-x
	timeout "$WAIT" modprobe -r omerta
	modprobe omerta
	for what in device:3 peer:3 key:8; do
		is "${what#*:}" created "${what%:*}" created
		is "${what#*:}" created "${what%:*}" destroyed
	done
}

# pools: number of page pools of the loopback device, under which the kernel lists ours, and KiB in
# them. A destroyed pool stays until the kernel has freed its last packet, and is not counted.
pools() {
	python3 -c '
import sys, nl
sock = nl.generic_socket()
try:
    family = nl.find_family(sock, "netdev")[0]
except KeyError:
    sys.exit(1)
sock.send(nl.message(family, 5, b"", nl.NLM_F_DUMP)) # NETDEV_CMD_PAGE_POOL_GET
pools, size, end = 0, 0, False
while not end:
    for kind, _, one in nl.messages(sock.recv(1 << 18)):
        end = kind in (nl.NLMSG_DONE, nl.NLMSG_ERROR)
        if kind == nl.NLMSG_ERROR:
            sys.exit(1)
        found = {} if end else nl.attrs(one[4:])
        # IFINDEX, which the loopback device stands without, and DETACH_TIME
        if found and 2 not in found and 6 not in found:
            pools += 1
            size += int.from_bytes(found[5], "little") # INFLIGHT_MEM, with what waits for use
print(pools, size >> 10)'
}

pools_kb() {
	pools | cut -d " " -f 2
}

# Pages that CPUs keep for further packets go when they are idle, and with the last device.
test_memory_returns() {
	local transfer

	pools >/dev/null || { echo "SKIP the kernel lists no page pools"; exit 4; }
	is '0 0' pools
	make_both
	serve b
	# Many packets at once
	on a tc qdisc add dev to_b root netem delay 50ms limit 10000
	WAIT=300 tcp a 10.9.0.2 10M &
	transfer=$!
	WAIT=300 await more_than 0 pools_kb
	wait "$transfer"
	await is 0 pools_kb
	refused is '0 0' pools
	# Others are there at once.
	WAIT=300 tcp a 10.9.0.2 10M
	cleanup
	await is '0 0' pools
}

# reject NS FROM TO: packets that are forwarded to where no peer is
reject() {
	bg "$1" ./traffic.py rejected "${@:2}"
}

# ICMP errors for rejected packets of each of two devices leave through the other one: neither
# waits for the other's queue with its own lock held.
test_rejects_across() {
	local i pids=()

	make_ns a
	on a sysctl -q net.ipv4.icmp_ratelimit=0
	# Limits of all namespaces, or of each; a refill is not more than the burst
	sysctl -q net.ipv4.icmp_msgs_per_sec=1000000 net.ipv4.icmp_msgs_burst=1000000
	on a sysctl -eq net.ipv4.icmp_msgs_per_sec=1000000 net.ipv4.icmp_msgs_burst=1000000
	for i in 1 2; do
		on a omertactl link add "omr$i"
		on a ip addr add "10.$i.0.1/16" dev "omr$i"
		on a tc qdisc replace dev "omr$i" root noqueue
		on a ip link set "omr$i" up
	done
	reject a 10.1.0.9 10.2.0.9
	pids+=("$!")
	reject a 10.2.0.9 10.1.0.9
	pids+=("$!")
	wait "${pids[@]}"
	# One is told of a packet, the other has no peer for that.
	for DEV in omr1 omr2; do
		await more_than 2100 dev_stat a tx-drop-no-peer
	done
}

# CPUs come and go under traffic that is split over them.
test_cpu_hotplug() {
	local cpu=/sys/devices/system/cpu/cpu1/online stream

	[[ -w $cpu ]] || { echo "SKIP no CPU can be taken offline"; exit 4; }
	make_both policy percpu
	serve b
	bg a iperf3 -c 10.9.0.2 -t 1000
	stream=$!
	for _ in 1 2 3; do
		echo 0 >"$cpu"
		more_come
		echo 1 >"$cpu"
		more_come
		# Its worker is back.
		is 1 cpus_of "$(pgrep '^omerta/1$')"
	done
	# It is still at it.
	kill "$stream"
	copy a b 10.9.0.2 300000
	no_drops a
	no_drops b
}

cpus_of() {
	sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$1/status"
}

more_come() {
	await more_than "$(($(dev_stat b rx-packets) + 100))" dev_stat b rx-packets
}

TESTS=(
	test_rename test_moved_device test_netns_deleted test_module_unloaded test_balance
	test_memory_returns test_rejects_across test_cpu_hotplug
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
