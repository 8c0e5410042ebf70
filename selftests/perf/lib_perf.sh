# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For measuring: omerta, WireGuard, ovpn (OpenVPN's data channel in the kernel), where
# the kernel has it, and no tunnel at all between namespaces a and b; or between this
# host, a, and another, b, that has the same files at the same place. Then there are
# in the environment:
#   REMOTE			what runs a shell command there, as in "ssh root@192.0.2.2"
#   OUTER_HERE, OUTER_THERE			the outer addresses
#   LINK_HERE, LINK_THERE	the devices that have them
# shellcheck source=../lib_netns.sh
. ./lib_netns.sh

DIR=$(mktemp -d)
declare -A LINK=([a]=to_b [b]=to_a)
# The outer link's MTU; chunk size, MTU and channels of omerta's devices; channels of the peer, and the
# number of its last key
OUTER_MTU=1500 SIZE='' PEER_CHANNELS=1 LAST_KEY=65536
# shellcheck disable=SC2034 # for scripts that source it
declare -A ADDRESS=([veth]=192.0.2.2 [wireguard]=10.8.0.2 [omerta]=10.9.0.2)
# The settings that settle() starts from. Empty leaves omerta's devices as they are, which suits tools
# that know other settings.
DEFAULTS=${DEFAULTS-policy auto percpu-threshold 49152 cpus all batch on df unset engine auto}

use_hosts() {
	on() {
		local end=$1

		shift
		if [[ $end == a ]]; then
			"$@"
		else
			$REMOTE "cd ${PWD@Q} && ${*@Q}"
		fi
	}
	bg() { on "$@" & }
	outer4() { if [[ $2 == a ]]; then echo "$OUTER_HERE"; else echo "$OUTER_THERE"; fi; }
	LINK=([a]=$LINK_HERE [b]=$LINK_THERE)
	ADDRESS[veth]=$OUTER_THERE
	trap leave_hosts EXIT
}

leave_hosts() {
	local end dev

	for end in a b; do
		on "$end" pkill -f '^[^ ]*python3 ./perf/ovpn.py' || :
		for dev in omr0 wg0 ovpn0; do
			on "$end" ip link del "$dev" || :
		done
		on "$end" rm -rf "$DIR"
	done
}

# secret FILE: which both ends can read
secret() {
	make_secret "$1"
	[[ -z ${REMOTE:-} ]] ||
		on b sh -c "umask 077 && mkdir -p ${DIR@Q} && cat >${1@Q}.new && mv ${1@Q}.new ${1@Q}" <"$1"
}

make_wireguard() {
	local here=$1 there=$2

	on "$here" ip link add wg0 type wireguard
	on "$here" wg set wg0 private-key "$DIR/$here.key" listen-port 51820 \
		peer "$(<"$DIR/$there.pub")" endpoint "$(outer4 "$here" "$there"):51820" \
		allowed-ips 10.8.0.0/24
	on "$here" ip addr add "10.8.0.${NUM[$here]}/24" dev wg0
	on "$here" ip link set wg0 up
}

# With the same cipher as the others.
make_ovpn() {
	local here=$1 there=$2

	on "$here" ip link add ovpn0 type ovpn
	bg "$here" ./perf/ovpn.py ovpn0 1194 "$(outer4 "$here" "$there")" 1194 \
		"$DIR/ovpn-$there-$here" "$DIR/ovpn-$here-$there" >"$DIR/ovpn-$here"
	await grep -q ready "$DIR/ovpn-$here"
	on "$here" ip addr add "10.7.0.${NUM[$here]}/24" dev ovpn0
	on "$here" ip link set ovpn0 up
}

have_ovpn() {
	local end

	for end in a b; do
		on "$end" modprobe -q ovpn || :
		on "$end" ip link add ovpn9 type ovpn && on "$end" ip link del ovpn9 || return
	done
}

# Sets CONTENDERS, a word, to the names of those that are there, unless it is set.
setup() {
	local all='veth wireguard omerta' end

	if [[ -n ${REMOTE:-} ]]; then
		use_hosts
		# A NIC spreads what has several ports.
		(($(nproc) == 1)) || all+=" omerta,peer-channels=$(channels_of)"
	else
		make_ns a b
		make_veth a b
	fi
	for end in omr0-a-b.1 omr0-b-a.1 ovpn-a-b ovpn-b-a a.key b.key; do
		secret "$DIR/$end"
	done
	for end in a b; do
		on "$end" modprobe omerta
		on "$end" modprobe -q wireguard || :
		wg pubkey <"$DIR/$end.key" >"$DIR/$end.pub"
	done
	# shellcheck disable=SC2119 # no settings
	make_tunnel
	make_wireguard a b
	make_wireguard b a
	# Both with the same queue, as omertactl makes it.
	on a tc qdisc replace dev wg0 root fq_codel
	on b tc qdisc replace dev wg0 root fq_codel
	if have_ovpn; then
		all+=' ovpn'
		ADDRESS[ovpn]=10.7.0.2
		make_ovpn a b
		make_ovpn b a
		on a tc qdisc replace dev ovpn0 root fq_codel
		on b tc qdisc replace dev ovpn0 root fq_codel
	else
		echo "# ovpn: SKIP this kernel has none"
	fi
	: "${CONTENDERS:=$all}"
	for end in "${ADDRESS[@]}"; do
		pings a "$end" >/dev/null
	done
}

