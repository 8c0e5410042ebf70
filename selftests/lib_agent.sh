# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For test scripts: hosts with files of configuration and key agents, on lib_netns.sh's
# links.
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

declare -A AGENT

# config NS [LINE...]: its file, with a new key; the lines end [Interface]
config() {
	local file=$DIR/$1.conf

	(umask 077 && omertactl genkey >"$DIR/$1.key")
	omertactl pubkey <"$DIR/$1.key" >"$DIR/$1.pub"
	printf '%s\n' '[Interface]' "ListenPort = $PORT" "PrivateKeyFile = $1.key" "${@:2}" >"$file"
}

# config_peer HERE THERE [LINE...]
config_peer() {
	printf '%s\n' '[Peer]' "Id = ${NUM[$2]}" "Name = $2" "PublicKey = $(cat "$DIR/$2.pub")" \
		"AllowedIPs = $IN4${NUM[$2]}/32, $IN6${NUM[$2]}/128" "${@:3}" >>"$DIR/$1.conf"
}

# agent NS: $TOOL, if that is set
agent() {
	mkdir -p "$DIR/$1.state"
	STATE_DIRECTORY=$DIR/$1.state bg "$1" "${TOOL:-omertactl}" agent "$DEV" \
		config "$DIR/$1.conf" 2> >(tee "$DIR/$1.says" >&2)
	AGENT[$1]=$!
	await bound "$1"
}

# signal NS SIGNAL
signal() {
	kill "-$2" "${AGENT[$1]}"
}

stop() {
	signal "$1" TERM
	wait "${AGENT[$1]}"
}

# cpu_ms NS: CPU time of its agent
cpu_ms() {
	awk '{ print ($14 + $15) * 10 }' "/proc/${AGENT[$1]}/stat"
}

# memory_kb NS: resident memory of its agent
memory_kb() {
	awk '/^VmRSS:/ { print $2 }' "/proc/${AGENT[$1]}/status"
}

# host NS: its device, up, as its file says
host() {
	make_dev "$1"
	on "$1" omertactl setconf "$DEV" "$DIR/$1.conf"
	on "$1" ip link set "$DEV" up
}

# pair [LINE...]: a knows where b is; the lines end both their peers.
pair() {
	make_ns a b
	make_veth a b
	config a
	config b
	config_peer a b "Endpoint = $(endpoint a b)" "$@"
	config_peer b a "$@"
	host a
	host b
}

pair_with_agents() {
	pair "$@"
	agent a
	agent b
}

# The state of all hosts and the last words of their agents, after a test that failed
describe() {
	local ns

	pgrep -a omerta
	for ns in $(ip netns list | sed -n 's/^omt-\([^ ]*\).*/\1/p'); do
		echo "netns $ns"
		on "$ns" omertactl show
		on "$ns" omertactl key show "$DEV"
		[[ ! -e $DIR/$ns.says ]] || tail -n 20 "$DIR/$ns.says"
	done
}

# keys NS STATE: number of keys in that state
keys() {
	on "$1" omertactl dump "$DEV" |
		awk -F '\t' -v "s=$2" '$1 == "key" && $6 == s { n++ } END { print n + 0 }'
}

# key NS FIELD: field of the active key
key() {
	local active

	active=$(object "$(on "$1" omertactl -j key show "$DEV")" state active) || return 0
	member "$active" "$2"
}

# another_key NS OLD: succeeds if the active key is not OLD
another_key() {
	[[ $(key "$1" local-id) != "$2" ]]
}

# rekey NS
rekey() {
	local old

	old=$(key "$1" local-id)
	signal "$1" USR1
	await another_key "$1" "$old"
}

# agree_on_key: succeeds if both have the same active key
agree_on_key() {
	[[ -n $(key a local-id) ]] && is "$(key a local-id) $(key a remote-id)" echo "$(key b remote-id) $(key b local-id)"
}

# says TEXT COMMAND...: it fails, and TEXT is why.
says() {
	local out

	out=$("${@:2}" 2>&1) && { echo "$out"; return 1; }
	echo "$out"
	[[ $out == *"$1"* ]]
}
