#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Engines that are killed during writes, through the command.
# shellcheck disable=SC2154,SC2016
load helper

# The cells of the row for engine $1 at level $2.
row_of()
{
	awk -v engine="$1" -v level="$2" '$1 == engine && $2 == level { $1 = $1; print }' \
		<<<"$output"
}

@test "crash of a correct engine prints a row, exits with 0 and leaves no files" {
	needs_leveldb
	mkdir here
	TMPDIR=$PWD/here mininb 0 crash --driver=leveldb --durability=process --rounds=5 --ops=200
	matches "$(row_of leveldb process)" '^leveldb process 5 [0-9]+ [0-9]+ 0 0 0 0 '
	contains "$output" 'No promise was broken in 5 crashes.'
	equals "$(awk 'length > 80' <<<"$output")" ''
	equals "$stderr" ''
	equals "$(ls -A . here)" "$(printf '.:\nhere\n\nhere:')"
}

@test "crash tests each level of several engines" {
	mininb 3 crash --driver="$(plugin keeper),$(plugin open_fails)" --rounds=3 --ops=100 \
		-o keeper.defect=resurrects
	for level in none process periodic commit; do
		matches "$(row_of keeper "$level")" "^keeper $level 3 "
	done
	contains "$stderr" 'open_fails is not persistent'
}

@test "crash of a broken engine exits with 3, and --again repeats the finding" {
	mininb 3 crash --driver="$(plugin keeper)" --durability=process -o defect=splits \
		--rounds=2 --ops=200 --seed=4 --output=found.json
	contains "$output" 'In 2 of 2 crashes a promise was broken.'
	contains "$output" 'keeper, process, round 1: split batch'
	matches "$output" "(repeat|rounds) : mininb crash --driver=$(plugin keeper) --durability=process --seed=4 --rounds=1"
	contains "$output" "mininb-crash/keeper-process-1 --driver=$(plugin keeper)"
	local what
	what=$(grep -m 1 'what   :' <<<"$output")
	python3 - <<-'EOF'
		import json
		found = json.load(open("found.json"))
		assert found["format"] == "mininb-crash" and found["seed"] == "4"
		row = found["engines"][0]
		assert row["durability"] == "process" and row["broken"] == 2 and row["is_whole"]
		assert row["survived"] + row["lost"] == row["acknowledged"]
		assert row["findings"][0]["wrong"] == "split batch"
	EOF
	for _ in 1 2; do
		mininb 3 crash --again=mininb-crash/keeper-process-1 --driver="$(plugin keeper)"
		contains "$output" "$what"
		lacks "$output" '--rounds=' # the number of operations is not stored
	done
	refuses 'mininb-crash/keeper-process-1 was made by the plugin ' crash --again=mininb-crash/keeper-process-1
	mininb 3 report found.json
	contains "$stderr" 'is the result of a crash test, not of a run'
}

# Write the findings of a crash test of keeper with defect $2 to $1.plain, without times.
counted()
{
	local broken=0
	[[ $2 == none ]] || broken=3
	mininb "$broken" crash -d "$(plugin keeper)" --durability=process -o defect="$2" \
		--moment=counted --rounds=20 --ops=300 --seed=7 --output="$1" --keep="kept-$1"
	python3 - "$1" <<-'EOF'
		import json, sys
		found = json.load(open(sys.argv[1]))
		row = found["engines"][0]
		assert row["counted"] == row["crashes"] == 20, row["counted"]
		assert row["acknowledged"] > 0
		del row["recovery"], row["reopening"]
		assert all(finding["is_counted"] for finding in row["findings"])
		kept = [finding.pop("kept", None) for finding in row["findings"]]
		json.dump(found, open(sys.argv[1] + ".plain", "w"))
	EOF
}

