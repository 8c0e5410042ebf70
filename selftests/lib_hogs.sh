# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For test scripts: user namespaces that take what memory they get, on lib_netns.sh's links.
# shellcheck source=lib_netns.sh
. ./lib_netns.sh

# hogs NUMBER COMMAND...: creates NUMBER user namespaces with the command, each with 20 devices
# whose peers have no keys. All send to their peers and keep the packets; "before" is the free
# memory before that.
# shellcheck disable=SC2016 # expanded inside
HOG='
ip link set lo up
ip route add 192.0.2.0/24 dev lo
for d in {0..19}; do
	omertactl link add "hog$d"
	for i in 1 2 3; do
		omertactl peer add "hog$d" id "$i" endpoint "192.0.2.$i:51900" \
			allowed-ips "10.$d.0.$i/32"
	done
	ip addr add "10.$d.1.1/16" dev "hog$d"
	ip link set "hog$d" up
done
echo >"$DIR/ready.$1"
until [[ -e $DIR/go ]]; do
	sleep 0.05
done
./traffic.py send-super 16 $(for ((i = 0; i < 60; i++)); do echo "10.$((i / 3)).0.$((1 + i % 3))"; done)
echo >"$DIR/sent.$1"
while [[ -e $DIR/go ]]; do
	sleep 0.05
done'

hogs() {
	local i

	chmod 777 "$DIR"
	for ((i = 0; i < $1; i++)); do
		DIR=$DIR bg b "${@:2}" bash -euc "$HOG" hog "$i"
	done
	for ((i = 0; i < $1; i++)); do
		WAIT=600 await test -e "$DIR/ready.$i"
	done
	# shellcheck disable=SC2034 # for those that source this
	before=$(mem_free)
	true >"$DIR/go"
	for ((i = 0; i < $1; i++)); do
		await test -e "$DIR/sent.$i"
	done
}

# CPUs keep up to tens of MiB of free pages that are not in MemFree.
mem_free() {
	awk '/^MemFree/ { kib = $2 }
		/^KernelPageSize/ && !page { page = $2 }
		/^ +count:/ { kib += $2 * page }
		END { print kib }' /proc/meminfo /proc/self/smaps /proc/zoneinfo
}

# mem_used BEFORE: KiB since then
mem_used() {
	echo $(($1 - $(mem_free)))
}
