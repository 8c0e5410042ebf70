#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Floods from the network: measures the time to new keys and the losses during a flood, of omerta
# and of in-kernel WireGuard. Needs root, flood (from flood.c), and in practice a guest.
#
#     netns a, initiator           netns b, responder
#     192.0.2.1 ----------------------- 192.0.2.2
#     203.0.113.1 ---\           /---- 203.0.113.5
#                    netns m, attacker
#
# m is off the path between a and b. It knows addresses, ports and public keys, and sends
# from any source.
#
# usage: hostile.sh [TEST...]	the names of functions; all without
# In the environment:
#   FORM	short: few floods, without WireGuard; normal: two rates, WireGuard as the
#		responder; all: all rates, WireGuard everywhere; debug: as short, at a rate
#		that leaves an emulated machine with a debug kernel time for other work
#   SEED	seed of the floods
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_hostile.sh
. ./lib_hostile.sh

WG_PORT=51820
# In milliseconds, see hostile_flood.py
MEDIAN_MAX=1000 LONGEST_MAX=11000 BEHIND_WIREGUARD=200

# The highest rate
MOST=20000
# New keys beside each flood
KEYS=5
# Peers of test_many_peers
PEERS=10000
export SEED=${SEED:-$SRANDOM}
case ${FORM:=normal} in
short) RATES=$MOST TARGETS='b' SOURCES=peer ;;
# At 1000/s hosts that move have no time left there: a handshake takes 2 s.
debug) MOST=1000 PEERS=1000 RATES=$MOST MOVED_RATES=50 TARGETS='b' SOURCES=peer ;;
normal) RATES="1000 $MOST" TARGETS='b a both' SOURCES='peer random' ;;
# Each test has 60 floods and more, of some seconds each, twice.
all) RATES="50 200 1000 5000 $MOST" TARGETS='b a both' SOURCES='peer random' LIMIT=7200 ;;
*) echo "Bail out! no form '$FORM'"; exit 1 ;;
esac
# WireGuard takes 5 s and more for a key beside some floods.
WG_KEYS=3
[[ $FORM != all ]] || WG_KEYS=$KEYS

make_attacker() {
	local host

	make_ns m
	for host in a:1 b:5; do
		ip link add "to_${host%:*}" netns omt-m type veth peer name to_m netns "omt-${host%:*}"
		on "${host%:*}" ip addr add "203.0.113.${host#*:}/30" dev to_m
		on m ip addr add "203.0.113.$((${host#*:} + 1))/30" dev "to_${host%:*}"
		on "${host%:*}" ip link set to_m up
		on m ip link set "to_${host%:*}" up
		on m ip route add "$(outer4 m "${host%:*}")/32" via "203.0.113.${host#*:}"
		# Replies to random sources are dropped there.
		on "${host%:*}" ip route add 10.0.0.0/8 via "203.0.113.$((${host#*:} + 1))"
		on "${host%:*}" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.to_m.rp_filter=0
	done
	# The attacker's own packets are not to fill the way of the others.
	sysctl -qw net.core.netdev_max_backlog=100000 || :
}

# make_wireguard HERE THERE
make_wireguard() {
	on "$1" ip link add wg0 type wireguard || return
	on "$1" wg set wg0 private-key "$DIR/$1.key" listen-port "$WG_PORT"
	on "$1" wg set wg0 peer "$(cat "$DIR/$2.pub")" "endpoint" "$(outer4 "$1" "$2"):$WG_PORT" \
		allowed-ips "10.8.0.${NUM[$2]}/32"
	on "$1" ip addr add "10.8.0.${NUM[$1]}/24" dev wg0
	on "$1" ip link set wg0 up
}

# The two tunnels have the same keys.
scene() {
	[[ -x ./flood ]] || { echo "SKIP no ./flood, which is made of flood.c for amd64"; exit 4; }
	# One on a machine with one CPU
	pair_with_agents 'Channels = 2'
	make_attacker
	pings a 10.9.0.2
	# b learns its path with a's endpoint, and its agent says so once, somewhat later.
	await grep -q ' MTU ' "$DIR/b.says"
	WIREGUARD=
	if [[ $FORM == normal || $FORM == all ]]; then
		modprobe -q wireguard || :
		make_wireguard a b
		make_wireguard b a
		pings a 10.8.0.2
		WIREGUARD=yes
	fi
}

# host_of TARGET...: each host that a target stands for
hosts_of() {
	if [[ $1 == both ]]; then echo a b; else echo "$1"; fi
}

other() {
	if [[ $1 == a ]]; then echo b; else echo a; fi
}

# received HOST: packets from m
received() {
	on "$1" cat /sys/class/net/to_m/statistics/rx_packets
}

