#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# omertactl up and down: hosts that are made of a file each, and all that goes when they
# are not wanted any more. Needs root.
#
# usage: up.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

# file_command COMMAND NS [WORD...]: of omr0's file
file_command() {
	host_files "$2"
	on "$2" env "STATE_DIRECTORY=$DIR/$2.state" "RUNTIME_DIRECTORY=$DIR/$2.run" \
		omertactl "$1" "$DIR/$2.etc/omr0.conf" "${@:3}"
}

up() {
	file_command up "$@"
}

down() {
	file_command down "$@"
}

reload() {
	file_command reload "$@"
}

# notes TEXT COMMAND...: it succeeds, and says TEXT.
notes() {
	local out

	out=$("${@:2}" 2>&1) || { echo "$out"; return 1; }
	echo "$out"
	[[ $out == *"$1"* ]]
}

host_files() {
	mkdir -p "$DIR/$1.state" "$DIR/$1.run" "$DIR/$1.etc"
	cp "$DIR/$1.conf" "$DIR/$1.etc/omr0.conf"
	cp -p "$DIR/$1.key" "$DIR/$1.etc/"
}

# state NS: all that "up" changes
state() {
	on "$1" ip -br link show | awk '{ print $1 }'
	# Their order, whatever the numbers
	on "$1" ip rule | sed 's/^[0-9]*://'
	on "$1" ip -6 rule | sed 's/^[0-9]*://'
	on "$1" ip -4 route show table all
	# Others come by themselves.
	on "$1" ip -6 route show table all | grep -vE 'fe80|ff00'
	on "$1" nft list ruleset
}

two_files() {
	make_ns a b
	make_veth a b
	config a 'Address = 10.9.0.1/24, fd09::1/64' 'MTU = 1300'
	config b 'Address = 10.9.0.2/24' 'Address = fd09::2/64'
	config_peer a b "Endpoint = $(endpoint a b)" "$@"
	config_peer b a
}

test_up_down() {
	local before

	two_files
	before=$(state a)
	up a
	up b
	pings a 10.9.0.2
	pings a fd09::2
	on a ip -j link show omr0 | jq -e '.[0].mtu == 1300'
	agree_on_key
	notes 'omr0 is up already' up a
	pings a 10.9.0.2
	# However the agent ends
	kill -KILL "$(cat "$DIR/a.run/omr0.pid")"
	down a
	down b
	is "$before" state a
	notes 'omr0 is down already' down a
	rm "$DIR/a.conf" "$DIR/a.etc/omr0.conf"
	says 'no such device' on a omertactl down "$DIR/a.etc/omr0.conf"
}

# One line in each file
test_channels() {
	local ns old

	(($(nproc) > 1)) || { echo "SKIP one CPU only"; exit 4; }
	two_files 'Channels = 2'
	sed -i '$ a Channels = 2' "$DIR/b.conf"
	up a
	up b
	pings a 10.9.0.2
	for ns in a b; do
		await is open channel_of "$ns" '."further-channels"[0].state'
	done
	# More than the empty records that keep it open
	on a ./traffic.py send-flows 10.9.0.2 32 8
	await more_than 1000 second_key b rx-bytes
	notes 'omr0 is as its file says already' reload a
	down a
	down b
	# A file may be for a machine with more CPUs.
	(($(nproc --all) < 64)) || return 0
	sed -i 's|^MTU.*|&\nChannels = 64|' "$DIR/a.conf"
	notes 'there are no more than CPUs' up a
	is "$(nproc --all)" eval "on a omertactl -j link show omr0 | jq '.[0].channels'"
	# Nor does the agent want more than there are.
	(umask 077 && omertactl genkey >"$DIR/psk")
	up b
	await pings a 10.9.0.2
	sed -i "\$ a PresharedKeyFile = $DIR/psk" "$DIR/a.conf" "$DIR/b.conf"
	old=$(key a local-id)
	reload b
	reload a
	await another_key a "$old"
	await pings a 10.9.0.2
	down a
	down b
}

# channel_of NS FILTER: of the only peer
channel_of() {
	on "$1" omertactl -j peer show omr0 | jq -r ".[0]$2"
}

# second_key NS MEMBER: of the keys of the second channel, the sum
second_key() {
	on "$1" omertactl -j key show omr0 | jq "[.[] | select(.channel == 1).\"$2\"] | add // 0"
}

