#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-tunnel". In the environment:
#   BACKENDS	see lib_bench.sh; hosts: this machine and another, which have omerta
#		installed, see lib_perf.sh
#   CASES	of uml, see perf/tunnel.sh
#   COUNTS, BYTES	cases of icount, see perf/count.sh
#   CONTENDERS	see perf/tunnel.sh
#   RUNS, TIME	runs of each case, seconds of each run
#   POLICY_RUNS	runs of each case, of a second each, in which policy auto is compared with the
#		others, with uml; 0 for none
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

BACKENDS=${BACKENDS:-uml icount-x86-64 icount-arm64}
CASES=${CASES:-$(printf '%s ' {tcp-1,tcp-8,tcp-8-back,tcp-both,cpu,udp-64,udp-1300}{,:cut} \
	trip-{64,1024}-{p50,p99}{,-loaded}{,:cut} {trip-64-p99-loaded-8,loss}{,:cut} \
	out-{64,1300}{,-two,-two-peers})}
COUNTS=${COUNTS:-bulk cipher packet bulk:cut}
POLICY_CASES=${POLICY_CASES:-tcp-1 tcp-8 tcp-8-back tcp-both udp-64 udp-1300 trip-64-p50 $(printf '%s ' out-{64,1300}{,-two,-two-peers})}
out=$TOP_DIR/build/bench-tunnel

# Policies, with the default engine and, where that has AVX-512, with AVX2
policies() {
	local engine

	for engine in '' ,engine=mb-avx2; do
		[[ -z $engine ]] || grep -q '^flags.* avx512vl' /proc/cpuinfo || continue
		CONTENDERS="omerta$engine omerta$engine,policy=inline omerta$engine,policy=percpu" \
			CASES=$POLICY_CASES TIME=1 measure uml "${POLICY_RUNS:-15}" |
			sed -u 's/^uml/policy/'
	done
}

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
			[[ $backend != uml || ${POLICY_RUNS:-15} == 0 ]] ||
				policies | tee -a "$out/lines" >&2
		fi
	done
	"$TOP_DIR/selftests/perf/report.py" "$TOP_DIR/build/bench-tunnel.json" <"$out/lines"
}

main
