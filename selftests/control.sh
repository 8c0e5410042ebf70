#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Control datagrams and events. Needs root.
#
# usage: control.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2119,SC2120 # the tests are called by name; arguments are optional
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

MAGIC=4f4d52
declare -A IN OUT PID

# control NAME [NS [COMMAND...]]: a socket for the requests of tell(), in the netns NAME.
control() {
	local in out

	mkfifo "$DIR/$1.in" "$DIR/$1.out"
	{ on "${2:-$1}" "${@:3}" ./control.py omr0 <"$DIR/$1.in" >"$DIR/$1.out"; } &
	PID[$1]=$!
	exec {in}>"$DIR/$1.in" {out}<"$DIR/$1.out"
	IN[$1]=$in
	OUT[$1]=$out
}

# tell NAME WORD...: prints the first line of the answer.
tell() {
	local line

	echo "${*:2}" >&"${IN[$1]}"
	read -r -t "$WAIT" line <&"${OUT[$1]}" || return
	echo "$line"
}

# hang_up NAME: closes the socket.
hang_up() {
	local in=${IN[$1]}

	exec {in}>&-
	wait "${PID[$1]}"
}

both_bound() {
	make_both
	control a
	control b
	is ok tell a bind
	is ok tell b bind
	# Long datagrams fit into more than a stranger's part of the buffer only.
	on a omertactl link set omr0 control-share 16
	on b omertactl link set omr0 control-share 16
}

# keyed_bound [all]: a's socket gave its public key, of which KEY is the text.
keyed_bound() {
	make_both
	control a
	control b
	KEY=$(omertactl genkey | omertactl pubkey)
	is ok tell a bind "$KEY" "$@"
	is ok tell b bind
}

# strangers NS COUNT SIZE [SOURCE]: datagrams to a, each from another address of the
# netns in 10.77.0.0/16, or all from the address SOURCE.
strangers() {
	on "$1" ./traffic.py strangers "${@:2}"
}

# forge NS SOURCE PORT SIZE: initiations to a, that long, as if they came from there, until
# it is killed
forge() {
	on "$1" ./traffic.py forge "${@:2}"
}

# all_there SENT COUNTED...: control.py has received the rest of them
all_there() {
	local sum=$2 counter

	for counter in rx-drop-control{,-limit,-full,-invalid,-cookie,-replay,-unasked}; do
		sum=$((sum + $(dev_stat a "$counter")))
	done
	is "$1" echo "$sum"
}

test_round_trip() {
	local type

	both_bound
	for type in 03 20 21 2f; do
		is ok tell a send 192.0.2.2 51900 "$MAGIC${type}00ff"
		is "192.0.2.1 51900 192.0.2.2 to_a 1 $MAGIC${type}00ff" tell b recv 1
	done
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	is "192.0.2.2 51900 192.0.2.1 to_b 2 ${MAGIC}20" tell a recv 1
	# In fragments, too
	for type in 1400x20 20000x21 65507x22; do
		is ok tell a send 192.0.2.2 51900 "$type"
		is "192.0.2.1 51900 192.0.2.2 to_a 1 $type" tell b recv 1
	done
	# No peer is there.
	is ok tell a send 2001:db8:2::2 51900 1400x20
	is '2001:db8:2::1 51900 2001:db8:2::2 to_a 0 1400x20' tell b recv 1
	pings a 10.9.0.2
	is 0 tell a drain
	is 0 tell b drain
	no_drops a
	no_drops b
}

# shows NS TEXT: omertactl show prints this
shows() {
	on "$1" omertactl show omr0 | grep -qF "$2"
}

