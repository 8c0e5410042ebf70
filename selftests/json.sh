#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The output of "omertactl -j" follows the schema. Needs root.
#
# usage: json.sh [TEST...]	the names of functions; all without
# shellcheck disable=SC2317,SC2119,SC2016 # the tests are called by name, make_both without
# arguments, and eval expands
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib_netns.sh
. ./lib_netns.sh
# shellcheck source=lib_agent.sh
. ./lib_agent.sh

# valid COMMAND [WORD...]: a's output is; it stays in $DIR/json. COMMAND may be two words.
valid() {
	# shellcheck disable=SC2086 # two words
	on a omertactl -j $1 "${@:2}" >"$DIR/json"
	./json_check.py "$1" <"$DIR/json" || { cat "$DIR/json"; return 1; }
}

# wanted VALUE FILTER: jq prints VALUE.
wanted() {
	is "$1" jq -c "$2" "$DIR/json"
}

test_state() {
	pair_with_agents
	pings a 10.9.0.2
	# Has no key, and no answer
	on a omertactl peer add omr0 id 7 name 'x "y" \z' allowed-ips 10.7.0.0/16,fd07::/32 \
		public-key "$(omertactl genkey | omertactl pubkey)" endpoint '[2001:db8::7]:7'
	valid show omr0
	wanted true '.[0]["control-bound"]'
	wanted '[false,false]' '[.[0].peer[].silent]'
	wanted '["10.7.0.0/16","fd07::/32"]' '.[0].peer[1]["allowed-ips"]'
	valid show
	valid 'link show' omr0
	valid 'peer show' omr0
	valid 'key show' omr0
	valid dump omr0
	valid stats omr0
	valid stats omr0 all
	stop a
	valid 'link show' omr0
	wanted false '.[0]["control-bound"]'
}

# Users with fewer rights get fewer members.
test_without_rights() {
	make_both
	on a setpriv --reuid=65534 --clear-groups omertactl -j link show omr0 >"$DIR/json"
	./json_check.py 'link show' <"$DIR/json"
	wanted '["ifindex","ifname","listen-port","max-mtu"]' '.[0] | keys'
}

test_key_flags() {
	make_ns a
	make_dev a
	make_peer a b
	install_key a b
	valid 'key show' omr0
	wanted '[false,"installed"]' '[.[0].confirmed,.[0].state]'
}

test_events() {
	make_both
	on a omertactl -j monitor >"$DIR/json" &
	# It has joined the group once it tells of a device.
	await eval 'on a omertactl link add omr9 && on a omertactl link del omr9 && test -s "$DIR/json"'
	on b omertactl link set omr0 listen-port 51905
	pings b 10.9.0.1
	on a omertactl peer add omr0 id 7 allowed-ips 10.7.0.0/16 endpoint 192.0.2.2:9
	on a ip route add 10.7.0.0/16 dev omr0
	on a ping -c 1 -W 0.1 10.7.0.1 || :
	await grep -q key-needed "$DIR/json"
	await grep -q peer-endpoint "$DIR/json"
	./json_check.py monitor <"$DIR/json"
	# In the order of time
	is "$(grep -o '"time":"[^"]*"' "$DIR/json" | sort)" grep -o '"time":"[^"]*"' "$DIR/json"
	is "$(date -u +%Y)" eval 'head -n 1 "$DIR/json" | cut -c10-13'
}

test_check() {
	make_ns a
	printf '[Interface]\nAddress = 10.5.0.1/24\n' >"$DIR/omr5.conf"
	valid check "$DIR/omr5.conf" no-agent
	wanted '[true,[]]' '[.[0].valid,.[0].mistakes]'
	printf 'Foo = 3\nListenPort = 99999\n' >>"$DIR/omr5.conf"
	refused on a omertactl -j check "$DIR/omr5.conf" no-agent >"$DIR/json"
	./json_check.py check <"$DIR/json"
	wanted false '.[0].valid'
	wanted '[[3,1],[4,14]]' '[.[0].mistakes[] | [.line, .column]]'
	wanted '"\"Foo\": no such key in [Interface]"' '.[0].mistakes[0].message'
	cp "$DIR/omr5.conf" "$DIR/a name that is no device.conf"
	refused on a omertactl -j check "$DIR/a name that is no device.conf" no-agent >"$DIR/json"
	./json_check.py check <"$DIR/json"
	wanted 3 '.[0].mistakes | length'
}

