#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-tunnel". In the environment:
#   BACKENDS	see lib_bench.sh; hosts: this machine and another, which have omerta
#		installed, see lib_perf.sh
#   CASES	of uml, see perf/tunnel.sh
#   COUNTS, BYTES	cases of icount, see perf/count.sh
#   CONTENDERS	see perf/tunnel.sh
#   RUNS, TIME	runs of each case, seconds of each run
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

BACKENDS=${BACKENDS:-uml icount-x86-64 icount-arm64}
CASES=${CASES:-$(printf '%s ' {tcp-1,tcp-8,tcp-8-back,tcp-both,cpu,udp-64,udp-1300}{,:cut} \
	trip-{64,1024}-{p50,p99}{,-loaded}{,:cut} {trip-64-p99-loaded-8,loss}{,:cut} \
	out-{64,1300}{,-two,-two-peers})}
COUNTS=${COUNTS:-bulk cipher packet bulk:cut}
out=$TOP_DIR/build/bench-tunnel

main() {
	local backend

	mkdir -p "$out"
	: >"$out/lines"
	for backend in $BACKENDS; do
		if [[ $backend == hosts ]]; then
			: "${REMOTE:?}" "${OUTER_HERE:?}" "${OUTER_THERE:?}" "${LINK_HERE:?}" "${LINK_THERE:?}"
			make_tools
			# shellcheck disable=SC2086 # words
			(cd "$TOP_DIR/selftests" && ./perf/tunnel.sh "${RUNS:-5}" "${TIME:-3}" $CASES) |
				sed -u "s/^/hosts $(uname -m) /" | tee -a "$out/lines" >&2
		else
			prepare "$backend"
			measure "$backend" "${RUNS:-5}" | tee -a "$out/lines" >&2
		fi
	done
	"$TOP_DIR/selftests/perf/report.py" "$TOP_DIR/build/bench-tunnel.json" <"$out/lines"
}

main