# Everything but the tunnel's own packets goes in, both families, and back out.
test_default_route() {
	local before with

	two_files 'AllowedIPs = 0.0.0.0/0, ::/0'
	before=$(state a)
	up a
	up b
	on b ip addr add 203.0.113.9/32 dev lo
	on b ip addr add 2001:db8:9::9/128 dev lo
	# The first packets may be lost with the initiations before b was up.
	await on a ping -c 1 -W 1 203.0.113.9
	pings a 203.0.113.9
	pings a 2001:db8:9::9
	# Nearer ones are reached as before.
	on a ip route get 192.0.2.2 | grep 'dev to_b'
	# Another that wants to be the default gets nowhere, and leaves this one alone.
	with=$(state a)
	sed 's/^ListenPort.*/ListenPort = 0/; /^Address/d' "$DIR/a.etc/omr0.conf" >"$DIR/a.etc/omr1.conf"
	says 'route 10.9.0.2/32: File exists: it leads into omr0' on a omertactl up "$DIR/a.etc/omr1.conf" no-agent
	is "$with" state a
	# So does one with the same mark.
	printf '%s\n' '[Interface]' 'FwMark = 51900' >"$DIR/a.etc/omr1.conf"
	on a omertactl up "$DIR/a.etc/omr1.conf" no-agent
	on a omertactl down "$DIR/a.etc/omr1.conf"
	is "$with" state a
	# Nor is the mark lost.
	sed -i 's|^AllowedIPs = 0.0.0.0/0, ::/0||' "$DIR/a.etc/omr0.conf"
	kill -HUP "$(cat "$DIR/a.run/omr0.pid")"
	await no_default
	on a omertactl -j link show omr0 | jq -e '.[0].fwmark == 51900'
	down a
	is "$before" state a
	# With the routes gone, and with the device
	up a
	on a ip link set omr0 down
	down a
	is "$before" state a
	up a
	on a ip link del omr0
	down a
	is "$before" state a
	# The next device cleans up the remains of a deleted one.
	up a
	on a ip link del omr0
	up a
	pings a 203.0.113.9
	down a
	is "$before" state a
}

# agent_gone NS
agent_gone() {
	! kill -0 "$(cat "$DIR/$1.run/omr0.pid")"
}

no_default() {
	! on a omertactl peer show omr0 | grep '::/0'
}

# If a step fails, all steps before it are undone.
test_up_fails() {
	local before

	two_files 'AllowedIPs = 0.0.0.0/0'
	before=$(state a)
	sed -i 's|^MTU.*|MTU = 65000|' "$DIR/a.conf"
	says 'with ChunkSize 512 it is at most 63491' up a
	is "$before" state a
	sed -i 's|^MTU.*|MTU = 1300|' "$DIR/a.conf"
	chmod o+r "$DIR/a.key"
	says 'others may access it' up a
	chmod o-r "$DIR/a.key"
	# Somebody has the port.
	sed -i "s|^ListenPort.*|ListenPort = 7007|" "$DIR/a.conf"
	bg a ./traffic.py hold-port 0.0.0.0 7007
	await on a grep -q ' 00000000:1B5F ' /proc/net/udp
	says 'listen-port is in use' up a
	is "$before" state a
	# Or that of a further channel.
	sed -i "s|^ListenPort.*|ListenPort = $PORT\nChannels = 2\nChannelPort = 7007|; \$ a Channels = 2" \
		"$DIR/a.conf"
	says 'choose another listen-port or channel-port' up a
	is "$before" state a
	sed -i '/^Channel/d' "$DIR/a.conf"
	host_files a
	# The agent cannot keep its times.
	touch "$DIR/not-a-directory"
	says 'the agent did not start' env "STATE_DIRECTORY=$DIR/not-a-directory" \
		"RUNTIME_DIRECTORY=$DIR" ip netns exec omt-a omertactl up "$DIR/a.etc/omr0.conf"
	is "$before" state a
}

# A connection through the tunnel survives another module.
test_new_module() {
	local said

	two_files
	up a
	up b
	pings a 10.9.0.2
	bg b ./traffic.py serve-echoes 10.9.0.2
	await eval "on b ss -Hltn 'sport = :7777' | grep -q ."
	bg a ./traffic.py converse 10.9.0.2 >"$DIR/said"
	await more_than 5 stat -c %s "$DIR/said"
	down a
	down b
	modprobe -r omerta
	said=$(stat -c %s "$DIR/said")
	modprobe omerta
	up a
	up b
	await more_than "$((said + 5))" stat -c %s "$DIR/said"
	pings a fd09::2
}

# A file with two thousand of them
many_routes() {
	python3 - >"$DIR/a.conf" <<-'END'
		print('[Interface]\nAddress = 10.9.0.1/24\n[Peer]')
		print('PublicKey =', 'A' * 42 + 'E=')
		for i in range(1000):
		    print(f'AllowedIPs = 10.{100 + i // 250}.{i % 250}.0/24, fd00:{i:x}::/32')
	END
	host_files a
}

# In several batches, of which the first refusal is the error.
test_many_routes() {
	local before

	make_ns a
	: >"$DIR/a.key"
	many_routes
	before=$(state a)
	up a no-agent
	is 1000 eval "on a ip route show dev omr0 proto boot | grep -c '^10\.1'"
	is 1000 eval "on a ip -6 route show dev omr0 proto boot | grep -c ::/32"
	down a
	is "$before" state a
	# All of a batch, and more
	printf 'route add 10.102.%d.0/24 dev lo\n' {7..156} | on a ip -batch -
	before=$(state a)
	says 'route 10.102.7.0/24: File exists: it leads into lo' up a no-agent
	is "$before" state a
}

