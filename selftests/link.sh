#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The link type by ip(8), with its plugin. Needs root.
#
# usage: link.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2016 # the tests are called by name; eval expands
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# In the source tree, where nothing is installed
[[ ! -e ../tools/omertactl/link_omerta.so ]] || export IP_LIB_DIR=../tools/omertactl

# info NS: the settings that ip shows
info() {
	on "$1" ip -d -j link show omr0 | jq -c '.[0].linkinfo.info_data'
}

# setting NS NAME: in ip's JSON
setting() {
	info "$1" | jq -r ".\"$2\""
}

# same NS: omertactl shows the same settings. It shows more than ip may.
same() {
	local name

	for name in listen-port chunk-size policy percpu-threshold cpus batch df engine control-rate \
		control-source-rate control-share max-mtu; do
		is "$(setting "$1" "$name")" member "$(on "$1" omertactl -j link show omr0)" "$name"
	done
	is null setting "$1" fwmark
	is null setting "$1" peers
}

test_add() {
	make_ns a
	on a ip link add omr0 type omerta listen-port 51907 fwmark 0x17 chunk-size 2048 policy inline \
		percpu-threshold 1000 cpus 0 batch off df inherit engine lib control-rate 7 \
		control-source-rate 6 control-share 5
	same a
	is 51907 setting a listen-port
	is 23 eval 'echo $(($(member "$(on a omertactl -j link show omr0)" fwmark)))'
	is 2048 setting a chunk-size
	is inline setting a policy
	is off setting a batch
	is inherit setting a df
	is lib setting a engine
	is 5 setting a control-share
	on a ip -d link show omr0 | grep -q ' omerta listen-port 51907 chunk-size 2048 policy inline '
}

test_defaults() {
	make_ns a b
	on a ip link add omr0 type omerta
	on b omertactl link add omr0
	is "$(info b)" info a
}

test_change() {
	make_ns a
	on a ip link add omr0 type omerta listen-port 51907 fwmark 7
	on a ip link set omr0 up
	on a ip link set omr0 type omerta policy percpu listen-port 51908 fwmark off
	same a
	is percpu setting a policy
	on a ss -Hlun 'sport = :51908' | grep -q .
	is null setting a fwmark
	# Nothing given, nothing changed
	on a ip link set omr0 type omerta
	is percpu setting a policy
}

# Programs that watch links learn the settings with the device, and each change of them.
test_notified() {
	make_ns a
	bg a ip -d monitor link >"$DIR/monitor"
	await eval 'on a ip link add d0 type dummy && on a ip link del d0 && test -s "$DIR/monitor"'
	on a omertactl link add omr0 policy inline
	await grep -q ' omerta .* policy inline ' "$DIR/monitor"
	refused grep -q ' omerta .* policy auto ' "$DIR/monitor"
	on a omertactl link set omr0 policy percpu
	await grep -q ' omerta .* policy percpu ' "$DIR/monitor"
	on a ip link set omr0 type omerta policy inline chunk-size 1024
	is 1024 setting a chunk-size
}

# no TEXT WORD...: ip says so, and nothing changes.
no() {
	local before

	before=$(info a)
	refused on a ip link set omr0 type omerta "${@:2}" 2>"$DIR/said"
	grep -qF -- "$1" "$DIR/said" || { cat "$DIR/said"; return 1; }
	is "$before" info a
}

test_refused() {
	make_ns a
	on a ip link add omr0 type omerta
	on a ip link set omr0 up
	no 'listen-port: "65536": must be a number 0..65535' listen-port 65536
	no 'policy: "fast": must be auto, inline or percpu' policy fast
	no 'chunk-size: "100": must be a number 512..65536' chunk-size 100
	no 'unknown option "colour"' colour red
	no 'policy is given twice' policy inline policy auto
	no 'batch wants a value' policy inline batch
	# By the kernel, after a setting that it would take
	no 'chunk-size changes only while the device is down' policy inline chunk-size 1024
	no 'engine must be auto, lib or one of this architecture' policy inline engine mb-abacus
	refused on a ip link add omr1 type omerta listen-port 51900 engine mb-abacus
	refused on a ip link show omr1
	refused on a ip link add omr1 numtxqueues 2 numrxqueues 2 type omerta channels 3
	refused on a ip link show omr1
	on a ip link help omerta 2>&1 | grep -q 'chunk-size BYTES'
}

