#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A tunnel between two machines: this is one of them, a or b, with a link to the other as eth0.
# Each prints KTAP of what it sees. Needs root.
#
#        a                                              b
#   omr0 10.9.0.1  eth0 192.0.2.1 --------- 192.0.2.2 eth0  10.9.0.2 omr0
#
# usage: pair.sh a|b
# shellcheck disable=SC2317 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_test.sh
. ./lib_test.sh

WAIT=120
ROLE=$1
if [[ $ROLE == a ]]; then
	SELF=1 OTHER=2
else
	SELF=2 OTHER=1
fi

# meet PORT: waits until the other machine is there, too.
meet() {
	if [[ $ROLE == a ]]; then
		ncat --send-only -l "192.0.2.1" "$1" <<<here
	else
		await is here ncat --recv-only 192.0.2.1 "$1"
	fi
}

# secret FROM TO: the same on both machines, and no secret at all
secret() {
	python3 -c "import base64, hashlib
print(base64.b64encode(hashlib.sha256(b'pair $1 $2').digest()).decode())"
}

cleanup() {
	omertactl down omr0
	omertactl link del omr0
}

reached() {
	ping -c 1 -W 1 "10.9.0.$OTHER"
}

# Packets of one chunk, of several, and of several datagrams
pings() {
	local size

	for size in 0 56 700 1300 9000; do
		ping -c 3 -i 0.2 -s "$size" -W 5 "10.9.0.$OTHER"
	done
}

# copies PORT: a stream each way
copies() {
	local sum

	sum=$(seq 100000 | sha256sum)
	for sender in a b; do
		if [[ $ROLE == "$sender" ]]; then
			seq 100000 >"$DIR/stream"
			await ncat --send-only "10.9.0.$OTHER" "$1" <"$DIR/stream"
		else
			is "$sum" eval "ncat --recv-only -l $1 | sha256sum"
		fi
		meet $(($1 + 1))
	done
}

test_keys_by_hand() {
	umask 077
	secret "$OTHER" "$SELF" >"$DIR/rx"
	secret "$SELF" "$OTHER" >"$DIR/tx"
	omertactl link add omr0 listen-port 51900
	ip addr add "10.9.0.$SELF/24" dev omr0
	omertactl peer add omr0 id "$OTHER" endpoint "192.0.2.$OTHER:51900" \
		allowed-ips "10.9.0.$OTHER/32"
	omertactl key add omr0 peer "$OTHER" local-id "$((SELF * 256 + OTHER))" \
		remote-id "$((OTHER * 256 + SELF))" rx-key-file "$DIR/rx" tx-key-file "$DIR/tx"
	ip link set omr0 up
	omertactl key activate omr0 peer "$OTHER" local-id "$((SELF * 256 + OTHER))"
	await reached
	meet 7000
	pings
	copies 7010
	is 0 eval "omertactl -j stats omr0 | jq '[.. | objects | to_entries[] |
		select(.key | test(\"^rx-drop-(malformed|auth|replay|plaintext|source)\")) | .value] |
		add'"
	meet 7001
}

test_agent() {
	local key

	mkdir -p /etc/omerta
	umask 077
	key=$(secret self "$OTHER" | omertactl pubkey)
	cat >/etc/omerta/omr0.conf <<-END
		[Interface]
		PrivateKey = $(secret self "$SELF")
		ListenPort = 51900
		Address = 10.9.0.$SELF/24
		[Peer]
		PublicKey = $key
		Endpoint = 192.0.2.$OTHER:51900
		AllowedIPs = 10.9.0.$OTHER/32
		PersistentKeepalive = 5
	END
	omertactl up omr0
	await reached
	meet 7002
	pings
	copies 7020
	meet 7003
}

modprobe -q virtio_net
modprobe omerta || skip "no module omerta"
ip addr add "192.0.2.$SELF/24" dev eth0
ip link set eth0 up
run_tests test_keys_by_hand test_agent