# The file of a hub's client: a network is the kernel's route already.
test_own_network() {
	local before

	make_ns a b
	make_veth a b
	config a 'Address = 10.9.0.1/24, fd09::1/64'
	config b 'Address = 10.9.0.2/24, fd09::2/64'
	config_peer a b "Endpoint = $(endpoint a b)"
	config_peer b a
	sed -i 's|^AllowedIPs.*|AllowedIPs = 10.9.0.0/24, fd09::/64|' "$DIR/a.conf"
	before=$(state a)
	up a
	up b
	pings a 10.9.0.2
	pings a fd09::2
	down a
	is "$before" state a
}

# "up" completes a tunnel after manual changes or a crash.
test_converge() {
	local complete

	two_files 'AllowedIPs = 0.0.0.0/0, ::/0'
	up a
	complete=$(state a)
	on a ip addr flush dev omr0
	on a ip route flush dev omr0
	on a ip rule del not fwmark 51900 table 51900
	on a ip addr add 10.77.0.1/24 dev omr0
	on a ip link set omr0 down mtu 1280
	up a
	is "$complete" state a
	on a ip -j link show omr0 | jq -e '.[0].mtu == 1300'
	is 1 eval "on a ip -j addr show omr0 | jq '[.[0].addr_info[] | select(.family == \"inet\")] | length'"
	# An agent that died is started again.
	kill -KILL "$(cat "$DIR/a.run/omr0.pid")"
	await agent_gone a
	up a
	up b
	pings a fd09::2
	agree_on_key
	on a omertactl -j up "$DIR/a.etc/omr0.conf" no-agent | jq -e '.[0].changed == false'
}

# Addresses, routes, rules and MTU follow the file, and the agent reads it.
test_reload() {
	two_files
	up a
	up b
	pings a 10.9.0.2
	sed -i -e 's|^Address.*|Address = 10.9.0.1/24, 10.8.0.1/24|' -e 's|^MTU.*|MTU = 1290|' \
		-e 's|^AllowedIPs.*|&, 203.0.113.0/24, 0.0.0.0/0\nPersistentKeepalive = 25|' "$DIR/a.conf"
	reload a >"$DIR/changes"
	grep -x 'address 10.8.0.1/24 added' "$DIR/changes"
	grep -x 'address fd09::1/64 removed' "$DIR/changes"
	grep -x 'MTU 1290 instead of 1300' "$DIR/changes"
	grep -x 'route 203.0.113.0/24 added' "$DIR/changes"
	grep -x 'route 0.0.0.0/0 added' "$DIR/changes"
	grep -x 'rule of table 51900 added' "$DIR/changes"
	on a ip route get 203.0.113.9 | grep 'dev omr0'
	on a ip route get 198.51.100.1 | grep 'dev omr0'
	on a ip -j link show omr0 | jq -e '.[0].mtu == 1290'
	on a omertactl -j peer show omr0 | jq -e '.[0].keepalive == 25'
	pings a 10.9.0.2
	notes 'omr0 is as its file says already' reload a
	on a omertactl peer set omr0 peer 2 keepalive 26
	on a omertactl save "$DIR/a.etc/omr0.conf"
	grep -x 'PersistentKeepalive = 26' "$DIR/a.etc/omr0.conf"
	grep -x 'PrivateKeyFile = a.key' "$DIR/a.etc/omr0.conf"
	notes 'omr0 is as its file says already' on a env "RUNTIME_DIRECTORY=$DIR/a.run" \
		omertactl reload "$DIR/a.etc/omr0.conf"
	# Without the default route its rules go, too.
	sed -i 's|, 0.0.0.0/0||' "$DIR/a.conf"
	reload a >"$DIR/changes"
	grep -x 'rule of table 51900 removed' "$DIR/changes"
	refused eval "on a ip rule | grep 51900"
	pings a 10.9.0.2
	# Mistakes change nothing, nor does what is in the way.
	echo 'Colour = red' >>"$DIR/a.conf"
	says '"Colour"' reload a
	sed -i -e '/^Colour/d' -e 's|^AllowedIPs.*|&, 10.55.0.0/16|' -e '/^Address/d' "$DIR/a.conf"
	on a ip route add 10.55.0.0/16 dev to_b
	says 'route 10.55.0.0/16: File exists: it leads into to_b' reload a
	on a ip -j addr show omr0 | jq -e '.[0].addr_info | map(.local) | contains(["10.8.0.1"])'
	pings a 10.9.0.2
	down a
	says '(omertactl up ' reload a
}

