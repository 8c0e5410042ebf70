# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For test scripts: devices in network namespaces that are connected by links.
#
#            netns a                   netns b              netns c
#   omr0  10.9.0.1 fd09::1        10.9.0.2 fd09::2     10.9.0.3 fd09::3
#         to_b 192.0.2.1 ---veth--- to_a 192.0.2.2
#              2001:db8:2::1             2001:db8:2::2
#         to_c 198.51.100.1 -------------veth------------ to_a 198.51.100.3
#              2001:db8:3::1                                   2001:db8:3::3
#
# An end's number is its last octet, and its peer's id at the others. Netns c
# and others are there only in the tests that make them.
# shellcheck source=lib_test.sh
. ./lib_test.sh

WAIT=60
declare -A NUM=([a]=1 [b]=2 [c]=3)
# Used by make_end; a test may set other values.
DEV=omr0 PORT=51900 IN4=10.9.0. IN6=fd09:: OUTER=4 GEN=1

on() {
	local ns=$1

	shift
	ip netns exec "omt-$ns" "$@"
}

# The process is $! afterwards, and may be signalled.
bg() {
	local ns=$1

	shift
	ip netns exec "omt-$ns" "$@" &
}

make_ns() {
	local ns

	for ns; do
		ip netns add "omt-$ns"
		on "$ns" ip link set lo up
	done
}

# outer FROM TO: the outer addresses of TO on its link with FROM.
outer4() {
	if [[ $1$2 == *c* ]]; then
		echo "198.51.100.${NUM[$2]}"
	else
		echo "192.0.2.${NUM[$2]}"
	fi
}

outer6() {
	if [[ $1$2 == *c* ]]; then
		echo "2001:db8:3::${NUM[$2]}"
	else
		echo "2001:db8:2::${NUM[$2]}"
	fi
}

endpoint() {
	if ((OUTER == 4)); then
		echo "$(outer4 "$1" "$2"):$PORT"
	else
		echo "[$(outer6 "$1" "$2")]:$PORT"
	fi
}

make_veth() {
	ip link add "to_$2" netns "omt-$1" type veth peer name "to_$1" netns "omt-$2"
	set_outer "$1" "$2"
	set_outer "$2" "$1"
}

# keep_order NS INTERFACE: lets one CPU receive all packets of a veth. By default the sending CPU
# receives them, so they may overtake each other.
keep_order() {
	on "$1" tee "/sys/class/net/$2/queues/rx-0/rps_cpus" <<<1
}

# introduce NS NS: each gets the other's link-layer address. Packets that wait for it may be overtaken.
introduce() {
	on "$1" ping -c 1 -W "$WAIT" "$("outer$OUTER" "$1" "$2")"
}

set_outer() {
	on "$1" ip addr add "$(outer4 "$2" "$1")/24" dev "to_$2"
	on "$1" ip addr add "$(outer6 "$2" "$1")/64" dev "to_$2" nodad
	on "$1" ip link set "to_$2" up
}

# install_key HERE THERE [SETTING...]: key number GEN of the two.
install_key() {
	local here=${NUM[$1]} there=${NUM[$2]} rx=$DIR/$DEV-$2-$1.$GEN tx=$DIR/$DEV-$1-$2.$GEN

	make_secret "$rx"
	make_secret "$tx"
	on "$1" omertactl key add "$DEV" peer "$there" \
		local-id "$((here * 4096 + there * 256 + GEN))" \
		remote-id "$((there * 4096 + here * 256 + GEN))" \
		rx-key-file "$rx" tx-key-file "$tx" "${@:3}"
}

make_secret() {
	[[ -e $1 ]] || (umask 077 && head -c 32 /dev/urandom | base64 >"$1")
}

activate() {
	on "$1" omertactl key activate "$DEV" peer "${NUM[$2]}" \
		local-id "$((NUM[$1] * 4096 + NUM[$2] * 256 + GEN))"
}

# make_dev HERE [SETTING...]: a device, still down.
make_dev() {
	on "$1" omertactl link add "$DEV" listen-port "$PORT" "${@:2}"
	on "$1" ip link set "$DEV" addrgenmode none
	set_inner "$1"
}

set_inner() {
	on "$1" ip addr add "$IN4${NUM[$1]}/24" dev "$DEV"
	on "$1" ip addr add "$IN6${NUM[$1]}/64" dev "$DEV" nodad
}

# make_peer HERE THERE [SETTING...]
make_peer() {
	on "$1" omertactl peer add "$DEV" id "${NUM[$2]}" name "$2" endpoint "$(endpoint "$1" "$2")" \
		allowed-ips "$IN4${NUM[$2]}/32,$IN6${NUM[$2]}/128" "${@:3}"
}

