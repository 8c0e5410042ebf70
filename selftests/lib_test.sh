# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# For test scripts: runs functions as tests and prints KTAP. Scripts that source it define WAIT,
# the time-out in seconds, and cleanup(), which is called after each test.

# await COMMAND...: polls, since there is nothing to wait on.
await() {
	local end=$((SECONDS + WAIT)) -

	set +x
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || { echo "not within $WAIT s: $*"; return 1; }
		sleep 0.05
	done
}

# is_realtime: whether the kernel has PREEMPT_RT. Only some have /sys/kernel/realtime.
is_realtime() {
	[[ $(uname -v) == *PREEMPT_RT* ]]
}

# is WANTED COMMAND...: succeeds if the command prints WANTED.
is() {
	local got

	got=$("${@:2}")
	[[ $got == "$1" ]] || { echo "wanted '$1', got '$got'"; return 1; }
}

# more_than N COMMAND...
more_than() {
	local got

	got=$("${@:2}")
	((got > $1)) || { echo "wanted more than $1, got $got"; return 1; }
}

less_than() {
	local got

	got=$("${@:2}")
	# Nothing would count as 0.
	[[ -n $got && $got -lt $1 ]] || { echo "wanted less than $1, got $got"; return 1; }
}

# For what is asked often, as jq takes a second to start on an emulated machine:
# member JSON NAME: the first of that name, a number, a string without escapes or such.
member() {
	if [[ $1 =~ \"$2\":\"?([^],}\"]*) ]]; then
		echo "${BASH_REMATCH[1]}"
	else
		[[ -n $1 ]] && echo null
	fi
}

# object JSON NAME VALUE: the first object with such a member, if it has no other objects.
object() {
	[[ $1 =~ \{[^{}]*\"$2\":\"?$3\"?(,[^{}]*)?\} ]] && echo "${BASH_REMATCH[0]}"
}

# refused COMMAND...: succeeds if the command fails.
refused() {
	! "$@"
}

# figures WORD...: a line to be shown, also if the test passes
figures() {
	echo "$*" >>"$DIR/figures"
}

# Seconds a test may last, on the slowest machine and under a debug kernel.
LIMIT=${LIMIT:-900}

# within_limit PID: waits for that process group, kills it at the end of its time.
within_limit() {
	if ! timeout "$LIMIT" tail -s 0.05 -f /dev/null --pid="$1"; then
		echo "not within $LIMIT s: the test" >>"$DIR/log"
		kill -KILL -- "-$1"
	fi
	wait "$1"
}

# In a subshell of its own, with what it runs and prints in $DIR/log. A function
# may end in "exit 4" after "SKIP why". After one that fails, describe is run, if there is such
# a function, to tell how things are.
run_test() {
	local start=$SECONDS rc lines group

	DIR=$(mktemp -d)
	set -m
	(
		set +m
		PS4='+ $SECONDS s: '
		set -eux
		"$1"
	) >"$DIR/log" 2>&1 </dev/null &
	group=$!
	set +m
	within_limit "$group" 2>/dev/null
	rc=$?
	# The last words of what still runs would hide where it failed.
	lines=$(wc -l <"$DIR/log")
	if ((rc != 0 && rc != 4)) && declare -F describe >/dev/null; then
		describe >"$DIR/described" 2>&1 </dev/null
	fi
	# Processes of a failed test may be in no namespace of ours, and keep our output open.
	kill -KILL -- "-$group" 2>/dev/null
	cleanup >/dev/null 2>&1
	wait 2>/dev/null
	[[ ! -e $DIR/figures ]] || sed 's/^/# /' "$DIR/figures"
	case $rc in
	0) echo "ok $2 - ${1#test_} # $((SECONDS - start)) s" ;;
	4) echo "ok $2 - ${1#test_} # SKIP $(sed -n 's/^SKIP //p' "$DIR/log")" ;;
	*)
		head -n "$lines" "$DIR/log" | tail -n 60 | sed 's/^/# /'
		[[ ! -e $DIR/described ]] || sed 's/^/# /' "$DIR/described"
		echo "not ok $2 - ${1#test_}"
		;;
	esac
	rm -rf "$DIR"
	((rc == 0 || rc == 4))
}

# run_tests FUNCTION...: exits with 1 if one failed.
run_tests() {
	local test n=0 failed=0

	echo "KTAP version 1"
	echo "1..$#"
	for test; do
		# Not in a condition, which would switch "set -e" off inside.
		run_test "$test" "$((++n))"
		((failed |= $?))
	done
	exit "$failed"
}
