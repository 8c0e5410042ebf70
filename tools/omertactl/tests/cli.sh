#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The program itself: its status and output, completion, man page, install.

cd "$(dirname "$0")/.." || exit 1
tool=./omertactl
man=../../Documentation/man/omertactl.8
schema=../../Documentation/omertactl.schema.json
conf=../../Documentation/man/omerta.conf.5
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0
failed=0

result() {	# result STATUS NAME [OUTPUT]
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		[ -n "$3" ] && echo "# ${3//$'\n'/$'\n'# }"
		echo "not ok $n $2"
		failed=1
	fi
}

skip() {	# skip NAME WHY
	n=$((n + 1))
	echo "ok $n $1 # SKIP $2"
}

expect() {	# expect STATUS TEXT ARGUMENTS...
	local rc=$1 text=$2 out got
	shift 2
	out=$("$tool" "$@" 2>&1)
	got=$?
	[ "$got" -eq "$rc" ] && grep -qF -e "$text" <<<"$out"
	result $? "$* gives $rc" "status $got: $out"
}

status() {
	expect 1 'omertactl: peer add: allowed-ips: "10.0.0.0/33": prefix length must be 0..32' \
		peer add omr0 id 1 allowed-ips 10.0.0.0/33
	expect 1 'an object is missing'
	expect 0 'Usage: omertactl' -h
	expect 0 'omertactl ' -V
	expect 0 '  key add ' help key
	expect 0 'Example: omertactl key add' help key add
	if grep -qs '^omerta ' /proc/modules; then
		skip "link show without the module" "it is loaded"
	else
		expect 2 'modprobe omerta' link show
		expect 2 'modprobe omerta' -j show
	fi
	printf '[Interface]\nListenPort = x\n' >"$tmp/conf"
	expect 1 "$tmp/conf:2:14: ListenPort" setconf omr0 "$tmp/conf"
	if [ -c /dev/full ]; then
		"$tool" -h >/dev/full 2>/dev/null
		[ $? -eq 2 ]
		result $? "a full disk is noticed"
		"$tool" genkey >/dev/full 2>/dev/null
		[ $? -eq 2 ]
		result $? "a full disk is noticed by genkey"
	fi
}

keys() {
	local a b err
	a=$("$tool" genkey)
	b=$("$tool" pubkey <<<"$a")
	[ ${#a} -eq 44 ] && [ ${#b} -eq 44 ] && [ "$a" != "$b" ]
	result $? "genkey | pubkey"
	if command -v wg >/dev/null; then
		[ "$b" = "$(wg pubkey <<<"$a")" ]
		result $? "pubkey agrees with wg"
	else
		skip "pubkey agrees with wg" "no wg"
	fi
	(umask 022; "$tool" genkey >"$tmp/key" 2>"$tmp/err")
	err=$(cat "$tmp/err")
	grep -q 'warning: writing a secret to' <<<"$err"
	result $? "genkey warns about a file that others may read" "$err"
}

# Completion in a shell that has no device, then with a tool that knows some
complete_words() {	# complete_words WORDS..., the last one is unfinished
	# shellcheck disable=SC2034
	COMP_WORDS=(omertactl "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_omertactl
	echo "${COMPREPLY[*]}"
}

completes() {	# completes WANTED WORDS...
	local wanted=$1 out
	shift
	out=$(complete_words "$@")
	[ "$out" = "$wanted" ]
	result $? "completion of: $*" "got: $out, wanted: $wanted"
}

completion() {
	mkdir "$tmp/bin"
	cat >"$tmp/bin/omertactl" <<-EOF
		#!/bin/sh
		case "\$*" in
		"__names DEV" | "__names DEV ") printf '%s\n' omr0 omr1 ;;
		"__names PEER omr0") printf '%s\n' 1 alice 20 ;;
		"__names CONF"*) printf '%s\n' omr0 omr5 ;;
		*) exec "$PWD/omertactl" "\$@" ;;
		esac
	EOF
	chmod +x "$tmp/bin/omertactl"
	PATH=$tmp/bin:$PATH
	# shellcheck disable=SC1091
	. completion/omertactl
	completes "link" l
	completes "show stats setconf syncconf showconf save" s
	completes "add set del show" peer ""
	completes "omr0 omr1" link set ""
	completes "policy percpu-threshold" link set omr0 p
	completes "auto inline percpu" link set omr0 policy ""
	completes "1 alice 20" peer del omr0 peer ""
	completes "alice" key activate omr0 peer a
	completes "manual now on-first-record" key add omr0 peer 1 activate ""
	completes "peer name public-key endpoint keepalive channels allowed-ips" peer set omr0 ""
	completes "omr0 omr1" -j show ""
	completes "omr0 omr1 all watch every count" stats ""
	touch "$tmp/omr7.conf"
	completes "$tmp/omr7.conf" up "$tmp/omr"
	completes "omr5" up omr5
	completes "mb-ssse3 mb-sse2" link set omr0 engine mb-s
	# As readline splits it
	completes "$tmp/omr7.conf" peer set omr0 peer 1 allowed-ips @ "$tmp/omr"
	if command -v zsh >/dev/null; then
		for_zsh
	else
		skip "completion in zsh" "no zsh"
	fi
	if command -v fish >/dev/null; then
		for_fish
	else
		skip "completion in fish" "no fish"
	fi
}