# Between a and b is a router, which has a narrow link to b.
make_routed() {
	local ns

	make_ns a b r
	on r sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	# The source of its ICMP errors.
	on r ip addr add 198.51.100.9/32 dev lo
	on r ip addr add 2001:db8:9::9/128 dev lo nodad
	for ns in a b; do
		ip link add to_r netns "omt-$ns" type veth peer name "to_$ns" netns omt-r
		on r ip addr add fe80::9/64 dev "to_$ns" nodad
		on r ip link set "to_$ns" up
		on "$ns" ip addr add "192.0.2.${NUM[$ns]}/32" dev to_r
		on "$ns" ip addr add "2001:db8:2::${NUM[$ns]}/128" dev to_r nodad
		on "$ns" ip link set to_r up
		on "$ns" ip -4 route add default via inet6 fe80::9 dev to_r
		on "$ns" ip -6 route add default via fe80::9 dev to_r
		on r ip route add "192.0.2.${NUM[$ns]}" dev "to_$ns"
		on r ip -6 route add "2001:db8:2::${NUM[$ns]}" dev "to_$ns"
	done
}

# narrow MTU: sets the MTU of that link.
narrow() {
	on r ip link set to_b mtu "$1"
	on b ip link set to_r mtu "$1"
}

# make_tunnel [SETTING...]: between a and b; the settings are the devices'.
make_tunnel() {
	make_dev a "$@"
	make_dev b "$@"
	connect a b
}

# The keys are in before a device is up, so that no record finds none.
connect() {
	make_peer "$1" "$2"
	make_peer "$2" "$1"
	install_key "$1" "$2"
	install_key "$2" "$1"
	on "$1" ip link set "$DEV" up
	on "$2" ip link set "$DEV" up
	activate "$1" "$2"
	activate "$2" "$1"
}

make_both() {
	make_ns a b
	make_veth a b
	make_tunnel "$@"
}

# qdisc_at NS DEV: prints the place for a discipline of the first channel's queue. Over all queues it
# would not let many packets go at a time.
qdisc_at() {
	on "$1" tc qdisc show dev "$2" | grep -q '^qdisc mq 1: root' && echo 'parent 1:1' || echo root
}

# set_qdisc NS DEV QDISC...: sets the discipline of the first channel's queue.
set_qdisc() {
	# shellcheck disable=SC2046 # words
	on "$1" tc qdisc replace dev "$2" $(qdisc_at "$1" "$2") "${@:3}"
}

# be_patient NS DEV: no queue drops packets that wait for long, as fq_codel does on a slow machine.
be_patient() {
	local i queues

	if [[ $(qdisc_at "$1" "$2") == root ]]; then
		on "$1" tc qdisc replace dev "$2" root pfifo limit 10000
		return
	fi
	queues=$(on "$1" sh -c "ls /sys/class/net/$2/queues" | grep -c tx)
	for ((i = 1; i <= queues; i++)); do
		on "$1" tc qdisc replace dev "$2" parent "1:$(printf '%x' "$i")" pfifo limit 10000
	done
}

# Bytes that wait for a's link to b
outer_backlog() {
	member "$(on a tc -s -j qdisc show dev to_b)" backlog
}

# Memory that the kernel holds. Free pages do not tell: each CPU keeps some back.
kernel_kb() {
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^(SUnreclaim|Percpu|VmallocUsed):/ { n += $2 } END { print n }' /proc/meminfo
}

# watch_events NS [SECONDS]: into $DIR/events; the watcher ends when none came for
# so long.
watch_events() {
	bg "$1" ./nl.py events "${2:-$((5 * WAIT))}" >"$DIR/events"
	await grep -q listening "$DIR/events"
}

# saw LINE...: exactly these events
saw() {
	await is "$(printf '%s\n' listening "$@")" cat "$DIR/events" ||
		{ cat "$DIR/events"; return 1; }
}

# dev_stat NS COUNTER
dev_stat() {
	member "$(on "$1" omertactl -j stats "$DEV")" "$2"
}

# peer_stat HERE THERE COUNTER
peer_stat() {
	member "$(on "$1" omertactl -j peer show "$DEV" peer "${NUM[$2]}")" "$3"
}

# key_state HERE THERE: the state of key GEN
key_state() {
	on "$1" omertactl dump "$DEV" | awk -F '\t' \
		-v "id=$(printf '0x%x' "$((NUM[$1] * 4096 + NUM[$2] * 256 + GEN))")" \
		-v "dec=$((NUM[$1] * 4096 + NUM[$2] * 256 + GEN))" \
		'$1 == "key" && ($4 == id || $4 == dec) { print $6 }'
}

peer_endpoint() {
	on "$1" omertactl dump "$DEV" |
		awk -F '\t' -v "id=${NUM[$2]}" '$1 == "peer" && $3 == id { print $6 }'
}

