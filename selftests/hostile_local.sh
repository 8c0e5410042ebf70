#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The campaign's local part: attackers on this machine, its tenants, and peers that
# misbehave, each beside a tunnel that carries numbered datagrams, of which none may be
# lost or changed. Needs root, and in practice a guest: the module is unloaded and loaded
# again. Each test prints its figures.
#
# usage: [TIME=SECONDS] [SEED=NUMBER] [FORM=short|normal|all|debug] hostile_local.sh [TEST...]
#
# TIME is what the random parts take, all together. FORM is how many keys and tenants there
# are: 10^4 and 20, 10^5 and 500, 10^6 and 10^5, or for an emulated machine with a debug
# kernel 2000 and 5.
# shellcheck disable=SC2317,SC2119 # the tests are called by name
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_hostile.sh
. ./lib_hostile.sh
# shellcheck source=lib_hogs.sh
. ./lib_hogs.sh

FORM=${FORM:-normal} SEED=${SEED:-$SRANDOM}
# Requests of the fuzzer that succeed, at least
GRANTED=20
case $FORM in
debug) KEYS=2000 TENANTS=5 GRANTED=5 TIME=${TIME:-60} ;;
short) KEYS=10000 TENANTS=20 TIME=${TIME:-15} ;;
normal) KEYS=100000 TENANTS=500 TIME=${TIME:-120} ;;
# In User-mode Linux a process takes 50 ms, and the end of a namespace 20 ms. User namespaces
# nest in 32 levels.
all) KEYS=1000000 TENANTS=100000 DEPTH=30 TIME=${TIME:-120} LIMIT=14400 ;;
*) echo "Bail out! no form '$FORM'"; exit 1 ;;
esac
# Four tests have random parts, one of them two.
PART=$(((TIME + 4) / 5))
BY_NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
# The figures of a test; its own output is shown if it fails only.
exec 9>&1

# begin_witness: numbered datagrams go from a to b and come back.
begin_witness() {
	bg b ./hostile_local.py echo
	await udp_bound b 7
	bg a ./hostile_local.py witness 10.9.0.2 >"$DIR/witness"
	WITNESS=$!
	await grep -q begins "$DIR/witness"
	begin_watch
}

# end_witness TRIED [TEXT]: prints the figures; nothing was lost or changed.
end_witness() {
	local sent wrong lost

	end_watch
	kill "$WITNESS"
	wait "$WITNESS"
	read -r sent wrong lost < <(tail -n 1 "$DIR/witness")
	echo "# figures: tried $1, wrong $wrong, lost $lost, of $sent beside it${2:+, $2}; $WATCHED" >&9
	((sent > 100))
	is '0 0' echo "$wrong $lost"
	pings a 10.9.0.2
}

# begin FILE NS COMMAND...: in the background, with its output in the file
begin() {
	bg "$2" "${@:3}" >"$DIR/$1"
	JOBS+=($!)
}

# join: waits for what was begun, which must not fail. A process that is stuck in the kernel
# lasts until the test's limit.
join() {
	local job

	for job in "${JOBS[@]}"; do
		wait "$job"
	done
	JOBS=()
}
JOBS=()

# total COLUMN FILE...: the sum
total() {
	awk -v "n=$1" '{ sum += $n } END { print sum + 0 }' "${@:2}"
}

# The tunnel as it is set up, without counters
settings() {
	on a omertactl -j show omr0 | jq -cS 'walk(if type == "object" then
		with_entries(select(.key | test("^([rt]x-|stats$|channel-stats$|age$|used-secrets|auth-|replays)") | not))
		else . end)'
}

# slab_kb: memory that remembers used secrets
slab_kb() {
	local slab=/sys/kernel/slab/omerta_fingerprint

	echo $(($(cut -d ' ' -f 1 "$slab/slabs") * 4 << $(<"$slab/order")))
}

# entries_kb NUMBER: memory of so many used secrets; two tables of them are no larger
entries_kb() {
	echo $(($1 * $(<"/sys/kernel/slab/omerta_fingerprint/slab_size") / 1024))
}

