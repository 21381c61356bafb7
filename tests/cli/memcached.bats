#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The plugin memcached with real servers.
# shellcheck disable=SC2154
load helper

setup()
{
	enter_work
	needs_engine memcached
	command -v memcached >/dev/null || skip 'memcached is not installed'
	list=
}

# Start a server with the options after $1, and wait until it listens on $1.sock.
serve()
{
	local name=$1
	shift
	memcached -u root -U 0 -t 2 -s "$PWD/$name.sock" "$@" >"$name.log" 2>&1 3>&- &
	pids+=($!)
	until [[ -S $name.sock ]]; do
		kill -0 "${pids[-1]}" || return
		sleep 0.01
	done
	list+=${list:+,}unix:$PWD/$name.sock
	at=(-d memcached "--servers=$list")
}

# Send the text $2, with \r\n, to the server $1, and print its answer.
ask()
{
	python3 - "$PWD/$1.sock" "$2" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(sys.argv[2].encode().decode('unicode_escape').encode('latin1'))
		s.shutdown(socket.SHUT_WR)
		print(b''.join(iter(lambda: s.recv(65536), b'')).decode('latin1'))
	END
}

# The number of items of server $1, the marker included.
items()
{
	ask "$1" 'stats\r\n' | sed -n 's/^STAT curr_items \([0-9]*\).*/\1/p'
}

@test "records of a run are found and correct, with and without requests in flight" {
	local depth
	serve a
	for depth in 1 16; do
		mininb 0 run "${at[@]}" -w ycsb-a --records=2000 --count=5000 --depth=$depth --verify-rate=1
		contains "$output" ' 0 wrong'
		contains "$stderr" "unix:$PWD/a.sock: memcached 1."
		contains "$stderr" 'evictions on'
	done
	mininb 0 run "${at[@]}" -w ycsb-a --records=2000 --count=5000 --threads=4 --depth=16 -o spin=20us
	contains "$output" ' 0 wrong'
}

@test "several servers share the keys, with and without ketama" {
	local option
	serve a
	serve b
	for option in ketama=no ketama=yes; do
		mininb 0 run "${at[@]}" -w ycsb-c --records=2000 --count=4000 --depth=16 -o $option --verify-rate=1
		contains "$output" ' 0 wrong'
		ask a 'stats\r\n' >a.stats
		(($(sed -n 's/^STAT cmd_set \([0-9]*\).*/\1/p' a.stats) > 700))
	done
}

@test "private servers are started for a run" {
	mininb 0 run -d memcached -w ycsb-b --records=2000 --duration=300ms --depth=16 --cache=64MiB -o threads=2
	contains "$stderr" 'maxbytes 67108864, evictions on, num_threads 2, reqs_per_event 500'
	contains "$output" ' 0 wrong'
	rm -r nb
	mininb 0 run -d memcached -w ycsb-b --records=2000 --duration=300ms --depth=16 -o ketama=yes --set target.count=2
	contains "$output" ' 0 wrong'
	lacks "$output" ' 1000 operations in ' # the count of the workload file
}

@test "a server with items of another program is rejected, and the items stay" {
	serve a
	mininb 0 keys -c 10
	ask a 'set theirs 0 0 1\r\n1\r\n'
	mininb 1 put "${at[@]}" -c 10
	contains "$stderr" "unix:$PWD/a.sock: the server has 1 items that mininb did not put there"
	mininb 1 put "${at[@]}" -c 10 --fresh
	contains "$(ask a 'get theirs\r\n')" 'VALUE theirs 0 1'
	equals "$(items a)" 1
	ask a 'set mininb:marker 0 0 6\r\nmininb\r\n'
	mininb 0 put "${at[@]}" -c 10
	lacks "$(ask a 'get theirs\r\n')" VALUE
}

@test "a run reports that the server evicted items" {
	serve a -m 4
	mininb 0 keys -c 20000
	mininb 3 put "${at[@]}" -c 20000 -v 1000 --depth=16
	contains "$stderr" 'memcached has evicted'
	contains "$stderr" 'so reads have missed records; give it more memory'
}

@test "values too large for the server are rejected before anything is written" {
	serve a -I 512k
	mininb 0 keys -c 10
	mininb 1 put "${at[@]}" -c 10 -v 512KiB
	contains "$stderr" 'values of 524288 bytes: the server takes up to 523776; start it with a larger -I'
	mininb 0 put "${at[@]}" -c 10 -v 523776
}

@test "compare reports different settings of servers" {
	local name
	local -A megabytes=([a]=64 [b]=128)
	for name in a b; do
		list=
		serve "$name" -m "${megabytes[$name]}"
		mininb 0 run "${at[@]}" -w ycsb-c --records=100 --count=100 --output=$name.json
		contains "$output" 'Server settings   : memcached 1.'
	done
	mininb 0 compare a.json b.json
	output=$(tr -s '[:space:]' ' ' <<<"$output")
	matches "$output" 'differing servers: unix:[^ ]*/a.sock \(.*unix:[^ ]*/b.sock'
	matches "$output" 'differing version and settings of servers: memcached [^(]* maxbytes 67108864.* maxbytes 134217728'
	mininb 0 run -d memcached -w ycsb-c --records=100 --count=100 --output=own.json
	mininb 0 run -d memcached -w ycsb-c --records=100 --count=100 --output=again.json
	mininb 0 compare own.json again.json
	lacks "$output" 'differing servers'
	lacks "$output" 'of servers'
}

@test "a server without CAS numbers and a closed port are rejected" {
	serve a -C
	mininb 0 keys -c 10
	mininb 1 put "${at[@]}" -c 10
	contains "$stderr" 'the server runs with -C'
	mininb 1 put -d memcached --servers=localhost:1 -c 10
	contains "$stderr" 'localhost:1: cannot connect: Connection refused; is the server running?'
}

@test "a server that is killed ends the run with a message and a partial result" {
	serve a
	start run "${at[@]}" -w ycsb-a --records=1000 --duration=60s --depth=16
	until (($(ask a 'stats\r\n' | sed -n 's/^STAT cmd_get \([0-9]*\).*/\1/p') > 2000)); do
		sleep 0.01
	done
	kill -KILL "${pids[0]}"
	ends_with 1
	contains "$stderr" "unix:$PWD/a.sock: the server closed the connection"
	contains "$output" 'partial'
}