# A device may have addresses and routes that go with others, or that have more than a prefix:
# a refused reload leaves them as they are.
test_undone() {
	local before

	two_files
	sed -i 's|^Address.*|Address = 10.9.0.1/24, 10.9.0.11/24, 10.8.0.1/24, 10.8.0.2/24|' "$DIR/a.conf"
	on a sysctl -w net.ipv4.conf.all.promote_secondaries=0 net.ipv4.conf.default.promote_secondaries=0
	up a
	on a sysctl -w net.ipv4.conf.omr0.promote_secondaries=0
	on a ip route add 10.66.0.0/16 via 10.9.0.7 dev omr0
	on a ip route add 10.67.0.0/16 dev omr0 metric 7 proto static
	on a ip addr add 10.3.0.1 peer 10.3.0.2 dev omr0
	before=$(state a; on a ip addr show dev omr0)
	on a ip route add 10.55.0.0/16 dev to_b
	sed -i -e 's|^Address.*|Address = 10.5.0.1/24|' -e 's|^MTU.*|MTU = 1400|' \
		-e 's|^AllowedIPs.*|&, 10.55.0.0/16|' "$DIR/a.conf"
	says 'route 10.55.0.0/16: File exists' reload a
	on a ip route del 10.55.0.0/16 dev to_b
	[[ $(state a; on a ip addr show dev omr0) == "$before" ]]
	# Without what is in the way, all of it goes, but for another program's route.
	reload a
	is '["10.5.0.1"]' eval "on a ip -j addr show omr0 | jq -c '[.[0].addr_info[] | select(.family == \"inet\").local]'"
	on a ip route show dev omr0 | grep '^10.67.0.0/16 proto static .*metric 7'
	refused eval "on a ip route show dev omr0 | grep '^10.66'"
	# IPv6 comes to a link that was too narrow for it.
	on a ip link set omr0 mtu 1000
	sed -i 's|^Address.*|Address = fd09::1/64|' "$DIR/a.conf"
	reload a
	on a ip -6 addr show dev omr0 | grep fd09::1
	is 1400 device_mtu a
}

# Rules of others that look like ours, but apply to some packets only
test_other_rules() {
	local before

	two_files 'AllowedIPs = 0.0.0.0/0'
	on a ip rule add from 10.200.0.0/16 lookup main suppress_prefixlength 0
	on a ip rule add not fwmark 51900 iif lo lookup 51900
	before=$(state a)
	up a
	is 2 eval "on a ip rule | grep -c 'from all.*suppress_prefixlength 0\|from all fwmark 0xcabc lookup 51900'"
	on a ip route get 192.0.2.2 | grep 'dev to_b'
	down a
	is "$before" state a
}

# An agent that does not react is killed.
test_stuck_agent() {
	local agent before

	two_files
	before=$(state a)
	up a
	agent=$(cat "$DIR/a.run/omr0.pid")
	kill -STOP "$agent"
	notes "process $agent, did not exit within 5 s" down a
	refused kill -0 "$agent"
	is "$before" state a
}

# A container: /proc/sys cannot be written, /tmp neither, and no descriptor is open.
test_container() {
	local before

	two_files 'AllowedIPs = 0.0.0.0/0'
	before=$(state a)
	on a sysctl -w net.ipv4.conf.all.src_valid_mark=0
	host_files a
	cat >"$DIR/contained" <<-'END'
		set -e
		mount -o bind /proc/sys /proc/sys
		mount -o remount,ro,bind /proc/sys
		mkdir -p /run/here
		mount --bind "$DIR" /run/here
		mount -t tmpfs none /tmp
		mkdir -p "$DIR"
		mount --move /run/here "$DIR"
		mount -o remount,ro /tmp
		exec "$@" 0<&- 1>&- 2>&-
	END
	contained() {
		on a env "DIR=$DIR" "STATE_DIRECTORY=$DIR/a.state" "RUNTIME_DIRECTORY=$DIR/a.run" \
			unshare -m bash "$DIR/contained" omertactl "$1" "$DIR/a.etc/omr0.conf"
	}
	is 2 eval 'contained up; echo $?'
	is "$before" state a
	on a sysctl -w net.ipv4.conf.all.src_valid_mark=1
	contained up
	up b
	pings a 10.9.0.2
	contained down
	is "$before" state a
}

# named_files [LINE...]: a knows b by a name.
named_files() {
	mkdir -p /etc/netns/omt-a
	: >/etc/netns/omt-a/hosts
	two_files "$@"
	sed -i "s|^Endpoint.*|Endpoint = b.test:$PORT|" "$DIR/a.conf"
}

# Names that are not known yet, and links that do not exist, do not keep the others down.
test_late_names() {
	named_files
	printf '%s\n' '[Peer]' "PublicKey = $(omertactl genkey | omertactl pubkey)" \
		'Endpoint = gone.test:1' 'AllowedIPs = 10.9.0.7' '[Peer]' \
		"PublicKey = $(omertactl genkey | omertactl pubkey)" \
		"Endpoint = [fe80::2%late0]:$PORT" 'AllowedIPs = 10.9.0.8' >>"$DIR/a.conf"
	up a
	up b
	on a omertactl -j peer show omr0 | jq -e 'map(has("endpoint-addr")) | any | not'
	echo '192.0.2.2 b.test' >/etc/netns/omt-a/hosts
	await on a ping -c 1 -W 1 10.9.0.2
	is 192.0.2.2:51900 peer_endpoint a b
	on a ip link add late0 type dummy
	on a ip link set late0 up
	await eval "on a omertactl dump omr0 | grep 'fe80::2%late0'"
	# Without an agent what is known now is used.
	down a
	notes 'a peer has no endpoint yet' up a no-agent
	is 192.0.2.2:51900 peer_endpoint a b
}

