#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The view from outside: tracepoints, ethtool, top, metrics. Needs root, and in practice a guest.
#
# usage: trace.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2119 # the tests are called by name, make_both without arguments
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

T=/sys/kernel/tracing
TOOLS=../tracing
[[ -e $TOOLS ]] || TOOLS=../tools/tracing

# begin_trace [EVENT...]: of the module, and others
begin_trace() {
	local event

	[[ -e $T/trace ]] || mount -t tracefs tracefs "$T" ||
		{ echo "SKIP this kernel has no trace events"; exit 4; }
	modprobe omerta
	[[ -d $T/events/omerta ]] || { echo "SKIP this kernel has no trace events"; exit 4; }
	trap 'echo 0 >"$T/events/enable"' EXIT
	# All of a packet's events are recorded, or none.
	echo 0 >"$T/tracing_on"
	echo 0 >"$T/events/enable"
	echo mono >"$T/trace_clock"
	echo 8192 >"$T/buffer_size_kb"
	echo >"$T/trace"
	for event in omerta "$@"; do
		echo 1 >"$T/events/$event/enable"
	done
	echo 1 >"$T/tracing_on"
}

end_trace() {
	echo 0 >"$T/tracing_on"
	echo 0 >"$T/events/enable"
	cat "$T/trace" >"$DIR/trace"
}

# seen PATTERN: number of events
seen() {
	grep -cE "$1" "${2:-$T/trace}" || :
}

# followed [FILE...]: every packet that was sent passed all stages.
followed() {
	"$TOOLS/omerta-follow" "$@" >"$DIR/followed"
	# Without the heading, nine fields, none of which is empty. The kernel itself may send packets
	# to nobody, such as those of IPv6's neighbour discovery.
	awk 'NR > 1 && $NF != "TX_NO_PEER" && (NF != 9 || / - /) { print; wrong = 1 }
		END { exit wrong || NR < 2 }' \
		"$DIR/followed"
}

# One packet in a record, several, super-packets in several bursts, several packets in a record
test_packets_followed() {
	local lines

	make_both
	keep_order a to_b
	keep_order b to_a
	begin_trace
	pings a 10.9.0.2
	copy a b 10.9.0.2 200000
	end_trace
	followed "$DIR/trace"
	lines=$(wc -l <"$DIR/followed")
	more_than 6 echo "$lines"
	is 0 seen ' omerta_drop: .* reason=RX_' "$DIR/trace"
	more_than 0 seen ' omerta_tx_packet: .* records=([2-9]|[1-9][0-9])' "$DIR/trace"
	# As if from two hosts, the quickest packet has no time on the wire.
	followed "$DIR/trace" "$DIR/trace"
	awk 'NR > 1 && $7 == "0.0" { found = 1 } END { exit !found }' "$DIR/followed"
}

test_batch_followed() {
	make_both channels 1
	set_qdisc a omr0 pfifo limit 10000
	on a tee /sys/class/net/omr0/queues/tx-0/byte_queue_limits/limit_max <<<100000
	# Packets that waited together share records.
	on a tc qdisc replace dev to_b root tbf rate 8kbit burst 2k limit 32mb
	begin_trace
	on a ./traffic.py send 10.9.0.2 7777 200 60
	on a tc qdisc change dev to_b root tbf rate 20mbit burst 2k limit 32mb
	await is 200 seen ' omerta_rx_deliver: .* len=88'
	# The errors that answer them, too
	await followed "$T/trace"
	end_trace
	# Fewer records than packets
	sed -n 's/.* omerta_tx_assign: .* records=\([0-9]*\) packets=\([0-9]*\) .*/\1 \2/p' "$DIR/trace" |
		awk '$2 > $1 { found = 1 } END { exit !found }'
	followed "$DIR/trace"
}

test_lost_on_the_way() {
	make_both
	on b nft -f - <<<'table inet t { chain c { type filter hook input priority 0; udp dport 51900 drop; }; }'
	begin_trace
	no_ping a 10.9.0.2
	end_trace
	refused followed "$DIR/trace"
	is 1 grep -c ' not received$' "$DIR/followed"
}

# followed_to REASON COMMAND...: the packets that it sends are dropped for it.
followed_to() {
	begin_trace
	"${@:2}" || :
	end_trace
	"$TOOLS/omerta-follow" "$DIR/trace" >"$DIR/followed"
	more_than 1 grep -c " $1\$" "$DIR/followed"
}

