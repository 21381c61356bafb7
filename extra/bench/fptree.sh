#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Compares the engine fptree with leveldb and lmdb. mininb measures them in turn on the same tmpfs.
# Prints Markdown tables of medians and of throughput ratios. Each ratio is of one pair, that is, of
# runs close in time. All figures include the cost of the harness, which is printed beside them.
#
#   extra/bench/fptree.sh [PAIRS] [RECORDS]
#
# PAIRS is the number of repetitions [3], RECORDS the number of records [2200000]; the workloads of
# YCSB use at most a million. Three pairs take less than ten minutes.
#
#   BENCH_DIR           directory for the databases, preferably on tmpfs, with 3 GiB
#                       free [/dev/shm/mininb-bench]
#   BENCH_BUILD         build directory [<repository>/build-bench]
#   MININB_BENCH_CHRT   0: keep the priority, even where chrt -f 50 is permitted
#
# The tables go to stdout, progress to stderr. Exit status: 0 done; 1 a run failed or found wrong
# data, so no tables are printed; 2 wrong usage; 130 interrupted.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

readonly build=${BENCH_BUILD:-$repo/build-bench}
readonly place=${BENCH_DIR:-/dev/shm/mininb-bench}
readonly mininb=$build/cli/mininb
readonly base=leveldb # the denominator of the ratios
readonly engines=(fptree fptree-process leveldb lmdb)

parse_arguments()
{
	if [[ ${1-} == -h || ${1-} == --help ]]; then
		show_help
		exit 0
	fi
	(($# <= 2)) || usage_error "got $# arguments; allowed: PAIRS and RECORDS"
	pairs=${1:-3}
	records=${2:-2200000}
	[[ $pairs =~ ^[1-9][0-9]{0,2}$ ]] || usage_error "PAIRS must be a number from 1 to 999"
	[[ $records =~ ^[1-9][0-9]{3,9}$ ]] || usage_error "RECORDS must be a number of at least 1000"
	mixed=$((records * 35 / 220)) # the proportion of the published run of 2.2 million records
	ycsb_records=$((records < 1000000 ? records : 1000000))
}

# ---- build and scheduler ----

prepare_build()
{
	configure "$build" --buildtype=release -Dtests=false >&2
	as_owner ninja -C "$build" all >"$work/out" || {
		cat "$work/out" >&2
		die "the build in $build failed"
	}
	local name
	for name in fptree leveldb lmdb; do
		"$mininb" engines --driver="$name" >"$work/out" 2>"$work/err" || {
			cat "$work/err" >&2
			die "$build has no $name; configure it with -D$name=enabled"
		}
	done
}

# With real-time priority, other programs take less CPU time. The kernel takes back a part of each
# second, which does not affect shorter runs.
prepare_scheduler()
{
	scheduler=()
	scheduling='normal priority'
	[[ ${MININB_BENCH_CHRT:-1} != 0 ]] || return 0
	if ! chrt -f 50 true 2>/dev/null; then
		scheduling='normal priority (chrt -f 50 is not permitted)'
		return 0
	fi
	scheduler=(chrt -f 50)
	scheduling='chrt -f 50'
	local kept period
	kept=$(cat /proc/sys/kernel/sched_rt_runtime_us 2>/dev/null || echo -1)
	period=$(cat /proc/sys/kernel/sched_rt_period_us 2>/dev/null || echo 0)
	if ((kept >= 0 && kept < period)); then
		scheduling+=", of which the kernel leaves $((kept * 100 / period)) % of each "
		scheduling+="$((period / 1000)) ms: a run that is shorter may be faster by the rest"
	fi
}

# The options of the engine with the name $1 in the tables. The default level of fptree depends on
# the location of its pool, so both of its levels are requested explicitly.
engine_options()
{
	case $1 in
	fptree) engine=(--driver=fptree --durability=commit) ;;
	fptree-process) engine=(--driver=fptree --durability=process) ;;
	*) engine=("--driver=$1") ;;
	esac
}

# ---- one step: a run of mininb, and the figures from its report ----

planning=no # only count the steps
step=0
steps=0

