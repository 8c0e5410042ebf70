# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scripts in this directory; to be sourced.

# A user's path lacks what administrators run, like depmod.
PATH=$PATH:/usr/sbin:/sbin
# shellcheck disable=SC2034 # used by the scripts that source this file
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/omerta
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # used by the scripts that source this file
TOP_DIR=$(cd "$VM_DIR/../.." && pwd)

# Progress goes to stderr: stdout belongs to test output.
say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# quietly COMMAND...: shows the output only if the command fails.
quietly() {
	local log rc=0

	log=$(mktemp)
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	((rc == 0)) || cat "$log" >&2
	rm -f "$log"
	return "$rc"
}

# report NUMBER NAME COMMAND...: a command as a test, in KTAP
report() {
	local log rc=0

	log=$("${@:3}" 2>&1) || rc=$?
	((rc == 0)) || printf '%s\n' "$log" | tail -n 60 | sed 's/^/# /'
	((rc == 0)) && echo "ok $1 - $2" || echo "not ok $1 - $2"
	return "$rc"
}

as_root() {
	if (($(id -u) == 0)); then
		"$@"
	else
		sudo "$@"
	fi
}

# native ARCH: it is this machine's.
native() {
	[[ $1 == "$(dpkg --print-architecture)" ]]
}

# arch_facts ARCH: sets the variables below from arches.tsv.
# shellcheck disable=SC2034 # used by the scripts that source this file
arch_facts() {
	local arch

	while read -r arch ARCH_SUITE KERNEL_ARCH TRIPLET CROSS ARCH_PACKAGES QEMU MACHINE CPU THREAD CONSOLE \
		BUS; do
		[[ $arch == "$1" ]] || continue
		[[ $ARCH_SUITE != - ]] || ARCH_SUITE=$(host_codename)
		return 0
	done <"$VM_DIR/arches.tsv"
	die "arches.tsv has no $1"
}

# kernel_row KVER ARCH: sets the variables below from kernels.tsv.
# shellcheck disable=SC2034 # used by the scripts that source this file
kernel_row() {
	local kver host arch

	while read -r kver host arch SUITES IMAGE HEADERS BUILDER; do
		[[ $kver == "$1" && ,$arch, == *",$2,"* ]] || continue
		[[ $host == "$(host_codename)" || $host == '*' ]] || continue
		IMAGE=${IMAGE/@/$2} HEADERS=${HEADERS/@/$2}
		return 0
	done <"$VM_DIR/kernels.tsv"
	return 1
}

# prepare_guest KVER ARCH: all that run.sh does not build itself
prepare_guest() {
	"$VM_DIR/deps.sh"
	native "$2" || "$VM_DIR/deps.sh" "$2"
	"$VM_DIR/kernel.sh" "$1" "$2"
	quietly "$VM_DIR/modules.sh" "$1" "$2"
}

# words_hash WORD...: a name for what is made of just these.
words_hash() {
	printf '%s\n' "$@" | sha256sum | cut -c1-16
}

# take_lock FILE: held on a file descriptor until the script ends.
take_lock() {
	mkdir -p "$(dirname "$1")"
	exec {LOCK_FD}>"$1"
	flock -n "$LOCK_FD" && return
	say "waiting for another run that holds $1"
	flock "$LOCK_FD"
}

# copy_sources DIR... TO: copies newer sources, without build products.
copy_sources() {
	local to=${*: -1}

	(cd "$TOP_DIR" && find "${@:1:$#-1}" \( -name '*.[ch]' -o -name Kbuild -o \
		-name Makefile -o -name Kconfig -o -name VERSION -o -name '*.mk' -o -name probes -o -name '*.sh' \) ! -name '*.mod.c' -print0 |
		xargs -0 cp -pu --parents -t "$to")
}

# copy_tree TO: copies the sources from which packages are built.
copy_tree() {
	copy_sources Kbuild Kconfig kmod include tools selftests "$1"
	(cd "$TOP_DIR" && cp -r --parents -t "$1" debian Documentation Makefile VERSION \
		dkms.conf README.md SECURITY.md COPYING tools/omertactl/completion tools/omertactl/systemd \
			tools/tracing tools/wireshark)
}

# pack_cpio DIR: an initramfs archive of what is below DIR, to stdout.
pack_cpio() {
	(cd "$1" && find . -mindepth 1 | LC_ALL=C sort |
		cpio --quiet -o -H newc -R 0:0) | gzip -1
}

# debian_sources: "URI SUITE" for each suite of Debian's main archive in the
# host's own apt configuration. Asking apt covers both source formats.
debian_sources() {
	# The dollar signs are apt's.
	# shellcheck disable=SC2016
	apt-get indextargets --no-release-info \
		--format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk -v code="$(host_codename)" '
			BEGIN { suite = "^(" code "|stable|testing|unstable|sid)(-security)?$" }
			$2 ~ suite && $3 == "main" { print $1, $2 }'
}

host_codename() {
	# shellcheck disable=SC1091
	(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
}

# mirror_for SUITE: the address from which the host's apt would take SUITE's
# archive. Security suites may live elsewhere than the rest.
mirror_for() {
	local security=0

	[[ $1 != *-security ]] || security=1
	debian_sources | awk -v security="$security" '
		uri == "" && ($2 ~ /-security$/) == security { uri = $1 }
		END { print uri; exit uri == "" }'
}

# source_lines SUITE...: lines for a sources.list of our own.
source_lines() {
	local suite uri key=/usr/share/keyrings/debian-archive-keyring.gpg

	for suite in "$@"; do
		uri=$(mirror_for "$suite") ||
			die "apt has no mirror for $suite; /etc/apt/sources.list lacks: $(lacking_line "$suite")"
		echo "deb [signed-by=$key] $uri $suite main"
	done
}

# lacking_line SUITE: the line with which mirror_for SUITE would know a mirror. Mirrors
# have the security archive beside the other one, under this name.
lacking_line() {
	local main

	main=$(mirror_for "$(host_codename)") || main=MIRROR/debian
	if [[ $1 == *-security ]]; then
		echo "deb ${main%/}-security $(host_codename)-security main"
	else
		echo "deb $main $(host_codename) main"
	fi
}
