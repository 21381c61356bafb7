#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The disk-cache-cold run: install, build, then for each engine put all records,
# drop the caches, and get them all in another order.
#
#   extra/run.sh [options] [-- options of mininb for put and get]
#
#   -d, --drivers A,B,C  engines, by name or as a path to a plugin, or all: every
#                        one that was built and keeps its data [leveldb]
#   -k, --klen SIZE      bytes of a key [16]
#   -v, --vlen SIZE      bytes of a value [100]
#   -c, --count COUNT    records [500000]
#   -t, --threads N      worker threads [1]
#   -p, --path DIR       where the databases are made, in DIR/cold-run [./nb]
#       --keys FILE      keys to use, COUNT x SIZE raw bytes; read only [made anew]
#       --results DIR    the results go to DIR/<date-time> [./results]
#       --build DIR      build directory [<repository>/build]
#       --no-setup       install nothing
#       --hang-after T   end a step of an engine that has done nothing for so long,
#                        say 10m or 1h; 0s: never [10m]
#       --keep           leave the databases and key files where they are
#   -h, --help
#
# An option for one engine is written -- -o ENGINE.NAME=VALUE.
#
# Relative paths are those of the directory it is called in. DIR/cold-run is
# this script's own: it is emptied at the start, and removed at the end.
#
# Every engine puts the same keys in the same order and gets them in one same
# other order: the shuffle is done once, on a copy. Each step is a process of
# its own. Before each the database is put out of memory (--cold): as root by
# dropping all of the kernel's caches, else file by file. How much of it was in
# memory when the first operation began stands in each result.
#
# Results: <engine>.<step>.txt, .json (all of it) and .err (what it said), keys.txt,
# machine.txt; and of all together report.html, a page with charts, and report.md.
# The table of that goes to stdout, and the reports too if there is but one engine;
# all else goes to stderr.
#
# Exit status: 0 all engines done; 1 an engine failed (the others were run);
# 2 wrong usage; 130 interrupted.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

drivers=leveldb
klen=16
vlen=100
count=500000
threads=1
path=./nb
user_keys=
results=./results
hang_after=10m
build=$repo/build
with_setup=yes
keep=no
extra_options=()

parse_options()
{
	local name
	while (($# > 0)); do
		name=$1
		case $name in
		--*=*) # one spelling from here on: --name value
			set -- "${name%%=*}" "${name#*=}" "${@:2}"
			continue
			;;
		-h | --help)
			show_help
			exit 0
			;;
		--no-setup)
			with_setup=no
			shift
			continue
			;;
		--keep)
			keep=yes
			shift
			continue
			;;
		--)
			extra_options=("${@:2}")
			break
			;;
		esac
		case $name in
		-d | --drivers | -k | --klen | -v | --vlen | -c | --count | -t | --threads | \
			-p | --path | --keys | --results | --build | --hang-after) ;;
		*) usage_error "unknown option $name" ;;
		esac
		[[ -n ${2-} ]] || usage_error "$name needs a value"
		case $name in
		-d | --drivers) drivers=$2 ;;
		-k | --klen) klen=$2 ;;
		-v | --vlen) vlen=$2 ;;
		-c | --count) count=$2 ;;
		-t | --threads) threads=$2 ;;
		-p | --path) path=$2 ;;
		--keys) user_keys=$2 ;;
		--results) results=$2 ;;
		--build) build=$2 ;;
		--hang-after) hang_after=$2 ;;
		esac
		shift 2
	done
	[[ -z $user_keys || -f $user_keys ]] || usage_error "no such file of keys: $user_keys"
}

# ./plugins/libmine.so -> libmine: names files and the directory of its database
label_of()
{
	local label=${1##*/}
	printf '%s' "${label%.so}"
}

# All engines that can be loaded and keep their data themselves, by what they report.
kept_engines()
{
	"$mininb" engines | sed -n '1d; /^$/q; / remote/d; / persistent/s/ .*//p' | paste -sd ,
}

# Of the options for mininb those that are not for another engine.
own_options()
{
	local driver=$1 word before='' other
	own=()
	for word in "${extra_options[@]}"; do
		for other in "${driver_list[@]}"; do
			[[ $other != "$driver" ]] || continue
			case $before$word in
			-o"$(label_of "$other")".* | --option="$(label_of "$other")".*)
				[[ -z $before ]] || unset 'own[-1]'
				before=''
				continue 2
				;;
			esac
		done
		own+=("$word")
		before=''
		[[ $word != -o && $word != --option ]] || before=-o
	done
}