# With all traffic in the tunnel, an address counts only if it is reached outside of it.
test_which_address() {
	named_files 'AllowedIPs = 0.0.0.0/0, ::/0'
	printf '%s\n' '2001:db8:2::2 b.test' '192.0.2.2 b.test' >/etc/netns/omt-a/hosts
	on a ip -6 addr flush dev to_b
	up a
	up b
	await on a ping -c 1 -W 1 10.9.0.2
	is 192.0.2.2:51900 peer_endpoint a b
	# The host moves to a network of the other family, and back.
	on a ip addr flush dev to_b
	on a ip addr add 2001:db8:2::1/64 dev to_b nodad
	await is "[2001:db8:2::2]:51900" peer_endpoint a b
	await on a ping -c 1 -W 1 10.9.0.2
	on a ip -6 addr flush dev to_b
	on a ip addr add 192.0.2.1/24 dev to_b
	await is 192.0.2.2:51900 peer_endpoint a b
	await on a ping -c 1 -W 1 10.9.0.2
}

# Names are looked up outside of the tunnel that needs them, by a user of their own.
test_names_outside() {
	named_files 'AllowedIPs = 0.0.0.0/0'
	# ip netns mounts the others on these.
	touch /etc/resolv.conf /etc/nsswitch.conf
	echo 'nameserver 203.0.113.53' >/etc/netns/omt-a/resolv.conf
	echo 'hosts: files dns' >/etc/netns/omt-a/nsswitch.conf
	grep -v '^omerta:' /etc/passwd >/etc/netns/omt-a/passwd
	on b ip addr add 203.0.113.53/32 dev lo
	on a ip route add default via 192.0.2.2
	bg b ./traffic.py serve-names 203.0.113.53 b.test 192.0.2.2
	await eval "on b ss -Hlun 'sport = :53' | grep -q ."
	# The server answers.
	is 192.0.2.2 on a python3 -c 'import socket; print(socket.gethostbyname("b.test"))'
	up b
	up a
	await eval "! on a ping -c 1 -W 1 10.9.0.2; on a omertactl show omr0 |
		grep 'the name of its endpoint is not known'"
	down a
	echo 'omerta:x:990:990::/:/bin/false' >>/etc/netns/omt-a/passwd
	up a
	await on a ping -c 1 -W 1 10.9.0.2
	on a omertactl show omr0 | grep 'no new key' && return 1
	on a ip rule | grep 'uidrange 990-990 lookup main'
	# Others look into the tunnel.
	on a ip route get 203.0.113.53 | grep 'dev omr0'
	down a
	on a ip rule | grep 'uidrange' && return 1
	return 0
}

# With a default route, the tunnel's addresses are reached through the tunnel alone.
test_filter() {
	local before

	two_files 'AllowedIPs = 0.0.0.0/0, ::/0'
	before=$(state a)
	up a
	up b
	await on a ping -c 1 -W 1 10.9.0.2
	on b ip route replace 10.9.0.1/32 via 192.0.2.1 dev to_a
	on b ip -6 route replace fd09::1/128 via 2001:db8:2::1 dev to_a
	refused on b ping -c 2 -W 1 10.9.0.1
	refused on b ping -c 2 -W 1 fd09::1
	# The host itself may.
	pings a 10.9.0.1
	on a nft delete table inet omerta_omr0
	on b ping -c 1 -W "$WAIT" 10.9.0.1
	on b ping -c 1 -W "$WAIT" fd09::1
	notes 'packet filter added' reload a
	refused on b ping -c 2 -W 1 10.9.0.1
	# The filter of another device with that name
	on a ip link del omr0
	up a
	refused on b ping -c 2 -W 1 10.9.0.1
	on b ip route replace 10.9.0.1/32 dev omr0
	await on b ping -c 1 -W 1 10.9.0.1
	down a
	is "$before" state a
	# Without a default route nothing is filtered.
	sed -i 's|^AllowedIPs = 0.0.0.0/0, ::/0||' "$DIR/a.conf"
	up a
	is '' on a nft list ruleset
	# Answers to the tunnel's datagrams have its mark, and no others.
	down a
	echo 'AllowedIPs = 0.0.0.0/0' >>"$DIR/a.conf"
	up a
	on a nft add table inet seen
	on a nft add chain inet seen in '{ type filter hook prerouting priority -100; }'
	on a nft add rule inet seen in udp sport "$PORT" meta mark 51900 counter
	on a nft add rule inet seen in udp dport 9 meta mark 51900 counter
	on a nft add rule inet seen in udp dport 9 counter
	await on a ping -c 1 -W 1 10.9.0.2
	on b bash -c 'echo >/dev/udp/192.0.2.1/9'
	await eval "on a nft list table inet seen | grep 'udp dport 9 counter packets 1 '"
	on a nft list table inet seen | grep -E 'udp sport 51900 meta mark 0x0000cabc counter packets [1-9]'
	on a nft list table inet seen | grep -E 'udp dport 9 meta mark 0x0000cabc counter packets 0 '
}

