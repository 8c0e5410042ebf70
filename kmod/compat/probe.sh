#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# probe.sh SRCTREE: prints -DOMERTA_HAVE_X for each X in probes that the
# kernel's headers have. Called by Kbuild.
set -eu

sed -e '/^#/d' -e 's/		*/	/g' "$(dirname "$0")/probes" |
	while IFS='	' read -r name text headers; do
		found=no
		for header in $headers; do
			! grep -qsF "$text" "$1/include/$header" || found=yes
		done
		[ $found = no ] || echo "-DOMERTA_HAVE_$name"
	done