parse_drivers()
{
	local driver
	local -A seen=()
	IFS=, read -ra driver_list <<<"$drivers"
	((${#driver_list[@]} > 0)) || usage_error "no driver in '$drivers'"
	for driver in "${driver_list[@]}"; do
		[[ -n $(label_of "$driver") ]] || usage_error "an empty name in --drivers $drivers"
		[[ -z ${seen[$(label_of "$driver")]-} ]] ||
			usage_error "two drivers are called $(label_of "$driver")"
		seen[$(label_of "$driver")]=1
	done
}

# ---- the directory of databases ----

path_is_ours=no # made by this run, and to be removed if nothing else is in it

make_dir()
{
	as_owner mkdir -p "$1" 2>/dev/null || mkdir -p "$1" || die "cannot make $1"
}

# Take DIR/cold-run for ourselves. The lock is inherited by every child, so a
# run that was killed holds it until its last engine has gone as well.
claim_work()
{
	[[ -d $path ]] || path_is_ours=yes
	make_dir "$path"
	work=$(cd "$path" && pwd)/cold-run
	# the lock stays beside what a run has left, and so says whose that is
	[[ ! -L $work && (! -e $work || -f $work.lock) ]] ||
		die "$work is there, and is not of this script; take another --path"
	exec 9>>"$work.lock" || die "cannot write to $path"
	flock -n 9 || die "another run uses $work"
	rm -rf "$work"
	make_dir "$work"
	: >"$work/writable" || die "cannot write to $work"
	rm "$work/writable"
}

# A directory of our own, though another run may have begun in the same second.
claim_results()
{
	local name number=1
	make_dir "$results"
	name=$(cd "$results" && pwd)/$(date +%Y-%m-%d-%H%M%S)
	out=$name
	while ! mkdir "$out" 2>/dev/null; do
		[[ -e $out ]] || die "cannot make $out"
		number=$((number + 1))
		out=$name-$number
	done
}

release_work()
{
	if [[ $keep == no ]]; then
		rm -rf "$work"
		rm -f "$work.lock"
		[[ $path_is_ours == no ]] || rmdir "$path" 2>/dev/null || true
	else
		give_back "$work"
	fi
	[[ -z ${out-} ]] || give_back "$out"
}

# What root made for the one who called sudo becomes theirs.
give_back()
{
	if ((EUID == 0)) && [[ -n ${SUDO_UID-} ]]; then
		chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$1"
	fi
}

# ---- steps, and the time they take ----

declare -A kind_ms=() kind_count=()
plan=()    # kinds of the steps to come, the present one first
total=0    # steps in all
started='' # of the present step

plan_steps()
{
	local driver
	plan=(keys shuffle)
	[[ -z $user_keys ]] || plan=(copy shuffle)
	for driver in "${driver_list[@]}"; do
		plan+=(put get)
	done
	total=${#plan[@]}
}

# Time left, in words, when the present step has run for $1 seconds. A step is
# expected to take as long as those of its kind before it; the first get as long
# as a put, which is a guess.
time_left()
{
	local elapsed=$(($1 * 1000)) sum=0 guess='' kind expected i # ms
	for i in "${!plan[@]}"; do
		kind=${plan[$i]}
		if [[ -n ${kind_count[$kind]-} ]]; then
			expected=$((kind_ms[$kind] / kind_count[$kind]))
		elif [[ $kind == get && -n ${kind_count[put]-} ]]; then
			expected=$((kind_ms[put] / kind_count[put]))
			guess=', if a get costs what a put does'
		elif [[ $kind == put || $kind == get ]]; then
			printf 'time left not known before the first put'
			return
		else
			continue # keys and their shuffle are short beside the rest
		fi
		if ((i == 0)); then
			expected=$((expected > elapsed ? expected - elapsed : 0))
		fi
		sum=$((sum + expected))
	done
	if ((sum < 1000)); then
		printf 'less than 1s left%s' "$guess"
	else
		printf 'about %s left%s' "$(human_time $(((sum + 500) / 1000)))" "$guess"
	fi
}

step_begin()
{
	step_name=$1
	started=$EPOCHREALTIME
	say "[$((total - ${#plan[@]} + 1))/$total] $step_name, $(time_left 0)"
}

# $1: whether to learn from how long it took
step_end()
{
	local seconds kind=${plan[0]}
	seconds=$(seconds_since "$started")
	if [[ $1 == yes ]]; then
		kind_ms[$kind]=$((${kind_ms[$kind]-0} + (${EPOCHREALTIME/./} - ${started/./}) / 1000))
		kind_count[$kind]=$((${kind_count[$kind]-0} + 1))
	fi
	plan=("${plan[@]:1}")
	step_seconds=$seconds
}

child=
interrupted=

# The child has a session of its own, so that it hears of a signal once and
# from here: mininb then stops its workers, closes the engine and reports.
on_signal()
{
	interrupted=yes
	[[ -z $child ]] || kill -TERM "$child" 2>/dev/null || true
}

# Run a command to its end, with a line of progress.
run_child()
{
	setsid "$@" </dev/null &
	child=$!
	await_child 1
}

# The same for a function of ours. Nothing is measured meanwhile, so its end is looked
# for more often, and what was made cold is used at once.
run_function()
{
	"$@" </dev/null &
	child=$!
	await_child 0.1
}

# Show every $1 seconds how long the child has run, if descriptor 3, which is the
# script's own stderr, is a terminal.
await_child()
{
	local status=0
	# What bash has to say of a child that was killed, how_it_ended says better.
	{
		while [[ -t 3 ]] && kill -0 "$child"; do
			show_time >&3
			sleep "$1"
		done
		[[ ! -t 3 ]] || printf '\r\033[K' >&3
		wait "$child" || status=$?
		# A trap ends wait before the child has ended.
		while kill -0 "$child"; do
			status=0
			wait "$child" || status=$?
		done
	} 2>/dev/null
	child=
	return "$status"
}

# Cut to the terminal's width: a line that wraps cannot be rewritten.
show_time()
{
	local seconds size line
	seconds=$(seconds_since "$started")
	line="    $step_name $(human_time "$seconds"), $(time_left "$seconds")"
	size=$(stty size <&3) || size=
	size=${size#* }
	((size > 0)) || size=80
	printf '\r\033[K%s' "${line:0:size-1}"
}

stop_if_interrupted()
{
	[[ -n $interrupted ]] || return 0
	say "interrupted; what was measured is in $out"
	summary
	release_work
	exit 130
}

# What an exit status means.
how_it_ended()
{
	case $1 in
	1) printf 'failed' ;;
	2) printf 'did not accept its options' ;;
	3) printf 'gave back other data than was put' ;;
	130) printf 'was interrupted' ;;
	*)
		if (($1 > 128)) && kill -l $(($1 - 128)) >/dev/null 2>&1; then
			printf 'was killed by SIG%s' "$(kill -l $(($1 - 128)))"
		else
			printf 'ended with status %d' "$1"
		fi
		;;
	esac
}