# changed COMMAND WORD...: true or false, as it says itself
changed() {
	valid "$@" >&2
	jq '.[0].changed' "$DIR/json"
}

test_changed() {
	make_ns a
	printf '[Interface]\nAddress = 10.5.0.1/24\n[Peer]\nId = 3\nAllowedIPs = 10.5.0.3\n' \
		>"$DIR/omr5.conf"
	is true changed up "$DIR/omr5.conf" no-agent
	is false changed up "$DIR/omr5.conf" no-agent
	is false changed reload "$DIR/omr5.conf"
	grep -v Address "$DIR/omr5.conf" >"$DIR/sync"
	is false changed syncconf omr5 "$DIR/sync"
	sed -i 's/Id = 3/&\nName = three/' "$DIR/sync"
	is true changed syncconf omr5 "$DIR/sync"
	is false changed syncconf omr5 "$DIR/sync"
	is true changed setconf omr5 "$DIR/sync"
	sed -i 's/Id = 3/&\nName = three/' "$DIR/omr5.conf"
	is false changed reload "$DIR/omr5.conf"
	sed -i 's/three/drei/' "$DIR/omr5.conf"
	is true changed reload "$DIR/omr5.conf"
	is true changed down "$DIR/omr5.conf"
	is false changed down "$DIR/omr5.conf"
}

# play: runs the tasks; prints how many changed something
play() {
	local book=../ansible.yml

	[[ -e $book ]] || book=../Documentation/examples/ansible.yml
	on a env ANSIBLE_LOCAL_TEMP="$DIR/tmp" ANSIBLE_REMOTE_TEMP="$DIR/tmp" ansible-playbook \
		-i localhost, -c local -e "ansible_python_interpreter=/usr/bin/python3" \
		-e tunnel=omr5 -e "config=$DIR/omr5.conf" -e check=no-agent -e retries=1 -e group=root "$book" \
		>"$DIR/played" || { cat "$DIR/played" >&2; return 1; }
	sed -n 's/.* changed=\([0-9]*\) .*/\1/p' "$DIR/played"
}

test_ansible() {
	grep -q 'User Mode Linux' /proc/cpuinfo ||
		{ echo "SKIP takes minutes on an emulated machine; runs in User-mode Linux"; exit 4; }
	make_ns a
	mkdir -p /etc/omerta
	printf '[Interface]\nAddress = 10.5.0.1/24\n' >"$DIR/omr5.conf"
	is 2 play
	on a ip -4 addr show omr5 | grep -q 10.5.0.1/24
	is 0 play
	sed -i 's/10.5.0.1/10.5.0.2/' "$DIR/omr5.conf"
	is 2 play
	on a ip -4 addr show omr5 | grep -q 10.5.0.2/24
	# A file with a mistake stays out.
	echo 'Foo = 1' >>"$DIR/omr5.conf"
	refused play
	refused grep Foo /etc/omerta/omr5.conf
	on a omertactl down omr5
	rm /etc/omerta/omr5.conf
}

test_bench() {
	make_ns a
	modprobe omerta_bench || { echo "SKIP no module omerta_bench"; exit 4; }
	valid 'bench run' engine lib bytes 65536
}

TESTS=(
	test_state test_without_rights test_key_flags test_events test_check test_changed test_ansible test_bench
)

modprobe omerta || { echo "1..0 # SKIP no module omerta"; exit 4; }
run_tests "${@:-${TESTS[@]}}"
