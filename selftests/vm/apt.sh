# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# apt on a state of its own, for packages of other suites and architectures. To
# be sourced after lib.sh.

# A file given with -c is read last, so it can also clear what the host sets
# (hooks, further indices).
#
# configure_apt DIR ARCH SUITE,SUITE...
configure_apt() {
	local apt=$1 arch=$2 suites

	IFS=, read -ra suites <<<"$3"
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
	: >"$apt/status"
	source_lines "${suites[@]}" >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		#clear APT::Architectures;
		#clear APT::Update;
		#clear DPkg::Post-Invoke;
		#clear Acquire::IndexTargets::deb::DEP-11;
		#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
		#clear Acquire::IndexTargets::deb::DEP-11-icons;
		#clear Acquire::IndexTargets::deb::DEP-11-icons-large;
		#clear Acquire::IndexTargets::deb::CNF;
		APT::Architecture "$(dpkg --print-architecture)";
		APT::Architectures { "$(dpkg --print-architecture)"; "$arch"; };
		APT::Sandbox::User "$(id -un)";
		Acquire::Languages "none";
		Dir::State::lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "$apt/parts";
	END
	APT_CONF=$apt/apt.conf
}

# private_apt get|cache ARGS...
private_apt() {
	local tool=apt-$1

	shift
	"$tool" -q -c "$APT_CONF" "$@"
}

# all_depends PACKAGE PATTERN: dependencies with matching names; virtual ones in <>
all_depends() {
	private_apt cache depends --important "$1" |
		awk -v want="^$2" '$1 == "Depends:" && $2 ~ want { print $2 }'
}

# depends PACKAGE PATTERN: the first of them
depends() {
	all_depends "$@" | sed -n 1p
}
