#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-channels": what two channels bring over one, in User-mode Linux. In the
# environment:
#   CASES	see perf/channels.sh
#   RUNS, TIME	runs of each case, seconds of each run
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

CASES=${CASES:-$(printf '%s ' out-{64,1300,super}{,-peers} in-{64,1300})}
out=$TOP_DIR/build/bench-channels

mkdir -p "$out"
prepare uml
make_tools
"$VM_DIR/run.sh" -o "$out/uml" -k uml -a amd64 -m 2G -t 5400 -- \
	"./perf/channels.sh ${RUNS:-5} ${TIME:-2} $CASES" | sed -u 's/^/uml x86-64 /' |
	tee "$out/lines" >&2
"$TOP_DIR/selftests/perf/channels_report.py" "$TOP_DIR/build/bench-channels.json" <"$out/lines"