# measure ROW COLUMNS ACTION OPTION...: ROW is the engine, COLUMNS the groups that the report must
# have and their operations, as in "load=2200000 get=2200000". Appends the times to the samples of
# $table, with the number $sample.
measure()
{
	local row=$1 columns=$2
	shift 2
	step=$((step + 1))
	[[ $planning == no ]] || return 0
	say "[$step/$steps] $(human_time "$(seconds_since "$started")"): pair $pair of $pairs," \
		"$table: $row: $columns"
	local command=(timeout --foreground "$((120 + records / 10000))" "${scheduler[@]}"
		"$mininb" "$@" "${engine[@]}" --path="$work/db" --quiet)
	local status=0
	"${command[@]}" </dev/null >"$work/out" 2>"$work/err" || status=$?
	case $status in
	0) ;;
	3) step_failed 'found data that was missing or wrong' "${command[@]}" ;;
	124) step_failed 'did not end in time' "${command[@]}" ;;
	130) exit 130 ;;
	*) step_failed "ended with status $status" "${command[@]}" ;;
	esac
	read_report "$table" "$row" "$sample" "$columns" <"$work/out" >>"$samples" \
		2>"$work/err" || step_failed "printed an unexpected report" "${command[@]}"
}

step_failed()
{
	local how=$1
	shift
	cat "$work/err" >&2
	grep -E '^(Verified|Wrong|Not found|Left out) ' "$work/out" >&2 || true
	say "this $how:"
	die "$*"
}

# Convert a report on stdin to lines TABLE ROW COLUMN SAMPLE VALUE, separated by tabs. The value of
# a group is its wall time per operation, in ns. Values of the whole run go to COLUMN:NAME of its
# last group. It is an error if a part of the report is not understood, or if it reports missing or
# wrong data.
read_report()
{
	awk -v table="$1" -v row="$2" -v sample="$3" -v columns="$4" '
	function fail(text) {
		print "report: " text >"/dev/stderr"
		bad = 1
		exit 1
	}
	function emit(name, value) {
		printf "%s\t%s\t%s\t%s\t%s\n", table, row, name, sample, value
	}
	# convert 12.5MiB, 3.2ms or 17 to bytes, ns or a plain number
	function plain(text) {
		match(text, /^[0-9.]+/)
		if (RSTART != 1) fail("no number: " text)
		suffix = substr(text, RLENGTH + 1)
		if (!(suffix in factor)) fail("not a known unit: " text)
		return substr(text, 1, RLENGTH) * factor[suffix]
	}
	function end_group() {
		if (group == 0) return
		if (served != ops) fail(column ": " served " operations in its rows, not " ops)
		if (has_read && ops >= 10000 && verified == 0 && row != "null")
			fail(column ": nothing was verified")
	}
	BEGIN {
		wanted = split(columns, want, " ")
		factor[""] = factor["B"] = factor["ns"] = 1
		factor["KiB"] = 1024; factor["us"] = 1e3
		factor["MiB"] = 1024 ^ 2; factor["ms"] = 1e6
		factor["GiB"] = 1024 ^ 3; factor["s"] = 1e9
		factor["TiB"] = 1024 ^ 4; factor["m"] = 60e9
	}
	/^[0-9]+ threads?, .* operations in [0-9.]+ sec$/ {
		end_group()
		if (++group > wanted) fail("more groups than " columns)
		split(want[group], it, "=")
		column = it[1]
		ops = $(NF - 4)
		if (ops != it[2]) fail(column ": " ops " operations, not " it[2])
		if ($(NF - 1) <= 0) fail(column ": took no time")
		emit(column, sprintf("%.3f", $(NF - 1) * 1e9 / ops))
		served = verified = has_read = 0
	}
	# A line for each kind, then one for all if there are several.
	/^(read|insert|update|all) +service +[0-9]+ / {
		served = $3
		if ($1 == "read") has_read = 1
	}
	/^Verified +: [0-9]+ records: [0-9]+ wrong$/ {
		verified = $3
		if ($(NF - 1) != 0) fail(column ": wrong data")
	}
	/^(Not found|Left out|Wrong) / { fail(column ": " $0) }
	/^Durability +: / {
		level = $3
		sub(/,$/, "", level)
	}
	/^Note +: fptree: .* emulated / { if (level == "commit") level = "commit, emulated" }
	/^Note +: other processes used / { others = $6 }
	/^Database +: / { emit(column ":bytes", plain($3)) }
	/^Harness +: [0-9.]+ ns\/op / { emit(column ":harness", $3) }
	/^(Counter|Gauge) +: (flushed_lines|fences|pool_size|recovery_time) / {
		emit(column ":" $3, sprintf("%.0f", plain($4)))
	}
	/^Engine +: / {
		sub(/^Engine +: /, "")
		split($0, part, ", ")
		emit("engine", part[1] ", " part[3])
	}
	END {
		if (bad) exit 1
		end_group()
		if (group != wanted) fail(group + 0 " groups, not " columns)
		if (level == "") fail("no durability")
		emit("durability", row == "null" ? "-" : level)
		if (others != "") emit("others", others)
	}'
}