# Nothing leaves but through the tunnel, whatever becomes of it.
test_kill_switch() {
	local before

	two_files 'AllowedIPs = 0.0.0.0/0, ::/0'
	sed -i '/^\[Interface\]/a KillSwitch = on' "$DIR/a.conf"
	before=$(state a)
	up b
	on b ip addr add 203.0.113.9/32 dev lo
	up a
	await on a ping -c 1 -W 1 203.0.113.9
	refused on a ping -c 1 -W 2 192.0.2.2
	refused on a ping -c 1 -W 2 2001:db8:2::2
	on a ip route add default via 192.0.2.2
	kill -KILL "$(cat "$DIR/a.run/omr0.pid")"
	on a ip link del omr0
	refused on a ping -c 1 -W 2 203.0.113.9
	# The host's own addresses, and a new device of the name
	on a ping -c 1 -W "$WAIT" 192.0.2.1
	up a
	await on a ping -c 1 -W 1 203.0.113.9
	refused on a ping -c 1 -W 2 192.0.2.2
	# Before 6.2 a device that is up cannot be renamed.
	if on a ip link set omr0 name omr9; then
		on a ping -c 1 -W "$WAIT" 203.0.113.9
		on a ip link set omr9 name omr0
	fi
	# Forwarded packets, too
	make_ns c
	make_veth a c
	on a sysctl -qw net.ipv4.ip_forward=1
	on c ip route add default via "$(outer4 c a)"
	on b ip route add 198.51.100.0/24 via 192.0.2.1
	refused on c ping -c 1 -W 2 192.0.2.2
	sed 's/^KillSwitch.*/KillSwitch = off/' -i "$DIR/a.conf"
	notes 'packet filter changed' reload a
	on a ping -c 1 -W "$WAIT" 192.0.2.2
	on c ping -c 1 -W "$WAIT" 192.0.2.2
	on a ip route del default
	on a ip link del to_c
	# "down" finds the filter of a device that was renamed, and of one that is gone with its file.
	sed 's/^KillSwitch.*/KillSwitch = on/' -i "$DIR/a.conf"
	notes 'packet filter changed' reload a
	on a ip link set omr0 down
	on a ip link set omr0 name omr9
	on a env "STATE_DIRECTORY=$DIR/a.state" "RUNTIME_DIRECTORY=$DIR/a.run" omertactl down omr9
	is '' on a nft list ruleset
	up a
	kill -KILL "$(cat "$DIR/a.run/omr0.pid")"
	on a ip link del omr0
	mv "$DIR/a.etc/omr0.conf" "$DIR/a.etc/old"
	on a env "STATE_DIRECTORY=$DIR/a.state" "RUNTIME_DIRECTORY=$DIR/a.run" omertactl down "$DIR/a.etc/omr0.conf"
	is '' on a nft list ruleset
	up a
	down a
	is "$before" state a
	# The tunnel's own datagrams need a mark.
	sed 's/^KillSwitch.*/KillSwitch = on/; /^AllowedIPs = 0/d' -i "$DIR/a.conf"
	says "KillSwitch: the tunnel's own datagrams would have no mark" up a
	is "$before" state a
}

# The addresses of a name come in turn.
test_dead_address() {
	named_files
	printf '%s\n' '192.0.2.3 b.test' '192.0.2.2 b.test' \
		>/etc/netns/omt-a/hosts
	up a
	up b
	await on a ping -c 1 -W 1 10.9.0.2
	is 192.0.2.2:51900 peer_endpoint a b
}

# device_mtu NS
device_mtu() {
	on "$1" ip -j link show omr0 | jq '.[0].mtu'
}

# Without MTU in the file, it is that of the path, also when the path changes.
test_mtu() {
	two_files
	sed -i '/^MTU/d' "$DIR/a.conf"
	on a ip link set to_b mtu 1492
	notes 'omr0: MTU 1400, as that of the path outside is 1492' up a
	up b
	is 1400 device_mtu a
	pings a -s 1372 -M "do" 10.9.0.2
	on a ip link set to_b mtu 1450
	await is 1358 device_mtu a
	pings a -s 1330 -M "do" 10.9.0.2
	# A route may know better than its link.
	on a ip route add 192.0.2.2/32 dev to_b mtu 1400
	await is 1308 device_mtu a
	on a ip route del 192.0.2.2/32 dev to_b
	# With IPv6 in the tunnel it stays at 1280.
	on a ip link set to_b mtu 1300
	on b ip link set to_a mtu 1300
	await is 1280 device_mtu a
	await is 1280 device_mtu b
	on a ip -6 addr show dev omr0 | grep fd09::1
	pings a fd09::2
	down a
	notes 'IPv6 needs 1280, so datagrams of full size are fragmented' up a
	pings a -s 1232 fd09::2
}