pings() {
	on "$1" ping -c 3 -i 0.1 -W "$WAIT" "${@:2}"
}

# No answer within a second.
no_ping() {
	refused on "$1" ping -c 1 -W 1 "${@:2}"
}

no_drops() {
	local stats

	stats=$(on "$1" omertactl -j stats "$DEV")
	[[ $stats == *-drop-* && ! $stats =~ -drop-[a-z-]*\":[1-9] ]] || { echo "$stats"; return 1; }
}

# starve CPU [PRIORITY]: a real-time process, SPINNER, has it, and leaves no time to others. The
# machine is as before once that ends.
starve() {
	local server=/sys/kernel/debug/sched/fair_server/cpu$1/runtime mask=$((1 << $1)) share
	local served=

	# RCU has a thread there. "ip netns exec" waits for RCU.
	if is_realtime && ((${2:-99} == 99)); then
		echo "SKIP with PREEMPT_RT, processes wait for RCU on such a CPU"
		exit 4
	fi
	share=$(sysctl -n kernel.sched_rt_runtime_us) || { echo "SKIP no real-time class"; exit 4; }
	# Linux 6.12 and later have a second way to give others some time.
	[[ -e $server ]] || mount -t debugfs none /sys/kernel/debug || :
	[[ ! -e $server ]] || served=$(<"$server")
	# The share last: while the server has none, 6.12 refuses to change that.
	# shellcheck disable=SC2064 # what they are now
	trap "${served:+echo $served >$server; }sysctl -q kernel.sched_rt_runtime_us=$share" EXIT
	sysctl -q kernel.sched_rt_runtime_us=-1
	[[ ! $served ]] || echo 0 >"$server"
	# shellcheck disable=SC2016 # expanded inside
	bg a taskset "$mask" chrt -f "${2:-99}" bash -c 'echo >"$0"; while :; do :; done' "$DIR/starved"
	# shellcheck disable=SC2034 # for those that source this
	SPINNER=$!
	await test -e "$DIR/starved"
	# shellcheck disable=SC2016 # expanded inside
	bg a taskset "$mask" bash -c 'echo >"$0"' "$DIR/fed"
	# The subject is that nothing happens.
	sleep 2
	if [[ -e $DIR/fed ]]; then
		echo "SKIP this kernel does not let a process have a whole CPU"
		exit 4
	fi
}

# starve_napi NS: its device's NAPIs have threads, to which no CPU comes until SPINNER ends
starve_napi() {
	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	on "$1" tee /sys/class/net/omr0/threaded <<<1
	pgrep '^napi/omr0' | xargs -n 1 taskset -p 2
	starve 1
}

# bound NS: succeeds if a socket is bound for control datagrams
bound() {
	is true member "$(on "$1" omertactl -j link show "$DEV")" control-bound
}

udp_bound() {
	on "$1" ss -Hlun "sport = :$2" | grep -q .
}

# agree HERE THERE COUNTER
agree() {
	is "$(peer_stat "$1" "$2" "tx-$3")" peer_stat "$2" "$1" "rx-$3"
}

cleanup() {
	local ns

	for ns in $(ip netns list | awk '/^omt-/ { print $1 }'); do
		ip netns pids "$ns" | xargs -r kill -9
		ip netns del "$ns"
	done
	rm -rf /etc/netns/omt-*
}

# Both families: iperf3's socket is dual-stack.
serve() {
	bg "$1" iperf3 -s >"$DIR/server"
	await listening "$1" 5201
}

listening() {
	on "$1" ss -Hltn "sport = :$2" | grep -q .
}

# tcp NS ADDRESS BYTES. iperf3 stops counting when the sender has written everything, when much of
# it may be in flight; copy() compares the bytes that arrive.
tcp() {
	on "$1" timeout "$WAIT" iperf3 -c "$2" -n "$3" -J >"$DIR/iperf3" || {
		cat "$DIR/iperf3"
		return 1
	}
	jq -e --argjson n "$(numfmt --from=iec "$3")" \
		'.end | .sum_sent.bytes >= $n and .sum_received.bytes > 0' "$DIR/iperf3"
}

# copy FROM TO ADDRESS BYTES: the content arrives unchanged.
copy() {
	local to

	head -c "$4" /dev/urandom >"$DIR/sent"
	bg "$2" busybox nc -l -p 7000 >"$DIR/got"
	to=$!
	await listening "$2" 7000
	# shellcheck disable=SC2016 # expanded inside
	on "$1" timeout "$WAIT" bash -c 'cat "$0" >"/dev/tcp/$1/7000"' "$DIR/sent" "$3"
	wait "$to"
	cmp "$DIR/sent" "$DIR/got"
}
