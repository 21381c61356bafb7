#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Wrong arguments: one line with the option, the error and the allowed values.
# shellcheck disable=SC2154
load helper

@test "a missing action lists the actions" {
	mininb 2
	equals "$output" ''
	for action in keys put shuffle get delete engines new-engine; do
		matches "$stderr" "(^|"$'\n'")  $action "
	done
}

@test "an action may be the first word or an option" {
	local words
	for words in 'keys -c 10' '--action=keys -c 10' '--action keys -c 10' '-akeys -c10' \
		'-c 10 -a keys keys'; do
		# shellcheck disable=SC2086
		mininb 0 $words -i next
		[[ -e first ]] || cp next first
		cmp first next
	done
}

@test "two different actions are rejected" {
	refuses "only one action is allowed, got 'put' and 'get'" put --action=get
	refuses "only one action is allowed, got 'put' and 'get'" put get
	refuses "only one action is allowed, got 'get' and 'put'" -a get put
}

@test "an unknown action names the nearest and all" {
	refuses "unknown action 'shufle', did you mean 'shuffle'?" shufle
	refuses "unknown action 'del', did you mean 'delete'?" del
	refuses "unknown action 'help', did you mean '--help'?" help
	refuses "unknown action 'version', did you mean '--version'?" version
	for action in keys put shuffle get delete engines; do
		contains "$stderr" "$action"
	done
	refuses "unknown action ''" ''
	refuses "unknown action 'x'" --action=x
}

@test "a surplus word is rejected" {
	refuses "unexpected argument 'leveldb'" put leveldb
	refuses "unexpected argument '2'" put -c 1 2
	refuses "unexpected argument '-c'" put -- -c
}

@test "control characters of arguments are not printed" {
	refuses "unexpected argument 'a??2Jb?[2J'" put $'a\xc2\x9b2Jb\e[2J'
}

@test "an unknown option names the nearest" {
	refuses 'unknown option --cuont, did you mean --count?' put --cuont=5
	refuses 'unknown option --dirver, did you mean --driver?' put --dirver leveldb
	refuses 'unknown option -z' put -z
	refuses 'unknown option --' put --=5
}

@test "an abbreviated option is rejected with its full name" {
	refuses 'unknown option --dura, did you mean --durability?' put --dura=none
	refuses 'unknown option --c' put --c=1
}

@test "a long name after one hyphen is rejected with two hyphens" {
	refuses 'unknown option -help, did you mean --help?' -help
	refuses 'unknown option -threads, did you mean --threads?' put -threads 4
	refuses 'unknown option -path=here, did you mean --path?' put -path=here
	refuses 'unknown option -q, did you mean --quiet?' put -q
}

@test "a missing value is named" {
	for name in action path driver klen vlen keys report-interval count threads option \
		durability cache seed value-ratio verify-rate settle clock; do
		refuses "--$name: a value is missing" "--$name"
	done
	refuses '--count: a value is missing' put -c
	refuses '--count: a value is missing' put -c --threads 2
	refuses '--count: a value is missing' put --count --threads=2
}

@test "a flag takes no value" {
	for name in pin allow-missing fold quiet version; do
		refuses "--$name: takes no value" "--$name=1"
	done
}

@test "a count is at least 1" {
	refuses '--count: 0 is too small; allowed: 1 to 9223372036854775807' put -c 0
	refuses '--count: ' put -c -1
	refuses '--count: ' put --count=-1
	refuses '--threads: 0 is too small; allowed: 1 to 1024' put -t 0
	refuses '--threads: 1025 is too large; allowed: 1 to 1024' put -t 1025
	refuses '--threads: ' put -t -2
}

@test "a count is a whole number and nothing else" {
	for wrong in '' ' ' abc 12x '1 2' 1.5 0x10 1e-3 - + ++1 1k1 nan inf 1e30 18446744073709551616 \
		99999999999999999999999 '10 ' ' 10' 9223372036854775808; do
		refuses '--count: ' put -c "$wrong"
		refuses '--count: ' put "--count=$wrong"
	done
	refuses '--count: ' put '-c '
}