# peers_address: b's, outside
peers_address() {
	if ((OUTER == 4)); then outer4 a b; else outer6 a b; fi
}

# forge_mtu MTU: an ICMP error that anyone can forge, which the kernel of a believes
forge_mtu() {
	if ((OUTER == 4)); then
		on b ./forge.py 192.0.2.77 192.0.2.1 192.0.2.2 "$1" echo
	else
		on b ./forge.py 2001:db8:2::77 2001:db8:2::1 2001:db8:2::2 "$1" echo
	fi
	await believed "$1"
}

believed() {
	[[ $(on a ip route get "$(peers_address)") == *"mtu $1"* ]]
}

# forged_mtu MTU OURS NARROW ROUTE: a forged MTU does not change ours in a path of 1500 or 1492 bytes,
# nor does it hide that of a route of 1400.
forged_mtu() {
	two_files
	sed -i '/^MTU/d' "$DIR/a.conf"
	up a
	up b
	is "$2" device_mtu a
	forge_mtu "$1"
	notes 'omr0 is as its file says already' reload a
	on a ip link set to_b mtu 1492
	await is "$3" device_mtu a
	believed "$1"
	on a ip route add "$(peers_address)" dev to_b mtu 1400
	await is "$4" device_mtu a
	forge_mtu "$1"
	notes 'omr0 is as its file says already' reload a
	is "$4" device_mtu a
}

test_forged_mtu_v4() {
	forged_mtu 600 1408 1400 1308
}

test_forged_mtu_v6() {
	OUTER=6
	forged_mtu 1281 1388 1380 1288
}

# An agent that "up" did not start, as that of a service, is found and told to read the file.
test_service_agent() {
	local old

	two_files
	up a no-agent
	agent a
	up b
	pings a 10.9.0.2
	notes 'omr0 is up already' up a
	old=$(key a local-id)
	(umask 077 && omertactl genkey >"$DIR/psk")
	sed -i "\$ a PresharedKeyFile = $DIR/psk" "$DIR/a.conf" "$DIR/b.conf"
	reload b
	reload a
	await another_key a "$old"
	await pings a 10.9.0.2
	stop a
}

# A lock that is not an agent's is no agent, and the process in its file is left alone.
test_foreign_lock() {
	local before file=$DIR/a.run/omr0.pid other holder

	two_files
	up a
	is 600 stat -c %a "$file"
	down a
	before=$(state a)
	sleep infinity &
	other=$!
	echo "$other" >"$file"
	flock "$file" sleep infinity &
	holder=$!
	await refused flock -n "$file" true
	says "the agent's process id in omr0.pid" up a
	is "$before" state a
	kill -0 "$other"
	kill "$other"
	pkill -P "$holder"
	wait
}

# A signal ends a command of the file, and all that was done before is undone.
test_interrupted() {
	local before pid rc=0

	two_files
	before=$(state a)
	mkfifo "$DIR/there" "$DIR/go"
	sed -i "s|^MTU.*|&\nSaveConfig = true\nPostUp = echo >$DIR/there; read -r <$DIR/go|" \
		"$DIR/a.conf"
	up a &
	pid=$!
	read -r <"$DIR/there"
	pkill -TERM -f "^omertactl up $DIR/a.etc"
	echo >"$DIR/go"
	wait "$pid" || rc=$?
	is 2 echo "$rc"
	is "$before" state a
	cmp "$DIR/a.conf" "$DIR/a.etc/omr0.conf"
	# A device that a killed one leaves may lack peers: it is not saved.
	on a omertactl link add omr0
	notes 'stays as it is' down a
	cmp "$DIR/a.conf" "$DIR/a.etc/omr0.conf"
}

# Commands of the file run in order, and a failing one undoes "up".
test_hooks() {
	local before

	two_files
	before=$(state a)
	sed -i "s|^MTU.*|&\nPreUp = echo 'pre-up of %i' >>$DIR/ran; ip link show %i\nPostUp = echo one >>$DIR/ran\nPostUp = ip route get 10.9.0.2 >>$DIR/ran\nPreDown = ip -br link show %i >>$DIR/ran\nPostDown = ! ip link show %i; echo post-down >>$DIR/ran|" "$DIR/a.conf"
	up a
	cat "$DIR/ran"
	is 'pre-up of omr0' sed -n 1p "$DIR/ran"
	is one sed -n 2p "$DIR/ran"
	sed -n 3p "$DIR/ran" | grep 'dev omr0'
	is 4 eval "wc -l <'$DIR/ran'"
	# Not for what is there already
	up a
	is 4 eval "wc -l <'$DIR/ran'"
	down a
	sed -n 5p "$DIR/ran" | grep '^omr0'
	is post-down sed -n 6p "$DIR/ran"
	sed -i 's|^PostUp = echo one.*|PostUp = exit 3|' "$DIR/a.conf"
	says 'command 1 of PostUp failed with status 3' up a
	is "$before" state a
	await agent_gone a
	chmod g+w "$DIR/a.conf" "$DIR/a.etc/omr0.conf"
	says 'others may change this file' up a
	is "$before" state a
}