# ---- measurements ----

# Print the engines, in an order that changes from pair to pair.
in_turn()
{
	local first=$((pair % $#)) all=("$@")
	turn=("${all[@]:first}" "${all[@]:0:first}")
}

# The options of a workload, by the name of its records.
workload_options()
{
	workload=(--workload=fptree-220w --records="$records")
	case $1 in
	8+8) ;;
	16+100) workload+=(--key-format=raw --key-size=16 --value-size=100) ;;
	esac
}

readonly reads=(--read=100 --insert=0 --distribution=uniform)

make_traces()
{
	local sizes
	for sizes in 8+8 16+100; do
		say "traces of $sizes"
		workload_options "$sizes"
		convert load "$sizes" --phase=load
		convert run "$sizes" --phase=run --count="$mixed"
		convert get "$sizes" --phase=run --count="$records" "${reads[@]}"
	done
}

convert()
{
	local name=$1 sizes=$2
	shift 2
	"$mininb" convert --from=workload:fptree-220w "${workload[@]:1}" --quiet \
		--to="$work/$sizes.$name.trace" "$@" 2>"$work/err" || {
		cat "$work/err" >&2
		die "trace $name of $sizes is missing"
	}
}

# In one process: a mix, and then reads, each directly after the load.
replay()
{
	local sizes=$1 row
	table="replay $sizes"
	in_turn "${engines[@]}" null
	for row in "${turn[@]}"; do
		engine_options "$row"
		local trace=("--load=$work/$sizes.load.trace" "--vlen=${sizes#*+}")
		sample=$pair.1
		measure "$row" "load=$records run=$mixed" replay "${trace[@]}" \
			--trace="$work/$sizes.run.trace"
		rm -rf "$work/db"
		sample=$pair.2
		measure "$row" "load=$records get=$records" replay "${trace[@]}" \
			--trace="$work/$sizes.get.trace"
		rm -rf "$work/db"
	done
}

# In separate processes, so that work postponed by the load is finished.
separate()
{
	local sizes=$1 row
	table="settled $sizes"
	sample=$pair
	workload_options "$sizes"
	in_turn "${engines[@]}"
	for row in "${turn[@]}"; do
		engine_options "$row"
		measure "$row" "load=$records" load "${workload[@]}"
		measure "$row" "get=$records" run "${workload[@]}" "${reads[@]}" --count="$records"
		measure "$row" "run=$mixed" run "${workload[@]}" --count="$mixed"
		rm -rf "$work/db"
	done
}

# The same with one thread and with two; the rows are numbers of threads.
two_threads()
{
	local row
	table=threads
	sample=$pair
	workload_options 8+8
	engine_options fptree
	in_turn 1 2
	for row in "${turn[@]}"; do
		measure "$row" "load=$records" load "${workload[@]}" --threads="$row"
		measure "$row" "get=$records" run "${workload[@]}" "${reads[@]}" \
			--count="$records" --threads="$row"
		measure "$row" "run=$mixed" run "${workload[@]}" --count="$mixed" --threads="$row"
		rm -rf "$work/db"
	done
}

# C before A: both have the same records, and C changes nothing.
ycsb()
{
	local row sizes=$1
	local options=(--records="$ycsb_records")
	[[ $sizes != 8+8 ]] || options+=(--key-format=be64 --value-size=8)
	table="ycsb $sizes"
	sample=$pair
	in_turn "${engines[@]}"
	for row in "${turn[@]}"; do
		engine_options "$row"
		measure "$row" "load=$ycsb_records" load --workload=ycsb-c "${options[@]}"
		measure "$row" "ycsb-c=$ycsb_records" run --workload=ycsb-c "${options[@]}" \
			--count="$ycsb_records"
		measure "$row" "ycsb-a=$ycsb_records" run --workload=ycsb-a "${options[@]}" \
			--count="$ycsb_records"
		rm -rf "$work/db"
	done
}