# The report of the bound socket is shown as long as it is bound. No other socket may report.
test_report() {
	local peer=handshake=handshake:peer-id=u32:2

	make_both
	control a
	is ok tell a bind
	refused shows a 'no new key'
	is ok tell a report "$peer,tries=u32:3,failure=u32:6" "${peer%2}99" \
		agent-stats=counters:begun=u64:7,done=u64:4
	shows a 'no new key: 3 tries since, it wants keys that PostQuantum rules out here'
	on a omertactl stats omr0 | grep -qx '    handshakes-begun: 7'
	on a omertactl -j stats omr0 | grep -qF '"agent-stats":{"begun":7,"done":4,'
	on a omertactl -j show omr0 | grep -qF '"handshake":{"tries":3,"failure":"mode"}'
	# The second of two is wrong.
	is 'EINVAL a handshake needs peer-id' tell a report "$peer,tries=u32:5" \
		handshake=handshake:tries=u32:4
	[[ $(tell a report "$peer,failure=u32:11") == 'ERANGE '* ]]
	[[ $(tell a report "$peer,kind=u32:4") == 'EINVAL '* ]]
	[[ $(on a ./nl.py agent-report ifname=str:omr0 "$peer") == *'only the socket that is bound'* ]]
	shows a 'no new key: 3 tries since'
	is ok tell a report "$peer,kind=u32:3"
	refused shows a 'no new key'
	on a omertactl -j show omr0 | grep -qF '"handshake":{"tries":0,"kind":"x25519+psk+ml-kem-768"}'
	on a omertactl -j show omr0 | grep -qE '"agent-pid":[1-9]'
	on a omertactl -j show omr0 | grep -qE '"agent-age":[0-9]'
	on a omertactl peer set omr0 peer 2 public-key "$(omertactl genkey | omertactl pubkey)"
	is ok tell a report "$peer,failure=u32:0"
	shows a 'no new key: no answer'
	# Another identity has had no handshake yet.
	on a omertactl peer set omr0 peer 2 public-key "$(omertactl genkey | omertactl pubkey)"
	refused shows a 'no new key'
	is ok tell a report "$peer,failure=u32:0"
	hang_up a
	refused shows a 'no new key'
	on a omertactl -j show omr0 | grep -qF '"agent-' && return 1
	rm "$DIR"/a.{in,out}
	control a
	is ok tell a bind
	refused shows a 'no new key'
	on a omertactl -j show omr0 | grep -qF '"agent-stats"' && return 1
	return 0
}

# A datagram to one of several addresses is answered from that address.
test_local_address() {
	both_bound
	on a ip addr add 192.0.2.11/24 dev to_b
	on a ip addr add 2001:db8:2::11/64 dev to_b nodad
	is ok tell b send 192.0.2.11 51900 "${MAGIC}20"
	is "192.0.2.2 51900 192.0.2.11 to_b 2 ${MAGIC}20" tell a recv 1
	is ok tell a send 192.0.2.2 51900 "${MAGIC}21" 192.0.2.11
	is "192.0.2.11 51900 192.0.2.2 to_a 0 ${MAGIC}21" tell b recv 1
	is ok tell a send 2001:db8:2::2 51900 "${MAGIC}21" 2001:db8:2::11
	is "2001:db8:2::11 51900 2001:db8:2::2 to_a 0 ${MAGIC}21" tell b recv 1
	[[ $(tell a send 192.0.2.2 51900 "${MAGIC}21" 2001:db8:2::11) == *"endpoint's family"* ]]
}

# wrong_sum NS ADDRESS: a datagram of 1000 bytes to its port, with a wrong checksum
wrong_sum() {
	on "$1" ./traffic.py wrong-checksum "$2"
}

# A datagram with a wrong checksum may have a wrong source.
test_checksums() {
	both_bound
	wrong_sum b 192.0.2.1
	is ok tell b send 192.0.2.1 51900 999x21
	is '192.0.2.2 51900 192.0.2.1 to_b 2 999x21' tell a recv 1
	wrong_sum b 2001:db8:2::1
	is ok tell b send 2001:db8:2::1 51900 999x21
	is '2001:db8:2::2 51900 2001:db8:2::1 to_b 0 999x21' tell a recv 1
	is 0 tell a drain
	on a nstat -asz UdpInCsumErrors | grep -E '^UdpInCsumErrors +1 '
	on a nstat -asz Udp6InCsumErrors | grep -E '^Udp6InCsumErrors +1 '
	is 2 dev_stat a rx-drop-checksum
}

