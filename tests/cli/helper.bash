# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016 # output and stderr are set by run
# Functions that the tests of the command share. MININB is the built program.

bats_require_minimum_version 1.5.0

# A file with its own setup calls this first.
enter_work()
{
	: "${MININB:?is not set: run these by meson test}"
	unset NO_COLOR MININB_PLUGIN_PATH MININB_WORKLOAD_PATH
	export LC_ALL=C
	ulimit -c 0 # some tests crash on purpose
	mkdir "$BATS_TEST_TMPDIR/work" # bats keeps files of its own beside it
	cd "$BATS_TEST_TMPDIR/work" || return
}

setup()
{
	enter_work
}

# A test with a process in the background stores its pid in $pid, or several in $pids.
teardown()
{
	local one
	for one in ${pid-} "${pids[@]}"; do
		kill -KILL "$one" 2>/dev/null || true
	done
}

# Run mininb, which must exit with $1. $output is its stdout, $stderr its stderr.
mininb()
{
	local status_wanted=$1
	shift
	run "-$status_wanted" --separate-stderr "$MININB" "$@"
}

contains()
{
	[[ $1 == *"$2"* ]] && return
	printf 'not found: %s\nin:\n%s\n' "$2" "$1"
	return 1
}

lacks()
{
	[[ $1 != *"$2"* ]] && return
	printf 'found: %s\nin:\n%s\n' "$2" "$1"
	return 1
}

equals()
{
	[[ $1 == "$2" ]] && return
	printf 'is: %s\nnot: %s\n' "$1" "$2"
	return 1
}

matches()
{
	[[ $1 =~ $2 ]] && return
	printf 'no match for: %s\nin:\n%s\n' "$2" "$1"
	return 1
}

# Wrong usage with the arguments after $1: exit status 2, nothing on stdout, and one line on stderr
# that begins with $1.
refuses()
{
	local begins=$1
	shift
	mininb 2 "$@"
	equals "$output" ''
	matches "$stderr" "^mininb: "
	[[ $stderr == "mininb: $begins"* ]] || {
		printf 'does not begin with "%s":\n%s\n' "$begins" "$stderr"
		return 1
	}
	[[ $stderr != *$'\n'* ]] || {
		printf 'more than one line:\n%s\n' "$stderr"
		return 1
	}
}

# The path of a test plugin.
plugin()
{
	printf '%s/%s.so' "$MININB_TEST_PLUGINS" "$1"
}

# Start mininb "$@" in the background as $pid; a shell ignores SIGINT for such jobs.
start()
{
	env --default-signal=INT,TERM,HUP "$MININB" "$@" >out 2>err 3>&- &
	pid=$!
}

# The started process must end with status $1. $output and $stderr are its output.
ends_with()
{
	local status_got=0
	wait "$pid" || status_got=$?
	pid=
	output=$(<out) stderr=$(<err)
	[[ $status_got == "$1" ]] && return
	printf 'status %s, not %s\n%s\n' "$status_got" "$1" "$stderr"
	return 1
}

# Send signal $1 to the process. It must end with status $2, default 130.
stop()
{
	kill "-$1" "$pid"
	ends_with "${2-130}"
}

# The value of path $2, "results.0.driver", in the JSON file $1.
value_of()
{
	python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for name in sys.argv[2].split("."):
    value = value[int(name)] if isinstance(value, list) else value[name]
print(value)' "$1" "$2"
}

needs_engine()
{
	"$MININB" engines --driver="$1" >/dev/null 2>&1 || skip "$1 is not built"
}

needs_leveldb()
{
	needs_engine leveldb
}

# A sanitizer has its own handlers and reports crashes instead of mininb.
needs_no_sanitizer()
{
	! grep -qa '__asan_init\|__tsan_init' "$MININB" || skip 'a sanitizer has its own handlers'
}

# $1 must have $2 lines.
has_lines()
{
	equals "$(wc -l <<<"$1")" "$2"
}

# The sum of the counts of the histogram rows in $1.
sum_of_rows()
{
	awk '/^\[ *[0-9.]+, *[0-9.]+\)/ { sub(/^[^)]*\)/, ""); sum += $1 } END { print sum + 0 }' <<<"$1"
}

# The count in the line "Total:" of $1.
total_of()
{
	awk '/^Total:/ { print $3 }' <<<"$1"
}

# Operations of kind $1 in the report of a job, $output; "" if the row is missing.
ops_of()
{
	awk -v kind="$1" '$1 == kind && $2 == "service" { print $3 }' <<<"$output"
}

# The text after "$1 :" in the first such line of $output.
line_of()
{
	awk -v name="$1" 'index($0, name) == 1 && sub(/^[^:]*: /, "") { print; exit }' \
		<<<"$output"
}

# Wait until the command $@ succeeds, at most a minute.
wait_until()
{
	local i
	for ((i = 0; i < 1200; i++)); do
		"$@" && return
		sleep 0.05
	done
	echo "never true: $*"
	return 1
}

# Run mininb without root's privilege to write everywhere.
unprivileged()
{
	if ((EUID == 0)); then
		command -v setpriv >/dev/null || skip 'is root, and setpriv is not installed'
		setpriv --bounding-set=-dac_override,-dac_read_search true 2>/dev/null ||
			skip 'is root and may not drop privileges'
		run "-$1" --separate-stderr setpriv --bounding-set=-dac_override,-dac_read_search \
			"$MININB" "${@:2}"
	else
		mininb "$@"
	fi
}

# Run "$@" in a directory `small` that is a tmpfs of $room, default 4 MiB.
in_small_room()
{
	local namespaces=(unshare -m)
	((EUID == 0)) || namespaces=(unshare -Urm)
	mkdir -p small
	"${namespaces[@]}" sh -c 'mount -t tmpfs -o "size=$0" none small && cd small && "$@"' \
		"${room-4m}" "$@"
}

# Separate from in_small_room, because `run` calls that in a subshell, and skip would end only the
# subshell. A container or a chroot may not be allowed to mount.
needs_small_room()
{
	in_small_room true 2>/dev/null || skip 'may not mount a tmpfs'
}