# Requests affect only objects that their sender may change.
test_netlink() {
	local before lines i ifindex

	make_both
	ifindex=$(on a cat /sys/class/net/omr0/ifindex)
	before=$(settings)
	lines=$(own_lines)
	begin_witness
	for i in 1 2; do
		begin "root.$i" a ./hostile_local.py netlink "$PART" "$SEED.$i" scratch "$ifindex"
	done
	begin user.1 a "${BY_NOBODY[@]}" ./hostile_local.py netlink "$PART" "$SEED" tunnel
	begin user.2 a unshare -Ur ./hostile_local.py netlink "$PART" "$SEED" tunnel
	begin own a "${BY_NOBODY[@]}" unshare -Urn ./hostile_local.py netlink "$PART" "$SEED" scratch
	join
	is "$before" settings
	is "$lines" own_lines
	# A part of the requests were good ones.
	more_than "$GRANTED" total 2 "$DIR"/root.*
	more_than "$GRANTED" total 2 "$DIR/own"
	end_witness "$(total 1 "$DIR"/{root,user}.* "$DIR/own")" \
		"granted to root $(total 2 "$DIR"/root.*), to others $(total 2 "$DIR"/user.*), \
to others in their own namespaces $(total 2 "$DIR/own")"
}

# Each datagram that c sent is in exactly one counter, and no mutation is accepted.
test_datagrams() {
	local sent genuine lost key counter lines

	tunnel_with_c
	key=$(omertactl genkey | omertactl pubkey)
	begin_reader a "$key"
	lines=$(own_lines)
	begin_witness
	begin sent c ./hostile_local.py datagrams "$PART" "$SEED" 198.51.100.1 "$PORT" "$FROM_C" \
		"$ID_C" "$key"
	join
	read -r sent genuine <"$DIR/sent"
	await is "$genuine" peer_stat a c rx-records
	end_reader
	lost=$(link_losses c a)
	end_witness "$sent" "datagrams in no counter: $((sent - READ - lost - genuine - $(drops a))), \
accepted $genuine, handed to the reader $READ, dropped $(drops a), lost by the link $lost"
	is "$sent" echo $((READ + lost + genuine + $(drops a)))
	is "$lines" own_lines
	# All of these were met.
	for counter in malformed type key-unknown auth replay control-invalid control-cookie \
		control-replay control-limit; do
		more_than 0 dev_stat a "rx-drop-$counter"
	done
	is "$genuine" peer_stat a c rx-packets
}

# fresh_module: it remembers nothing.
fresh_module() {
	timeout "$WAIT" modprobe -r omerta
	modprobe omerta
}

# One user's namespaces, each with a device and keys by hand, share one bound; it holds
# for no one else.
test_tenants() {
	local slab free taken text percpu each GEN=1

	each=$((TENANTS < 5000 ? 5000 / TENANTS : 1))
	# The end of a namespace waits for RCU several times.
	echo 1 >/sys/kernel/rcu_expedited
	fresh_module
	make_both
	begin_witness
	# The kernel keeps some memory of its first namespaces. All namespaces have some
	# memory for each CPU.
	percpu=$(meminfo Percpu)
	begin first b setpriv --reuid 65533 --clear-groups ./hostile_local.py tenants \
		$((TENANTS < 100 ? TENANTS : 100)) 2
	join
	WAIT=300 await less_than $((percpu + 150 * $(nproc))) meminfo Percpu
	slab=$(slab_kb)
	free=$(mem_free)
	begin tenants b "${BY_NOBODY[@]}" ./hostile_local.py tenants "$TENANTS" "$each" \
		"${DEPTH:-1}"
	join
	read -r taken text <"$DIR/tenants"
	echo "$text" | grep 'EDQUOT memory of used keys is full'
	is 4096 echo "$taken"
	for GEN in 2 3; do
		install_key b a activate on-first-record
		install_key a b activate now
		await is active key_state b a
	done
	# Room for 4096 entries, and a MiB. Slabs of namespaces that ended stay in part, some
	# 10 MiB however many there were, and the kernel takes its time to end them.
	less_than $((slab + $(entries_kb 4096) + 1024)) slab_kb
	WAIT=300 await less_than 32768 mem_used "$free"
	end_witness $((TENANTS * each)) "tenants $TENANTS, taken $taken, \
slab $(($(slab_kb) - slab)) KiB, memory $(mem_used "$free") KiB"
	echo 0 >/sys/kernel/rcu_expedited
}

# Keys of handshakes leave nothing behind, however many there were.
test_keys() {
	local before slab free

	make_both
	on a omertactl link add omr1
	on a omertactl peer add omr1 id 1
	begin_witness
	on a ./hostile_local.py keys omr1 1000 handshake
	before=$(used_secrets a)
	slab=$(slab_kb)
	free=$(mem_free)
	begin keys a ./hostile_local.py keys omr1 "$KEYS" handshake
	join
	is "$KEYS " cat "$DIR/keys"
	is "$before" used_secrets a
	await less_than $((slab + $(entries_kb 720))) slab_kb
	await less_than 4096 mem_used "$free"
	end_witness "$KEYS" "slab $(($(slab_kb) - slab)) KiB, memory $(mem_used "$free") KiB"
}