# Only the socket that asks for datagrams receives them.
test_nobody() {
	make_both
	control b
	is ok tell b bind
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	await is 1 dev_stat a rx-drop-control
	control a
	refused bound a
	is ok tell a bind
	bound a
	is ok tell a unbind
	refused bound a
	[[ $(tell a unbind) == ENOTCONN* ]]
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	await is 2 dev_stat a rx-drop-control
	is ok tell a bind
	hang_up a
	refused bound a
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	await is 3 dev_stat a rx-drop-control
	# The port may go to the next socket, but not what it was bound to.
	control next a
	is ok tell next bind
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	is "192.0.2.2 51900 192.0.2.1 to_b 2 ${MAGIC}20" tell next recv 1
	# With the device, too
	on a omertactl link del omr0
	make_dev a
	on a ip link set omr0 up
	refused bound a
	is ok tell next bind
}

# A device in another netns is none of the socket's business.
test_moved_away() {
	both_bound
	make_ns c
	on a ip link set omr0 netns omt-c
	on c ip link set omr0 up
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	await is 1 dev_stat c rx-drop-control
	[[ $(tell a send 192.0.2.2 51900 "${MAGIC}20") == ENODEV* ]]
	on c ip link set omr0 netns omt-a
	on a ip link set omr0 up
	is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	is "192.0.2.2 51900 192.0.2.1 to_b 2 ${MAGIC}20" tell a recv 1
	# Nor does it keep out sockets in the device's new namespace.
	on a ip link set omr0 netns omt-c
	on c ip link set omr0 up
	control c
	is ok tell c bind
	is ok tell b send 192.0.2.1 51900 "${MAGIC}21"
	# The outer interface is not where c is.
	await is 1 tell c drain
}

test_refusals() {
	both_bound
	control other a
	[[ $(tell other bind) == 'EBUSY another socket is bound '* ]]
	[[ $(tell other unbind) == ENOTCONN* ]]
	[[ $(tell other send 192.0.2.2 51900 "${MAGIC}20") == 'ENOTCONN only the socket '* ]]
	# Data is the kernel's.
	[[ $(tell a send 192.0.2.2 51900 "${MAGIC}10") == 'EINVAL data must be '* ]]
	[[ $(tell a send 192.0.2.2 51900 "${MAGIC}30") == 'EINVAL data must be '* ]]
	[[ $(tell a send 192.0.2.2 51900 4f4d5320) == 'EINVAL data must be '* ]]
	[[ $(tell a send 192.0.2.2 51900 "$MAGIC") != ok ]]
	[[ $(tell a send 224.0.0.1 51900 "${MAGIC}20") == 'EINVAL endpoint-addr must be '* ]]
	[[ $(tell a send 203.0.113.1 51900 "${MAGIC}20") == 'ENETUNREACH there is no route '* ]]
	# To where no peer is, and to a peer that is behind itself
	[[ $(tell a send 10.9.0.77 51900 "${MAGIC}20") == 'ELOOP the route '* ]]
	on a omertactl peer set omr0 peer b endpoint 10.9.0.2:51900
	[[ $(tell a send 10.9.0.2 51900 "${MAGIC}20") == 'ELOOP the route '* ]]
	on a ip link set omr0 down
	[[ $(tell a send 192.0.2.2 51900 "${MAGIC}20") == 'ENETDOWN the device is down'* ]]
	is 0 tell b drain
	# The rights of the device's namespace, and no others
	control user a setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all
	[[ $(tell user bind) == EPERM* ]]
	control root a unshare -Ur
	[[ $(tell root bind) == EPERM* ]]
}

# One source may send so many a second, a quarter of them at once.
test_source_limit() {
	local start=$SECONDS n m

	both_bound
	on a omertactl link set omr0 control-source-rate 10
	on b ip addr add 10.77.0.1/32 dev lo
	strangers b 100 100 10.77.0.1
	await is 97 dev_stat a rx-drop-control-limit ||
		less_than 98 dev_stat a rx-drop-control-limit
	n=$(tell a drain)
	((n >= 3 && n <= 3 + 10 * (SECONDS - start + 1)))
	all_there 100 "$n"
	# Another address has a limit of its own.
	for _ in {1..40}; do
		is ok tell b send 192.0.2.1 51900 "${MAGIC}20"
	done
	m=$(tell a drain)
	((m >= 3 && m <= 3 + 10 * (SECONDS - start + 1)))
	await all_there 140 "$((n + m))"
	is 0 dev_stat a rx-drop-control
	is 0 dev_stat a rx-drop-control-full
}