@test "the same seed repeats counted moments" {
	mininb 0 crash -d "$(plugin keeper)" --durability=process --rounds=1 --output=try.json
	grep -q '"counted": 1' try.json || skip 'ptrace is not permitted'
	for defect in none tears; do
		counted a.json $defect
		counted b.json $defect
		cmp a.json.plain b.json.plain
		[[ $defect == none ]] || contains "$output" '    repeat : mininb crash '
	done
	set -- kept-a.json/*
	mininb 3 crash --again="$1" -d "$(plugin keeper)" --output=again.json
	grep -q '"is_counted": true' again.json
	mininb 3 crash -d "$(plugin keeper)" --durability=process -o defect=tears --rounds=20 \
		--moment=timed --output=a.json --ops=300 # overwrites the kept databases
	grep -q '"counted": 0' a.json
	lacks "$output" 'repeat :'
	contains "$output" --moment=timed
}

@test "kept databases and JSON accept any bytes in a path" {
	local odd=$'odd\xff\xc3'
	mkdir "$odd"
	cp "$(plugin keeper)" "$odd/keeper.so"
	mininb 3 crash -d "$odd/keeper.so" --durability=process --rounds=2 --ops=30 --seed=4 \
		-o defect=drifts --keep="$odd/kept" --output=found.json
	contains "$output" 'In 2 of 2 crashes a promise was broken.'
	mininb 2 crash --again="$odd/kept/keeper-process-1"
	contains "$stderr" "was made by the plugin $odd/keeper.so"
	python3 - <<-'EOF'
		import json
		row = json.load(open("found.json"))["engines"][0]
		assert row["driver"] == "odd\uefff\uefc3/keeper.so"
		assert len(row["findings"]) == 2
	EOF
	# control characters in crash.json do not reach the terminal
	sed -i 's/"when":"/&\\u001b[2J/' "$odd/kept/keeper-process-1/crash.json"
	mininb 3 crash --again="$odd/kept/keeper-process-1" -d "$odd/keeper.so"
	contains "$output" 'when   : [2Jround 1'
	lacks "$output" $'\e'
}

@test "crash reports and keeps one loss of each kind at a level without promises" {
	mininb 0 crash -d "$(plugin keeper)" --durability=none -o defect=drifts --rounds=12 --ops=50
	contains "$output" 'Nothing was promised, so no promise was broken.'
	lacks "$output" 'No promise was broken'
	equals "$(grep -c 'unstable (not promised' <<<"$output")" 1
	matches "$output" '    and [0-9]+ more like that' # a late kill causes none
	equals "$(find mininb-crash -name 'keeper-none-*' | wc -l)" "$(grep -c 'again  : ' <<<"$output")"
	mininb 0 crash -d "$(plugin keeper)" --durability=none -o defect=refuses --rounds=2 --ops=50
	contains "$output" 'keeper, none: this level promises nothing'
	contains "$output" '2 of 2 crashes left a database that did not open or could not be read'
}

@test "a full disk is not an error of the engine" {
	needs_leveldb
	mkdir small
	unshare -rm mount -t tmpfs none small 2>/dev/null || skip 'may not mount a file system'
	run -1 --separate-stderr unshare -rm sh -c 'mount -t tmpfs -o size=2m none small &&
		exec "$1" crash -d leveldb --durability=process --rounds=20 --path=small' sh "$MININB"
	matches "$stderr" 'small has [0-9]+ KiB left; the last finding may be caused by that'
	lacks "$output" 'a promise was broken'
	[[ ! -e mininb-crash ]]
}

@test "a limit of file sizes is not an error of the engine" {
	run -1 --separate-stderr bash -c 'ulimit -f 100; exec "$1" crash -d "$2" \
		--durability=process --rounds=20 --seed=3 --ops=3000' sh "$MININB" "$(plugin keeper)"
	matches "$stderr" 'file size limit is 100 KiB|(on a new database|before the first crash): .*the log cannot be written'
	lacks "$output" 'a promise was broken'
	[[ ! -e mininb-crash ]]
}

@test "crash gets the status of children even if SIGCHLD was ignored" {
	run -3 --separate-stderr env --ignore-signal=CHLD "$MININB" crash -d "$(plugin keeper)" \
		--durability=process --rounds=1 --ops=10 -o defect=stubborn --hang-after=5s
	contains "$output" 'In 1 of 1 crashes a promise was broken.'
}

@test "crash --output=- prints only JSON" {
	run -0 --separate-stderr sh -c '"$1" crash -d "$2" --durability=none --rounds=1 \
		--output=- | python3 -m json.tool >/dev/null' sh "$MININB" "$(plugin keeper)"
	equals "$output" ''
	equals "$stderr" ''
}

@test "crash labels two builds of one engine" {
	mkdir old new
	cp "$(plugin keeper)" old
	cp "$(plugin keeper)" new
	mininb 0 crash -d ./old/keeper.so,./new/keeper.so --durability=process --rounds=1
	contains "$output" $'\nkeeper#1 '
	contains "$output" $'\nkeeper#2 '
}

@test "crash rejects impossible requests" {
	refuses '--rounds: ' crash -d "$(plugin keeper)" --rounds=0
	refuses '--threads: ' crash -d "$(plugin keeper)" --threads=17
	refuses '--file-system: ' crash -d "$(plugin keeper)" --file-system=fat
	refuses "nowhere is not the directory of a kept crash" crash --again=nowhere
	refuses '--states needs --power' crash -d "$(plugin keeper)" --states=3
	refuses '--moment does not apply to --power' crash -d "$(plugin keeper)" --power --moment=timed
	refuses '--moment=counted needs one session' crash -d "$(plugin keeper)" --threads=2 \
		--moment=counted
	refuses '--file-system needs --power' crash -d "$(plugin keeper)" \
		--file-system=posix
	for option in --rounds=3 --power --keep=kept -odefect=tears; do
		refuses '--again checks the kept database as it was made: omit' crash --again=nowhere \
			"$option"
	done
	touch file
	mininb 1 crash -d "$(plugin keeper)" --durability=process --keep=file
	contains "$stderr" 'file: cannot write to the directory'
	mininb 1 crash -d "$(plugin keeper)" --durability=process --keep=nowhere/kept
	contains "$stderr" 'nowhere/kept: cannot create the directory'
	rm file
	mininb 1 crash -d memory
	equals "$output" ''
	contains "$stderr" 'memory is not persistent'
	mininb 1 crash -d null --durability=commit
	contains "$stderr" 'durability commit: null cannot give it; it gives: none'
	equals "$output" ''
	mininb 2 crash -d "$(plugin keeper)" --threads=2
	contains "$stderr" 'keeper allows one session at a time'
	mininb 2 crash -d "$(plugin keeper)" -o defekt=tears
	equals "$(ls -A)" ''
	TMPDIR=$PWD/nowhere mininb 1 crash -d "$(plugin keeper)"
	contains "$stderr" 'nowhere: no directory can be made in it'
	equals "$(ls -A)" ''
}

@test "crash creates the directory of --path and leaves no files in it" {
	mininb 0 crash -d "$(plugin keeper)" --durability=process --rounds=1 --path=made/with/parents
	contains "$output" 'databases in made/with/parents'
	equals "$(find made -mindepth 1)" "$(printf 'made/with\nmade/with/parents')"
	mininb 0 crash --power -d "$(plugin keeper)" --durability=commit --rounds=1 --states=1 \
		--path=other/parents
	equals "$(find other -mindepth 1)" other/parents
	touch file
	mininb 1 crash -d "$(plugin keeper)" --path=file/below
	contains "$stderr" 'file: is not a directory'
}

@test "an interrupted crash test prints its partial result and leaves no files" {
	mkdir tmp
	TMPDIR=$PWD/tmp start crash -d "$(plugin keeper)" -o defect=hangs --durability=process \
		--rounds=100 --hang-after=1s
	wait_until test -d mininb-crash
	stop INT
	contains "$stderr" interrupted
	contains "$output" ' it hangs: no end after 1 s'
	contains "$output" 'Partial: not all rounds were done.'
	equals "$(ls -A tmp)" ''
}

@test "crash rejects options that put files elsewhere" {
	local engine option
	while read -r engine option; do
		"$MININB" engines -d "$engine" >/dev/null 2>&1 || continue
		mininb 2 crash --driver="$engine" -o "$option=there" --rounds=1
		contains "$stderr" "leave out the option $option=there"
	done <<<$'faster log_dir\nmasstree log_dirs\nmasstree checkpoint_dirs'
	equals "$(ls -A)" ''
}
