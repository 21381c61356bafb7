#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Levels of durability that depend on options, and files that a crash leaves.
# shellcheck disable=SC2154
load helper

put_some()
{
	mininb "$1" put --driver=tkrzw -c 10 -o num_buckets=10 "${@:2}"
}

holds_all()
{
	mininb 0 get --driver=tkrzw -c 10 -o num_buckets=10 "$@"
	matches "$output" 'Verified +: 10 of 10 .*: 0 missing, 0 wrong'
	equals "$(ls nb/tkrzw)" "$file"
}

@test "files left by an interrupted restoration are ignored" {
	needs_engine tkrzw
	mininb 0 keys -c 10
	for file in tkrzw.tkh tkrzw.tkt; do
		local -a how=(--durability=commit --verify-rate=1)
		[[ $file == tkrzw.tkh ]] || how+=(-o type=tree)
		rm -rf nb
		put_some 0 "${how[@]}"
		touch nb/tkrzw/tkrzw.open
		head -c 4096 "nb/tkrzw/$file" >"nb/tkrzw/$file.restored"
		cp "nb/tkrzw/$file" "nb/tkrzw/$file.restored.tmp.restore"
		holds_all "${how[@]}"
	done
}

@test "an incomplete database does not stop the next put" {
	needs_engine tkrzw
	mininb 0 keys -c 10
	file=tkrzw.tkh
	mkdir -p nb/tkrzw
	head -c 4096 /dev/zero >nb/tkrzw/tkrzw.tkh.made
	put_some 0 --force # mininb did not create the directory
	holds_all --verify-rate=1
}

@test "a level is rejected with options for which Tkrzw does not guarantee it" {
	needs_engine tkrzw
	mininb 0 keys -c 10
	put_some 1 --durability=process
	put_some 1 --durability=commit -o update_mode=in_place
	put_some 0
	matches "$output" $'\n''Durability *: none'
	put_some 1 --durability=commit
	contains "$stderr" 'durability=commit needs appending'
}

@test "a level is rejected with pages of Berkeley DB that a kill may write in part" {
	needs_engine berkeleydb
	mininb 0 keys -c 10
	mininb 1 put --driver=berkeleydb -c 10 --durability=process -o page_size=8KiB
	mininb 0 put --driver=berkeleydb -c 10 -o page_size=8KiB
	matches "$output" $'\n''Durability *: none'
	mininb 1 put --driver=berkeleydb -c 10
	contains "$stderr" 'durability must be none'
}

@test "Kyoto Cabinet reports pages that a crash made it rebuild" {
	needs_engine kyotocabinet
	mininb 0 keys -c 10
	mininb 0 put --driver=kyotocabinet -c 10 -o type=forest
	mininb 0 put --driver=kyotocabinet -c 10 -o type=forest -o psiz=256
	contains "$stderr" 'pages have the default psiz, 8192 bytes'
	mininb 1 put --driver=kyotocabinet -c 10 -o type=forest -o compress=zlib
}

@test "WiredTiger recreates a database if a crash interrupted its creation" {
	needs_engine wiredtiger
	mininb 0 keys -c 10
	mkdir -p nb/wiredtiger
	echo 'WiredTiger 3.2.1' >nb/wiredtiger/WiredTiger
	head -c 4096 /dev/zero >nb/wiredtiger/WiredTiger.wt
	touch nb/wiredtiger/WiredTiger.turtle.set nb/wiredtiger/WiredTiger.lock
	mininb 1 get --driver=wiredtiger -c 10
	contains "$stderr" 'no database: the file WiredTiger.turtle does not exist'
	[[ -e nb/wiredtiger/WiredTiger.turtle.set ]]
	mininb 0 put --driver=wiredtiger -c 10 --durability=commit --force
}