# Answers arrive during a flood of strangers' datagrams from any source.
test_flood() {
	local flood

	keyed_bound
	on b ip route add local 10.77.0.0/16 dev lo
	strangers b 100000 152 &
	flood=$!
	# From the peer's own address, too
	forge b 192.0.2.2 51900 4 &
	flood+=" $!"
	await more_than 1000 dev_stat a rx-drop-control-invalid
	is ok tell a id 7
	is ok tell a send 192.0.2.2 51900 152x20
	is "192.0.2.1 51900 192.0.2.2 to_a 1 152x20" tell b recv 1
	is ok tell b send 192.0.2.1 51900 92x2107000000
	is "192.0.2.2 51900 192.0.2.1 to_b 2 92x21" tell a recv 1
	# shellcheck disable=SC2086 # two numbers
	kill $flood
	pings a 10.9.0.2
}

# A keyed socket gets what belongs to handshakes of its own, and initiations that know its
# key; strangers' datagrams only if it asked for them.
test_admission() {
	local got other

	keyed_bound
	# Lengths, and a mac1 that is none
	for got in 151x20 153x20 152x2001 1336x20 91x2107 8x21 63x22 99x23 1189x23 4x20; do
		is ok tell b send 192.0.2.1 51900 "$got"
	done
	await is 10 dev_stat a rx-drop-control-invalid
	is ok tell b send 192.0.2.1 51900 152x20
	is ok tell b send 192.0.2.1 51900 1336x2001
	await is 12 dev_stat a rx-drop-control-invalid
	# Answers to nothing, and other types
	for got in 92x2107 1180x2107 64x22 100x2307 1188x2307 20x24 20x2f 20x03; do
		is ok tell b send 192.0.2.1 51900 "$got"
	done
	await is 8 dev_stat a rx-drop-control-unasked
	# An initiation goes out: its id, and the first bytes of its mac1
	is ok tell a id 7
	is ok tell a send 192.0.2.2 51900 \
		"152x20$(printf "%0232d" 0)a1b2c3d4"
	is '192.0.2.1 51900 192.0.2.2 to_a 1 152x20' tell b recv 1
	for got in 92x2107000000 100x2307000000 1180x2107000000 64x22a1b2c3d4; do
		is ok tell b send 192.0.2.1 51900 "$got"
		is "192.0.2.2 51900 192.0.2.1 to_b 2 ${got:0:-8}" tell a recv 1
	done
	# Neither another id nor too many of this one
	is ok tell b send 192.0.2.1 51900 92x2108000000
	for _ in {1..10}; do
		is ok tell b send 192.0.2.1 51900 92x2107000000
	done
	await is 14 dev_stat a rx-drop-control-unasked
	is 5 tell a drain
	# The id goes with an initiation.
	is ok tell a id 8
	[[ $(tell a send 192.0.2.2 51900 92x21) == 'EINVAL local-id goes with '* ]]
	# Another key on the same socket replaces the previous one.
	other=$(omertactl genkey | omertactl pubkey)
	is ok tell a bind "$other" all
	on b ./handshake.py once 192.0.2.1 51900 "$KEY"
	await is 13 dev_stat a rx-drop-control-invalid
	on b ./handshake.py once 192.0.2.1 51900 "$other"
	await is 1 tell a drain
	is ok tell b send 192.0.2.1 51900 40x24
	is '192.0.2.2 51900 192.0.2.1 to_b 2 40x24' tell a recv 1
	[[ $(tell a bind) == 'EALREADY this socket is bound '* ]]
	all_there 38 11
}

# install ID [ATTRIBUTE...]: a key of a's peer
install() {
	on a ./nl.py key-new ifname=str:omr0 peer-id=u32:2 "local-id=u32:$1" remote-id=u32:1 \
		rx-secret=random:32 tx-secret=random:32 "${@:2}"
}

