#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The disk-cache-cold run: install, build, then for each engine put all records, drop the caches,
# and get all records in another order.
#
#   extra/run.sh [options] [-- options of mininb matrix for all runs]
#
#   -d, --drivers A,B,C  engines, by name or as a path to a plugin, or all: every
#                        one that was built and keeps its data [leveldb]
#   -k, --klen SIZE      bytes of a key [16]
#   -v, --vlen SIZE      bytes of a value [100]
#   -c, --count COUNT    records [500000]
#   -t, --threads N      worker threads [1]
#   -p, --path DIR       create the databases in DIR/matrix-HASH [./nb]
#       --keys FILE      keys to use, COUNT x SIZE raw bytes; read only [new keys]
#       --results DIR    write the results to DIR/<date-time> [./results]
#       --build DIR      build directory [<repository>/build]
#       --no-setup       install nothing
#       --hang-after T   end a step of an engine that makes no progress for this time,
#                        for example 10m or 1h; 0s: never [10m]
#       --keep           do not remove the databases and key files
#   -h, --help
#
# An option for one engine is written -- -o ENGINE.NAME=VALUE.
#
# This script writes a plan, and `mininb matrix` runs it. Every engine puts the same keys in the
# same order and gets them in another order, which is also the same for all. Each step is a separate
# process. Before the get, --cold drops the database from memory: as root it drops all of the
# kernel's caches, else file by file. Each result reports how much of the database was in memory
# when the first operation began.
#
# An interruption loses at most the run of the current engine: the same command in the same
# directory continues in the same DIR/<date-time>. When that is complete, the same command creates a
# new one.
#
# Results: plan.ini, machine.txt and keys.txt; <engine>.txt and <engine>.json, the report and the
# complete result of put and get; report.html, a page with charts; report.md; and table.txt, which
# the script also prints to stdout, with the report if there is only one engine. All other output
# goes to stderr.
#
# Exit status: 0 all engines done; 1 an engine failed (the others were run); 2 wrong usage; 130
# interrupted.
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
matrix_options=()

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
			matrix_options+=(--keep)
			shift
			continue
			;;
		--)
			matrix_options+=("${@:2}")
			break
			;;
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
	[[ -z $user_keys || -f $user_keys ]] || usage_error "$user_keys: no such key file"
}

build()
{
	if [[ $with_setup == yes ]]; then
		"$repo/extra/setup.sh" --build-only
	fi
	configure "$build" -Dtests=false >&2
	as_owner ninja -C "$build" >&2
	mininb=$build/cli/mininb
	[[ -x $mininb ]] || die "the build did not create $mininb"
}

# Print all engines that can be loaded and are persistent and not remote, by their own report.
kept_engines()
{
	"$mininb" engines | sed -n '1d; /^$/q; / remote/d; / persistent/s/ .*//p' | paste -sd ,
}

