#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The part of package.sh inside the root.
# shellcheck disable=SC2317 # the tests are called by name
set -u
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /omerta || exit 1

build() {
	dpkg-buildpackage -us -uc -b
	mkdir /old
	mv /*.deb /old
	# The next version
	sed -i '1s/(0.1)/(0.2)/' debian/changelog
	echo 0.2 >VERSION
	dpkg-buildpackage -us -uc -b
	mkdir /new
	mv /*.deb /new
}

lint() {
	lintian --allow-root --fail-on error /old/*.deb
}

# none COMMAND...: succeeds if the command prints nothing.
none() {
	if "$@" 2>/dev/null | grep .; then
		return 1
	fi
}

# built_for VERSION COUNT
built_for() {
	local n

	n=$(dkms status omerta/"$1" | grep -c ': installed')
	dkms status
	((n == $2))
	((n == $(find /lib/modules -name 'omerta.ko*' | wc -l)))
}

install() {
	dpkg -i /old/omerta-dkms_*.deb /old/omertactl_*.deb
	built_for 0.1 2
	omertactl -V
	man -w omertactl
	test -e /usr/share/bash-completion/completions/omertactl
	# The tests stay at home.
	none find /lib/modules -name 'omerta_test*'
}

# The agent's user, directories and units
units() {
	id omerta
	[[ $(stat -c '%a %U %G' /etc/omerta) == '2750 root omerta' ]]
	systemd-analyze --man=no verify omerta@omr0.service omerta-link@omr0.service
	systemd-analyze security --offline=yes --threshold=25 omerta@omr0.service
}

# As it comes by an upgrade of the distribution
new_kernel() {
	dpkg -i /later/*.deb
	built_for 0.1 3
}

upgrade() {
	echo 'options omerta key_memory=1000' >>/etc/modprobe.d/omerta.conf
	dpkg -i /new/omerta-dkms_*.deb /new/omertactl_*.deb
	grep 'key_memory=1000' /etc/modprobe.d/omerta.conf
	built_for 0.2 3
	none dkms status omerta/0.1
}

remove() {
	apt-get -qq remove omerta-dkms omertactl
	none find /lib/modules -name 'omerta.ko*'
	none command -v omertactl
	grep 'key_memory=1000' /etc/modprobe.d/omerta.conf
	apt-get -qq purge omerta-dkms omertactl
	none find / -xdev -name '*omerta*' -not -path '/omerta*' -not -path '/old/*' \
		-not -path '/new/*' -not -path '/var/log/*'
}

n=0 failed=0
TESTS=(build lint install units new_kernel upgrade remove)
echo "KTAP version 1"
echo "1..${#TESTS[@]}"
for test in "${TESTS[@]}"; do
	(
		set -eux
		"$test"
	) >"/log-$test" 2>&1 </dev/null
	# Not in a condition, which would switch "set -e" off inside.
	# shellcheck disable=SC2181
	if (($? == 0)); then
		echo "ok $((++n)) - packages: $test"
	else
		tail -n 60 "/log-$test" | sed 's/^/# /'
		echo "not ok $((++n)) - packages: $test"
		failed=1
	fi
done
exit "$failed"
