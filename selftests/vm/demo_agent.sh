# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# The demo's second act, sourced by demo_guest.sh: the same two hosts, each with a
# file and an agent.
#
# shellcheck disable=SC2153 # PORT, DIR

# omertactl_in NETNS ARGUMENT...: as on a host of its own
omertactl_in() {
	local dir=$DIR/$1.host

	mkdir -p "$dir/state" "$dir/run"
	ip netns exec "$1" env "STATE_DIRECTORY=$dir/state" "RUNTIME_DIRECTORY=$dir/run" \
		omertactl "${@:2}"
}

make_host_keys() {
	local host

	for host in a b; do
		mkdir -p "$DIR/$host.host"
		(umask 077 && omertactl genkey >"$DIR/$host.host/omr0.key")
		omertactl pubkey <"$DIR/$host.host/omr0.key" >"$DIR/$host.pub"
	done
}

# write_file NETNS OWN-NUMBER OTHER-NUMBER OTHER [LINE...]: the lines end the peer.
write_file() {
	cat >"$DIR/$1.host/omr0.conf" <<-END
		[Interface]
		ListenPort = $PORT
		PrivateKeyFile = omr0.key
		Address = 10.9.0.$2/24, fd09::$2/64

		[Peer]
		PublicKey = $(<"$DIR/$4.pub")
		AllowedIPs = 10.9.0.$3/32, fd09::$3/128
	END
	printf '%s\n' "${@:5}" >>"$DIR/$1.host/omr0.conf"
}

# counter NETNS NAME: a counter of the peer
counter() {
	ip netns exec "$1" omertactl -j peer show omr0 | jq --arg n "$2" '.[0].stats[$n]'
}

active_key() {
	in_a omertactl -j key show omr0 | jq -r '.[] | select(.state == "active") | ."local-id"'
}

another_key() {
	[[ $(active_key) != "$1" ]]
}

all_arrived() {
	local sent

	sent=$(counter a tx-packets)
	[[ $sent == $(counter b rx-packets) ]]
}

# New keys while packets are in flight, none of which may be lost
rekey_under_load() {
	local client old sent

	in_b iperf3 -s -1 -p 5202 >/dev/null 2>&1 &
	await 'iperf3 server' listens 5202
	in_a iperf3 -u -b 2M -l 1200 -t "$WAIT" -c 10.9.0.2 -p 5202 >/dev/null 2>&1 &
	client=$!
	for _ in 1 2 3; do
		old=$(active_key)
		sent=$(counter a tx-packets)
		await 'traffic' more_was_sent $((sent + 100))
		kill -USR1 "$(<"$DIR/a.host/run/omr0.pid")"
		await 'new key' another_key "$old"
		echo "key $(active_key) has taken the place of $old"
	done
	pkill -INT -P "$client" iperf3 || kill "$client"
	wait "$client" || :
	await 'last packets' all_arrived
	echo "sent $(counter a tx-packets) packets, received $(counter b rx-packets)"
}

more_was_sent() {
	(($(counter a tx-packets) > $1))
}

second_act() {
	headline 'Two hosts, each with a file'
	make_host_keys
	write_file a 1 2 b "Endpoint = 192.0.2.2:$PORT"
	write_file b 2 1 a
	cat "$DIR/a.host/omr0.conf"
	printf '\nomertactl up, on both\n'
	omertactl_in a up "$DIR/a.host/omr0.conf"
	omertactl_in b up "$DIR/b.host/omr0.conf"
	in_a ping -c 3 -i 0.2 -W 10 10.9.0.2 | tail -n 3
	in_a ping -c 3 -i 0.2 -W 10 fd09::2 | tail -n 3
	headline 'New keys, under load'
	rekey_under_load
	headline 'omertactl down, on both'
	omertactl_in a down "$DIR/a.host/omr0.conf"
	omertactl_in b down "$DIR/b.host/omr0.conf"
}
