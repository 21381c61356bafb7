#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2154 # output and stderr are set by run
# The command lines and the output of Masstree's tools, and its tests on several engines.
load helper

setup()
{
	tools=$MININB_TEST_INCLUDE/../extra/compat
	export MININB MTTEST_DRIVER=memory MTD_DRIVER=memory
	enter_work
}

# Print the text with N for numbers, HOST for this host, and the table mb or m for the engine.
shape()
{
	sed -E "s/\"$(uname -n)/\"HOST/; s/memory/mb/g; s,^(N|[0-9]+\/[0-9]+) rw1\/mb,\1 rw1/m,
		s/[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?/N/g; s/rwN/rw1/g; s/lt N/lt 1/g"
}

@test "mttest prints the lines of Masstree's mttest and writes a notebook" {
	"$tools/mttest" -j2 -b notebook.json -d 0.2 rw1 >text
	shape <text >got
	shape >wanted <<-'END'
		1/1 rw1/m
		0: now getting
		1: now getting
		0: {"table":"mb","test":"rw1","trial":0,"thread":0,"puts":13243551,"puts_per_sec":1324492.05531,"gets":13243551,"gets_per_sec":1497267.13928,"ops":26487102,"ops_per_sec":1405590.1258}
		1: {"table":"mb","test":"rw1","trial":0,"thread":1,"puts":13242601,"puts_per_sec":1324397.45602,"gets":13242601,"gets_per_sec":1481151.35726,"ops":26485202,"ops_per_sec":1398395.26601}
		EXPERIMENT x0
		set title "HOST (2 cores)"
		set terminal png
		set xrange [0.96:1.44]
		set xtics rotate ("rw1/mb" 1, "rw1/mb" 1.2, "rw1/mb" 1.4)
		set key top left Left reverse
		set ylabel "count, normalized per test"
		plot  '-' using 1:($3/$6):($2/$6):($5/$6):($4/$6) with candlesticks lt 1 title 'ops_per_sec', \
		 '-' using 1:($2/$3):($2/$3):($2/$3):($2/$3) with candlesticks lt 1 notitle, \
		 '-' using 1:($3/$6):($2/$6):($5/$6):($4/$6) with candlesticks lt 2 title 'puts_per_sec', \
		 '-' using 1:($2/$3):($2/$3):($2/$3):($2/$3) with candlesticks lt 2 notitle, \
		 '-' using 1:($3/$6):($2/$6):($5/$6):($4/$6) with candlesticks lt 3 title 'gets_per_sec', \
		 '-' using 1:($2/$3):($2/$3):($2/$3):($2/$3) with candlesticks lt 3 notitle
		1 1398395.26601 1400193.98096 1403791.41085 1405590.1258 1401992.6959
		e
		1 1401992.6959 1401992.6959
		e
		1.2 1324397.45602 1324421.10584 1324468.40549 1324492.05531 1324444.75567
		e
		1.2 1324444.75567 1324444.75567
		e
		1.4 1481151.35726 1485180.30276 1493238.19378 1497267.13928 1489209.24827
		e
		1.4 1489209.24827 1489209.24827
		e
	END
	diff wanted got
	equals "$(jq -c '.experiments.x0.runs' notebook.json)" '["x0/rw1/memory/0"]'
	equals "$(jq -c '[.data[][] | keys_unsorted]' notebook.json)" "$(jq -nc '
		[range(2) | ["table", "test", "trial", "thread", "puts", "puts_per_sec", "gets",
		"gets_per_sec", "ops", "ops_per_sec"]]')"
	# ops are those of both phases, and their rate is over the time of both
	equals "$(jq -c '.data[] | [.[] | (.puts / .puts_per_sec + .gets / .gets_per_sec) *
		.ops_per_sec / .ops | . > 0.999 and . < 1.001]' notebook.json)" '[true,true]'
	equals "$(jq -c '.data[] | (map(.puts) | add) == (map(.gets) | add)' notebook.json)" true
	# the second experiment has the next name
	"$tools/mttest" -j1 -b notebook.json -l 1k same >text
	contains "$(cat text)" 'EXPERIMENT x1'
	equals "$(jq -c '.data["x1/same/memory/0"][0] | [.puts, .ops]' notebook.json)" '[1000,1000]'
}

@test "mttest pools the trials of a test and plots each test by its own median" {
	"$tools/mttest" -j2 -T2 -l1k -b notebook.json rw3 wd1 >text
	equals "$(jq -c '.experiments | map_values(.runs)' notebook.json)" \
		'{"x0":["x0/rw3/memory/0","x0/rw3/memory/1","x0/wd1/memory/0","x0/wd1/memory/1"]}'
	equals "$(jq -c '.data["x0/rw3/memory/1"] | map(.trial)' notebook.json)" '[1,1]'
	contains "$(cat text)" 'EXPERIMENT x0'
	echo '{}' >other.json
	for wrong in other.json /dev/full nowhere/new.json; do
		run ! "$tools/mttest" -b "$wrong" same
		contains "$output" "$wrong"
	done
	equals "$(grep -c '^./4 ' text)" 4
	equals "$(grep -c '"trial":1' text)" 4
	equals "$(grep -c '^1.08 ' text)" 2 # wd1, after rw3: a candlestick and its median
	if command -v gnuplot >/dev/null; then
		sed -n '/^set title/,$p' text | gnuplot >picture.png
		[ -s picture.png ]
	fi
}

