#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The plugin redis with real servers.
# shellcheck disable=SC2154,SC2016
load helper

# A cluster has ports, and a short name fits into the address of a Unix socket.
setup()
{
	: "${MININB:?}"
	export LC_ALL=C
	unset REDISCLI_AUTH
	command -v redis-server >/dev/null || skip 'redis-server is not installed'
	"$MININB" engines -d redis >/dev/null || skip 'the plugin redis is not built'
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	servers=()
}

teardown()
{
	local server
	for server in "${servers[@]}" ${pid-}; do
		kill -KILL "$server" 2>/dev/null || true
	done
}

# Start a server with the settings after $1 and wait until it listens to $1.sock.
serve()
{
	local name=$1
	shift
	mkdir -p "$name"
	redis-server --port 0 --unixsocket "$PWD/$name.sock" --dir "$PWD/$name" --save '' "$@" \
		>"$name.log" 3>&- &
	servers+=($!)
	until [[ -S $name.sock ]]; do
		sleep 0.01
	done
}

cli()
{
	redis-cli -s "$PWD/$1.sock" "${@:2}"
}

# Options that name servers, and accept one without an append-only file.
on()
{
	local list='' name
	for name; do
		list+=${list:+,}unix:$PWD/$name.sock
	done
	at=(-d redis "--servers=$list" --durability=none)
}

@test "records are put, found and deleted, and another process finds them" {
	serve a
	on a
	mininb 0 keys -c 500
	mininb 0 put "${at[@]}" -c 500 -v 100 --depth=16
	contains "$stderr" "unix:$PWD/a.sock: Redis "
	contains "$stderr" 'durability none: appendonly no'
	mininb 0 get "${at[@]}" -c 500 -v 100 --verify-rate=1 --depth=16
	contains "$output" '500 of 500 (as they were read): 0 missing, 0 wrong'
	equals "$(cli a DBSIZE)" 501
	mininb 0 delete "${at[@]}" -c 500
	equals "$(cli a KEYS '*')" mininb:marker
	mininb 3 get "${at[@]}" -c 10
	contains "$output" 'Not found         : 10'
}

@test "data without the marker of mininb is refused and left alone" {
	serve a
	on a
	mininb 0 keys -c 10
	cli a SET theirs 1
	mininb 1 put "${at[@]}" -c 10
	contains "$stderr" "unix:$PWD/a.sock: the server has 1 keys that mininb did not write"
	mininb 1 put "${at[@]}" -c 10 --fresh
	equals "$(cli a KEYS '*')" theirs
	mininb 0 put "${at[@]}" -c 10 -o db=1
	equals "$(cli a -n 1 DBSIZE)" 11
	cli a -n 1 SET more 1
	mininb 0 put "${at[@]}" -c 10 -o db=1 --fresh
	equals "$(cli a -n 1 DBSIZE)" 11
	equals "$(cli a GET theirs)" 1
}

@test "a password comes from the environment and is in no result" {
	serve a --requirepass 'secret word'
	on a
	mininb 0 keys -c 10
	mininb 1 put "${at[@]}" -c 10
	contains "$stderr" 'NOAUTH Authentication required. Set the environment variable REDISCLI_AUTH'
	REDISCLI_AUTH=wrong mininb 1 put "${at[@]}" -c 10
	contains "$stderr" 'AUTH: WRONGPASS invalid username-password pair or user is disabled.'
	export REDISCLI_AUTH='secret word'
	mininb 0 put "${at[@]}" -c 10 --output=result.json
	lacks "$(<result.json)" secret
	cli a ACL SETUSER tester on '>other' '~*' '+@all'
	REDISCLI_AUTH=other mininb 0 get "${at[@]}" -c 10 -o user=tester
	mininb 1 get "${at[@]}" -c 10 -o user=tester
	contains "$stderr" WRONGPASS
}

@test "a level of durability that the server does not give is refused by its setting" {
	serve a
	on a
	mininb 0 keys -c 10
	mininb 1 put "${at[@]}" -c 10 --durability=process
	contains "$stderr" 'durability process needs the setting appendonly yes, and the server has no'
	cli a CONFIG SET appendonly yes appendfsync no
	mininb 0 put "${at[@]}" -c 10 --durability=process
	mininb 1 put "${at[@]}" -c 10 --durability=auto
	contains "$stderr" 'durability periodic needs the setting appendfsync everysec, and the server has no'
	cli a CONFIG SET appendfsync everysec
	mininb 0 put "${at[@]}" -c 10 --durability=auto
	mininb 1 put "${at[@]}" -c 10 --durability=commit
	cli a CONFIG SET appendfsync always no-appendfsync-on-rewrite yes
	mininb 1 put "${at[@]}" -c 10 --durability=commit
	contains "$stderr" 'needs the setting no-appendfsync-on-rewrite no, and the server has yes'
	cli a CONFIG SET no-appendfsync-on-rewrite no maxmemory 1gb maxmemory-policy allkeys-lru
	mininb 0 put "${at[@]}" -c 10 --durability=commit
	contains "$stderr" 'the server removes records above maxmemory 1073741824 (maxmemory-policy allkeys-lru)'
}

@test "a server that is killed ends the run with a message and a partial result" {
	serve a
	on a
	mininb 0 load "${at[@]}" -w ycsb-a --records=1000 --depth=16
	start run "${at[@]}" -w ycsb-a --records=1000 --duration=60s --depth=16 --interval=100ms
	until (($(cli a INFO stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p') > 5000)); do
		sleep 0.01
	done
	kill -KILL "${servers[0]}"
	ends_with 1
	contains "$stderr" "unix:$PWD/a.sock: the server closed the connection"
	contains "$output" 'partial'
}

@test "keys are spread over several servers, which are named in one order" {
	serve a
	serve b
	serve c
	on a b c
	mininb 0 load "${at[@]}" -w ycsb-a -v 8 --records=30000 --depth=64 -o connections=3
	local name size
	for name in a b c; do
		size=$(cli "$name" DBSIZE)
		((size > 9700 && size < 10300))
	done
	mininb 0 run "${at[@]}" -w ycsb-a -v 8 --records=30000 --count=20000 --verify-rate=1 \
		--depth=64 --threads=2
	on b a c
	mininb 1 run "${at[@]}" -w ycsb-a -v 8 --records=30000 --count=10
	contains "$stderr" 'name the same servers in the same order'
}

@test "a server that loads its data is waited for" {
	serve a
	on a
	mininb 0 load "${at[@]}" -w ycsb-a -v 8 --records=1000 --depth=16
	cli a SAVE
	kill -TERM "${servers[0]}"
	wait "${servers[0]}" || true
	serve a --key-load-delay 500 --loading-process-events-interval-bytes 1024
	matches "$(cli a PING)" '^LOADING'
	mininb 1 run "${at[@]}" -w ycsb-c -v 8 --records=1000 --count=10 -o ready=1ms
	contains "$stderr" "unix:$PWD/a.sock: PING: LOADING"
	mininb 0 run "${at[@]}" -w ycsb-c -v 8 --records=1000 --count=1000 --verify-rate=1
}

@test "the contract holds with several connections" {
	serve a --appendonly yes --appendfsync always
	local promises
	for promises in put batch request execute merge multi reset session random; do
		mininb 0 check -d redis "--servers=unix:$PWD/a.sock" "--only=$promises" -o connections=3
	done
}