# offers SHELL WANTED GOT WORDS
offers() {
	[ "$2" = "$3" ]
	result $? "completion in $1: $4" "got: $3, wanted: $2"
}

# A terminal's worth of zsh is not there, so its functions for it print what they are given.
in_zsh() {
	zsh -f -c '
		compadd() { print -rl -- ${(P)argv[-1]} }
		_files() { print -r -- FILES }
		compset() { [[ $PREFIX == @* ]] }
		words=(omertactl "$@") CURRENT=$(($# + 1)) PREFIX=${argv[-1]}
		run() { source completion/_omertactl }
		run' zsh "$@" | grep -v "^$" | xargs
}

for_zsh() {
	offers zsh "add set del show" "$(in_zsh peer "")" "peer"
	offers zsh "omr0 omr1" "$(in_zsh link set "")" "link set"
	offers zsh "1 alice 20" "$(in_zsh -j peer show omr0 peer "")" "-j peer show omr0 peer"
	offers zsh "omr0 omr5" "$(in_zsh up "")" "up"
	offers zsh "FILES" "$(in_zsh up /etc/)" "up /etc/"
	offers zsh "FILES" "$(in_zsh peer set omr0 peer 1 allowed-ips @)" "allowed-ips @"
}

in_fish() {
	# shellcheck disable=SC2016 # fish expands it
	HOME=$tmp fish --no-config -c '
		source completion/omertactl.fish
		complete -C "omertactl $argv"' -- "$*" | cut -f 1 | xargs
}

for_fish() {
	offers fish "add del set show" "$(in_fish "peer ")" "peer"
	offers fish "omr0 omr1" "$(in_fish "link set ")" "link set"
	offers fish "1 20 alice" "$(in_fish "-j peer show omr0 peer ")" "-j peer show omr0 peer"
	offers fish "auto inline percpu" "$(in_fish "link set omr0 policy ")" "policy"
	offers fish "omr0 omr5" "$(in_fish "up ")" "up"
	offers fish "$tmp/omr7.conf" "$(in_fish "up $tmp/omr")" "up FILE"
}

manual() {
	local out word missing=
	if command -v mandoc >/dev/null; then
		out=$(mandoc -T lint -W warning "$man" "$conf" 2>&1)
		[ -z "$out" ]
		result $? "man page passes mandoc's lint" "$out"
	else
		skip "man page passes mandoc's lint" "no mandoc"
	fi
	# Every key of a file is documented, as the head of a paragraph.
	for word in $(sed -n 's/.*\.conf = "\([A-Za-z]*\)".*/\1/p' lib/model.c) \
		    $(sed -n 's/^\t{ "\([A-Za-z]*\)", &om_.*/\1/p' lib/config_keys.c); do
		grep -A1 '^\.TP' "$conf" | grep -qw "$word" || missing="$missing $word"
	done
	[ -z "$missing" ]
	result $? "omerta.conf(5) describes every key" "missing:$missing"
	missing=
	# Every member of an object that is printed is in the schema of JSON.
	# shellcheck disable=SC2013 # words
	for word in $(sed -n '/OM_HIDDEN/d; /^\t[ACR](/d; s/^\t[A-Z]*([A-Z0-9_]*, "\([a-z-]*\)".*/\1/p' lib/model.c | sort -u); do
		grep -q "\"$word\": {" "$schema" || missing="$missing $word"
	done
	[ -z "$missing" ]
	result $? "schema of JSON has every member" "missing:$missing"
	missing=
	# Every word that can be typed is documented, in a line of its own.
	for word in $("$tool" __complete) \
		    $(for o in link peer key; do
			for v in $("$tool" __complete $o); do
				"$tool" __complete $o "$v" omr0
			done
		      done | sort -u); do
		sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$man" | grep '^\.' |
			grep -qE "(^|[^a-z-])${word//-/\\\\?-}([^a-z-]|\$)" ||
			missing="$missing $word"
	done
	[ -z "$missing" ]
	result $? "man page names every command and option" "missing:$missing"
}

installed() {
	local out
	out=$(MAKEFLAGS='' make -s install DESTDIR="$tmp/root" 2>&1)
	[ -x "$tmp/root/usr/sbin/omertactl" ] &&
		[ -x "$tmp/root/usr/libexec/omerta/omerta-agent" ] &&
		[ -f "$tmp/root/usr/share/man/man8/omertactl.8" ] &&
		[ -f "$tmp/root/usr/share/man/man5/omerta.conf.5" ] &&
		[ -f "$tmp/root/usr/share/bash-completion/completions/omertactl" ] &&
		[ -f "$tmp/root/usr/lib/sysusers.d/omerta.conf" ] &&
		[ -f "$tmp/root/usr/lib/tmpfiles.d/omerta.conf" ] &&
		grep -q '^ExecStart=/usr/libexec/omerta/omerta-agent ' \
			"$tmp/root/usr/lib/systemd/system/omerta@.service" &&
		[ -f "$tmp/root/usr/lib/systemd/system/omerta-link@.service" ]
	result $? "install into DESTDIR" "$out"
	out=$(MAKEFLAGS='' make -s uninstall DESTDIR="$tmp/root" 2>&1
		find "$tmp/root" ! -type d)
	[ -z "$out" ]
	result $? "uninstall leaves nothing" "$out"
}

layers() {
	local out
	out=$(grep -lE 'include <(netlink|sodium)' {lib,cmd,agent}/*.[ch] | sort | tr '\n' ' ')
	[ "$out" = "agent/agent.c agent/agent_peers.c agent/daemon.c agent/handshake.c agent/noise.c lib/keygen.c lib/map.c lib/nl.c lib/nl_control.c lib/nl_event.c lib/nl_msg.c lib/nl_msg.h lib/rtnl.c lib/rtnl_read.c lib/times.c " ]
	result $? "libnl and libsodium each in their place" "$out"
	out=$(grep -nE 'include "(cmd|agent)/' lib/*.[ch]; grep -n 'include "agent/' cmd/*.[ch]
		grep -n 'include "cmd/' agent/*.[ch])
	[ -z "$out" ]
	result $? "lib stands below cmd and agent, which do not use each other" "$out"
	! ldd "$tool" | grep -q libcrypto
	result $? "omertactl is not linked to OpenSSL"
}

# The second implementation of the handshake, which makes known answers
vectors() {
	local out name="the second implementation of the handshake"
	if ! command -v python3 >/dev/null; then
		skip "$name" "no python3"
		return
	fi
	out=$(PYTHONDONTWRITEBYTECODE=1 python3 ../../selftests/vectors/omerta_handshake.py selftest 2>&1)
	[ "$out" = ok ]
	result $? "$name" "$out"
	out=$(cd ../../selftests/vectors &&
		PYTHONDONTWRITEBYTECODE=1 python3 omerta_handshake.py check known_answers.json 2>&1)
	result $? "it gives what a third one gave" "$out"
}

echo "KTAP version 1"
status
keys
completion
manual
installed
layers
vectors
echo "1..$n"
exit $failed