one_pair()
{
	local sizes
	for sizes in 8+8 16+100; do
		replay "$sizes"
		separate "$sizes"
	done
	two_threads
	ycsb 8+8
	ycsb default
}

# ---- tables ----

# The median of the samples of table $1, row $2 and column $3. With another row $4: the median and
# the range of the throughput ratios to that row, sample by sample. A row * means all. '-' if there
# are no samples.
median()
{
	awk -F '\t' -v table="$1" -v row="$2" -v column="$3" -v other="${4-}" -v scale="${5:-1}" '
	function decimals(x) { return x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : "%.2f" }
	function show(x) { return sprintf(decimals(x), x) }
	$1 != table || $3 != column { next }
	row == "*" || $2 == row { mine[$4 (row == "*" ? "/" $2 : "")] = $5 }
	other != "" && $2 == other { theirs[$4] = $5 }
	END {
		for (i in mine) {
			if (other != "" && !(i in theirs)) continue
			x = other == "" ? mine[i] / scale : theirs[i] / mine[i]
			for (j = n++; j > 0 && sorted[j - 1] > x; j--) sorted[j] = sorted[j - 1]
			sorted[j] = x
		}
		if (n == 0) {
			printf "-"
			exit
		}
		x = n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2
		printf "%s", show(x)
		if (other != "" && other != row && n > 1) printf " (%s-%s)", show(sorted[0]), show(sorted[n - 1])
	}' "$samples"
}

# The last value of samples that are text.
text()
{
	awk -F '\t' -v table="$1" -v row="$2" -v column="$3" \
		'$1 == table && $2 == row && $3 == column { it = $5 } END { printf "%s", it }' "$samples"
}

# Print a table: engines are rows; $2 are columns, first their times and then their ratios.
engine_table()
{
	local name=$1 column row line rule='|---|---|' columns
	read -ra columns <<<"$2"
	line='| engine | durability |'
	for column in "${columns[@]}"; do line+=" ${column/run/50\/50} ns |"; done
	for column in "${columns[@]}"; do line+=" ${column/run/50\/50} / $base |"; done
	for column in "${columns[@]}" "${columns[@]}"; do rule+='---|'; done
	printf '%s\n%s\n' "$line" "$rule"
	for row in "${engines[@]}"; do
		line="| ${row%-process} | $(text "$name" "$row" durability) |"
		for column in "${columns[@]}"; do line+=" $(median "$name" "$row" "$column") |"; done
		for column in "${columns[@]}"; do
			line+=" $(median "$name" "$row" "$column" "$base") |"
		done
		printf '%s\n' "$line"
	done
	harness_row "$name" "${columns[@]}"
	printf '\n'
}

# The cost of the harness: a replay is also run on null; other runs report it.
harness_row()
{
	local name=$1 column line='| *harness* | |'
	shift
	for column in "$@"; do
		case $name in
		replay*) line+=" $(median "$name" null "$column") |" ;;
		*) line+=" $(median "$name" '*' "$column:harness") |" ;;
		esac
	done
	for column in "$@"; do line+=' |'; done
	printf '%s\n' "$line"
}

threads_table()
{
	local column
	printf '| fptree | 1 thread, ns | 2 threads, ns | 2 / 1 |\n|---|---|---|---|\n'
	for column in load get run; do
		printf '| %s | %s | %s | %s |\n' "${column/run/50\/50}" \
			"$(median threads 1 "$column")" "$(median threads 2 "$column")" \
			"$(median threads 2 "$column" 1)"
	done
	printf '\n'
}

