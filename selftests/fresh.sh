#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# fresh.sh: both commands of the README in minimal roots of Debian's suites, which have
# git, make and sudo, and the security suite in apt's sources. Each root is entered as
# root and as a user with sudo. Prints KTAP.
#
# SUITES	the roots; "other" is the one that this machine is not
# USERS		root, newcomer or both
# CELLS		the tests, as for check.sh
set -euo pipefail
. "$(dirname "$0")/vm/lib.sh"

SUITES=${SUITES:-bookworm trixie}
USERS=${USERS:-root newcomer}
CELLS=${CELLS:-uml-amd64:core}
# The suite's folder in the cache
FRESH=

# The files that decide how something gets into the inner cache. A cached kernel or root would
# hide that a package for making it is no longer installed.
KEY=$(cat "$VM_DIR"/{deps,apt,source,kernel,build_kernel,builder}.sh | sha256sum | cut -c1-16)

main() {
	local n=0 failed=0 suite user

	[[ $SUITES != other ]] || SUITES=$(other_suite)
	"$VM_DIR/deps.sh"
	trap leave EXIT
	read -ra suites <<<"$SUITES"
	read -ra users <<<"$USERS"
	echo "KTAP version 1"
	echo "1..$((2 * ${#suites[@]} * ${#users[@]}))"
	for suite in "${suites[@]}"; do
		take_lock "$CACHE/fresh/$suite/lock"
		FRESH=$CACHE/fresh/$suite
		for user in "${users[@]}"; do
			new_root
			one 'make demo' 'git clone -q /srv/omerta omerta && cd omerta && make demo' ||
				failed=1
			one "make check CELLS=$CELLS" "cd omerta && make check CELLS='$CELLS'" ||
				failed=1
			leave
		done
	done
	exit "$failed"
}

other_suite() {
	[[ $(host_codename) == bookworm ]] && echo trixie || echo bookworm
}

leave() {
	[[ -z $FRESH ]] || as_root rm -rf --one-file-system "$FRESH/root"
}

# one NAME COMMAND: a test. At its end a failure repeats the tests that failed inside.
one() {
	local start=$SECONDS verdict='ok' log=$FRESH/log

	enter "$user" "$2" 2>&1 | tee "$log" | sed -u 's/^/# /' || verdict='not ok'
	[[ $verdict == ok ]] || grep -E '^([a-z0-9.-]+:)? *not ok|^FAILED' "$log" | sed 's/^/# /' || :
	echo "$verdict $((++n)) - $suite, $user: $1 # $((SECONDS - start)) s"
	[[ $verdict == ok ]]
}

new_root() {
	leave
	[[ -e $FRESH/tar ]] || make_tar
	if [[ $(cat "$FRESH/key" 2>/dev/null) != "$KEY" ]]; then
		as_root rm -rf --one-file-system "$FRESH"/{products,archives}
		mkdir -p "$FRESH"/{products,archives}
		echo "$KEY" >"$FRESH/key"
	fi
	mkdir -p "$FRESH/root"
	as_root tar -C "$FRESH/root" -xf "$FRESH/tar"
	as_root cp /etc/hosts /etc/resolv.conf "$FRESH/root/etc"
	copy_checkout "$FRESH/root/srv/omerta"
	enter root "chown -R $user: /srv/omerta
		find /cache -path '/cache/omerta/builder/*/*' -prune -o -exec chown -h $user: {} +"
}

# Files that git knows, as they are now, in a repository of their own: a clone of this
# checkout would need its history, and its owner's permission.
copy_checkout() {
	as_root mkdir -p "$1"
	LC_ALL=C comm -z -23 <(list_files) <(list_files --deleted) |
		tar -C "$TOP_DIR" --null -T - -c | as_root tar -C "$1" --no-same-owner -x
	as_root git init -q "$1"
	as_root git -C "$1" add -A
	as_root git -C "$1" -c user.name=omerta -c user.email=omerta@localhost commit -qm omerta
}

list_files() {
	git -c safe.directory='*' -C "$TOP_DIR" ls-files -z "$@" | LC_ALL=C sort -z
}

# apt's settings for the way to the mirror are the host's.
make_tar() {
	local packages=git,make,sudo lines

	say "building a minimal root of Debian $suite"
	lines=$(source_lines "$suite" "$suite-security")
	[[ $lines != *' https:'* ]] || packages+=,ca-certificates
	apt-config dump | grep -E '^Acquire::(https?::|Check-|ForceIPv|Retries).*"[^"]+";' \
		>"$FRESH/apt.conf" || :
	# shellcheck disable=SC2016 # expanded by mmdebstrap
	quietly as_root mmdebstrap --quiet --mode=root --variant=minbase --format=tar \
		--include="$packages" --aptopt="$FRESH/apt.conf" \
		--customize-hook='chroot "$1" useradd -m -s /bin/bash newcomer' \
		--customize-hook='echo "newcomer ALL=(ALL) NOPASSWD: ALL" >"$1/etc/sudoers.d/newcomer"' \
		"$suite" "$FRESH/tar.new" "$lines"
	mv "$FRESH/tar.new" "$FRESH/tar"
	say "it is ready after $SECONDS s ($(du -h "$FRESH/tar" | cut -f1))"
}

# enter USER COMMAND: runs it in the root. All that it starts, and all mounts, end with it.
enter() {
	# shellcheck disable=SC2016 # expanded inside
	as_root unshare -m -p --fork --kill-child --propagation private bash -euc '
		root=$1/root user=$2
		# A mount point, as the root of a machine is
		mount --bind "$root" "$root"
		mkdir -p "$root/cache"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount --bind "$1/products" "$root/cache"
		mount --bind "$1/archives" "$root/var/cache/apt/archives"
		home=$(awk -F: -v name="$user" "\$1 == name { print \$6 }" "$root/etc/passwd")
		# Stays as the first process, and root: that is how --kill-child reaches all.
		chroot --userspec="$user" "$root" env -i HOME="$home" USER="$user" \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			XDG_CACHE_HOME=/cache bash -c "cd && $3" || exit
	' fresh "$FRESH" "$@" </dev/null
}

main
