# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For measuring: omerta, WireGuard and no tunnel at all between namespaces a and b.
# shellcheck source=../lib_netns.sh
. ./lib_netns.sh

DIR=$(mktemp -d)
# shellcheck disable=SC2034 # for who sources it
declare -A ADDRESS=([veth]=192.0.2.2 [wireguard]=10.8.0.2 [omerta]=10.9.0.2)
# shellcheck disable=SC2034
CONTENDERS=(veth wireguard omerta)

make_wireguard() {
	local here=$1 there=$2

	on "$here" ip link add wg0 type wireguard
	on "$here" wg set wg0 private-key "$DIR/$here.key" listen-port 51820 \
		peer "$(<"$DIR/$there.pub")" endpoint "$(outer4 "$here" "$there"):51820" \
		allowed-ips 10.8.0.0/24
	on "$here" ip addr add "10.8.0.${NUM[$here]}/24" dev wg0
	on "$here" ip link set wg0 up
}

setup() {
	local end

	modprobe omerta
	modprobe -q wireguard || :
	# shellcheck disable=SC2119 # no settings
	make_both
	for end in a b; do
		(umask 077 && wg genkey >"$DIR/$end.key")
		wg pubkey <"$DIR/$end.key" >"$DIR/$end.pub"
	done
	make_wireguard a b
	make_wireguard b a
	# Both with the same queue, as omertactl makes it.
	on a tc qdisc replace dev wg0 root fq_codel
	on b tc qdisc replace dev wg0 root fq_codel
	for end in "${ADDRESS[@]}"; do
		pings a "$end" >/dev/null
	done
}

cut_outer() {
	on a ethtool -K to_b tx-udp-segmentation "$1" >/dev/null
	on b ethtool -K to_a tx-udp-segmentation "$1" >/dev/null
}

# A server for one client; it is $! afterwards.
serve_once() {
	bg b timeout "$WAIT" iperf3 -s -1 >/dev/null
	await listening b 5201
}