# Another public key means another host: keys of the previous one end.
test_identity() {
	keyed_bound
	install 7 handshake=hex:
	install 8 handshake=hex: activation=u32:1
	watch_events a
	is ok tell a unbind
	control next a
	is ok tell next bind "$KEY"
	is ok tell next unbind
	is ok tell next bind
	is ok tell next unbind
	is active on a sh -c "omertactl -j key show omr0 | jq -r '.[-1].state'"
	is ok tell next bind "$(omertactl genkey | omertactl pubkey)"
	await grep -q ' 8 ' "$DIR/events"
	saw 'key-dead omr0 2 7 identity' 'key-dead omr0 2 8 identity'
	# Not those that were installed by hand
	is retired key_state a b
}

# cookies ADDR [SOURCE...]: if the reader has a backlog, cookies are sent. An initiation with a
# cookie is delivered once, within the limit of its source. The sources share a limit.
cookies() {
	local n more=$(($# > 2 ? $# - 2 : 0))

	n=$(on b ./handshake.py cookie "$1" 51900 "$KEY" "${@:2}")
	# An eighth of the buffer
	more_than 5 echo "$n"
	less_than 60 echo "$n"
	await is 2 dev_stat a rx-drop-control-replay
	# That from the other port has another's cookie.
	await is "$((2 + more))" dev_stat a rx-drop-control-cookie
	# A quarter of a second's worth and one, or some more on a slow machine
	more_than 3 dev_stat a rx-drop-control-limit
	less_than 7 dev_stat a rx-drop-control-limit
	is 0 dev_stat a rx-drop-control-full
	all_there "$((n + 15 + more))" "$(tell a drain)"
	# It has caught up.
	await on b ./handshake.py once "$1" 51900 "$KEY"
	is 1 tell a drain
}

test_cookies() {
	keyed_bound
	cookies 192.0.2.1
}

# An IPv6 /64 is one source.
test_cookies_v6() {
	keyed_bound
	on b ip addr add 2001:db8:2::22/64 dev to_a nodad
	cookies 2001:db8:2::1 2001:db8:2::2 2001:db8:2::22
}

# A peer that is where it was has a limit of its own: strangers behind the same address, or in
# the same slot, leave it that.
test_peers_limit() {
	local n

	keyed_bound
	on a omertactl peer set omr0 peer b endpoint 192.0.2.2:7777
	n=$(on b ./handshake.py own 192.0.2.1 51900 "$KEY" 7777)
	# The worker processes them in order, and has finished.
	await is 3 dev_stat a rx-drop-control-cookie
	is 3 tell a drain 7777
	more_than 150 dev_stat a rx-drop-control-limit
	less_than 200 dev_stat a rx-drop-control-limit
	more_than 5 echo "$n"
}

# Proved initiations of strangers fill half of the reader's buffer. Answers get all of it.
test_shares() {
	local eighth got

	keyed_bound
	on a omertactl link set omr0 control-source-rate 100000
	eighth=$(on b ./handshake.py fill 192.0.2.1 51900 "$KEY" 400)
	await more_than 100 dev_stat a rx-drop-control-full
	is ok tell a id 7
	is ok tell a send 192.0.2.2 51900 152x20
	for _ in {1..8}; do
		is ok tell b send 192.0.2.1 51900 92x2107000000
	done
	# The worker has counted all.
	await is 1 dev_stat a rx-drop-control-cookie
	got=$(tell a drain)
	all_there "$((eighth + 1 + 400 + 8))" "$got"
	more_than $((eighth * 3 + 8)) echo "$got"
	less_than $((eighth * 5 + 8)) echo "$got"
}

# A socket that is not read loses datagrams, strangers' first; nothing waits for it.
test_slow_reader() {
	local before

	both_bound
	on a omertactl link set omr0 control-rate 1000000 control-source-rate 1000000
	on b ip addr add 10.77.0.1/32 dev lo
	strangers b 1000 1000 10.77.0.1
	await more_than 100 dev_stat a rx-drop-control-full
	# Behind them all in the socket
	pings a 10.9.0.2
	before=$(dev_stat a rx-drop-control-full)
	for _ in {1..400}; do
		is ok tell b send 192.0.2.1 51900 1000x20
	done
	await more_than "$before" dev_stat a rx-drop-control-full
	pings a 10.9.0.2
	all_there 1400 "$(tell a drain)"
	strangers b 1 1000 10.77.0.1
	is '10.77.0.1 7777 192.0.2.1 to_b 0 1000x20' tell a recv 1
}

# filled SHARE: number of datagrams in the buffer of a's reader after more than its share of them
# arrived from the peer's endpoint
filled() {
	local before i

	on a omertactl link set omr0 control-share "$1"
	before=$(dev_stat a rx-drop-control-full)
	for ((i = 0; i < 120; i++)); do
		is ok tell b send 192.0.2.1 51900 1000x2f >/dev/null
	done
	await more_than "$before" dev_stat a rx-drop-control-full
	tell a drain
}

# Strangers have their share of the buffer, wherever they seem to be.
test_share() {
	local one eight all

	both_bound
	on a omertactl link set omr0 control-rate 1000000 control-source-rate 1000000
	one=$(filled 1)
	eight=$(filled 8)
	all=$(filled 16)
	more_than $((one * 6)) echo "$eight"
	less_than $((all * 6 / 10)) echo "$eight"
}

# Listeners hear where a peer went, once a second at most, and of the last place.
test_moves() {
	local port start=$SECONDS n

	make_both
	pings a 10.9.0.2
	watch_events a
	for port in {51901..51910}; do
		on b omertactl link set omr0 listen-port "$port"
		pings b 10.9.0.1
		is "192.0.2.2:$port" peer_endpoint a b
	done
	await grep -q "^peer-endpoint omr0 2 192.0.2.2 51910$" "$DIR/events"
	n=$(grep -c '^peer-endpoint' "$DIR/events")
	((n <= SECONDS - start + 2))
	# No notification: the administrator has set it.
	on a omertactl peer set omr0 peer b endpoint 192.0.2.2:51999
	on b omertactl link set omr0 listen-port 51999
	pings a 10.9.0.2
	refused grep 51999 "$DIR/events"
}

test_silence() {
	make_both
	pings a 10.9.0.2
	watch_events a
	is false peer_silent a b
	on b ip link set omr0 down
	no_ping a 10.9.0.2
	await grep -q peer-silent "$DIR/events"
	is true peer_silent a b
	on a omertactl show omr0 | grep -q 'state: silent'
	on b ip link set omr0 up
	pings a 10.9.0.2
	saw 'peer-silent omr0 2' 'peer-alive omr0 2'
	is false peer_silent a b
}

peer_silent() {
	member "$(on "$1" omertactl -j peer show omr0 peer "${NUM[$2]}")" silent
}

# both_listen: succeeds if both monitors have joined; creates and deletes a device
both_listen() {
	on a omertactl link add omr0
	on a omertactl link del omr0
	[[ -s "$DIR/text" && -s "$DIR/json" ]]
}

test_monitor() {
	make_ns a b
	make_veth a b
	bg a omertactl monitor omr0 >"$DIR/text"
	bg a omertactl -j monitor >"$DIR/json"
	await both_listen
	make_tunnel
	GEN=2
	install_key b a
	install_key a b soft-time 1
	await grep -q '^omr0 key-soft peer-id 2 local-id 0x1202 remote-id 0x2102 limit time$' "$DIR/text"
	on a omertactl link add other
	on a omertactl link del other
	on a omertactl link del omr0
	await is 'omr0 device-gone' tail -n 1 "$DIR/text"
	refused grep other "$DIR/text"
	await is '[["key-soft","omr0"],["device-gone","other"],["device-gone","omr0"]]' \
		jq -sc 'map([.event, .ifname]) | .[-3:]' "$DIR/json"
}

TESTS=(
	test_round_trip test_report test_checksums test_local_address test_nobody test_moved_away
	test_refusals
	test_source_limit test_flood test_admission test_cookies test_cookies_v6 test_peers_limit
	test_identity test_shares test_share test_slow_reader test_moves test_silence test_monitor
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