# Name servers, by a resolvconf that notes what it is told
test_dns() {
	two_files
	mkdir "$DIR/bin"
	printf '%s\n' '#!/bin/sh' "{ echo \"\$@\"; cat; } >>$DIR/told" >"$DIR/bin/resolvconf"
	chmod +x "$DIR/bin/resolvconf"
	sed -i 's|^MTU.*|&\nDNS = 192.0.2.53, fd09::53, example.org|' "$DIR/a.conf"
	PATH=$DIR/bin:$PATH up a
	is "-a tun.omr0 -m 0 -x
nameserver 192.0.2.53
nameserver fd09::53
search example.org" cat "$DIR/told"
	PATH=$DIR/bin:$PATH down a
	is '-d tun.omr0 -f' tail -n 1 "$DIR/told"
}

# "down" saves what has changed.
test_save_config() {
	two_files
	sed -i 's|^MTU.*|&\nSaveConfig = true|' "$DIR/a.conf"
	up a no-agent
	on a omertactl peer set omr0 peer 2 keepalive 26
	# Not by this function, which would copy the file again
	on a env "RUNTIME_DIRECTORY=$DIR/a.run" omertactl down "$DIR/a.etc/omr0.conf"
	grep -x 'PersistentKeepalive = 26' "$DIR/a.etc/omr0.conf"
	grep -x 'SaveConfig = true' "$DIR/a.etc/omr0.conf"
}

# The agent follows its device to another name, and "down" finds the agent.
test_renamed() {
	local before old DEV

	two_files
	before=$(state a)
	up a
	up b
	pings a 10.9.0.2
	on a ip link set omr0 down
	on a ip link set omr0 name omr9
	on a ip link set omr9 up
	# shellcheck disable=SC2034 # for key()
	DEV=omr9
	old=$(key a local-id)
	kill -USR1 "$(cat "$DIR/a.run/omr0.pid")"
	await another_key a "$old"
	pings a 10.9.0.2
	says 'omr0 is called omr9 now (omertactl down omr9)' down a
	cp "$DIR/a.etc/omr0.conf" "$DIR/a.etc/omr9.conf"
	on a env "STATE_DIRECTORY=$DIR/a.state" "RUNTIME_DIRECTORY=$DIR/a.run" \
		omertactl down "$DIR/a.etc/omr9.conf"
	await agent_gone a
	is "$before" state a
	# The old name is free for the next one, at once, but not while its agent serves another.
	up a
	pings a 10.9.0.2
	on a ip link set omr0 down
	on a ip link set omr0 name omr9
	sed -i 's|^ListenPort.*|ListenPort = 7|' "$DIR/a.conf"
	says 'the agent of another device, omr9, was started as omr0' up a
	refused on a ip link show omr0
}

# The outer link is replaced by another.
test_another_link() {
	two_files
	up a
	up b
	pings a 10.9.0.2
	on a ip link del to_b
	make_veth a b
	await on a ping -c 1 -W 1 10.9.0.2
}

# Addresses by ifupdown: the file has none.
test_ifupdown() {
	local run before

	two_files
	sed -i '/^Address/d' "$DIR/a.conf"
	host_files a
	before=$(state a)
	run="env STATE_DIRECTORY=$DIR/a.state RUNTIME_DIRECTORY=$DIR/a.run omertactl"
	cat >"$DIR/interfaces" <<-EOF
		iface omr0 inet static
			address 10.9.0.1/24
			pre-up $run up $DIR/a.etc/omr0.conf
			post-down $run down $DIR/a.etc/omr0.conf
		iface omr0 inet6 static
			address fd09::1/64
			dad-attempts 0
	EOF
	mkdir "$DIR/ifstate"
	up b
	on a ifup --interfaces="$DIR/interfaces" --state-dir="$DIR/ifstate" omr0
	pings a 10.9.0.2
	pings a fd09::2
	on a ifdown --interfaces="$DIR/interfaces" --state-dir="$DIR/ifstate" omr0
	is "$before" state a
}

TESTS=(test_up_down test_channels test_default_route test_up_fails test_many_routes test_own_network
	test_converge test_reload test_undone test_other_rules test_stuck_agent test_container test_late_names
	test_which_address test_names_outside test_filter test_kill_switch test_dead_address test_mtu
	test_forged_mtu_v4 test_forged_mtu_v6 test_service_agent test_foreign_lock test_interrupted test_another_link
	test_renamed test_hooks test_dns test_save_config test_new_module
	test_ifupdown)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