# ---- the work ----

prepare_keys()
{
	local making=keys command
	keys=$work/keys.bin
	shuffled=$work/shuffled.bin
	command=("$mininb" keys --keys "$keys" --klen "$klen" --count "$count" --quiet)
	if [[ -n $user_keys ]]; then
		making='copy of the keys'
		keys=$user_keys
		command=(true)
	fi
	step_begin "$making"
	run_child "${command[@]}" >"$out/keys.txt" || {
		stop_if_interrupted
		fail_all "no keys"
	}
	run_child cp --reflink=auto "$keys" "$shuffled" || {
		stop_if_interrupted
		fail_all "${user_keys:-the keys} could not be copied"
	}
	step_end yes
	stop_if_interrupted

	step_begin shuffle
	run_child "$mininb" shuffle --keys "$shuffled" --klen "$klen" --count "$count" --quiet \
		>>"$out/keys.txt" || {
		stop_if_interrupted
		fail_all "${user_keys:-the keys} could not be shuffled"
	}
	stop_if_interrupted
	run_function describe_keys >>"$out/keys.txt" || {
		stop_if_interrupted
		fail_all "${user_keys:-the keys} could not be read"
	}
	step_end yes
}

describe_keys()
{
	printf 'Keys: %s\n' "${user_keys:-made by mininb keys}"
	printf 'Size: %s bytes\n' "$(stat -c %s "$keys")"
	printf 'SHA-256 in the order of put: %s\n' "$(sha256sum <"$keys" | cut -c 1-64)"
	printf 'SHA-256 in the order of get: %s\n' "$(sha256sum <"$shuffled" | cut -c 1-64)"
}

