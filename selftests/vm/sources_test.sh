#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Tests for lib.sh: which mirrors it finds in apt's sources, and what it says of a suite
# that they lack. Prints KTAP.
# shellcheck disable=SC2317 # the tests are called by name
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/../lib_test.sh"

URI=http://mirror.example/debian
CODE=$(host_codename)
LACKING="/etc/apt/sources.list lacks: deb"

# sources NAME: apt's sources are standard input.
sources() {
	mkdir -p "$DIR/parts"
	cat >"$DIR/parts/$1"
	cat >"$DIR/apt.conf" <<-END
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$DIR/parts";
		Dir::State::lists "$DIR/lists";
	END
	export APT_CONFIG=$DIR/apt.conf
}

# says TEXT SUITE: source_lines dies with a message that ends so.
says() {
	local said

	said=$(set +x; source_lines "$2" 2>&1) && return 1
	[[ $said == *"$1" ]] || { echo "wanted '$1', got '$said'"; return 1; }
}

lines() {
	source_lines "$@" | sed 's/\[.*\] //'
}

test_lines() {
	sources debian.list <<-END
		deb $URI $CODE main contrib
		deb $URI-security $CODE-security main
	END
	is "deb $URI/ $CODE main" lines "$CODE"
	is "deb $URI-security/ $CODE-security main" lines "$CODE-security"
	is "deb $URI/ other-backports main" lines other-backports
}

test_deb822() {
	sources debian.sources <<-END
		Types: deb
		URIs: $URI
		Suites: $CODE
		Components: main

		Types: deb
		URIs: $URI-security
		Suites: $CODE-security
		Components: main
	END
	is "deb $URI/ $CODE main" lines "$CODE"
	is "deb $URI-security/ other-security main" lines other-security
}

test_no_security() {
	sources debian.list <<<"deb $URI $CODE main"
	says "$LACKING $URI-security $CODE-security main" "$CODE-security"
	says "$LACKING $URI-security $CODE-security main" other-security
}

test_foreign() {
	sources other.list <<<"deb http://other.example/ nodistro main"
	says "$LACKING MIRROR/debian $CODE main" "$CODE"
	says "$LACKING MIRROR/debian-security $CODE-security main" "$CODE-security"
}

cleanup() {
	:
}

run_tests test_lines test_deb822 test_no_security test_foreign