# The space after a load, and the time of the next open.
space_table()
{
	local name row count after
	printf '| records | engine | file bytes | pool bytes | lines | fences | recovery ms |\n'
	printf '|---|---|---|---|---|---|---|\n'
	for name in 'settled 8+8' 'settled 16+100' 'ycsb default'; do
		count=$records
		after='get'
		[[ $name != ycsb* ]] || {
			count=$ycsb_records
			after=ycsb-c
		}
		for row in fptree leveldb lmdb; do
			printf '| %s of %s | %s | %s | %s | %s | %s | %s |\n' "$count" "${name#* }" "$row" \
				"$(median "$name" "$row" load:bytes '' "$count")" \
				"$(median "$name" "$row" load:pool_size '' "$count")" \
				"$(median "$name" "$row" load:flushed_lines '' "$count")" \
				"$(median "$name" "$row" load:fences '' "$count")" \
				"$(median "$name" "$row" "$after:recovery_time" '' 1000000)"
		done
	done
	printf '\n'
}

machine()
{
	local cpu system row versions=''
	cpu=$(sed -n '/^model name/ { s/.*: //p; q }' /proc/cpuinfo)
	system=$(stat -f -c %T "$work")
	printf 'Machine: %s, %s CPUs, Linux %s, load average %s before and %s after, %s\n\n' \
		"${cpu:-CPU not known}" "$(nproc)" "$(uname -r)" "$load_before" \
		"$(cut -d ' ' -f 1-3 /proc/loadavg)" "$scheduling"
	for row in fptree leveldb lmdb; do
		versions+="$(text 'replay 8+8' "$row" engine); "
	done
	printf 'Engines: %sdatabases on %s; mininb %s\n\n' "$versions" "$system" \
		"$(git -C "$repo" -c safe.directory="$repo" describe --always --dirty 2>/dev/null ||
			echo 'of an unknown commit')"
	awk -F '\t' -v pairs="$pairs" '
		$3 == "others" && $5 + 0 > most { most = $5 + 0 }
		END {
			printf "%d pair%s; ", pairs, (pairs > 1 ? "s" : "")
			if (most > 0)
				printf "other processes used up to %.0f %% of all CPU time in a run\n\n", most
			else # short runs do not report it
				printf "no run reported other processes\n\n"
		}' "$samples"
}

write_tables()
{
	local sizes
	printf '# fptree against %s and lmdb\n\n' "$base"
	machine
	printf 'Times are medians of the wall time of an operation, including the harness. Ratios\n'
	printf 'are of throughput, with their range in parentheses. "emulated" is level commit on\n'
	printf 'tmpfs, which survives only a kill of the process.\n\n'
	for sizes in 8+8 16+100; do
		printf '## %s records of %s bytes, one thread\n\n' "$records" "${sizes/+/ + }"
		printf 'A replay; get (uniform) and 50/50 (zipfian reads, inserts) directly after a load:\n\n'
		engine_table "replay $sizes" 'load get run'
		printf 'Separate processes; the loaded database is settled and compacted:\n\n'
		engine_table "settled $sizes" 'load get run'
	done
	printf '## Two threads, %s records of 8 + 8 bytes\n\n' "$records"
	threads_table
	printf '## YCSB, %s records and as many operations, zipfian, one thread\n\n' "$ycsb_records"
	printf 'Records of 8 + 8 bytes:\n\n'
	engine_table 'ycsb 8+8' 'load ycsb-c ycsb-a'
	printf 'Records of the default size of YCSB: keys of up to 23 bytes and values of 1000 bytes:\n\n'
	engine_table 'ycsb default' 'load ycsb-c ycsb-a'
	printf '## Space, flushes and recovery\n\n'
	printf 'Per record, after a load in random order by one thread, with fptree at commit.\n'
	printf 'Flushed lines and fences are per insert; recovery is part of the next open. "-":\n'
	printf 'not reported.\n\n'
	space_table
}

main()
{
	parse_arguments "$@"
	mkdir -p "$place"
	work=$(mktemp -d "$place/fptree.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM HUP
	samples=$work/samples
	: >"$samples"
	prepare_build
	prepare_scheduler
	[[ $(stat -f -c %T "$work") == tmpfs ]] || say "$place is not on tmpfs, so its device affects the results"
	load_before=$(cut -d ' ' -f 1-3 /proc/loadavg)
	started=$EPOCHREALTIME
	make_traces
	planning=yes
	pair=0
	one_pair
	planning=no
	steps=$((step * pairs))
	step=0
	for ((pair = 1; pair <= pairs; pair++)); do
		one_pair
	done
	write_tables >"$work/tables"
	cat "$work/tables"
	say "done in $(human_time "$(seconds_since "$started")")"
}

main "$@"