fail_all()
{
	say "$1"
	release_work
	exit 1
}

# One step of one engine; true if all went well.
measure()
{
	local action=$1 driver=$2 key_file=$3 label dir text errors status=0
	label=$(label_of "$driver")
	dir=$work/$label
	text=$out/$label.$action.txt
	errors=$out/$label.$action.err
	step_begin "$action $driver"
	make_dir "$dir"
	own_options "$driver"
	local command=("$mininb" "$action" --driver "$driver" --path "$dir" --keys "$key_file"
		--klen "$klen" --vlen "$vlen" --count "$count" --threads "$threads"
		--hang-after "$hang_after" "${cold[@]}"
		--output "$out/$label.$action.json" "${own[@]}")
	{
		printf '# Command:%s\n' "$(printf ' %q' "${command[@]}")"
		printf '# Date: %s\n' "$(date --iso-8601=seconds)"
	} >"$text"
	printf '\n' >>"$text"
	run_child "${command[@]}" >>"$text" 2>"$errors" || status=$?
	sed "s/^/    /" "$errors" >&2
	[[ -s $errors ]] || rm "$errors"
	if ((status == 0)); then
		step_end yes
		say "    $(human_time "$step_seconds")"
		((${#driver_list[@]} > 1)) || { # the one report that was asked for
			printf '\n'
			cat "$text"
		}
		return
	fi
	step_end no
	printf '\n# Exit status: %d\n' "$status" >>"$text"
	stop_if_interrupted
	failed+=("$action $driver $(how_it_ended "$status")")
	say "    ${failed[-1]}; see $text"
	return 1
}

measure_engine()
{
	local driver=$1
	if ! measure put "$driver" "$keys"; then
		plan=("${plan[@]:1}") # its get
	else
		stop_if_interrupted
		measure get "$driver" "$shuffled" || true
	fi
	stop_if_interrupted
	[[ $keep == yes ]] || rm -rf "${work:?}/$(label_of "$driver")"
}

# ---- what is kept ----

machine()
{
	printf 'Date: %s\n' "$(date --iso-8601=seconds)"
	printf 'Kernel: %s\n' "$(uname -srvm)"
	printf 'System: %s\n' "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)"
	lscpu 2>/dev/null | sed -n 's/^ *//; /^\(Model name\|CPU(s)\|Thread(s) per core\|Hypervisor vendor\|L[123].* cache\|CPU max MHz\):/s/:  */: /p'
	printf 'Governor: %s\n' \
		"$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor 2>/dev/null || echo not known)"
	printf 'Clock source: %s\n' \
		"$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null || echo not known)"
	awk '/^(MemTotal|SwapTotal):/ { printf "%s %.1f GiB\n", $1, $2 / 1048576 }' /proc/meminfo
	printf 'Load: %s\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
	printf 'Database on: %s\n' "$(df --output=source,fstype,size,avail -h "$work" 2>/dev/null | tail -n 1 |
		awk '{ print $1 ", " $2 ", " $3 ", " $4 " free" }')"
	printf 'Mount options: %s\n' "$(mount_options)"
	printf 'Compiler: %s\n' "$(gcc --version 2>/dev/null | head -n 1)"
	printf 'mininb: %s\n' "$("$mininb" --version)"
	printf 'Source: %s\n' "$(git -C "$repo" -c safe.directory="$repo" describe --always --dirty \
		2>/dev/null || echo not known)"
	printf '\n'
	"$mininb" engines || true
}

# Of the file system that the databases are on: its mount point is the longest
# that leads there.
mount_options()
{
	awk -v dir="$work/" '{
			point = $2 == "/" ? "/" : $2 "/"
			if (index(dir, point) == 1 && length(point) >= longest) {
				longest = length(point)
				options = $4
			}
		}
		END { print options == "" ? "not known" : options }' /proc/mounts
}

