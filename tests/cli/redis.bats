#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The plugin redis with real servers.
# shellcheck disable=SC2154,SC2016
load helper

setup()
{
	enter_work
	unset REDISCLI_AUTH
	needs_engine redis
	command -v redis-server >/dev/null || skip 'redis-server is not installed'
}

# Start a server with the settings after $1, and wait until it listens on $1.sock.
serve()
{
	local name=$1
	shift
	mkdir -p "$name"
	redis-server --port 0 --bind 127.0.0.1 --unixsocket "$PWD/$name.sock" --dir "$PWD/$name" \
		--save '' "$@" \
		>"$name.log" 3>&- &
	pids+=($!)
	until [[ -S $name.sock ]]; do
		sleep 0.01
	done
}

cli()
{
	redis-cli -s "$PWD/$1.sock" "${@:2}"
}

# Set $at to the options that name the servers and permit a server without an append-only file.
on()
{
	local list='' name
	for name; do
		list+=${list:+,}unix:$PWD/$name.sock
	done
	at=(-d redis "--servers=$list" --durability=none)
}

@test "put records are found by another process and deleted" {
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
	mininb 3 get "${at[@]}" -c 10 --force
	contains "$output" 'Not found         : 10'
}

@test "data without mininb's marker is rejected and not changed" {
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

@test "a level that the server's settings do not give is rejected" {
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
	kill -KILL "${pids[0]}"
	ends_with 1
	contains "$stderr" "unix:$PWD/a.sock: the server closed the connection"
	contains "$output" 'partial'
}

@test "keys are spread over several servers, whose order matters" {
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

@test "processes reject a server with other data before the first operation" {
	serve a
	on a
	mininb 0 load "${at[@]}" -w ycsb-c -v 8 --records=100
	mininb 3 run "${at[@]}" -w ycsb-c -v 100 --records=100 --count=1000 --procs=2
	contains "$stderr" '0 are missing and 64 hold other data'
	equals "$output" ''
	mininb 0 run "${at[@]}" -w ycsb-c -v 8 --records=100 --count=1000 --procs=2 --verify-rate=1
	contains "$output" ': 0 wrong'
}

@test "mininb waits for a server that loads its data" {
	serve a
	on a
	mininb 0 load "${at[@]}" -w ycsb-a -v 8 --records=1000 --depth=16
	cli a SAVE
	kill -TERM "${pids[0]}"
	wait "${pids[0]}" || true
	serve a --key-load-delay 500 --loading-process-events-interval-bytes 1024
	matches "$(cli a PING)" '^LOADING'
	mininb 1 run "${at[@]}" -w ycsb-c -v 8 --records=1000 --count=10 -o ready=1ms
	contains "$stderr" "unix:$PWD/a.sock: PING: LOADING"
	mininb 0 run "${at[@]}" -w ycsb-c -v 8 --records=1000 --count=1000 --verify-rate=1
}

@test "the contract holds with several connections of each session" {
	serve a --appendonly yes --appendfsync always
	mininb 0 check --hang-after=5m -d redis "--servers=unix:$PWD/a.sock" -o connections=3 \
		--only=batch,request,execute,merge,multi,reset,session,random
}

@test "acknowledged writes survive kill -9 of the server at process, but not at none" {
	local level
	mininb 0 keys -c 2000
	for level in process none; do
		if [[ $level == process ]]; then
			serve $level --appendonly yes --appendfsync no
		else
			serve $level
		fi
		on $level
		at[3]=--durability=$level
		mininb 0 put "${at[@]}" -c 2000 -v 100 --depth=64
		kill -KILL "${pids[-1]}"
		wait "${pids[-1]}" || true
		rm $level.sock
		serve $level --appendonly "$([[ $level == none ]] && echo no || echo yes)" --appendfsync no
		run --separate-stderr "$MININB" get "${at[@]}" -c 2000 -v 100 --verify-rate=1
		if [[ $level == process ]]; then
			contains "$output" '2000 of 2000 (as they were read): 0 missing, 0 wrong'
		else
			equals "$status" 1
			contains "$stderr" 'the server has no database of mininb'
		fi
	done
}

@test "a private server keeps its data between commands at each level" {
	mininb 0 keys -c 300
	local level
	for level in none process periodic commit; do
		mininb 0 put -d redis -c 300 -v 100 --depth=16 --durability=$level --fresh
		mininb 0 get -d redis -c 300 -v 100 --verify-rate=1 --durability=$level
		contains "$output" '300 of 300 (as they were read): 0 missing, 0 wrong'
	done
	mininb 1 get -d redis -c 300 -v 100 --durability=none
	contains "$stderr" 'use --durability=commit, or --fresh'
}

@test "a run starts private servers itself, also a cluster" {
	mininb 0 run -d redis -w ycsb-b --depth=16 --records=1000 --count=5000 --verify-rate=1
	contains "$output" ': 0 wrong'
	command -v redis-cli >/dev/null || return 0
	mininb 0 load -d redis -o cluster=yes -w ycsb-a --depth=16 --records=1000 --path=c
	mininb 0 run -d redis -o cluster=yes -w ycsb-a --depth=16 --records=1000 --count=5000 \
		--verify-rate=1 --path=c
	contains "$output" ': 0 wrong'
}

# Set $ports to $1 free ports below 55536 whose bus ports, 10000 above, are free as well.
free_ports()
{
	mapfile -t ports < <(python3 -c 'import random, socket, sys
found = []
while len(found) < int(sys.argv[1]):
    port = random.randrange(20000, 32000)
    try:
        for number in (port, port + 10000):
            with socket.socket() as s:
                s.bind(("127.0.0.1", number))
        found += [port] if port not in found else []
    except OSError:
        pass
print(*found, sep="\n")' "$1")
}

node()
{
	redis-cli -p "$1" "${@:2}"
}

# Start a cluster of three nodes at ports[0..2] and a single node at ports[3]. Sets $at to the
# options.
cluster()
{
	command -v redis-cli >/dev/null || skip 'redis-cli is not installed'
	local port
	free_ports 4
	for port in "${ports[@]}"; do
		mkdir "$port"
		redis-server --bind 127.0.0.1 --port "$port" --cluster-enabled yes --save '' \
			--cluster-config-file nodes.conf --dir "$PWD/$port" >"$port.log" 3>&- &
		pids+=($!)
	done
	for port in "${ports[@]}"; do
		until node "$port" ping >/dev/null 2>&1; do
			sleep 0.01
		done
	done
	redis-cli --cluster create 127.0.0.1:{"${ports[0]}","${ports[1]}","${ports[2]}"} --cluster-yes
	at=(-d redis -o cluster=yes "--servers=127.0.0.1:${ports[0]}" --durability=none)
}

# Move $3 slots from node $1 to node $2.
reshard()
{
	redis-cli --cluster reshard "127.0.0.1:${ports[0]}" --cluster-from "$(node "$1" cluster myid)" \
		--cluster-to "$(node "$2" cluster myid)" --cluster-slots "$3" --cluster-yes \
		>reshard.log || {
		tail -n 5 reshard.log
		return 1
	}
}

commands_of()
{
	node "$1" INFO stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'
}

# The run has a rate, because busy nodes move slots slowly.
@test "no records are lost if slots move during a run, also to a new node" {
	cluster
	mininb 0 load "${at[@]}" -w ycsb-a -v 100 --records=20000 --depth=64
	local before port
	before=$(commands_of "${ports[0]}")
	start run "${at[@]}" -w ycsb-a --set distribution=uniform -v 100 --records=20000 --depth=16 \
		--rate=1000 --duration=1h --verify-rate=1 -o connections=2 --sample=100ms \
		--output=result.json
	until (($(commands_of "${ports[0]}") > before + 500)); do
		sleep 0.01
	done
	reshard "${ports[0]}" "${ports[1]}" 300
	redis-cli --cluster add-node "127.0.0.1:${ports[3]}" "127.0.0.1:${ports[0]}" >/dev/null
	for port in "${ports[@]}"; do
		until [[ $(node "$port" cluster info) == *cluster_state:ok* &&
			$(redis-cli --cluster check "127.0.0.1:$port") == *"${ports[3]}"*'All nodes agree'* ]]; do
			sleep 0.1
		done
	done
	reshard "${ports[2]}" "${ports[3]}" 200
	until (($(node "${ports[3]}" INFO stats | sed -n 's/^keyspace_hits:\([0-9]*\).*/\1/p') > 20)); do
		sleep 0.05
	done
	stop INT
	contains "$output" ': 0 wrong'
	python3 - <<-'END'
		import json
		series = json.load(open("result.json"))["results"][0]["measured"]["series"]
		at = [counter["name"] for counter in series["counters"]].index("moved")
		moved = [sample["counters"][at] for sample in series["samples"] if sample["counters"]]
		assert sum(moved) >= 20 and min(moved) == 0, moved
	END
	mininb 0 run "${at[@]}" -w ycsb-c -v 100 --records=20000 --count=20000 --verify-rate=1
}

@test "no additions are lost if slots move" {
	cluster
	mininb 0 load "${at[@]}" --add=100 -v 8 --records=2000 --depth=16
	local before
	before=$(commands_of "${ports[0]}")
	start run "${at[@]}" --add=100 -v 8 --records=2000 --depth=16 --threads=2 --rate=2000 \
		--count=10000
	until (($(commands_of "${ports[0]}") > before + 500)); do
		sleep 0.01
	done
	reshard "${ports[0]}" "${ports[1]}" 1000
	ends_with 0
}

# All keys have the same tag, so transactions use one slot while its keys are on two nodes.
@test "transactions stay whole while their slot moves key by key" {
	cluster
	local job=("${at[@]}" --workload=./job.ini -v 100) slot from to keys
	cat >job.ini <<-END
		[workload]
		records = 3000
		key-format = text
		key-prefix = {t}
		[kind look]
		steps = get*2..5
		[kind change]
		steps = put*2..5
		[kind transfer]
		steps = get*2, put@1, delete@2, put@2
		[kind renew]
		steps = put-if-newer, get@1
		[run]
		look = 25
		change = 20
		transfer = 20
		renew = 15
		read = 10
		update = 10
	END
	mininb 0 load "${job[@]}" --depth=16
	slot=$(node "${ports[0]}" cluster keyslot '{t}')
	for to in "${ports[@]:0:3}"; do
		[[ $(node "$to" cluster countkeysinslot "$slot") == 0 ]] || from=$to
	done
	for to in "${ports[@]:0:3}"; do
		[[ $to == "$from" ]] || break
	done
	start run "${job[@]}" --depth=4 --threads=2 --rate=1000 --duration=1h --verify-rate=1
	local before
	before=$(commands_of "$from")
	until (($(commands_of "$from") > before + 500)); do
		sleep 0.01
	done
	node "$to" cluster setslot "$slot" importing "$(node "$from" cluster myid)"
	node "$from" cluster setslot "$slot" migrating "$(node "$to" cluster myid)"
	while mapfile -t keys < <(node "$from" cluster getkeysinslot "$slot" 100) && ((${#keys[@]} > 0)) &&
		[[ -n ${keys[0]} ]]; do
		node "$from" migrate 127.0.0.1 "$to" '' 0 5000 keys "${keys[@]}" >/dev/null
	done
	node "$to" cluster setslot "$slot" node "$(node "$to" cluster myid)"
	node "$from" cluster setslot "$slot" node "$(node "$to" cluster myid)"
	before=$(commands_of "$to")
	until (($(commands_of "$to") > before + 500)); do
		sleep 0.01
	done
	stop INT
	contains "$output" ': 0 wrong'
	contains "$output" 'ask'
	matches "$output" 'tryagain [0-9]+ replies'
}

@test "the contract holds with a cluster, which needs -o cluster=yes" {
	cluster
	local port
	for port in "${ports[@]}"; do
		node "$port" CONFIG SET appendonly yes appendfsync always
	done
	mininb 0 check --hang-after=5m "${at[@]:0:5}" \
		--only=batch,request,execute,merge,multi,reset,session,random
	mininb 0 keys -c 100
	mininb 1 put "${at[@]}" -o cluster=no -c 100
	contains "$stderr" '; a node of a cluster needs -o cluster=yes'
	mininb 1 put "${at[@]}" -o db=1 -c 100
	contains "$stderr" 'a Redis Cluster has database 0 only'
}

@test "-o replica_reads=yes reads from replicas of a server and of cluster nodes" {
	cluster
	redis-cli --cluster add-node "127.0.0.1:${ports[3]}" "127.0.0.1:${ports[0]}" --cluster-slave \
		--cluster-master-id "$(node "${ports[0]}" cluster myid)"
	until [[ $(node "${ports[3]}" INFO replication) == *master_link_status:up* &&
		$(node "${ports[0]}" cluster slots) == *"${ports[3]}"* ]]; do
		sleep 0.1
	done
	at+=(-w ycsb-c -v 100 --records=1000 -o replica_reads=yes --depth=16)
	mininb 0 load "${at[@]}" --fresh
	contains "$stderr" 'replica_reads: a replica may be behind its server'
	node "${ports[0]}" WAIT 1 10000
	mininb 0 run "${at[@]}" --count=5000 --verify-rate=1
	[[ $(node "${ports[3]}" INFO stats) =~ keyspace_hits:([0-9]+) ]]
	((BASH_REMATCH[1] > 1000))
	mininb 0 load "${at[@]}" --fresh

	free_ports 2
	serve a --port "${ports[0]}"
	serve b --port "${ports[1]}" --replicaof 127.0.0.1 "${ports[0]}"
	on a
	at+=(-w ycsb-c -v 100 --records=1000 -o replica_reads=yes)
	until [[ $(cli b INFO replication) == *master_link_status:up* ]]; do
		sleep 0.1
	done
	mininb 0 load "${at[@]}"
	cli a WAIT 1 10000
	mininb 0 run "${at[@]}" --count=1000 --verify-rate=1
	[[ $(cli b INFO stats) =~ keyspace_hits:([0-9]+) ]]
	((BASH_REMATCH[1] >= 1000))
}

@test "TLS verifies the server's certificate and name" {
	local port tls
	command -v openssl >/dev/null || skip 'openssl is not installed'
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=mininb \
		-addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem 2>/dev/null
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
	serve a --bind 127.0.0.1 --tls-port "$port" --tls-cert-file "$PWD/cert.pem" \
		--tls-key-file "$PWD/key.pem" --tls-auth-clients no
	tls=(-d redis --durability=none -o tls=yes)
	mininb 0 load "${tls[@]}" "--servers=localhost:$port" -o tls_ca=cert.pem -w ycsb-a --records=1000
	mininb 0 run "${tls[@]}" "--servers=localhost:$port" -o tls_ca=cert.pem -w ycsb-a --records=1000 \
		--count=5000 --depth=16 --threads=2 --verify-rate=1
	contains "$output" ' 0 wrong'
	mininb 1 run "${tls[@]}" "--servers=localhost:$port" -w ycsb-c --records=1000 --count=100
	contains "$stderr" "localhost:$port: TLS: the server's certificate is not trusted: self-signed certificate"
	mininb 1 run "${tls[@]}" "--servers=127.0.0.1:$port" -o tls_ca=cert.pem -w ycsb-c --records=1000 --count=100
	contains "$stderr" 'IP address mismatch'
	mininb 0 run "${tls[@]}" "--servers=127.0.0.1:$port" -o tls_verify=no -w ycsb-c --records=1000 --count=100
	mininb 1 run -d redis --durability=none "--servers=localhost:$port" -w ycsb-c --records=1000 --count=100
	contains "$stderr" "localhost:$port: "
	mininb 1 run -d redis "--servers=localhost:$port" -o tls_ca=cert.pem -w ycsb-c --records=1000 --count=100
	contains "$stderr" 'tls_ca, tls_cert and tls_key need tls=yes'
}