test_followed_to_drops() {
	make_both
	followed_to TX_NO_PEER on a ping -c 2 -i 0.1 -W 0.1 10.9.0.77
	on b omertactl peer set omr0 id 1 allowed-ips 10.9.0.78/32
	followed_to RX_SOURCE on a ping -c 2 -i 0.1 -W 0.1 10.9.0.2
}

wants_locations() {
	begin_trace
	grep -q 'location=%pS' "$T/events/skb/kfree_skb/format" ||
		{ echo "SKIP this kernel does not say where a skb is freed"; exit 4; }
}

# dropped_once REASON COMMAND...: the command causes five drops.
dropped_once() {
	begin_trace skb/kfree_skb
	"${@:2}" || :
	await more_than 4 seen " omerta_drop: .* reason=$1 n=1 "
	end_trace
	# The trace may begin in the middle of another packet's drop.
	sed -ni '/ omerta_drop: /,$p' "$DIR/trace"
	# Each is one of a skb, as seen by drop monitors.
	is "$(seen ' omerta_drop: ' "$DIR/trace")" \
		seen ' kfree_skb: .*location=[^ ]* \[omerta\]' "$DIR/trace"
}

test_drops_seen_once() {
	wants_locations
	make_both
	dropped_once RX_TYPE on a ./traffic.py send 192.0.2.2 51900 5 400
	dropped_once TX_NO_PEER on a ping -c 5 -i 0.05 -W 0.1 10.9.0.77
	on b omertactl peer set omr0 id 1 allowed-ips 10.9.0.78/32
	dropped_once RX_SOURCE on a ping -c 5 -i 0.05 -W 0.1 10.9.0.2
	on b omertactl key del omr0 peer 1 local-id $((0x2101))
	dropped_once RX_KEY_UNKNOWN on a ping -c 5 -i 0.05 -W 0.1 10.9.0.2
	begin_trace
	on a ip link set omr0 down
	end_trace
}

# Reasons of the core that name something else would mislead.
test_core_reasons() {
	wants_locations
	make_both
	begin_trace skb/kfree_skb
	on b omertactl peer set omr0 id 1 allowed-ips 10.9.0.78/32
	on a ping -c 1 -W 0.1 10.9.0.2 || :
	await is 1 seen ' omerta_drop: .* reason=RX_SOURCE '
	more_than 0 seen ' kfree_skb: .*location=[^ ]* \[omerta\] reason: NOT_SPECIFIED'
	is 0 seen ' kfree_skb: .*location=[^ ]* \[omerta\] reason: IP_'
	end_trace
}

states() {
	sed -n 's/.*omerta_key_state: dev=omr0 peer=2 local_id=\(0x[0-9a-f]*\) .*state=/\1 /p' "$T/trace"
}

test_key_states() {
	make_ns a b
	make_veth a b
	make_dev a
	make_peer a b
	begin_trace
	install_key a b
	activate a b
	GEN=2
	install_key a b
	activate a b
	on a omertactl key del omr0 peer 2 local-id $((0x1201))
	is "$(printf '%s %s\n' 0x1201 installed 0x1201 active 0x1202 installed 0x1202 active \
		0x1201 retired 0x1201 dead)" states
	end_trace
}

test_endpoints() {
	make_both
	begin_trace
	on a omertactl link set omr0 listen-port 51905
	pings a 10.9.0.2
	await is 1 seen ' omerta_endpoint: dev=omr0 peer=1 endpoint=192.0.2.1:51905 by_record=1'
	on b omertactl peer set omr0 id 1 endpoint '[2001:db8::7]:7'
	is 1 seen ' omerta_endpoint: dev=omr0 peer=1 endpoint=\[2001:db8::7\]:7 by_record=0'
	end_trace
}

# queue_stops NS
queue_stops() {
	on "$1" ethtool -S omr0 | sed -n 's/.*tx_queue_0_stopped_bql: //p'
}

test_queue_stops() {
	make_both channels 1
	on a tc qdisc add dev to_b root tbf rate 2mbit burst 3000 limit 1mb
	begin_trace
	on a ./traffic.py send 10.9.0.2 7777 500 1200
	await is 0 waiting_packets a
	end_trace
	more_than 0 seen ' omerta_queue: dev=omr0 channel=0 cause=bql stopped' "$DIR/trace"
	more_than 0 seen ' omerta_queue: dev=omr0 channel=0 cause=bql woken' "$DIR/trace"
	more_than 0 queue_stops a
}