# How the database is put out of memory; on a file system that is memory it cannot be.
choose_cold()
{
	cold=(--cold)
	case $(stat -f -c %T "$work") in
	tmpfs | ramfs)
		cold=()
		say "$path is memory, and so cannot be cold: the runs are warm"
		;;
	esac
}

# The results that there are, in the order of the steps; into the array `files`.
result_files()
{
	local driver action file
	files=()
	for driver in "${driver_list[@]}"; do
		for action in put get; do
			file=$out/$(label_of "$driver").$action.json
			[[ ! -s $file ]] || files+=("$file")
		done
	done
}

# The page, the table, and what failed.
summary()
{
	local files format
	result_files
	printf '\n'
	if ((${#files[@]} > 0)); then
		for format in html md; do
			"$mininb" report --format=$format --output="$out/report.$format" \
				"${files[@]}" || failed+=("the report as $format")
		done
		[[ ! -s $out/report.md ]] || first_table "$out/report.md"
	fi
	((${#failed[@]} == 0)) || printf 'Failed: %s\n' "${failed[@]}"
	printf '\nResults: %s\n' "$out"
	[[ ! -s $out/report.html ]] || printf 'Page: %s\n' "$out/report.html"
}

# The first table of Markdown in file $1. Its last column, which may have the error of an
# engine, is cut: the files have all of it.
first_table()
{
	awk -v most=40 '
		/^\|/ {
			if (columns == 0)
				columns = split($0, cells, "|") - 2
			rest = $0
			for (i = 1; i <= columns; i++) # what is before the last column
				rest = substr(rest, index(rest, "|") + 1)
			before[++rows] = substr($0, 1, length($0) - length(rest))
			sub(/ *\|$/, "", rest)
			sub(/^ */, "", rest)
			if (length(rest) > most && rest !~ /^-*$/)
				rest = substr(rest, 1, most - 3) "..."
			last[rows] = rest
			if (rest !~ /^-*$/ && length(rest) > width)
				width = length(rest)
			next
		}
		rows > 0 { exit }
		END {
			dashes = sprintf("%" width "s", "")
			gsub(/ /, "-", dashes)
			for (i = 1; i <= rows; i++)
				printf "%s %-" width "s |\n", before[i], last[i] ~ /^-+$/ ? dashes : last[i]
		}' "$1"
}

build()
{
	if [[ $with_setup == yes ]]; then
		"$repo/extra/setup.sh" --build-only
	fi
	configure "$build" -Dtests=false >&2
	as_owner ninja -C "$build" >&2
	mininb=$build/cli/mininb
	[[ -x $mininb ]] || die "the build made no $mininb"
}

# A name that no engine has is wrong usage, and better said now than at the end of
# the night. What is there and cannot be loaded is that engine's failure only.
check_drivers()
{
	local driver status text
	for driver in "${driver_list[@]}"; do
		status=0
		text=$("$mininb" engines --driver "$driver" 2>&1 >/dev/null) || status=$?
		if ((status == 2)); then
			say "${text#mininb: }"
			exit 2
		fi
	done
}

main()
{
	failed=()
	driver_list=()
	parse_options "$@"
	[[ $drivers == all ]] || parse_drivers
	build
	if [[ $drivers == all ]]; then
		drivers=$(kept_engines)
		parse_drivers
	fi
	check_drivers
	claim_work
	claim_results
	exec 3>&2
	trap on_signal INT TERM HUP
	# A fact that cannot be had must not cost the run.
	machine >"$out/machine.txt" || say "machine.txt may not be complete"
	choose_cold
	plan_steps
	prepare_keys
	local driver
	for driver in "${driver_list[@]}"; do
		measure_engine "$driver"
	done
	summary
	release_work
	((${#failed[@]} == 0))
}

main "$@"