# flood PROTOCOL KIND TARGET SOURCE RATE: until stop_floods; has gone on for half a second. Omerta's
# is at the port OWN_PORT, if that is set.
flood() {
	local host from=$PORT port source
	local -A before=()

	[[ $1 == omerta ]] || from=$WG_PORT
	port=$from
	[[ $1 != omerta ]] || port=${OWN_PORT:-$PORT}
	FLOODS=() LOG_LINES=$(log_lines)
	for host in $(hosts_of "$3"); do
		before[$host]=$(received "$host")
		source=random
		[[ $4 != peer ]] || source=$(outer4 "$host" "$(other "$host")"):$from
		bg m ./flood "$DIR/$1-$2-$host" "$(outer4 m "$host")" "$port" "$5" 600 "$source" \
			>"$DIR/sent-$host"
		FLOODS+=($!)
	done
	for host in "${!before[@]}"; do
		await more_than $((before[$host] + $5 / 2)) received "$host"
	done
}

# log_lines: number of lines about the module in the kernel's log, and of both agents
log_lines() {
	echo $(($(own_lines) + $(cat "$DIR"/{a,b}.says | wc -l)))
}

# stop_floods: none made a line in any log. TRIED is set to what was sent. ip netns exec becomes
# the command, so its number is the flood's.
stop_floods() {
	kill "${FLOODS[@]}"
	wait "${FLOODS[@]}"
	TRIED=$(awk '{ sent += $1; rate += $2 } END { print sent " at " rate "/s" }' "$DIR"/sent-*)
	rm "$DIR"/sent-*
	is "$LOG_LINES" log_lines
}