# Each channel's packets, bursts and records are told apart. Records go to the channel of the CPU that they
# arrive on.
test_channels_told() {
	local event cpu

	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	make_both channels 2
	for cpu in 0 1; do
		on b tee /sys/class/net/to_a/queues/rx-0/rps_cpus <<<$((1 << cpu))
		begin_trace
		bg b timeout "$WAIT" ./traffic.py receive-flows 32 4
		await udp_bound b 7777
		on a ./traffic.py send-flows 10.9.0.2 32 4
		wait "$!"
		end_trace
		for event in tx_take tx_assign tx_send; do
			more_than 3 seen " omerta_$event: dev=omr0 .* channel=0\$" "$DIR/trace"
			more_than 3 seen " omerta_$event: dev=omr0 .* channel=1\$" "$DIR/trace"
		done
		for event in rx_receive rx_deliver; do
			more_than 3 seen " omerta_$event: dev=omr0 .* channel=$cpu\$" "$DIR/trace"
		done
		await refused udp_bound b 7777
	done
}

# waiting_packets NS: packets that wait in its device's qdisc
waiting_packets() {
	on "$1" tc -s qdisc show dev omr0 | sed -n 's/.*backlog [^ ]* \([0-9]*\)p.*/\1/p' | head -n 1
}

test_handshakes() {
	make_both
	begin_trace
	# An initiation by its header; it has no reader.
	on a ./traffic.py forge 192.0.2.1 51900 20 &
	await more_than 0 seen ' omerta_control_rx: dev=omr0 type=0x20 '
	end_trace
}

# sum NAME: adds up the counters of ethtool whose names match.
sum() {
	awk -v name="^$1:\$" '$1 ~ name { n += $2 } END { print n + 0 }'
}

test_ethtool() {
	local stats name value all

	make_both
	pings a 10.9.0.2
	on a ping -c 2 -W 0.1 10.9.0.77 || :
	await is 2 dev_stat a tx-drop-no-peer
	on a ethtool -T omr0 | grep -q software-transmit
	on a ethtool -i omr0 | grep -qx 'driver: omerta'
	is "$(cat /sys/module/omerta/version)" sed -n 's/^version: //p' <<<"$(on a ethtool -i omr0)"
	stats=$(on a ethtool -S omr0)
	all=$(on a omertactl -j stats omr0)
	grep -q 'tx_drop_no_peer: 2$' <<<"$stats"
	while read -r name value; do
		is "$value" member "$all" "${name//_/-}"
	done < <(sed -n 's/^ *\([rt]x_drop_[a-z_]*\): /\1 /p' <<<"$stats")
	is "$(grep -o '"[rt]x-drop-[a-z-]*"' <<<"$all" | wc -l)" grep -c '[rt]x_drop_' <<<"$stats"
	# Which channel has the packets is a matter of their hash.
	for name in bursts polls; do
		more_than 0 sum "rx_queue_[0-9]*_$name" <<<"$stats"
	done
	# Each drop is one of a channel.
	on b ./traffic.py strangers 5 100 192.0.2.2
	await is 5 dev_stat a rx-drop-control
	stats=$(on a ethtool -S omr0)
	for name in rx tx; do
		is "$(sum "${name}_queue_[0-9]*_drops" <<<"$stats")" sum "${name}_drop_.*" <<<"$stats"
	done
	is 2 sum 'tx_queue_[0-9]*_drops' <<<"$stats"
}

# metric NAME LABELS: its value in $DIR/metrics, by a real parser
metric() {
	python3 - "$DIR/metrics" "$@" <<-'EOF'
		import sys
		from prometheus_client import parser
		name, labels = sys.argv[2], dict(l.split("=") for l in sys.argv[3].split(","))
		for family in parser.text_string_to_metric_families(open(sys.argv[1]).read()):
		    for s in family.samples:
		        if s.name == name and labels.items() <= s.labels.items():
		            print(family.type, int(s.value))
	EOF
}