@test "key and value sizes have bounds" {
	refuses '--klen: 0 is too small; allowed: 1 to 1048576 bytes' put -k 0
	refuses '--klen: 1e9 is too large; allowed: 1 to 1048576 bytes' put -k 1e9
	refuses '--klen: ' put -k -1
	refuses '--klen: ' put -k 16x
	refuses '--klen: 0 is too small' keys -k 0
	refuses '--klen: 0 is too small' shuffle -k 0
	refuses '--count: 0 is too small' shuffle -c 0
	refuses '--vlen: 2GiB is too large; allowed: 0 to 1073741824 bytes' put -v 2GiB
	refuses '--vlen: ' put -v -1
}

@test "shares lie between 0 and 1" {
	for name in value-ratio verify-rate; do
		for wrong in -0.1 1.1 1e9 x '' 0.5x nan inf; do
			refuses "--$name: " put "--$name=$wrong"
			contains "$stderr" 'allowed: 0 to 1'
		done
	done
}

@test "a wrong choice names the nearest and all" {
	refuses "--durability: 'comit' is not known, did you mean 'commit'?" put --durability=comit
	contains "$stderr" 'auto, none, process, periodic, commit'
	refuses "--settle: 'xyz' is not known; allowed: none, flush, compact" put --settle=xyz
	refuses "--clock: 'tcs' is not known, did you mean 'tsc'?" put --clock tcs
	refuses "--clock: '' is not known" put --clock=
	refuses "--help: 'roff' is not known" --help=roff
}

@test "a value with control characters does not break the line" {
	refuses "--clock: 'a?b?[2Jc' is not known" put "--clock=a"$'\n'"b"$'\e'"[2Jc"
}

@test "an unused option causes a warning if it cannot change the measurement" {
	mininb 0 keys -c 10 -v 100 -d nothing -p nowhere --settle=none -t 3 -o a=b
	equals "$stderr" "mininb: warning: the action 'keys' ignores --vlen, --driver,\
 --path, --option, --threads, --settle"
	mininb 0 shuffle -c 10 -v 100 --driver=leveldb --path ./nb --durability=commit
	contains "$stderr" "'shuffle' ignores --vlen, --driver, --path, --durability"
	equals "$(ls -A)" keys.bin
	mininb 0 put -c 10 -d memory --allow-missing --interval=1s
	contains "$stderr" "warning: the action 'put' ignores --interval, --allow-missing"
}

@test "an unused option is rejected if it would change the measurement" {
	local option actions action
	while IFS='>' read -r option actions; do
		for action in $actions; do
			# shellcheck disable=SC2086
			refuses "--${option%%[= ]*}: the action '$action' does not use it; it is for: " \
				--$option "$action"
		done
	done <<-'END'
		workload=ycsb-a>put replay check
		set read=1>put
		procs=3>put load replay
		from=f>run
		load=f>run
		trace=f>put
		speed=2x>run
		key-bytes=text>run
		bare-as=update>replay
		skip-bad>run
		phase=load>run
		fresh>get run
		until-steady=10s>put
		sweep>put load
		slo=p99<1ms>replay
		runs=5>put
		budget=1m>run
		precision=1%>run
		max-regress=p99:5%>compare
		only=get>crash
		rounds=5>check
		ops=100>put
		moment=timed>check
		again=d>check
		power>check
		states=5>put
		file-system=posix>check
	END
}

@test "the last of several values counts" {
	mininb 0 keys -c 10 -c 20
	equals "$(stat -c %s keys.bin)" 320
}

@test "counts and sizes take suffixes" {
	mininb 0 keys -c 2k -k 1Ki
	equals "$(stat -c %s keys.bin)" 2048000
	mininb 0 keys -c 1e2 -k 16
	equals "$(stat -c %s keys.bin)" 1600
}
