#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# networkmanager.sh: a tunnel by "omertactl up" beside NetworkManager, in a guest. Prints KTAP.
#
# usage: networkmanager.sh		here; the guest gets NetworkManager
#        networkmanager.sh guest	in the guest
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1

here() {
	# shellcheck source=vm/lib.sh
	. vm/lib.sh

	set -e
	prepare_guest 6.12 amd64
	MORE_PACKAGES="network-manager dbus" "$VM_DIR/run.sh" -k 6.12 -a amd64 -t 900 \
		-o "${OUT:-$TOP_DIR/build}/networkmanager-guest" -- './networkmanager.sh guest'
}

if [[ ${1:-} != guest ]]; then
	here
	exit
fi

# shellcheck source=lib_netns.sh
. ./lib_netns.sh
WAIT=60

# Without udev, NetworkManager manages devices only where /sys cannot be written.
prepare() {
	mount --bind /run /var/run
	mkdir -p /run/dbus /run/NetworkManager /var/lib/NetworkManager /etc/omerta
	cat >/run/bus.conf <<-END
		<busconfig>
		<type>system</type>
		<listen>unix:path=/run/dbus/system_bus_socket</listen>
		<policy context="default">
		<allow user="*"/><allow own="*"/>
		<allow send_type="method_call"/><allow send_destination="*"/><allow receive_type="*"/>
		</policy>
		</busconfig>
	END
	dbus-daemon --config-file=/run/bus.conf --fork
	mount -o remount,ro /sys
	modprobe omerta
	ip link add eth0 type veth peer name other
	ip link set other up
	(
		umask 077
		cat >/etc/omerta/omr0.conf <<-END
			[Interface]
			PrivateKey = $(omertactl genkey)
			Address = 10.9.0.1/24, fd09::1/64
			ListenPort = 51900
			[Peer]
			PublicKey = $(omertactl genkey | omertactl pubkey)
			AllowedIPs = 10.9.0.2/32, 10.77.0.0/16
			Endpoint = 192.0.2.2:51900
		END
	)
}

manager_runs() {
	[[ $(nmcli -g RUNNING general 2>/dev/null) == running ]]
}

start_manager() {
	NetworkManager --no-daemon 2>"$DIR/log" &
	MANAGER=$!
	await manager_runs
	# It is at work: it manages an Ethernet device.
	await managed eth0
}

stop_manager() {
	kill "$MANAGER"
	wait "$MANAGER" || :
}

managed() {
	[[ $(nmcli -g GENERAL.STATE device show "$1") != *unmanaged* ]]
}

configured() {
	ip addr show omr0 | grep -q ' 10\.9\.0\.1/24 ' &&
		ip addr show omr0 | grep -q ' fd09::1/64 ' &&
		ip route show dev omr0 | grep -q '^10\.77\.0\.0/16 '
}

# Whichever of them starts first
test_left_alone() {
	start_manager
	omertactl up omr0
	await eval "nmcli -g DEVICE device | grep -q omr0"
	refused managed omr0
	configured
	omertactl reload omr0
	nmcli general reload
	configured
	stop_manager
	configured
	start_manager
	await eval "nmcli -g DEVICE device | grep -q omr0"
	refused managed omr0
	configured
	omertactl down omr0
	await eval "! nmcli -g DEVICE device | grep -q omr0"
	stop_manager
}

prepare
run_tests test_left_alone