@test "mttest and mtclient reject values that are not whole numbers" {
	local wrong
	for wrong in '-T0' '-Tx' '-lx' '-l99999999999999999999' '-jx' '--threads='; do
		run -2 "$tools/mttest" $wrong rw1
		matches "$output" '^mttest: --(trials|limit|threads) needs '
	done
	for wrong in '-lx' '-jx'; do
		run -2 "$tools/mtclient" $wrong rw1
		matches "$output" "^mtclient: -. needs a whole number, not 'x'"
	done
	"$tools/mttest" -j1 -l0.5k same >text
	contains "$(cat text)" '"puts":500,'
}

# Wait until the server has printed its address. Set $port.
await_server()
{
	until port=$(sed -n 's/^mininb: ready: .* at 127.0.0.1:\([0-9]*\),.*/\1/p' "$1") && [ -n "$port" ]; do
		kill -0 "$pid"
		sleep 0.05
	done
}

@test "mtclient prints the lines of Masstree's mtclient, with the server mtd" {
	"$tools/mtd" -n -j2 --port=0 >server.txt 2>&1 3>&- &
	pid=$!
	await_server server.txt
	"$tools/mtclient" -s 127.0.0.1 --port="$port" -j2 -d 0.2 rw1 >text
	shape <text >got
	shape >wanted <<-'END'
		tcp, w 500, test rw1, children 2
		0 now getting
		1 now getting
		0 total 7632001 763284 put/s 1263548 get/s
		1 total 7612501 761423 put/s 1259847 get/s
		{"puts":7632001,"puts_per_sec":763284.211682,"gets":7632001,"gets_per_sec":1263548.30195,"ops":15264002,"ops_per_sec":951678.506329}
		{"puts":7612501,"puts_per_sec":761423.014367,"gets":7612501,"gets_per_sec":1259847.22076,"ops":15225002,"ops_per_sec":949182.006246}
		total 30489004
		puts: n 2, total 15244502, average 7622251, min 7612501, max 7632001, stddev 13789
		gets: n 2, total 15244502, average 7622251, min 7612501, max 7632001, stddev 13789
		puts/s: n 2, total 1524707, average 762354, min 761423, max 763284, stddev 1316
		gets/s: n 2, total 2523396, average 1261698, min 1259847, max 1263548, stddev 2617
	END
	diff wanted got
	"$tools/mtclient" -s 127.0.0.1 --port="$port" -j1 -w1 -l500 wd3 >text
	contains "$(cat text)" 'tcp, w 1, test wd3, children 1'
	contains "$(cat text)" 'total 500'
	kill "$pid"
	wait "$pid"
	pid=
	contains "$(cat server.txt)" 'Served for'
}

@test "serve prints the directories of logs and checkpoints and the recovered records" {
	mkdir A B C
	for start in 1 2; do
		"$MININB" serve --driver=masstree --log-dirs=A,B --checkpoint-dirs=C --threads=2 --allow-reset \
			--listen=127.0.0.1:0 >"server$start.txt" 2>&1 3>&- &
		pid=$!
		await_server "server$start.txt"
		[ $start = 2 ] || "$MININB" load --driver=net --servers="127.0.0.1:$port" \
			--records=500 --quiet >/dev/null
		kill "$pid"
		wait "$pid"
		pid=
	done
	contains "$(cat server2.txt)" "masstree: logs in $PWD/A"
	contains "$(cat server2.txt)" "masstree: logs in $PWD/B"
	contains "$(cat server2.txt)" "masstree: checkpoints in $PWD/C"
	grep 'recovered 0 records of a checkpoint and [1-9][0-9]* changes of logs' server2.txt
	grep 'ready: masstree .*, 2 threads, durability periodic' server2.txt
}

@test "each test of Masstree runs on an engine in memory and on one on disk" {
	local run driver test first
	for run in memory:rw1 lmdb:rw1long memory:rw2g98 lmdb:rw4 memory:wd1 lmdb:wd3 memory:scan1 \
		lmdb:rscan1q80; do
		driver=${run%:*} test=${run#*:}
		first=$("$MININB" workloads "$test" |
			sed -n '/workload\|load/d; s/^\[\(.*\)\]$/\1/p' | head -n 1)
		mininb 0 run --driver="$driver" --path="$test" --workload="$test" --threads=2 \
			"--$first.duration=0s" "--$first.count=2000" --output=out.json
		equals "$(jq '[.results[0].groups[].findings.verdicts | to_entries[]
			| select(.key != "good") | .value] | add' out.json)" null
	done
}

@test "vs compares variants of one engine on a test without a load" {
	mininb 0 vs --driver=memory,memory --workload=rw1 --puts.duration=0s --puts.count=500 \
		--threads=1 --runs=2 --output=vs.json
	equals "$(jq -c '[.results[] | [.name, .action]] | unique' vs.json)" \
		'[["memory#1","run"],["memory#2","run"]]'
}

@test "factor makes a table and a plot of the engine's variants" {
	[[ $("$MININB" engines) == *masstree* ]] || skip 'masstree is not built'
	COUNT=300 RUNS=2 "$tools/factor" analysis >text 2>said
	equals "$(awk '{ print $1 }' text | tr '\n' ' ')" \
		'variant Base +allocator +hugepages +compare +prefetch +permutation '
	# the first variant has no factors, the third has two, and the last has all
	for variant in '1 malloc no bytes no no' '3 pool yes bytes no no' '6 pool yes integer yes yes'; do
		equals "$(jq -r --arg name "masstree#${variant%% *}" '[.results[] | select(.name == $name)
			| [.engine.options[] | {(.name): .value}] | add
			| "\(.allocator) \(.hugepages) \(.compare) \(.prefetch) \(.permutation)"]
			| unique | .[]' analysis/factor.json)" "${variant#* }"
	done
	contains "$(cat analysis/factor.gp)" 'plot '
}
