#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# The runner behind "make bench-channels": what two channels bring over one, in User-mode Linux, and
# through a bond, for which there is a driver in a stock kernel. In the environment:
#   CASES	see perf/channels.sh; bond is perf/bond.sh
#   RUNS, TIME	runs of each case, seconds of each run
set -euo pipefail
# shellcheck source=lib_bench.sh
. "$(dirname "$0")/lib_bench.sh"

CASES=${CASES:-$(printf '%s ' out-{64,1300,super}{,-peers} in-{64,1300}{,-peer} alone-{64,1300,super}) memory bond}
out=$TOP_DIR/build/bench-channels

mkdir -p "$out"
make_tools
in_uml=" $CASES "
in_uml=${in_uml/ bond / }
: >"$out/lines"
if [[ -n ${in_uml// } ]]; then
	prepare uml
	"$VM_DIR/run.sh" -o "$out/uml" -k uml -a amd64 -m 2G -t 5400 -- \
		"./perf/channels.sh ${RUNS:-5} ${TIME:-2} $in_uml" | sed -u 's/^/uml x86-64 /' |
		tee -a "$out/lines" >&2
fi
# The links are the bottleneck there, so an emulated machine is fast enough.
if [[ " $CASES " == *' bond '* ]]; then
	prepare_guest 6.1 amd64
	"$VM_DIR/run.sh" -o "$out/bond" -k 6.1 -a amd64 -c 2 -m 1G -t 1200 -- \
		"./perf/bond.sh ${RUNS:-5} ${TIME:-2}" | sed -u 's/^/emulated x86-64 /' |
		tee -a "$out/lines" >&2
fi
"$TOP_DIR/selftests/perf/channels_report.py" "$TOP_DIR/build/bench-channels.json" <"$out/lines"
