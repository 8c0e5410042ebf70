#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The units, under a systemd that is the first process of a host (a); the other host (b)
# has an agent alone. Needs root, systemd, and the units installed.
#
# usage: units.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2016 # the tests are called by name, and quote for others
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

# An emulated machine takes its time to boot.
WAIT=300
SYSTEMD=/usr/lib/systemd/systemd UNIT=omerta@omr0.service LINK=omerta-link@omr0.service

# systemd clears directories when it starts; give it some of its own.
ROOM='
mount --bind "$1/etc" /etc/omerta
mount --bind "$1/state" /var/lib/omerta
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
exec "$0" --system --unit=basic.target --show-status=no'

# boot NS
boot() {
	bg "$1" env -i container=test "PATH=$PATH" unshare --mount --pid --fork --cgroup \
		--mount-proc bash -euc "$ROOM" "$SYSTEMD" "$DIR"
	await pgrep -P $! -x systemd
	INIT=$(pgrep -P $! -x systemd)
	await inside systemctl is-active basic.target
}

inside() {
	nsenter -t "$INIT" --mount --pid --cgroup --net -- "$@"
}

# tell VERB UNIT...
tell() {
	inside systemctl "$@" || {
		inside journalctl -n 30 --no-pager
		return 1
	}
}

# unit UNIT PROPERTY
unit() {
	inside systemctl show -P "$2" "$1"
}

# file NS: its configuration where the unit looks for it
file() {
	install -m 640 -g omerta "$DIR/$1.conf" "$DIR/etc/omr0.conf"
	install -m 640 -g omerta "$DIR/$1.key" "$DIR/etc/"
}

pair_with_units() {
	systemd-sysusers
	# Without it this were the first boot, which asks questions.
	[[ -s /etc/machine-id ]] || systemd-machine-id-setup
	mkdir -p /etc/omerta /var/lib/omerta
	install -d -m 2750 -g omerta "$DIR/etc"
	mkdir "$DIR/state"
	make_ns a b
	make_veth a b
	config a 'Address = 10.9.0.1/24, fd09::1/64'
	config b
	config_peer a b "Endpoint = $(endpoint a b)"
	config_peer b a
	host b
	agent b
	file a
	boot a
}

# status FIELD: field of /proc/PID/status of the agent
status() {
	inside awk -v "name=$1:" '$1 == name { print $2 }' "/proc/$(unit "$UNIT" MainPID)/status"
}

no_device() {
	refused on a ip link show omr0
}

ifindex() {
	on a cat /sys/class/net/omr0/ifindex
}

test_start_stop() {
	pair_with_units
	no_device
	tell start "$UNIT"
	# It was ready.
	bound a
	is active unit "$LINK" ActiveState
	pings a 10.9.0.2
	pings a fd09::2
	agree_on_key
	is "$(id -u omerta)" status Uid
	is 0000000000001000 status CapEff
	is 0000000000001000 status CapBnd
	is 2 status Seccomp
	is 1 status NoNewPrivs
	is 0 unit "$UNIT" LimitCORE
	is 'omerta 700' stat -c '%U %a' "$DIR/state"
	# It keeps what systemd says of the unit, but there is nothing to warn of.
	inside journalctl -q -o cat -u "$UNIT" >"$DIR/journal"
	grep Started "$DIR/journal"
	is '' inside journalctl -q -o cat -p warning -u "$UNIT" -u "$LINK"
	tell stop "$UNIT"
	is inactive unit "$UNIT" ActiveState
	await is inactive unit "$LINK" ActiveState
	no_device
	on a ip rule >"$DIR/rules"
	refused grep -v -e 'lookup local' -e 'lookup main' -e 'lookup default' "$DIR/rules"
	tell start "$UNIT"
	pings a 10.9.0.2
}

# The other peer goes on with its key.
test_reload() {
	local process old

	pair_with_units
	tell start "$UNIT"
	pings a 10.9.0.2
	process=$(unit "$UNIT" MainPID) old=$(key a local-id)
	(umask 077 && omertactl genkey >"$DIR/c.key")
	omertactl pubkey <"$DIR/c.key" >"$DIR/c.pub"
	config_peer a c 'PersistentKeepalive = 25'
	sed -i 's|^Address.*|&, 10.8.0.1/24|' "$DIR/a.conf"
	file a
	tell reload "$UNIT"
	await is 25 keepalive c
	on a ip -j addr show omr0 | jq -e '.[0].addr_info | map(.local) | contains(["10.8.0.1"])'
	on a ip route get 10.9.0.3 | grep 'dev omr0'
	# Mistakes change nothing.
	echo 'Colour = red' >>"$DIR/a.conf"
	sed -i 's/PersistentKeepalive = 25/PersistentKeepalive = 26/' "$DIR/a.conf"
	file a
	refused tell reload "$UNIT"
	await complaint '"Colour"'
	is 25 keepalive c
	is "$process" unit "$UNIT" MainPID
	is "$old" key a local-id
	pings a 10.9.0.2
	is 0 unit "$UNIT" NRestarts
}

