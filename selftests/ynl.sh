#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# ynl.sh: the kernel's own command line for netlink specifications, on ours, and on the netdev family
# for what it says of a device. In User-mode Linux, which sees the host's files. Prints KTAP.
#
# usage: ynl.sh			here
#        ynl.sh guest KSRC TREE	in the guest, with these folders of the host
# shellcheck disable=SC2317,SC2119 # the tests are called by name, make_both without arguments
set -u
cd "$(dirname "$0")" || exit 1

here() {
	# shellcheck source=vm/lib.sh
	. vm/lib.sh
	local source

	set -e
	prepare_guest uml amd64
	source=$("$VM_DIR/source.sh")
	"$VM_DIR/run.sh" -k uml -a amd64 -m 512M -t 600 -o "${OUT:-$TOP_DIR/build}/ynl-guest" -- \
		"./ynl.sh guest $source $TOP_DIR"
}

if [[ ${1:-} != guest ]]; then
	here
	exit
fi

# shellcheck source=lib_netns.sh
. ./lib_netns.sh
modprobe omerta
mkdir -p /run/ksrc /run/tree
busybox mount -t hostfs -o "$2" hostfs /run/ksrc
busybox mount -t hostfs -o "$3" hostfs /run/tree
export PYTHONDONTWRITEBYTECODE=1

# ynl NS SPEC WORD...: prints JSON
ynl() {
	on "$1" python3 /run/ksrc/tools/net/ynl/pyynl/cli.py --output-json --spec "$2" \
		--schema /run/ksrc/Documentation/netlink/genetlink.yaml "${@:3}"
}

ours() {
	ynl "$1" /run/tree/Documentation/netlink/specs/omerta.yaml "${@:2}"
}

netdev() {
	ynl "$1" /run/ksrc/Documentation/netlink/specs/netdev.yaml "${@:2}"
}

test_devices() {
	make_ns a
	ours a --do device-new --json '{"ifname": "omr3", "listen-port": 51903, "policy": "inline"}'
	ours a --do device-get --json '{"ifname": "omr3"}' >"$DIR/got"
	is '[51903,"inline","unset",512]' \
		jq -c '[."listen-port", .policy, .df, ."chunk-size"]' "$DIR/got"
	ours a --do device-set --json '{"ifname": "omr3", "df": "inherit"}'
	is '"inherit"' eval 'ours a --dump device-get | jq -c ".[0].df"'
	refused ours a --do device-set --json '{"ifname": "omr3", "engine": "mb-abacus"}' >"$DIR/said" 2>&1
	grep -q 'engine must be auto, lib or one of this architecture' "$DIR/said"
	ours a --do device-del --json '{"ifname": "omr3"}'
	is '[]' eval 'ours a --dump device-get | jq -c .'
}

test_peers_and_keys() {
	make_both
	pings a 10.9.0.2
	ours a --dump peer-get --json '{"ifname": "omr0"}' >"$DIR/got"
	is '[2,"b","192.0.2.2",51900,3]' jq -c \
		'.[0] | [.id, .name, ."endpoint-addr", ."endpoint-port", .stats."rx-packets"]' "$DIR/got"
	is '["active",4609]' eval \
		'ours a --dump key-get --json "{\"ifname\": \"omr0\"}" | jq -c ".[0] | [.state, .\"local-id\"]"'
	is 2 eval 'ours a --dump allowed-ip-get --json "{\"ifname\": \"omr0\"}" |
		jq "[.[].\"allowed-ips\"[]] | length"'
}

# Queues know their NAPI while the device is up.
test_queues() {
	local index

	make_both
	on a ip link set omr0 down
	on a ethtool -L omr0 combined 2
	on a ip link set omr0 up
	index=$(on a cat /sys/class/net/omr0/ifindex)
	netdev a --dump napi-get --json "{\"ifindex\": $index}" >"$DIR/napis"
	is 2 jq length "$DIR/napis"
	netdev a --dump queue-get --json "{\"ifindex\": $index}" >"$DIR/queues"
	is '["rx","rx","tx","tx"]' jq -c '[.[].type] | sort' "$DIR/queues"
	is "$(jq -c '[.[].id] | sort | to_entries' "$DIR/napis")" \
		jq -c '[.[] | select(.type == "rx") | {key: .id, value: ."napi-id"}] | sort' "$DIR/queues"
	is "$(jq -c '[.[].id] | sort | to_entries' "$DIR/napis")" \
		jq -c '[.[] | select(.type == "tx") | {key: .id, value: ."napi-id"}] | sort' "$DIR/queues"
	on a ip link set omr0 down
	is '[]' eval "netdev a --dump queue-get --json '{\"ifindex\": $index}' | jq -c ."
}

run_tests test_devices test_peers_and_keys test_queues