test_metrics() {
	local now name value

	make_both
	on a omertactl peer set omr0 id 2 name 'a "friend" \of mine'
	pings a 10.9.0.2
	on a ping -c 2 -W 0.1 10.9.0.77 || :
	await is 2 dev_stat a tx-drop-no-peer
	now=$(date +%s)
	on a omertactl metrics >"$DIR/metrics"
	is 'counter 2' metric omerta_drops_total device=omr0,direction=transmit,reason=no_peer
	is 'counter 3' metric omerta_peer_receive_packets_total device=omr0,peer=2
	is 'counter 252' metric omerta_peer_transmit_bytes_total 'device=omr0,name=a "friend" \of mine'
	is 'gauge 1' metric omerta_peer_info 'device=omr0,endpoint=192.0.2.2:51900'
	is 'gauge 1' metric omerta_device_info 'device=omr0,listen_port=51900'
	is 'gauge 0' metric omerta_agent_running device=omr0
	read -r name value < <(metric omerta_peer_latest_receive_timestamp_seconds peer=2)
	[[ $name == gauge && $value -le $((now + 1)) && $value -ge $((now - WAIT)) ]]
	on a omertactl metrics omr0 openmetrics >"$DIR/open"
	# It knows the format with its counters and its end.
	python3 - "$DIR/open" <<-'EOF'
		import sys
		from prometheus_client.openmetrics import parser
		families = list(parser.text_string_to_metric_families(open(sys.argv[1]).read()))
		assert [f.type for f in families if f.name == "omerta_drops"] == ["counter"], families
	EOF
}

# Each metric and label that the example's panels ask for is there.
test_dashboard() {
	local book=../grafana.json

	[[ -e $book ]] || book=../Documentation/examples/grafana.json
	make_both
	pings a 10.9.0.2
	on a omertactl metrics >"$DIR/metrics"
	python3 - "$book" "$DIR/metrics" <<-'EOF'
		import json, re, sys
		from prometheus_client import parser
		board = json.load(open(sys.argv[1]))
		text = open(sys.argv[2]).read()
		families = list(parser.text_string_to_metric_families(text))
		labels = {s.name: set(s.labels) for f in families for s in f.samples}
		# Without an agent, handshakes have no samples.
		known = set(labels) | set(re.findall(r"^# TYPE (\S+)", text, re.M))
		places = set()
		for panel in board["panels"]:
		    where = panel["gridPos"]
		    assert where["x"] + where["w"] <= 24, panel["title"]
		    for x in range(where["x"], where["x"] + where["w"]):
		        for y in range(where["y"], where["y"] + where["h"]):
		            assert (x, y) not in places, panel["title"]
		            places.add((x, y))
		    for target in panel["targets"]:
		        names = re.findall(r"omerta_\w+", target["expr"])
		        assert names, panel["title"]
		        for name in names:
		            assert name in known, name
		            wanted = set(re.findall(r"{{(\w+)}}", target["legendFormat"])) - {"instance"}
		            assert name not in labels or wanted <= labels[name], (name, wanted)
		assert len({p["id"] for p in board["panels"]}) == len(board["panels"]) > 5
	EOF
}

# lines PATTERN: number of lines of top in $DIR/top
lines() {
	grep -cE "$1" "$DIR/top" || :
}

test_top() {
	make_both
	bg a ping -i 0.1 10.9.0.2 >"$DIR/ping"
	on a omertactl top every 1 count 2 >"$DIR/top"
	is 2 lines '^[0-9:]{8} omr0: 1 peers, [1-9][0-9.]* k?B/s received, [1-9][0-9.]* k?B/s sent, 0 packets wait, agent does not run$'
	is 2 lines '^  drops: none$'
	is 2 lines '^  b  +[1-9][0-9.]* k?B/s +[1-9][0-9.]* k?B/s +[0-9]+s +- +0s  192.0.2.2:51900 *$'
	kill %+
	bg a ping -i 0.1 10.9.0.77 >"$DIR/ping"
	on a omertactl top omr0 count 1 >"$DIR/top"
	is 1 lines '^  drops: tx-drop-no-peer \+[1-9]'
	# Peers without traffic have no line, but on a screen.
	is 0 lines '^  b '
	# "q" ends it, and leaves the terminal as it was.
	on a python3 - >"$DIR/top" <<-'EOF'
		import os, pty, sys, termios
		pid, fd = pty.fork()
		if not pid:
		    os.environ["TERM"] = "linux"
		    os.execlp("omertactl", "omertactl", "top")
		before, text = termios.tcgetattr(fd), b""
		while text.count(b"endpoint") < 2:
		    text += os.read(fd, 4096)
		os.write(fd, b"q")
		try:
		    while more := os.read(fd, 4096):
		        text += more
		except OSError:
		    pass
		print(text.decode().replace("\r", ""))
		assert os.waitpid(pid, 0)[1] == 0
		assert text.endswith(b"\033[?1049l"), text
	EOF
	more_than 1 lines '^  b '
	refused on a omertactl -j top 2>"$DIR/said"
	grep -q 'not JSON' "$DIR/said"
}

