#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# peers.sh RUNS MILLISECONDS: measures others' ChaCha20-Poly1305 on this machine, and
# the tunnel's engines beside; prints JSON. Sources are fetched into the cache. On x86-64 all run
# in a root of a newer Debian, so that its OpenSSL and ipsec-mb can be measured beside this one's.
#   WITHOUT	avx512: with the code for CPUs without AVX-512
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$(dirname "$0")/../vm/apt.sh"

# The release that is packaged for Python, as Debian has none
MONOCYPHER=pymonocypher==4.0.3.4
MONOCYPHER_SHA256=5e56e3d3eb770a53e0b9f6274146663c11a11f3d0de5cd48e3be0428d1b07a4a
# Python's package of its runtime library has its sources.
AWSLC=awscrt==0.38.1
AWSLC_SHA256=0dcebfaa70cf079133cd2352119e3d05e9b8ca1d1621736cfb54c03f3d5fef0f
dir=$CACHE/peers

fetch_monocypher() {
	echo "$MONOCYPHER --hash=sha256:$MONOCYPHER_SHA256" >"$1/wanted"
	# Its metadata are made by Debian's tools, not by others that are fetched for it.
	/usr/bin/python3 -m pip download --no-deps --no-build-isolation --no-binary :all: \
		--require-hashes -r "$1/wanted" -d "$1" &&
		tar -C "$1" --strip-components=1 --wildcards -xf "$1"/pymonocypher-*.tar.gz \
			'*/monocypher.[ch]'
}

# Its metadata need tools that are newer than Debian's.
fetch_awslc() {
	echo "$AWSLC --hash=sha256:$AWSLC_SHA256" >"$1/wanted"
	/usr/bin/python3 -m pip download --no-deps --no-binary :all: --require-hashes \
		-r "$1/wanted" -d "$1" &&
		tar -C "$1" --strip-components=3 --wildcards -xf "$1"/awscrt-*.tar.gz \
			'*/crt/aws-lc/*' &&
		rm "$1"/awscrt-*.tar.gz &&
		cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
			-DBUILD_SHARED_LIBS=ON -DBUILD_TESTING=OFF -DBUILD_TOOL=OFF -DBUILD_LIBSSL=OFF \
			-DDISABLE_GO=ON -DDISABLE_PERL=ON &&
		ninja -C "$1/build" crypto
}

# Debian has it inside of ZeroMQ.
fetch_tweetnacl() {
	configure_apt "$1/apt" "$(dpkg --print-architecture)" "$(host_codename)"
	sed -i 's/^deb /deb-src /' "$1/apt/sources.list"
	private_apt get update &&
		(cd "$1" && private_apt get source --download-only zeromq3) &&
		tar -C "$1" --strip-components=2 --wildcards -xf "$1"/zeromq3_*.orig.tar.gz \
			'*/src/tweetnacl.[ch]'
}

# source_of NAME: fetches its sources; prints where, or nothing if there are none to be had.
source_of() {
	local to=$dir/$1

	if [[ ! -e $to/done ]]; then
		say "fetching $1"
		rm -rf "$to"
		mkdir -p "$to"
		quietly "fetch_$1" "$to" || {
			say "measuring without $1, whose sources cannot be had here"
			return 0
		}
		rm -rf "$to/apt"
		touch "$to/done"
	fi
	echo "$to"
}

newer() {
	"$VM_DIR/builder.sh" peers "$@"
}

main() {
	(($# == 2)) || die "usage: peers.sh RUNS MILLISECONDS"
	"$VM_DIR/deps.sh"
	"$VM_DIR/deps.sh" peers
	take_lock "$dir.lock"
	set -- OBJ="$TOP_DIR/build/peers" MONOCYPHER="$(source_of monocypher)" \
		TWEETNACL="$(source_of tweetnacl)" AWSLC="$(source_of awslc)" RUNS="$1" TIME="$2" \
		WITHOUT="${WITHOUT:-}"
	quietly make -C "$TOP_DIR/selftests/perf/peers" "$@"
	if [[ $(uname -m) == x86_64 ]]; then
		set -- "$@" CC=x86_64-linux-gnu-gcc-14
		quietly newer make -C "$TOP_DIR/selftests/perf/peers" "$@" newer
		newer make -s -C "$TOP_DIR/selftests/perf/peers" "$@" run
	else
		make -s -C "$TOP_DIR/selftests/perf/peers" "$@" run
	fi
}

main "$@"
