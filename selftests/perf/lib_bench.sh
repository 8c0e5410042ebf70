# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Shared by the runners that measure the tunnel in guests; to be sourced. Backends are
# uml: User-mode Linux, at native speed; icount-x86-64 or icount-arm64: counted
# instructions of an emulated machine. A runner sets $out, the directory of its
# files, and $CASES and $COUNTS. In the environment:
#   TREE	the tree from which the guest gets module and tool, see vm/image.sh
#   CONTENDERS, DEFAULTS	see lib_perf.sh
#   BYTES, ANNOUNCE	see count.sh
#   SEED	see vm/run.sh
# shellcheck source=../vm/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../vm/lib.sh"

# guest_of BACKEND: its kernel's version, and its architecture in Debian's words
guest_of() {
	case $1 in
	uml) echo uml amd64 ;;
	icount-x86-64) echo newest amd64 ;;
	icount-arm64) echo newest arm64 ;;
	*) die "no backend $1" ;;
	esac
}

# prepare BACKEND: its kernel, the modules for it, and what measures there
prepare() {
	local kver arch

	read -r kver arch <<<"$(guest_of "$1")"
	prepare_guest "$kver" "$arch"
}

# make_tools [ARCH]: for this machine or, in Debian's words, another
make_tools() {
	local cc=cc tool

	[[ ${1:-} != arm64 ]] || cc=aarch64-linux-gnu-gcc
	for tool in pingpong udprate inject; do
		"$cc" -O2 -o "$TOP_DIR/selftests/perf/$tool" "$TOP_DIR/selftests/perf/$tool.c"
	done
}

# measure BACKEND RUNS: lines "uml|icount ARCH CASE CONTENDER UNIT VALUE". Runs are of
# the tunnel's cases; a count is one.
measure() {
	local label=${1/#uml/uml-x86-64} kver arch
	local -a command options

	read -r kver arch <<<"$(guest_of "$1")"
	make_tools "$arch"
	case $1 in
	uml)
		options=(-m 2G -t 5400)
		command=(./perf/tunnel.sh "$2" "${TIME:-3}" "$CASES")
		;;
	*)
		options=(-n -t 3600)
		command=(./perf/count.sh "$COUNTS")
		;;
	esac
	# shellcheck disable=SC2154 # the runner's
	"$VM_DIR/run.sh" -o "$out/$label" -k "$kver" -a "$arch" "${options[@]}" -- \
		"$(settings)${command[*]}" | sed -u "s/^/${label%%-*} ${label#*-} /"
}

# Words for the guest's shell
settings() {
	local name

	for name in CONTENDERS DEFAULTS BYTES ANNOUNCE; do
		[[ -z ${!name+set} ]] || printf '%s=%q ' "$name" "${!name}"
	done
}
