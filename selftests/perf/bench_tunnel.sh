#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-tunnel". In the environment:
#   BACKENDS	uml: User-mode Linux, at the processor's own speed; icount-x86-64,
#		icount-arm64: counted instructions of an emulated machine; hosts: this
#		machine and another, which have omerta installed, see perf/lib_perf.sh
#   CASES	of uml, see perf/tunnel.sh
#   COUNTS, BYTES	cases of icount, see perf/count.sh
#   CONTENDERS	see perf/tunnel.sh
#   RUNS, TIME	runs of each case, seconds of each run
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

BACKENDS=${BACKENDS:-uml icount-x86-64 icount-arm64}
CASES=${CASES:-$(printf '%s ' {tcp-1,tcp-8,tcp-8-back,tcp-both,cpu,udp-64,udp-1300}{,:cut} \
	trip-{64,1024}-{p50,p99}{,-loaded}{,:cut} {trip-64-p99-loaded-8,loss}{,:cut})}
COUNTS=${COUNTS:-bulk cipher packet bulk:cut}
out=$TOP_DIR/build/bench-tunnel

# prepare KVER ARCH: a kernel with our module
prepare() {
	"$VM_DIR/deps.sh"
	[[ $2 != arm64 ]] || "$VM_DIR/deps.sh" arm64
	"$VM_DIR/kernel.sh" "$1" "$2"
	quietly "$VM_DIR/modules.sh" "$1" "$2"
}

make_tools() {
	local tool

	for tool in pingpong udprate; do
		cc -O2 -o "$TOP_DIR/selftests/perf/$tool" "$TOP_DIR/selftests/perf/$tool.c"
	done
}

# measure BACKEND ARCH RUN-OPTION... -- COMMAND...: its lines, with those two before
measure() {
	"$VM_DIR/run.sh" -o "$out/$1-$2" "${@:3}" | sed -u "s/^/$1 $2 /" | tee -a "$out/lines" >&2
}

# Words for the guest's shell
setting() {
	[[ -z ${CONTENDERS:-} ]] || printf 'CONTENDERS=%q ' "$CONTENDERS"
	[[ -z ${BYTES:-} ]] || printf 'BYTES=%q ' "$BYTES"
}

main() {
	local backend

	mkdir -p "$out"
	: >"$out/lines"
	for backend in $BACKENDS; do
		case $backend in
		uml)
			prepare uml amd64
			make_tools
			measure uml x86-64 -k uml -m 2G -t 5400 -- \
				"$(setting)./perf/tunnel.sh ${RUNS:-5} ${TIME:-3} $CASES"
			;;
		icount-x86-64)
			prepare newest amd64
			measure icount x86-64 -k newest -n -t 3600 -- "$(setting)./perf/count.sh $COUNTS"
			;;
		icount-arm64)
			prepare newest arm64
			measure icount arm64 -k newest -a arm64 -n -t 3600 -- \
				"$(setting)./perf/count.sh $COUNTS"
			;;
		hosts)
			: "${REMOTE:?}" "${OUTER_HERE:?}" "${OUTER_THERE:?}" "${LINK_HERE:?}" "${LINK_THERE:?}"
			make_tools
			# shellcheck disable=SC2086 # words
			(cd "$TOP_DIR/selftests" && ./perf/tunnel.sh "${RUNS:-5}" "${TIME:-3}" $CASES) |
				sed -u "s/^/hosts $(uname -m) /" | tee -a "$out/lines" >&2
			;;
		*) die "no backend $backend" ;;
		esac
	done
	"$TOP_DIR/selftests/perf/report.py" "$TOP_DIR/build/bench-tunnel.json" <"$out/lines"
}

main