# Choose the engines. An unknown name is wrong usage. A plugin that cannot be loaded is left out and
# counts as a failure.
choose_engines()
{
	local driver status text
	local -a list loaded=()
	[[ $drivers != all ]] || drivers=$(kept_engines)
	IFS=, read -ra list <<<"$drivers"
	for driver in "${list[@]}"; do
		status=0
		text=$("$mininb" engines --driver "$driver" 2>&1 >/dev/null) || status=$?
		((status == 0)) || say "${text#mininb: }"
		((status != 2)) || exit 2
		if ((status == 0)); then
			loaded+=("$driver")
		else
			failed=yes
		fi
	done
	((${#loaded[@]} > 0)) || die "no engine to run"
	drivers=$(IFS=, && printf '%s' "${loaded[*]}")
}

# Write the plan. On a file system in memory no run can be cold.
write_plan()
{
	local cold=yes
	case $(stat -f -c %T "$path") in
	tmpfs | ramfs)
		cold=no
		say "$path is on a file system in memory, so --cold is omitted"
		;;
	esac
	cat >"$plan" <<-EOF
		# The classic run. Options of the command line:$(printf ' %q' "${matrix_options[@]}")
		[matrix]
		driver = $drivers
		[options]
		klen = $klen
		vlen = $vlen
		count = $count
		threads = $threads
		hang-after = $hang_after
		cold = $cold
		shuffle = yes
		${user_keys:+keys = $(realpath "$user_keys")}
	EOF
}

# ---- directories ----

# Lock the path. Every child inherits the lock, so a killed run holds it until its last engine has
# ended.
claim_path()
{
	[[ -d $path ]] || path_is_ours=yes
	mkdir -p "$path" || die "cannot make $path"
	: >>"$path/.run.lock" || die "cannot write to $path"
	exec 9>>"$path/.run.lock"
	flock -n 9 || die "another run uses $path"
}

# Choose the results directory: that of the last run if it had the same plan and was interrupted;
# else a new one.
claim_results()
{
	local name number=1 last
	as_owner mkdir -p "$results" 2>/dev/null || mkdir -p "$results" || die "cannot make $results"
	last=$(find "$results" -mindepth 2 -maxdepth 2 -name plan.ini | sort | tail -n 1)
	out=${last%/plan.ini}
	if [[ -n $last && ! -e $out/index.html ]] && cmp -s "$last" "$plan"; then
		say "continuing the run in $out"
		return
	fi
	name=$results/$(date +%Y-%m-%d-%H%M%S)
	out=$name
	while ! mkdir "$out" 2>/dev/null; do
		[[ -e $out ]] || die "cannot make $out"
		number=$((number + 1))
		out=$name-$number
	done
	cat "$plan" >"$out/plan.ini"
}

# Give files that root created to the user who called sudo.
give_back()
{
	if ((EUID == 0)) && [[ -n ${SUDO_UID-} ]]; then
		chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$@"
	fi
}

leave()
{
	rm -f "$plan"
	[[ -z $out ]] || give_back "$out"
	[[ -z $path_is_ours ]] || rm -f "$path/.run.lock"
	[[ -z $path_is_ours ]] || rmdir "$path" 2>/dev/null || give_back "$path"
}

# ---- the run ----

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
	printf 'Database on: %s\n' "$(findmnt -no SOURCE,FSTYPE,SIZE,AVAIL,OPTIONS -T "$path" || echo not known)"
	printf 'Compiler: %s\n' "$(gcc --version 2>/dev/null | head -n 1)"
	printf 'mininb: %s\n' "$("$mininb" --version)"
	printf 'Source: %s\n' "$(git -C "$repo" -c safe.directory="$repo" describe --always --dirty \
		2>/dev/null || echo not known)"
	printf '\n'
	"$mininb" engines || true
}

describe_keys()
{
	if [[ -n $user_keys ]]; then
		printf 'Keys: %s, SHA-256 %s\n' "$user_keys" "$(sha256sum <"$user_keys" | cut -c 1-64)"
	else
		printf 'Keys: mininb keys --klen=%s --count=%s\n' "$klen" "$count"
	fi
	printf 'The digest in each report is of the keys in their order.\n'
}

# Run the matrix in its own session, so that it gets each signal once, from this script, and closes
# the engine. A trap ends `wait` before the child has ended, so wait again.
run_matrix()
{
	local status=0
	setsid "${matrix[@]}" </dev/null &
	child=$!
	trap 'kill -TERM "$child" 2>/dev/null || true' INT TERM HUP
	wait "$child" || status=$?
	while kill -0 "$child" 2>/dev/null; do
		status=0
		wait "$child" || status=$?
	done
	return "$status"
}

# Write reports with readable names: mininb names a result by the hash of its settings.
write_reports()
{
	local state name engine files=() reports=()
	while read -r state name engine; do
		[[ $state =~ ^(done|failed)$ ]] || continue
		engine=${engine%%, repetition*}
		engine=${engine##*/}
		ln -sf "$name.json" "$out/$engine.json"
		files+=("$out/$name.json")
		reports+=("$out/$engine.txt")
		"$mininb" report --output="$out/$engine.txt" "$out/$name.json" || failed=yes
	done < <("${matrix[@]}" --dry-run)
	"$mininb" report --format=md --output="$out/report.md" "${files[@]}" || failed=yes
	ln -sf index.html "$out/report.html"
	((${#reports[@]} > 1)) || cat "${reports[@]}"
}

main()
{
	failed='' out='' path_is_ours=''
	parse_options "$@"
	plan=$(mktemp)
	trap leave EXIT
	build
	choose_engines
	claim_path
	write_plan
	"$mininb" matrix "$plan" --results="$results" --dry-run "${matrix_options[@]}" >/dev/null
	claim_results
	matrix=("$mininb" matrix "$out/plan.ini" --results="$out" --path="$path" "${matrix_options[@]}")
	# A failure to collect facts must not stop the run.
	machine >"$out/machine.txt" || say "machine.txt may be incomplete"
	describe_keys >"$out/keys.txt"
	local status=0
	run_matrix || status=$?
	[[ ! -s $out/index.html ]] || write_reports
	printf '\nResults: %s\n' "$out"
	[[ ! -s $out/index.html ]] || printf 'Page: %s\n' "$out/report.html"
	((status != 0)) || [[ -z $failed ]] || status=1
	return "$status"
}

main "$@"