declare -A GSO_WAS

# settle CONTENDER: has omerta's devices do as the contender says.
settle() {
	local end setting

	[[ $1 == omerta* ]] || return 0
	# The device's own limit follows the length of records.
	for end in "${!GSO_WAS[@]}"; do
		on "$end" ip link set omr0 gso_max_size "${GSO_WAS[$end]}"
		unset "GSO_WAS[$end]"
	done
	set_while_down "$1"
	set_peer_channels "$1"
	for end in a b; do
		# shellcheck disable=SC2086 # words
		[[ -z $DEFAULTS ]] || on "$end" omertactl link set omr0 $DEFAULTS
		for setting in $(tr , ' ' <<<"${1#omerta}"); do
			case $setting in
			chunk-size=* | channels=* | peer-channels=*) ;;
			gso_max_size=*)
				GSO_WAS[$end]=$(on "$end" ip -d -j link show omr0 | jq '.[0].gso_max_size')
				on "$end" ip link set omr0 gso_max_size "${setting#*=}"
				;;
			*) on "$end" omertactl link set omr0 "${setting%%=*}" "${setting#*=}" ;;
			esac
		done
	done
}

# set_while_down CONTENDER: its channels and chunk size, and the longest packets whose records fit an
# outer IPv6 datagram.
set_while_down() {
	local chunk=512 mtu end channels

	channels=$(channels_of)
	[[ $1 != *,channels=* ]] || channels=${1#*,channels=}
	channels=${channels%%,*}
	[[ $1 != *,chunk-size=* ]] || chunk=${1#*,chunk-size=}
	chunk=${chunk%%,*}
	mtu=$(record_mtu "$OUTER_MTU" "$chunk")
	[[ $SIZE != "$chunk $mtu $channels" ]] || return 0
	# The module may be from before there were channels.
	on a omertactl link show omr0 | grep -q ' channels ' || channels=''
	for end in a b; do
		on "$end" ip link set omr0 down
		# The MTU of either must suit the chunk size of the other.
		on "$end" ip link set omr0 mtu 1280
		on "$end" omertactl link set omr0 chunk-size "$chunk" ${channels:+channels "$channels"}
		on "$end" ip link set omr0 mtu "$mtu" up
	done
	pings a "${ADDRESS[omerta]}" >/dev/null
	SIZE="$chunk $mtu $channels"
}

# channels_of: as many as both devices have by default
channels_of() {
	(on a nproc && on b nproc && echo 8) | sort -n | head -n 1
}

# set_peer_channels CONTENDER: each further one has keys of its own.
set_peer_channels() {
	local channel n=1 GEN

	[[ $1 != *,peer-channels=* ]] || n=${1#*,peer-channels=}
	n=${n%%,*}
	[[ $n != "$PEER_CHANNELS" ]] || return 0
	on a omertactl peer set omr0 peer b channels "$n"
	on b omertactl peer set omr0 peer a channels "$n"
	for ((channel = 1; channel < n; channel++)); do
		LAST_KEY=$((LAST_KEY + 1)) GEN=$LAST_KEY
		secret "$DIR/omr0-a-b.$GEN"
		secret "$DIR/omr0-b-a.$GEN"
		install_key b a channel "$channel" activate on-first-record
		install_key a b channel "$channel" activate now
	done
	if ((n > 1)); then
		await all_open a b "$((n - 1))"
		await all_open b a "$((n - 1))"
	fi
	PEER_CHANNELS=$n
}

# all_open HERE THERE NUMBER: so many further channels of the peer are open, and no other is there.
all_open() {
	on "$1" omertactl -j peer show omr0 peer "${NUM[$2]}" |
		jq -e --argjson n "$3" \
			'.[0]."further-channels" | map(.state) == [range($n) | "open"]' >/dev/null
}

# record_mtu OUTER_MTU CHUNK_SIZE: header, and a tag for each chunk
record_mtu() {
	local room=$(($1 - 40 - 8 - 16))

	echo $((room - 16 * ((room + $2 + 15) / ($2 + 16))))
}

# widen MTU: of the outer link, and as much more of what runs in it
widen() {
	local end dev mtu

	for end in a b; do
		for dev in "${LINK[$end]}" wg0 ${ADDRESS[ovpn]:+ovpn0}; do
			mtu=$(on "$end" cat "/sys/class/net/$dev/mtu")
			on "$end" ip link set "$dev" mtu $((mtu + $1 - OUTER_MTU))
		done
	done
	OUTER_MTU=$1
}

cut_outer() {
	on a ethtool -K "${LINK[a]}" tx-udp-segmentation "$1" >/dev/null
	on b ethtool -K "${LINK[b]}" tx-udp-segmentation "$1" >/dev/null
}

# A server for one client; it is $! afterwards.
serve_once() {
	bg b timeout "$WAIT" iperf3 -s -1 >/dev/null
	await listening b 5201
}
