# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For the campaign's scripts: figures, every datagram in one counter, and nothing in a log.
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

# Counters of datagrams; the others count inner packets of records that were accepted.
DATAGRAM_DROPS=(malformed type control key-unknown key-expired auth replay nomem
	control-limit control-full control-invalid control-cookie control-replay control-unasked
	checksum socket down)

# drops NS: datagrams that the device dropped
drops() {
	local sum=0 name stats

	stats=$(on "$1" omertactl -j stats omr0)
	for name in "${DATAGRAM_DROPS[@]}"; do
		sum=$((sum + $(member "$stats" "rx-drop-$name")))
	done
	echo "$sum"
}

# link_losses FROM TO: packets that the link to there dropped
link_losses() {
	echo $(($(on "$1" cat "/sys/class/net/to_$2/statistics/tx_dropped") +
		$(on "$2" cat "/sys/class/net/to_$1/statistics/rx_dropped")))
}

# tunnel_with_c [SETTING...]: a, b and c; the key of c's records is $FROM_C, its id at a $ID_C.
tunnel_with_c() {
	make_both "$@"
	make_ns c
	make_veth a c
	on a ip link set to_c mtu 65535
	on c ip link set to_a mtu 65535
	on a omertactl peer add omr0 id 3 name c allowed-ips 10.9.0.3/32,fd09::3/128
	install_key a c activate now
	# shellcheck disable=SC2034 # for those that source this
	FROM_C=$DIR/omr0-c-a.1 ID_C=$((1 * 4096 + 3 * 256 + 1))
}

# begin_reader NS PUBLIC-KEY: a socket that takes control datagrams in place of an agent, and
# reads none
begin_reader() {
	bg "$1" ./hostile_local.py reader "$2" >"$DIR/reader"
	READER=$!
	await grep -qx ok "$DIR/reader"
}

# end_reader: sets READ to how many datagrams it got
end_reader() {
	kill "$READER"
	wait "$READER"
	# shellcheck disable=SC2034 # for those that source this
	READ=$(tail -n 1 "$DIR/reader")
}

# own_lines: number of lines of the kernel's log that concern the module or its device
own_lines() {
	dmesg | grep -cE 'omerta|omr0' || true
}

# meminfo NAME: KiB
meminfo() {
	awk -v "name=$1:" '$1 == name { print $2 }' /proc/meminfo
}

# agents_ms: CPU time of all agents
agents_ms() {
	local host sum=0

	for host in "${!AGENT[@]}"; do
		sum=$((sum + $(cpu_ms "$host")))
	done
	echo "$sum"
}

# begin_watch, end_watch: the latter sets WATCHED to what became of memory and processors since
begin_watch() {
	./hostile_flood.py wait >"$DIR/wait" &
	WATCH=$!
	await grep -q begins "$DIR/wait"
	WATCH_MS=$(agents_ms) WATCH_FREE=$(meminfo MemAvailable)
}

end_watch() {
	local ms free

	ms=$(($(agents_ms) - WATCH_MS))
	free=$(meminfo MemAvailable)
	kill "$WATCH"
	wait "$WATCH"
	# shellcheck disable=SC2034 # as READ
	WATCHED="memory left before $WATCH_FREE KiB, after $free; longest softirq below \
$(tail -n 1 "$DIR/wait") ms; CPU of agents $ms ms"
}
