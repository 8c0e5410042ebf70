#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The leaf tests inside the kernel: the module reports when it is loaded.
set -u

dmesg -C
modprobe omerta_test
rc=$?
dmesg | sed -n 's/^.*omerta_ktap: //p'
[ "$rc" -eq 0 ] && modprobe -r omerta_test
exit "$rc"
