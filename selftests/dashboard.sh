#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# dashboard.sh: Grafana's own model of dashboards reads the example, and loses nothing of it.
# Prints KTAP.
set -euo pipefail
cd "$(dirname "$0")"
. vm/lib.sh

VERSION='1769699998!10.1.0'

"$VM_DIR/deps.sh" dashboard
sdk=$CACHE/libs/grafana-foundation-sdk-${VERSION#*!}
if [[ ! -e $sdk ]]; then
	rm -rf "$sdk.new"
	quietly python3 -m pip install --no-deps --only-binary :all: --target "$sdk.new" \
		"grafana-foundation-sdk==$VERSION"
	mv "$sdk.new" "$sdk"
fi
PYTHONPATH=$sdk python3 - "$TOP_DIR/Documentation/examples/grafana.json" <<'END'
import json
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(ours, theirs, path=""):
    """Paths of the members that differ, or are not there."""
    if isinstance(ours, dict):
        for name, value in ours.items():
            if not isinstance(theirs, dict) or name not in theirs:
                yield f"{path}/{name}"
            else:
                yield from lost(value, theirs[name], f"{path}/{name}")
    elif isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            yield path
        else:
            for i, value in enumerate(ours):
                yield from lost(value, theirs[i], f"{path}/{i}")
    elif ours != theirs:
        yield path


plugins.register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    source = json.load(file)
read = Dashboard.from_json(source)
print("KTAP version 1\n1..1")
paths = list(lost(source, json.loads(JSONEncoder().encode(read))))
for path in paths:
    print(f"# lost or changed: {path}")
good = read.panels and not paths
print(f"{'ok' if good else 'not ok'} 1 - dashboard_is_read_whole")
sys.exit(not good)
END