# A list of many CPUs is taken and shown whole.
test_many_cpus() {
	local possible sparse

	possible=$(sed 's/.*-//' /sys/devices/system/cpu/possible)
	((possible >= 2047)) || { echo "SKIP only $possible CPUs are possible"; exit 4; }
	make_ns a
	on a ip link add omr1 type omerta
	on a omertactl link add omr0
	# Two of three give the longest list.
	for sparse in "$(seq -s , 0 2 "$possible")" \
			"$(seq 0 3 "$((possible - 1))" |
				awk '{ printf "%s%d-%d", sep, $1, $1 + 1; sep = "," }')"; do
		on a omertactl link set omr0 cpus "$sparse"
		is "$sparse" cpus "$(on a omertactl -j link show omr0)"
		# In the list of all devices, too
		is "$sparse" cpus "$(on a omertactl -j link show)"
		is "$sparse" eval "on a ip -d link show omr0 | grep -o 'cpus [-0-9,]*' | cut -d ' ' -f 2"
	done
	on a omertactl link set omr0 cpus all
	is all cpus "$(on a omertactl -j link show omr0)"
	is "$(nproc)" member "$(on a omertactl -j link show omr0)" channels
	# Without hyper-threads every second one is online, and up may be given any of them.
	seq -s , 0 2 2046 >"$DIR/online"
	(umask 077; omertactl genkey >"$DIR/key")
	printf '[Interface]\nPrivateKeyFile = key\nCpus = 2046\n' >"$DIR/omr0.conf"
	with_online omertactl check "$DIR/omr0.conf"
	sed -i 's/2046/2045/' "$DIR/omr0.conf"
	refused with_online omertactl check "$DIR/omr0.conf" 2>"$DIR/said"
	grep 'none of these CPUs is online' "$DIR/said"
}

# with_online COMMAND...: which finds the CPUs online in a file of the test
with_online() {
	unshare -m sh -euc 'mount --bind "$0" /sys/devices/system/cpu/online && "$@"' "$DIR/online" "$@"
}

# cpus JSON: prints the list of the last device.
cpus() {
	grep -o '"cpus":"[^"]*"' <<<"$1" | tail -n 1 | cut -d '"' -f 4
}

# The sockets are in the namespace where the device was made.
test_other_namespaces() {
	local id

	make_ns a b
	# By its own name in the namespace where ip runs
	on a ip netns set omt-b 7 || on a ip netns set /run/netns/omt-b 7
	on b ip link add omr0 type omerta listen-port 51907
	on b ip link set omr0 netns omt-a
	id=$(on a ip -j link show omr0 | jq '.[0].link_netnsid')
	is 7 echo "$id"
	on a ip link set omr0 up
	on b ss -Hlun 'sport = :51907' | grep -q .
	on a ip link add omr1 link-netnsid 7 type omerta listen-port 51908
	on a ip link set omr1 up
	on b ss -Hlun 'sport = :51908' | grep -q .
	refused eval "on a ss -Hlun 'sport = :51908' | grep ."
}

# Settings of the outer network need rights there; root of a container may change the others.
test_rights() {
	local run=(unshare --user --map-root-user --net)

	make_ns a
	on a ip link add omr0 type omerta listen-port 51907
	on a "${run[@]}" sleep infinity &
	# Before this is its command line, ip and unshare have it in theirs.
	await pgrep -f '^sleep infinity'
	on a ip link set omr0 netns "$(pgrep -f '^sleep infinity')"
	run=(nsenter --user --preserve-credentials --net -t "$(pgrep -f '^sleep infinity')")
	"${run[@]}" ip link set omr0 type omerta policy inline
	is inline eval '"${run[@]}" ip -d -j link show omr0 | jq -r ".[0].linkinfo.info_data.policy"'
	refused "${run[@]}" ip link set omr0 type omerta policy auto listen-port 51908 2>"$DIR/said"
	grep -q 'the sockets are in another namespace; use omertactl link set' "$DIR/said"
	is inline eval '"${run[@]}" ip -d -j link show omr0 | jq -r ".[0].linkinfo.info_data.policy"'
	refused "${run[@]}" ip link set omr0 type omerta fwmark 7
}

# Alternative names of 127 bytes are names as any other.
test_altnames() {
	local long

	long=$(printf 'tunnel-%0120d' 1)
	make_ns a
	on a ip link add omr0 type omerta
	on a ip link property add dev omr0 altname "$long" altname short
	for name in "$long" short; do
		is omr0 eval 'on a omertactl -j link show "$name" | jq -r ".[0].ifname"'
		on a omertactl link set "$name" policy inline
		on a omertactl peer add "$name" id 1 name one
		on a omertactl show "$name" | grep -q 'peer: 1 (one)'
		on a omertactl peer del "$name" peer one
		on a omertactl stats "$name" all | grep -q rx-drop-auth
		on a ip -d link show "$name" | grep -q ' omerta '
	done
	# The kernel takes them itself, too.
	on a ./nl.py device-set "ifname=str:$long" df=u32:1
	is set setting a df
	refused on a omertactl link show "${long%1}2" 2>"$DIR/said"
	grep -q 'no device has this alternative name' "$DIR/said"
	refused on a omertactl link add "$long"
	refused on a ./nl.py device-new "ifname=str:$long"
	on a omertactl link del "$long"
	refused on a ip link show omr0
}

# Without the plugin, ip still creates the device and shows its kind.
test_without_plugin() {
	make_ns a
	export IP_LIB_DIR=/nowhere
	on a ip link add omr0 type omerta
	on a ip -d link show omr0 | grep -q ' omerta '
}

TESTS=(
	test_add test_defaults test_change test_notified test_refused test_other_namespaces test_rights
	test_without_plugin test_altnames test_many_cpus
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
