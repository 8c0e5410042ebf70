#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-chunk": omertactl bench in a guest, or on this machine,
# which has omerta installed then, and others' ciphers on this machine. In the
# environment:
#   BACKEND	uml: User-mode Linux, at the processor's own speed, and counted
#		instructions of an emulated arm64; host: this machine
#   RUNS, TIME	runs of each case, milliseconds of each
#   WITHOUT	avx512: as on a machine without AVX-512; only in User-mode Linux
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

BACKEND=${BACKEND:-uml}
RUNS=${RUNS:-9}
TIME=${TIME:-10}
WITHOUT=${WITHOUT:-}
out=$TOP_DIR/build/bench-chunk

# A measurement a line: its name, and what omertactl bench is given
MEASURED='
chunks chunks
unchunked chunks bytes 65536
record chunks bytes 1408
single chunks bytes 512
curves curves
dispatch dispatch
split split
split-lib split engine lib
scaling scaling
'

# Some of them where the library has not all that the CPU has; the suffix says what is left
HIDDEN='
chunks chunks
unchunked chunks bytes 65536
record chunks bytes 1408
single chunks bytes 512
curves curves
'

# Counted instructions are the same in each run.
COUNTED='
chunks:arm64 chunks bytes 8192
unchunked:arm64 chunks bytes 65536
record:arm64 chunks bytes 1408
single:arm64 chunks bytes 512
curves:arm64 curves
'

# commands MEASURED: for a shell there or here
commands() {
	local name words

	echo 'modprobe omerta_bench || exit 1'
	while read -r name words; do
		[[ -n $name ]] || continue
		echo "echo '# $name' >&2"
		echo "out=\$(omertactl -j bench $words runs $RUNS time $TIME) || exit 1"
		echo "echo \"$name \$out\""
	done <<<"$1"
	echo 'modprobe -r omerta_bench'
	# shellcheck disable=SC2016 # there
	# User-mode Linux does not know the host's processor.
	printf 'echo machine Linux "$(uname -rm)", %q%s, %s runs of %s ms\n' \
		"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" \
		"${WITHOUT:+ without $WITHOUT}" "$RUNS" "$TIME"
}

# hide FLAG COMMAND...: User-mode Linux finds no flags of the CPU that begin so.
hide() {
	sed -E "/^flags/s/ $1[^ ]*//g" /proc/cpuinfo >"$out/cpuinfo"
	# shellcheck disable=SC2016 # there
	unshare -rm bash -c 'mount --bind "$0" /proc/cpuinfo && exec "$@"' \
		"$out/cpuinfo" "${@:2}"
}

# hidden FLAG SUFFIX
hidden() {
	# A CPU without the flag has been measured like that already.
	grep -q "^flags.* $1" /proc/cpuinfo || return 0
	hide "$1" "${guest[@]}" "$(commands "$(sed -E "s/^[a-z]+/&:$2/" <<<"$HIDDEN")")" |
		grep -v '^machine' >>"$out/lines"
}

count_arm64() {
	echo "# counted: arm64" >&2
	prepare_guest newest arm64
	"$VM_DIR/run.sh" -o "$out/arm64" -k newest -a arm64 -n -t 3600 -- \
		"$(RUNS=1 TIME=1 commands "$COUNTED")" | grep -v '^machine' >>"$out/lines"
}

main() {
	local peers
	local -a guest=("$VM_DIR/run.sh" -o "$out/uml" -k uml -m 2G -t 3600 --)

	[[ -z $WITHOUT || $WITHOUT == avx512 ]] || die "WITHOUT: \"$WITHOUT\" is not \"avx512\""
	[[ -z $WITHOUT || $BACKEND == uml ]] || die "WITHOUT: only with BACKEND=uml"
	mkdir -p "$out"
	case $BACKEND in
	uml)
		prepare_guest uml amd64
		if [[ -n $WITHOUT ]]; then
			hide "$WITHOUT" "${guest[@]}" "$(commands "$MEASURED")" >"$out/lines"
		else
			"${guest[@]}" "$(commands "$MEASURED")" >"$out/lines"
			hidden avx512 avx2
		fi
		hidden avx ssse3
		count_arm64
		;;
	host) as_root bash -c "$(commands "$MEASURED")" >"$out/lines" ;;
	*) die "no backend $BACKEND" ;;
	esac
	echo "# peers" >&2
	peers=$(WITHOUT=$WITHOUT "$TOP_DIR/selftests/perf/peers.sh" "$RUNS" "$TIME")
	echo "peers $peers" >>"$out/lines"
	"$TOP_DIR/selftests/perf/chunk_report.py" "$BACKEND" "$TOP_DIR/build/bench-chunk.json" \
		<"$out/lines"
}

main