test_stats_watch() {
	make_both
	bg a ping -i 0.1 10.9.0.77 >"$DIR/ping"
	on a omertactl stats --watch omr0 every 1 count 2 >"$DIR/top"
	is 2 lines '^omr0: tx-drop-no-peer \+[1-9][0-9]*$'
	kill %+
	on a omertactl stats omr0 watch count 1 all >"$DIR/top"
	is 1 lines '^omr0: rx-packets \+0 .* tx-drop-queue \+0$'
	refused on a omertactl stats omr0 every 3
}

# from_cpu_0: large datagrams of a sender on CPU 0, on which they are received, too. Prints which CPUs
# seal and open.
from_cpu_0() {
	local before

	before=$(dev_stat b rx-packets)
	echo >"$T/trace"
	"${SENDER[@]}" taskset 1 ./traffic.py send 10.9.0.2 7777 100 15000
	await more_than "$((before + 90))" dev_stat b rx-packets
	sed -n 's/.*\[\([0-9]*\)\].* omerta_\(tx_seal\|rx_open\): .*/\1/p' "$T/trace" | sort -u | tr '\n' ' '
}

# other_net PID: the process has a network of its own.
other_net() {
	[[ $(readlink "/proc/$1/ns/net") != $(readlink /proc/self/ns/net) ]]
}

# Isolated at boot (a stage of its own boots so), or later by a cpuset
test_isolated_cpu() {
	local cgroup=$DIR/cgroup full tenant SENDER=(on a)

	(($(nproc --all) > 1)) || { echo "SKIP one CPU"; exit 4; }
	full=$(cat /sys/devices/system/cpu/nohz_full 2>/dev/null || :)
	make_both policy percpu
	begin_trace
	if [[ $full == *1* ]]; then
		(($(nproc --all) == 3))
		is '000 002 ' from_cpu_0
		# The administrator may use it.
		on a omertactl link set omr0 cpus 0-1
		on b omertactl link set omr0 cpus 0-1
		is '000 001 ' from_cpu_0
		# A tenant may not.
		on b omertactl link set omr0 cpus 0
		unshare -Urn sleep infinity &
		tenant=$!
		await other_net "$tenant"
		on a ip link set omr0 netns "$tenant"
		SENDER=(nsenter -t "$tenant" -n)
		"${SENDER[@]}" ip addr add 10.9.0.1/24 dev omr0
		"${SENDER[@]}" ip link set omr0 up
		is '000 001 ' from_cpu_0
		"${SENDER[@]}" -U --preserve-credentials omertactl link set omr0 cpus 0-1
		is '000 ' from_cpu_0
		kill "$tenant"
		return
	fi
	is '000 001 ' from_cpu_0
	mkdir "$cgroup"
	if ! mount -t cgroup2 cgroup2 "$cgroup" || ! echo +cpuset >"$cgroup/cgroup.subtree_control" ||
		[[ ! -e $cgroup/cpuset.cpus.isolated ]]; then
		echo "SKIP this kernel does not tell which CPUs a cpuset isolates"
		exit 4
	fi
	mkdir "$cgroup/alone"
	echo 1 >"$cgroup/alone/cpuset.cpus"
	echo isolated >"$cgroup/alone/cpuset.cpus.partition"
	is isolated cat "$cgroup/alone/cpuset.cpus.partition"
	await is '000 ' from_cpu_0
	echo member >"$cgroup/alone/cpuset.cpus.partition"
	await is '000 001 ' from_cpu_0
	rmdir "$cgroup/alone"
	umount "$cgroup"
}

TESTS=(
	test_isolated_cpu
	test_packets_followed test_batch_followed test_lost_on_the_way test_followed_to_drops
	test_drops_seen_once test_core_reasons test_key_states test_endpoints test_queue_stops test_channels_told
	test_handshakes
	test_ethtool test_metrics test_dashboard test_top test_stats_watch
)
run_tests "${@:-${TESTS[@]}}"
