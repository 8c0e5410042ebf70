#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-perf": perf stat and perf record while omertactl bench
# is at work in a guest, or on this machine, which has omerta installed then; makes
# flame graphs of it. In the environment:
#   BACKEND	uml: User-mode Linux, at the processor's own speed; host: this machine
#   CASES	names of those below
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

BACKEND=${BACKEND:-uml}
out=$TOP_DIR/build/bench-perf
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl

# One case per line: its name, and the arguments of omertactl bench run; or a case of tunnel.sh, the
# unit that it counts per second, the tunnel, and its device
DEFINED='
seal direction seal
open direction open
seal-lib direction seal engine lib
open-lib direction open engine lib
seal-lib-whole direction seal engine lib chunk-size 131072
open-lib-whole direction open engine lib chunk-size 131072
copy direction seal engine copy
percpu strategy percpu workers 2 direction seal
unbound strategy unbound workers 2 direction seal
kthread strategy kthread workers 2 direction seal
padata strategy padata workers 2 direction seal
napi strategy napi workers 2 direction seal
tcp-omerta tunnel tcp-1 mb omerta omr0
tcp-lib tunnel tcp-1 mb omerta,engine=lib omr0
tcp-wireguard tunnel tcp-1 mb wireguard wg0
udp-64-omerta tunnel udp-64-flood packets omerta omr0
udp-64-wireguard tunnel udp-64-flood packets wireguard wg0
'
# Seconds that perf counts and samples, and of a case, in requests of about one
SECONDS_STAT=1 SECONDS_RECORD=2 SECONDS_CASE=8
BYTES=131072
EVENTS=cycles,instructions,branch-misses,cache-misses,task-clock,context-switches,cpu-migrations,page-faults

wanted() {
	[[ -z ${CASES:-} || " $CASES " == *" $1 "* ]]
}

# For a shell there or here: each case says when it begins and what came of it.
commands() {
	local name words

	echo 'modprobe omerta_bench || exit 1'
	# shellcheck disable=SC2016 # there
	echo 'cat /proc/kallsyms >"${SYMBOLS:-/root/out/symbols}"
		steady() {
			local name=$1 wall rounds end
			shift
			[[ "$* workers 1" =~ workers\ ([0-9]+) ]]
			wall=$(omertactl -j bench run "$@" rounds 2000 | jq ".[0].\"wall-ns\"")
			[[ -n $wall ]] || { echo "$name is not to be had here" >&2; return; }
			rounds=$((2000000000000 / wall))
			((rounds <= 100000)) || rounds=100000 # which is the most
			echo "begin $name"
			end=$((SECONDS + '"$SECONDS_CASE"'))
			while ((SECONDS < end)); do omertactl -j bench run "$@" rounds "$rounds"; done |
				jq -cs "{name: \"$name\", rounds: $rounds, workers: ${BASH_REMATCH[1]}} + .[-1][0]" | sed "s/^/end /"
		}
		tunnel() {
			local name=$1 line stream
			stream=$(mktemp)
			CONTENDERS=$4 ./perf/tunnel.sh 1 '"$SECONDS_CASE"' "$2" >"$stream" &
			until (($(ip -n omt-a -j -s link show "$5" 2>/dev/null | jq ".[0].stats64.tx.bytes // 0") > 10000000)); do
				kill -0 $! || return
				sleep 0.1
			done
			echo "begin $name"
			wait $!
			ip netns del omt-a
			ip netns del omt-b
			read -r line <"$stream" && echo "end {\"name\": \"$name\", \"$3-per-s\": ${line##* }}"
			[[ $4 != omerta* ]] || traced "$@" >&2
		}
		# Once more, a second of it, with the tracepoints, by perf where the kernel has it
		traced() {
			local to=${SYMBOLS:-/root/out/symbols} tracing=/sys/kernel/tracing
			to=${to%/*}/$1.trace
			if command -v perf >/dev/null; then
				CONTENDERS=$4 perf trace -a -o "$to" -e "omerta:*" -- ./perf/tunnel.sh 1 1 "$2"
			else
				mountpoint -q $tracing || mount -t tracefs tracefs $tracing
				echo 16384 >$tracing/buffer_size_kb
				echo 1 >$tracing/events/omerta/enable
				CONTENDERS=$4 ./perf/tunnel.sh 1 1 "$2"
				echo 0 >$tracing/events/omerta/enable
				cat $tracing/trace >"$to"
			fi
			ip netns del omt-a
			ip netns del omt-b
		}'
	while read -r name words; do
		if [[ -n $name ]] && wanted "$name"; then
			case $words in
			tunnel*) echo "tunnel $name ${words#tunnel }" ;;
			*) echo "steady $name bytes $BYTES $words" ;;
			esac
		fi
	done <<<"$DEFINED"
	echo 'modprobe -r omerta_bench'
}

# target: the processes to sample: the guest, whose kernel is a process here, or all CPUs
target() {
	local pid

	if [[ $BACKEND == host ]]; then
		echo -a
		return
	fi
	pid=$(pgrep -of "^$CACHE/kernels/uml-amd64/vmlinuz .*omerta_host=$out/") ||
		die "the guest has gone"
	echo "-p $pid"
}

watch() {
	local name=$1 data=$out/$1.data words
	local -a at

	say "$name"
	# Not in one: it has to end us.
	words=$(target)
	read -ra at <<<"$words"
	as_root perf stat -x , -e "$EVENTS" -o "$out/$name.stat" "${at[@]}" \
		-- sleep "$SECONDS_STAT"
	quietly as_root perf record -F 997 -g -e "$SAMPLED" -o "$data" "${at[@]}" \
		-- sleep "$SECONDS_RECORD"
}

# Follows what commands() prints.
follow() {
	local word rest

	while read -r word rest; do
		case $word in
		begin)
			watch "$rest"
			! read -rt 0 || die "$rest was over before perf was: is the machine busy?"
			;;
		end) echo "$rest" >>"$out/results" ;;
		esac
	done
}

# Without a PMU, or without access to it, sample by a clock.
choose_event() {
	SAMPLED=cycles
	as_root perf stat -x , -e cycles true 2>&1 | grep -q '^[0-9]' || SAMPLED=cpu-clock
}

draw() {
	local name

	for name in $(jq -r .name "$out/results"); do
		as_root perf script -D -i "$out/$name.data" 2>/dev/null |
			"$TOP_DIR/selftests/perf/fold.py" "$symbols" >"$out/$name.folded"
		perl "$flamegraph" --title "$name" --countname samples \
			"$out/$name.folded" >"$out/$name.svg"
	done
}

main() {
	local symbols=$out/uml/symbols

	"$VM_DIR/deps.sh"
	"$VM_DIR/deps.sh" perf
	cc -O2 -o "$TOP_DIR/selftests/perf/udprate" "$TOP_DIR/selftests/perf/udprate.c"
	choose_event
	rm -rf "$out"
	mkdir -p "$out"
	: >"$out/results"
	case $BACKEND in
	uml)
		prepare_guest uml amd64
		# So that it can be told from other guests
		TMPDIR=$out "$VM_DIR/run.sh" -o "$out/uml" -k uml -m 2G -t 600 -- "$(commands)" | follow
		;;
	host)
		symbols=$out/symbols
		cd "$TOP_DIR/selftests"
		as_root env SYMBOLS="$symbols" bash -c "$(commands)" | follow
		;;
	*) die "no backend $BACKEND" ;;
	esac
	draw
	"$TOP_DIR/selftests/perf/perf_report.py" "$SAMPLED" "$BYTES" "$out" "$TOP_DIR/build/bench-perf.json"
}

main