# used_secrets NS
used_secrets() {
	member "$(on "$1" omertactl -j link show omr0)" used-secrets
}

# Packets of tenants that wait for keys pin no more than a user's share.
test_packets_wait() {
	local before used

	make_both
	begin_witness
	hogs 3 "${BY_NOBODY[@]}" unshare -Urn
	used=$(mem_used "$before")
	end_witness "$((3 * 16 * 60 * 44))" "memory $used KiB"
	less_than 64000 echo "$used"
	rm "$DIR/go"
	await less_than 10000 mem_used "$before"
}

# An authorised peer sends forged records among good ones, and as many packets in a
# record as fit.
test_bursts() {
	local sent good free

	tunnel_with_c
	begin_witness
	free=$(mem_free)
	begin sent c ./hostile_local.py bursts "$PART" "$SEED" 198.51.100.1 "$PORT" "$FROM_C" "$ID_C"
	join
	read -r sent good <"$DIR/sent"
	await is "$good" peer_stat a c rx-records
	await less_than 8192 mem_used "$free"
	is 1 eval 'on a omertactl -j key show omr0 peer c | jq length'
	end_witness "$sent" "good $good, replays $(dev_stat a rx-drop-replay), \
forged $(dev_stat a rx-drop-auth), memory $(mem_used "$free") KiB"
}

# An authorised peer begins handshakes without end.
test_handshakes() {
	local begun answered before slab memory most=0 now

	make_ns a b c
	make_veth a b
	make_veth a c
	config a
	config b
	config c
	config_peer a b "Endpoint = $(endpoint a b)" 'Channels = 2'
	config_peer b a 'Channels = 2'
	config_peer a c 'Channels = 2'
	host a
	host b
	agent a
	agent b
	pings a 10.9.0.2
	begin_witness
	before=$(used_secrets a)
	slab=$(slab_kb)
	memory=$(memory_kb a)
	begin sent c ./hostile_local.py handshakes "$PART" "$SEED" 198.51.100.1 "$PORT" \
		"$DIR/c.key" "$(cat "$DIR/a.pub")"
	while kill -0 "${JOBS[0]}" 2>/dev/null; do
		now=$(on a omertactl -j key show omr0 peer c | jq length)
		most=$((now > most ? now : most))
	done
	join
	read -r begun answered <"$DIR/sent"
	more_than 10 echo "$answered"
	# 8 of each channel
	less_than 17 echo "$most"
	# Living ones are in it.
	less_than $((before + 20)) used_secrets a
	less_than $((slab + 64)) slab_kb
	less_than $((memory + 512)) memory_kb a
	rekey a
	end_witness "$begun" "answered $answered, keys of the peer at most $most, \
slab $(($(slab_kb) - slab)) KiB, agent $(($(memory_kb a) - memory)) KiB"
	stop a
	stop b
}

# balanced WHAT: as many were destroyed as were created.
balanced() {
	local created destroyed

	read -r created destroyed < <(awk -v "what=$1" '$1 == what { n[$2] = $3 }
		END { print n["created"], n["destroyed"] }' "$DIR/log_counts")
	((created > 2))
	is "$created" echo "$destroyed"
}

# Devices, peers, keys and namespaces come and go while records hit them; then the module
# itself goes.
test_life_cycles() {
	local log what tried sent

	fresh_module
	echo 'module omerta +p' >/sys/kernel/debug/dynamic_debug/control
	# Not to the console, which is slow.
	dmesg -n 7
	./hostile_local.py log >"$DIR/log_counts" &
	log=$!
	await grep -q begins "$DIR/log_counts"
	make_both
	NUM[x]=1
	make_ns x c
	make_veth x c
	begin_witness
	begin churn x ./hostile_local.py churn "$PART" "$SEED" 198.51.100.3
	begin sent c ./hostile_local.py records "$PART" "$SEED" 198.51.100.1
	join
	read -r tried what <"$DIR/churn"
	read -r sent <"$DIR/sent"
	end_witness "$((tried + sent))" "of which $tried requests ($what granted) and $sent records"
	cleanup
	fresh_module
	dmesg -n 8
	kill "$log"
	wait "$log"
	cat "$DIR/log_counts"
	refused grep overrun "$DIR/log_counts"
	echo "# objects: $(grep -v begins "$DIR/log_counts" | paste -sd , | sed 's/,/, /g')" >&9
	for what in device peer key; do
		balanced "$what"
	done
}

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
echo "# TIME=$TIME SEED=$SEED FORM=$FORM"
TESTS=(
	test_netlink test_datagrams test_tenants test_keys test_packets_wait test_bursts
	test_handshakes test_life_cycles
)
run_tests "${@:-${TESTS[@]}}"