# median NUMBER...
median() {
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

longest() {
	printf '%s\n' "$@" | sort -n | tail -n 1
}

# new_keys PROTOCOL: milliseconds that each of KEYS, or WG_KEYS, took
new_keys() {
	if [[ $1 == omerta ]]; then
		on a ./hostile_flood.py omerta "${AGENT[a]}" "$KEYS" 60
	else
		wireguard_keys a
	fi
}

# wireguard_keys HOST [PORT]: the same for WireGuard as the initiator, which moves to PORT and on
wireguard_keys() {
	local there

	there=$(other "$1")
	on "$1" ./hostile_flood.py wireguard wg0 "$(cat "$DIR/$there.pub")" \
		"endpoint $(outer4 "$1" "$there"):$WG_PORT allowed-ips 10.8.0.${NUM[$there]}/32" \
		"10.8.0.${NUM[$there]}" "$WG_KEYS" 60 "${@:2}"
}

# beside PROTOCOL KIND TARGET SOURCE RATE: sets TOOK to what the keys took beside the flood
beside() {
	flood "$@"
	mapfile -t TOOK < <(new_keys "$1")
	stop_floods
	[[ ${#TOOK[@]} == "$KEYS" || $1 == wireguard && ${#TOOK[@]} == "$WG_KEYS" ]]
}

# one_flood KIND TARGET SOURCE RATE: with its figures, and judged
one_flood() {
	local wireguard='' pinger lost wrong pause n tried

	begin_watch
	bg a ./hostile_flood.py pings 10.9.0.2 0.02 >"$DIR/pings"
	pinger=$!
	beside omerta "$@"
	kill -TERM "$pinger"
	wait "$pinger" || :
	end_watch
	read -r n lost wrong pause <"$DIR/pings"
	tried=$TRIED
	set -- "$@" "$(median "${TOOK[@]}")" "$(longest "${TOOK[@]}")"
	if [[ $WIREGUARD && ($2 == b || $FORM == all) ]]; then
		beside wireguard "${@:1:4}"
		wireguard=$(median "${TOOK[@]}")
	fi
	figures "$1 at $2 from $3, $4/s: tried $tried; new key $5 ms, longest $6, WireGuard" \
		"${wireguard:--}; pings $n, wrong $wrong, lost $lost, longest $pause ms; $WATCHED"
	is '0 0' echo "$wrong $lost"
	less_than "$MEDIAN_MAX" echo "$5"
	less_than "$LONGEST_MAX" echo "$6"
	[[ -z $wireguard ]] || less_than $((wireguard + BEHIND_WIREGUARD)) echo "$5"
}

# payloads KIND: for both hosts, of both protocols
payloads() {
	local host

	for host in a b; do
		python3 ./hostile_flood.py make omerta "$1" "$(cat "$DIR/$host.pub")" \
			"$DIR/omerta-$1-$host" "$DIR/pcap-omerta-$host"
		[[ -z $WIREGUARD ]] ||
			python3 ./hostile_flood.py make wireguard "$1" "$(cat "$DIR/$host.pub")" \
				"$DIR/wireguard-$1-$host" "$DIR/pcap-wireguard-$host"
	done
}

# all_floods KIND: from each source, at each target and rate
all_floods() {
	local target source rate

	for target in $TARGETS; do
		for source in $SOURCES; do
			for rate in $RATES; do
				one_flood "$1" "$target" "$source" "$rate"
			done
		done
	done
}

# counted KIND [COUNTER]: every datagram of a flood is handed to a reader in place of b's
# agent, or in one counter, which may be given. The agents end.
counted() {
	local source before only sent

	stop a
	stop b
	for source in $SOURCES; do
		[[ $source == random ]] || source=$(outer4 b a):$PORT
		begin_reader b "$(cat "$DIR/b.pub")"
		before=$(($(drops b) + $(link_losses m b)))
		only=$(dev_stat b "rx-drop-${2:-type}")
		read -r sent _ < <(on m ./flood "$DIR/omerta-$1-b" "$(outer4 m b)" "$PORT" "$MOST" 1 "$source")
		end_reader
		# shellcheck disable=SC2016 # expanded each time
		await is $((before + sent - READ)) eval 'echo $(($(drops b) + $(link_losses m b)))'
		[[ -z ${2:-} ]] || is $((only + sent)) dev_stat b "rx-drop-$2"
		figures "$1 from $source: sent $sent, handed to the reader $READ, in no counter 0"
	done
}

# Four bytes, with a type of the handshake
test_junk() {
	scene
	payloads junk
	all_floods junk
	counted junk control-invalid
}

# The right length, nothing else
test_macs() {
	scene
	payloads macs
	all_floods macs
	counted macs control-invalid
}

# The attacker needs the public key only.
test_mac1() {
	scene
	payloads mac1
	all_floods mac1
	counted mac1
}

test_large() {
	scene
	WIREGUARD=
	payloads large
	all_floods large
	counted large
}

# second_channel HOST MEMBER: HOST shows it for the other host.
second_channel() {
	on "$1" omertactl -j peer show omr0 | jq -r ".[0].\"further-channels\"[0].\"$2\""
}

# At the port of a further channel, which takes records only. One of the hosts has opened that.
test_own_port() {
	local host kind source

	[[ $(nproc) -gt 1 ]] || { echo "SKIP one CPU only"; exit 4; }
	scene
	WIREGUARD=
	for host in a b; do
		await is open second_channel "$host" state
	done
	host=a
	[[ $(second_channel a local-port) != "$PORT" ]] || host=b
	OWN_PORT=$(second_channel "$host" local-port)
	[[ $OWN_PORT != "$PORT" ]]
	for kind in junk mac1; do
		payloads "$kind"
		for source in $SOURCES; do
			one_flood "$kind" "$host" "$source" "$MOST"
		done
	done
	for host in a b; do
		await is open second_channel "$host" state
	done
}

# captures: all initiations to a and b, until stop_captures
captures() {
	local host

	CAPTURES=()
	for host in a b; do
		bg a tcpdump -i to_b -U -w "$DIR/pcap-omerta-$host" \
			"dst $(outer4 m "$host") and udp[8:4] = 0x4f4d5220" 2>"$DIR/err-1$host"
		CAPTURES+=($!)
		bg a tcpdump -i to_b -U -w "$DIR/pcap-wireguard-$host" \
			"dst $(outer4 m "$host") and udp port $WG_PORT and udp[8] = 1" 2>"$DIR/err-2$host"
		CAPTURES+=($!)
		await grep -q listening "$DIR/err-1$host"
		await grep -q listening "$DIR/err-2$host"
	done
}

stop_captures() {
	kill "${CAPTURES[@]}"
	wait "${CAPTURES[@]}" || :
}

# Genuine initiations again, also such that had a cookie
test_replay() {
	local host

	scene
	payloads mac1
	captures
	for host in a b; do
		flood omerta mac1 "$host" peer "$MOST"
		await more_than 100 dev_stat "$host" rx-drop-control-cookie
		rekey "$(other "$host")"
		stop_floods
		await captured omerta "$host"
		if [[ $WIREGUARD ]]; then
			flood wireguard mac1 "$host" peer "$MOST"
			wireguard_begins "$(other "$host")"
			stop_floods
			await captured wireguard "$host"
		fi
	done
	stop_captures
	payloads replay
	# Now, as their cookies are only good for two minutes
	for host in a b; do
		flood omerta replay "$host" peer "$MOST"
		await more_than 0 dev_stat "$host" rx-drop-control-replay
		stop_floods
	done
	all_floods replay
	counted replay
}

# captured PROTOCOL HOST: succeeds if an initiation to it was captured
captured() {
	(($(stat -c %s "$DIR/pcap-$1-$2") > 24))
}

# wireguard_begins HOST: it sends an initiation.
wireguard_begins() {
	local there

	there=$(other "$1")
	on "$1" wg set wg0 peer "$(cat "$DIR/$there.pub")" remove
	on "$1" wg set wg0 peer "$(cat "$DIR/$there.pub")" "endpoint" \
		"$(outer4 "$1" "$there"):$WG_PORT" \
		allowed-ips "10.8.0.${NUM[$there]}/32"
	on "$1" ping -c 1 -W "$WAIT" "10.8.0.${NUM[$there]}"
}

# A host that moves while its peer, which does not know its new address, is flooded
test_moved() {
	local i begun mover target source rate tried port=$PORT took wireguard

	scene
	payloads mac1
	for target in ${TARGETS/both/}; do
		mover=$(other "$target")
		for source in $SOURCES; do
			for rate in ${MOVED_RATES:-$RATES}; do
				flood omerta mac1 "$target" "$source" "$rate"
				took=() wireguard=''
				for ((i = 0; i < KEYS; i++)); do
					on "$mover" omertactl key del omr0 peer "$target" \
						local-id "$(key "$mover" local-id)"
					on "$mover" omertactl link set omr0 listen-port $((++port))
					begun=${EPOCHREALTIME/./}
					on "$mover" ping -c 1 -W 30 "$IN4${NUM[$target]}"
					took+=($(((${EPOCHREALTIME/./} - begun) / 1000)))
				done
				stop_floods
				tried=$TRIED
				# The next flood finds it where it was.
				on "$mover" omertactl link set omr0 listen-port "$PORT"
				if [[ $WIREGUARD && ($target == b || $FORM == all) ]]; then
					flood wireguard mac1 "$target" "$source" "$rate"
					mapfile -t TOOK < <(wireguard_keys "$mover" $((WG_PORT + 1)))
					stop_floods
					on "$mover" wg set wg0 listen-port "$WG_PORT"
					is "$WG_KEYS" echo "${#TOOK[@]}"
					wireguard=$(median "${TOOK[@]}")
				fi
				figures "$mover moved, mac1 at $target from $source, $rate/s: tried $tried; first" \
					"packet ${took[*]} ms, WireGuard ${wireguard:--}"
				less_than "$MEDIAN_MAX" median "${took[@]}"
				less_than "$LONGEST_MAX" longest "${took[@]}"
				[[ -z $wireguard ]] ||
					less_than $((wireguard + BEHIND_WIREGUARD)) median "${took[@]}"
			done
		done
	done
}

# more_peers HOST: many that never say anything. Its agent begins anew with them.
more_peers() {
	stop "$1"
	python3 - "$PEERS" >>"$DIR/$1.conf" <<-'END'
		import base64, os, sys
		for i in range(int(sys.argv[1])):
		    print(f'[Peer]\nPublicKey = {base64.b64encode(os.urandom(32)).decode()}')
		    print(f'AllowedIPs = 10.{128 + (i >> 16)}.{i >> 8 & 255}.{i & 255}/32, fd64::{i:x}/128')
	END
	on "$1" omertactl syncconf omr0 "$DIR/$1.conf"
	agent "$1"
	is $((PEERS + 1)) eval "on $1 omertactl -j peer show omr0 | jq length"
}

# Handshakes of strangers, at a host that has to look for them among many
test_many_peers() {
	scene
	WIREGUARD=
	more_peers b
	# The new agent says once in what mode keys are agreed on.
	rekey a
	await grep -q 'keys are agreed on' "$DIR/b.says"
	payloads mac1
	all_floods mac1
	# The flood was of handshakes, and is over.
	more_than 0 dev_stat b rx-drop-control-cookie
	rekey a
}

# The cost of a flood: kernel and agent, with the attacker's own part in both figures
test_cost() {
	local protocol port took=()

	scene
	payloads mac1
	for protocol in omerta ${WIREGUARD:+wireguard}; do
		port=$PORT
		[[ $protocol == omerta ]] || port=$WG_PORT
		took+=("$(on m ./hostile_flood.py cpu ./flood "$DIR/$protocol-mac1-b" 192.0.2.2 "$port" \
			"$MOST" 5 random)")
	done
	figures "mac1, $MOST/s for 5 s: busy ${took[0]} s, WireGuard ${took[1]:--}," \
		"agent $(cpu_ms b) ms in all, $(memory_kb b) kB"
	[[ -z $WIREGUARD ]] || awk -v a="${took[0]}" -v b="${took[1]}" 'BEGIN { exit !(a < b) }'
}

TESTS=(test_junk test_macs test_mac1 test_large test_own_port test_replay test_moved test_many_peers
	test_cost)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
echo "# SEED=$SEED FORM=$FORM"
run_tests "${@:-${TESTS[@]}}"