# keepalive PEER: seconds
keepalive() {
	member "$(on a omertactl -j peer show omr0 peer "$1")" keepalive
}

# complaint TEXT: in the journal
complaint() {
	inside journalctl -q -o cat -u "$UNIT" | grep -F -- "$1"
}

# The device stays, and all that it carries.
test_restart() {
	local process index old pings

	pair_with_units
	tell start "$UNIT"
	pings a 10.9.0.2
	process=$(unit "$UNIT" MainPID) index=$(ifindex) old=$(key a local-id)
	bg a ping -i 0.1 -W "$WAIT" 10.9.0.2 >"$DIR/pings"
	pings=$!
	tell restart "$UNIT"
	another_process "$process"
	process=$(unit "$UNIT" MainPID)
	tell kill -s KILL "$UNIT"
	await another_process "$process"
	await is active unit "$UNIT" ActiveState
	is 1 unit "$UNIT" NRestarts
	is "$index" ifindex
	is "$old" key a local-id
	kill -INT "$pings"
	wait "$pings"
	grep ' 0% packet loss' "$DIR/pings"
	tell kill -s USR1 "$UNIT"
	await another_key a "$old"
	await agree_on_key
}

another_process() {
	[[ $(unit "$UNIT" MainPID) != "$1" && $(unit "$UNIT" MainPID) != 0 ]]
}

# Nothing is half done, and mended it works.
test_mistakes() {
	pair_with_units
	echo 'Colour = red' >>"$DIR/etc/omr0.conf"
	refused inside systemctl start "$UNIT"
	no_device
	inside journalctl -q -o cat -u "$LINK" | grep -F '"Colour"'
	file a
	tell start "$UNIT"
	pings a 10.9.0.2
}

# skip WHY [STATUS]
skip() {
	echo "1..0 # SKIP $1"
	exit "${2:-4}"
}

# Addresses and routes by systemd-networkd: the file has none.
test_networkd() {
	pair_with_units
	sed -i '/^Address/d; s/^ListenPort/Table = off\n&/' "$DIR/a.conf"
	file a
	inside mkdir -p /run/systemd/network
	inside tee /run/systemd/network/omr0.network <<-EOF
		[Match]
		Name=omr0
		[Network]
		Address=10.9.0.1/24
		Address=fd09::1/64
		[Route]
		Destination=10.77.0.0/16
	EOF
	# A link that udev may still rename is not configured, unless this is a container.
	inside mount --rbind /sys /sys
	inside mount -o remount,bind,ro /sys
	tell start systemd-networkd
	tell start "$UNIT"
	await eval 'on a ip route show dev omr0 | grep -q "^10.77.0.0/16"'
	await eval 'on a ip -6 addr show dev omr0 | grep fd09::1/64 | grep -qv tentative'
	pings a 10.9.0.2
	pings a fd09::2
	# They stay if the file is read again.
	tell reload "$UNIT"
	on a ip addr show omr0 | grep -q 10.9.0.1/24
	on a ip route show dev omr0 | grep -q '^10.77.0.0/16'
	pings a 10.9.0.2
	tell stop "$UNIT"
	await no_device
	tell start "$UNIT"
	await eval 'on a ip route show dev omr0 | grep -q "^10.77.0.0/16"'
	pings a 10.9.0.2
}

TESTS=(test_start_stop test_reload test_restart test_mistakes test_networkd)

[[ ! -e /run/systemd/system ]] || skip "this machine is another systemd's"
[[ -x $SYSTEMD ]] || skip "no systemd"
grep -qw cgroup2 /proc/filesystems || skip "the kernel has no control groups" 0
[[ -e /usr/lib/systemd/system/omerta@.service ]] || skip "the units are not installed"
modprobe omerta || skip "no module omerta"
run_tests "${@:-${TESTS[@]}}"
