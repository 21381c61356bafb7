#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Install the dependencies, build, and run every test. The last line counts the tests:
#
#   extra/test.sh            all stages
#   extra/test.sh STAGE...   only these
#
#   scripts   shellcheck of every script
#   gcc       gcc, warnings are errors; all suites
#   clang     clang at full optimization, warnings are errors: the program, the library
#             and the engines; the suite 'hardened'
#   asan      clang, address and undefined behaviour sanitizers, warnings are errors; all
#             suites except 'house', which reads sources. Random tests run fewer rounds or
#             other seeds. Tests in which a sanitizer cannot find anything are left out
#   tsan      gcc, thread sanitizer; only the suites 'threads' and 'contract' are built
#   install   an installation into a separate prefix: the installed program finds its
#             engines, and plugins built outside with the installed header work: the template,
#             one of new-engine, the examples in C++ and Rust, and the engine of the
#             tutorial, built step by step
#   valgrind  leaks and uninitialised bytes: a short put and get on leveldb, the
#             contract of some engines, random use of two others, and the readers of
#             untrusted files
#
# The stages clang and asan run in parallel with the others, because tests wait for disks and for
# each other. Their output is printed after that of the others.
#
# Builds are kept in <repository>/build-test/<stage>; remove it for a fresh build. A suite counts as
# many tests as Meson's testlog.json contains, any other check counts as one. A stage that cannot be
# built is one failed test.
#
# Each test has its own time limit. Without a terminal, the whole script has the limit
# $MININB_TEST_LIMIT, by default 75m: tests that run then have failed.
#
# Exit status: 0 no test failed; 1 a test failed; 2 wrong usage; 124 the limit was reached.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly builds=$repo/build-test
readonly prefix=$builds/prefix
readonly limit=${MININB_TEST_LIMIT:-75m}
readonly stages='scripts gcc clang asan tsan install valgrind'
# The commands that a stage needs. A stage that lacks one fails, because it has tested nothing.
readonly -A tools=(
	[scripts]='git shellcheck'
	[gcc]='gcc meson ninja bats jq'
	[clang]='clang clang++ clang-format git meson ninja'
	[asan]='clang clang++ meson ninja bats jq'
	[tsan]='gcc meson ninja'
	[install]='gcc g++ cargo rustc meson ninja pkg-config'
	[valgrind]='gcc meson ninja valgrind'
)

passed=0
failed=0
skipped=0
temporary=

pass()
{
	passed=$((passed + 1))
	printf 'ok: %s\n' "$1"
}

fail()
{
	failed=$((failed + 1))
	printf 'FAILED: %s\n' "$1"
}

# Run one check: its name, then the command. Print its output if it fails, but without valgrind's
# messages about unknown system calls, five lines each.
readonly unknown_calls='-- (WARNING: unhandled .* syscall|You may be able to write|Read the file README_MISSING|Nevertheless we consider|it at http://valgrind.org)'
check()
{
	local name=$1
	shift
	if "$@" >"$temporary/log" 2>&1; then
		pass "$name"
	else
		fail "$name (exit status $?)"
		grep -Ev -- "$unknown_calls" "$temporary/log" | sed 's/^/    /' || true
	fi
}

# Check that the command succeeds and prints a line that matches $1.
says()
{
	local pattern=$1 text
	shift
	text=$("$@") || return
	printf '%s\n' "$text"
	grep -q -- "$pattern" <<<"$text"
}

# ---- suites under Meson ----

# Build in $builds/$1, with the Meson options that follow, the targets in $targets; all if it is
# empty.
targets=()
build()
{
	local stage=$1 log=$temporary/build.log
	shift
	say "$stage: building"
	as_owner mkdir -p "$builds"
	if configure "$builds/$stage" -Dauto_features=enabled -Dwerror=true "$@" \
		>"$log" 2>&1 && list_targets "$stage" &&
		as_owner ninja -C "$builds/$stage" "${targets[@]}" >>"$log" 2>&1; then
		return
	fi
	tail -n 60 "$log"
	fail "build $stage"
	return 1
}

# Set targets to the files of build $1 that the tests of the suites in $built_suites start or load.
built_suites=()
read -r -d '' print_targets <<'PYTHON' || true
import json, sys

info = sys.argv[1] + '/meson-info/'
wanted = set(sys.argv[2:])
targets = {target['id']: target for target in json.load(open(info + 'intro-targets.json'))}
ids = set()
for test in json.load(open(info + 'intro-tests.json')):
    if wanted & {suite.split(':')[-1] for suite in test['suite']}:
        ids.update(test['depends'])
for id in sorted(ids):
    for name in targets[id]['filename']:
        print(name[len(sys.argv[1]) + 1:])
PYTHON

list_targets()
{
	targets=()
	((${#built_suites[@]} == 0)) || mapfile -t targets < <(/usr/bin/python3 -c \
		"$print_targets" "$builds/$1" "${built_suites[@]}")
}

# Print "passed failed skipped" from Meson's own log. Print to stderr each failed test with its
# output (of TAP only lines that are not ok), and each skipped test.
read -r -d '' count_results <<'PYTHON' || true
import json, re, sys

def print_output(text):
    lines = text.splitlines()
    tap = [l for l in lines if re.match('not ok|#|Bail out', l)]
    for line in (tap or lines)[-200:]:
        print('    ' + line, file=sys.stderr)

good = {'OK', 'EXPECTEDFAIL'}
count = [0, 0, 0]
for line in open(sys.argv[1]):
    test = json.loads(line)
    result = test['result']
    kind = 0 if result in good else 2 if result == 'SKIP' else 1
    count[kind] += 1
    if kind:
        print(('', 'FAILED', 'skipped')[kind] + ': ' + test['name'] + ' (' + result + ')',
              file=sys.stderr)
        print_output(test.get('stdout', ''))
        print_output(test.get('stderr', ''))
print(*count)
PYTHON

# Run the tests of build $1, with the options of `meson test` that follow, and count the results. A
# suite without a test is a failure, too, because it has tested nothing. $runner is a prefix of the
# command. Tests wait for disks and for each other more than half of their time, so more of them run
# in parallel than there are CPUs.
runner=()
suite()
{
	local stage=$1 logs=$builds/$1/meson-logs log status=0 counts
	shift
	say "$stage: testing"
	rm -f "$logs"/testlog*.json
	as_owner "${runner[@]}" meson test -C "$builds/$stage" --no-rebuild \
		--num-processes $((2 * $(nproc) + 1)) "$@" >"$temporary/suite.log" 2>&1 || status=$?
	counts='0 0 0'
	: >"$temporary/results"
	for log in "$logs"/testlog*.json; do # with --wrap the name has more to it
		[[ ! -f $log ]] ||
			counts=$(/usr/bin/python3 -c "$count_results" "$log" 2>"$temporary/results")
	done
	read -ra counts <<<"$counts"
	passed=$((passed + counts[0]))
	failed=$((failed + counts[1]))
	skipped=$((skipped + counts[2]))
	if ((status != 0)); then
		cat "$temporary/suite.log"
	fi
	cat "$temporary/results"
	printf 'meson: %d passed, %d failed, %d skipped\n' "${counts[@]}"
	if ((counts[0] + counts[1] + counts[2] == 0)); then
		fail "$stage: no tests ran"
	elif ((status != 0 && counts[1] == 0)); then
		fail "$stage: meson test ended with status $status"
	fi
}

# ---- stages ----

stage_scripts()
{
	local file count=0
	while IFS= read -r file; do
		check "shellcheck $file" shellcheck "$repo/$file"
		count=$((count + 1))
	done < <(list_scripts)
	((count > 0)) || fail "scripts: git lists no script in $repo"
}

# List every shell script of the repository, by its name or first line.
list_scripts()
{
	local file first
	git -C "$repo" -c safe.directory="$repo" ls-files | while IFS= read -r file; do
		[[ -f $repo/$file ]] || continue
		IFS= read -r first 2>/dev/null <"$repo/$file" || continue
		[[ $first == '#!'*sh || $file == *.sh || $file == *.bats ]] && printf '%s\n' "$file"
	done || true
}

# Build with gcc. The stages install and valgrind use this build, too. Its prefix is empty except
# during the stage install, so the engines found are those of the build.
build_gcc()
{
	rm -rf "$prefix"
	build gcc -Dprefix="$prefix"
}

stage_gcc()
{
	build_gcc || return 0
	suite gcc
}

# Build only the tests of the suite 'hardened': the stage asan compiles the others by clang.
stage_clang()
{
	built_suites=(hardened)
	CC=clang CXX=clang++ build clang || return 0
	built_suites=()
	suite clang --suite hardened
}

# Disable address randomisation, because these sanitizers do not support the number of random bits
# of some kernels.
choose_runner()
{
	runner=()
	if setarch -R true 2>/dev/null; then
		runner=(setarch -R)
	fi
}

stage_asan()
{
	local asan_options=halt_on_error=1:abort_on_error=1:detect_leaks=1
	asan_options+=:detect_stack_use_after_return=1:strict_string_checks=1
	# The host is C, so it does not bring the runtime of the two checks that C++ adds. Full -g
	# instead of line tables, or more than -O1, would double the build time.
	CC=clang CXX=clang++ CFLAGS=-gline-tables-only \
		CXXFLAGS='-gline-tables-only -fno-sanitize=vptr,function' build asan \
		-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 \
		-Ddebug=false || return 0
	choose_runner
	# Without the last word, the runtime guesses the thread variables of a library from the
	# memory before them. If they happen to begin 16 bytes into a page, it takes its own data
	# for them and crashes at exit.
	ASAN_OPTIONS=$asan_options:intercept_tls_get_addr=0 CK_TIMEOUT_MULTIPLIER=4 \
		UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 \
		suite asan --timeout-multiplier 2 --no-suite house
}

stage_tsan()
{
	built_suites=(threads contract)
	CFLAGS=-g1 CXXFLAGS=-g1 build tsan -Db_sanitize=thread -Db_lundef=false \
		-Doptimization=1 -Ddebug=false || return 0
	built_suites=()
	choose_runner
	# Debian compiled the engine's library without the sanitizer. So only its calls of memcpy()
	# and the like are visible, which look like races. The plugin and the host are instrumented
	# completely.
	printf 'race:%s\n' libleveldb.so libpmemobj.so >"$temporary/tsan"
	TSAN_OPTIONS=halt_on_error=1:abort_on_error=1:suppressions=$temporary/tsan \
		CK_TIMEOUT_MULTIPLIER=4 suite tsan --timeout-multiplier 3 --suite threads --suite contract
}

# Put and get some thousand records with program $1 and driver $2.
put_and_get()
{
	local program=$1 driver=$2 dir
	dir=$(mktemp -d "$temporary/nb.XXXXXX")
	"$program" keys --keys "$dir/keys" --count 2000 --quiet &&
		"$program" put --keys "$dir/keys" --count 2000 --path "$dir" --driver "$driver" \
			--quiet &&
		"$program" get --keys "$dir/keys" --count 2000 --path "$dir" --driver "$driver" \
			--verify-rate 1 --quiet
}

# Build the Meson project in directory $1 in place.
build_project()
{
	(cd "$1" && meson setup build -Dwerror=true && ninja -C build)
}

# Run the command in the README of directory $1 that begins with the word $2, unchanged.
run_line_of_readme()
{
	local line
	line=$(sed -n "s/^    \($2 .*\)/\1/p" "$1/README.md") && [[ -n $line ]] &&
		(cd "$1" && sh -c "$line")
}

# Build a crate with a separate Cargo home, without the user's.
build_crate()
{
	(cd "$1" && CARGO_HOME=$temporary/cargo CARGO_TARGET_DIR=target RUSTFLAGS='-D warnings' \
		cargo build --release --offline --locked)
}

# Create engine $2 in directory $1.
begin_plugin()
{
	(cd "$1" && "$installed" new-engine "$2")
}

# Test plugin $2, built outside and described as $1: its contract, and a put and get.
try_plugin()
{
	local what=$1 plugin=$2
	check "$what keeps its promises" \
		says ' 0 broken, ' "$installed" check --driver "$plugin"
	check "$what puts and gets" put_and_get "$installed" "$plugin"
}

# Test everything that authors get, with nothing of the repository in reach except the installation.
try_kit()
{
	local kit=$temporary/kit
	mkdir "$kit"
	cp -R "$repo/extra/engine-template" "$kit/template"
	check 'the template builds by Meson' build_project "$kit/template"
	try_plugin 'the template' "$kit/template/build/example.so"
	check 'and builds by the line of its README' run_line_of_readme "$kit/template" gcc
	check 'and is found by its name in MININB_PLUGIN_PATH' says 'Driver: example' \
		env MININB_PLUGIN_PATH="$kit/template/build" "$installed" engines --driver example
	check 'and is installed by a copy' cp "$kit/template/build/example.so" "$enginedir"
	check 'and then found by its name' says 'Driver: example' "$installed" engines \
		--driver example
	check 'new-engine makes a plugin' begin_plugin "$kit" my-store
	check 'which builds by Meson' build_project "$kit/my-store"
	try_plugin "new-engine's" "$kit/my-store/build/my-store.so"
	check 'and is installed by Meson' meson install -C "$kit/my-store/build"
	check 'and then found by its name' says 'Driver: my-store' "$installed" engines \
		--driver my-store
	cp -R "$repo/extra/examples/cpp" "$kit/cpp"
	check 'the example in C++ builds by Meson' build_project "$kit/cpp"
	try_plugin 'the example in C++' "$kit/cpp/build/stdmap.so"
	check 'and builds by the line of its README' run_line_of_readme "$kit/cpp" g++
	cp -R "$repo/extra/examples/rust" "$kit/rust"
	rm -rf "$kit/rust/target"
	check 'the example in Rust builds by Cargo' build_crate "$kit/rust"
	try_plugin 'the example in Rust' "$kit/rust/target/release/libbtreemap.so"
	mkdir "$kit/tutorial"
	check 'the tutorial comes out as it says' env PATH="${installed%/*}:$PATH" \
		/usr/bin/python3 "$repo/tests/tutorial.py" "$repo/extra/tutorial.md" "$kit/tutorial"
}

stage_install()
{
	local installed enginedir away=$builds/gcc.away
	check 'it can be configured without the tests' \
		meson setup "$temporary/untested" "$repo" -Dtests=false
	build_gcc || return 0
	# A kept build may have the prefix of an earlier run.
	as_owner meson configure "$builds/gcc" -Dprefix="$prefix" >/dev/null
	check 'meson install' as_owner meson install -C "$builds/gcc"
	check 'meson install --destdir' \
		meson install -C "$builds/gcc" --no-rebuild --destdir "$temporary/destdir"
	check 'destdir holds the program' test -x "$temporary/destdir$prefix/bin/mininb"
	# From here on the build tree and its plugins are not accessible.
	rm -rf "$away"
	mv "$builds/gcc" "$away"
	installed=$prefix/bin/mininb
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
	check 'installed program runs' "$installed" --version
	check 'installed program lists leveldb' \
		says '^leveldb ' "$installed" engines
	check 'installed program measures leveldb' put_and_get "$installed" leveldb
	check 'installed program finds its workloads' \
		says '^ycsb-a .*workloads/ycsb-a.ini' "$installed" workloads
	check 'and runs one' says '^read ' "$installed" run --driver=memory --workload=ycsb-a \
		--path="$temporary" --quiet
	check 'and simulates power loss' says '^No promise was broken' "$installed" crash --power \
		--driver=leveldb --durability=commit --rounds=1 --states=5 --quiet
	check 'what is installed is hardened' sh "$repo/tests/check-hardening.sh" fortify,installed \
		"$installed" "$prefix"/lib/libmininb.so "$prefix"/lib/mininb/plugins/*.so
	check 'pkg-config knows mininb' pkg-config --exists --print-errors mininb
	enginedir=$(pkg-config --variable=enginedir mininb-engine) || enginedir=
	check 'enginedir is where leveldb is' test -f "$enginedir/leveldb.so"
	try_kit
	mv "$away" "$builds/gcc"
	rm -rf "$prefix"
}

# Two engines of the repository, and the readers of files that others may have written.
readonly under_valgrind=(memory fptree_small
	csv ini job_read json_tables json_value fuzz_job_corpus fuzz_trace_corpus
	trace trace_csv trace_rocksdb trace_text trace_ycsb)

# Random use of every verb of two third-party engines; leveldb has its own threads. The rest of the
# contract runs the same code as with the engines above. (sqlite takes half a minute, and Berkeley
# DB writes bytes that it never set.) A busy machine needs more than the minute that `mininb check`
# allows for a promise.
readonly used_under_valgrind=(leveldb lmdb)

stage_valgrind()
{
	local wrapper=$temporary/mininb-under-valgrind memcheck driver
	build_gcc || return 0
	# "Possibly lost" memory belongs to a thread of the engine that never ends.
	cat >"$temporary/suppressions" <<-'EOF'
		{
		   storage of a running thread
		   Memcheck:Leak
		   match-leak-kinds: possible
		   ...
		   fun:_dl_allocate_tls
		   ...
		}
		{
		   heads of objects, which libpmemobj tells valgrind not to be for others
		   Memcheck:Addr4
		   obj:*/libpmemobj.so*
		}
	EOF
	memcheck="valgrind --quiet --error-exitcode=99 --leak-check=full \
		--show-leak-kinds=definite,possible --errors-for-leak-kinds=definite,possible \
		--suppressions=$temporary/suppressions"
	cat >"$wrapper" <<-EOF
		#!/bin/sh
		exec $memcheck '$builds/gcc/cli/mininb' "\$@"
	EOF
	chmod +x "$wrapper"
	check 'valgrind: put and get on leveldb' put_and_get "$wrapper" leveldb
	for driver in "${used_under_valgrind[@]}"; do
		check "valgrind: random use of $driver" says ' 0 broken, ' "$wrapper" check \
			--driver "$driver" --only=random_use_of_every_verb --hang-after=20m
	done
	runner=()
	suite gcc --wrap="$memcheck" --timeout-multiplier 4 "${under_valgrind[@]}"
}

# ---- main ----

has_tools()
{
	local tool
	for tool in ${tools[$1]}; do
		command -v "$tool" >/dev/null || {
			fail "$1: $tool is missing"
			return 1
		}
	done
}

run_stage()
{
	local stage=$1 started=$EPOCHREALTIME before=$failed
	printf '\n== %s\n' "$stage"
	if has_tools "$stage"; then
		"stage_$stage"
	fi
	printf '== %s: %s in %s\n' "$stage" \
		"$( ((failed == before)) && echo good || echo FAILED)" \
		"$(human_time "$(seconds_since "$started")")"
}

# Run the stages that follow one after another, and write the sums to file $1.
run_stages()
{
	local sums=$1 stage
	shift
	for stage in "$@"; do
		run_stage "$stage"
	done
	printf '%d %d %d\n' "$passed" "$failed" "$skipped" >"$sums"
}

# Add the sums of the parallel stages, and print their output.
finish_beside()
{
	local beside=$1 sums
	wait || true
	cat "$beside/output"
	read -ra sums <"$beside/sums" || sums=(0 1 0)
	passed=$((passed + sums[0]))
	failed=$((failed + sums[1]))
	skipped=$((skipped + sums[2]))
}

# The limit is reached: print the output so far, which ends with the running tests. The signal may
# arrive while output is redirected.
give_up()
{
	exec >&"$console"
	cat "$temporary"/suite.log "$temporary"/beside/{output,suite.log} 2>/dev/null || true
	fail "the time limit of $limit was reached"
	exit 1
}

main()
{
	local stage started=$EPOCHREALTIME beside wanted=("$@") first=() second=()
	case ${1-} in
	-h | --help)
		show_help
		exit 0
		;;
	esac
	((${#wanted[@]} > 0)) || read -ra wanted <<<"$stages"
	for stage in "${wanted[@]}"; do
		[[ " $stages " == *" $stage "* ]] ||
			usage_error "unknown stage $stage; the stages are $stages"
	done
	# timeout starts a process group, which ^C in a terminal would not reach.
	if [[ -z ${MININB_TEST_LIMITED-} && ! -t 0 ]]; then
		export MININB_TEST_LIMITED=yes
		exec timeout --kill-after=1m "$limit" "$0" "$@"
	fi
	"$repo/extra/setup.sh"
	# Prefer the programs that setup.sh installed. A python3 that is a script costs 0.1 s in
	# each of hundreds of calls.
	[[ :$PATH: != *:/usr/bin:* ]] || PATH=/usr/bin:$PATH
	export HDR_PYTHON=$repo/build-venv/bin/python3
	[[ -x $HDR_PYTHON ]] || unset HDR_PYTHON
	temporary=$(mktemp -d)
	chmod 755 "$temporary" # as_owner may be another
	trap 'rm -rf "$temporary"' EXIT
	exec {console}>&1
	trap give_up TERM
	for stage in "${wanted[@]}"; do
		case $stage in
		clang | asan) second+=("$stage") ;;
		*) first+=("$stage") ;;
		esac
	done
	if ((${#first[@]} > 0 && ${#second[@]} > 0)); then
		beside=$temporary/beside
		mkdir "$beside"
		temporary=$beside run_stages "$beside/sums" "${second[@]}" >"$beside/output" 2>&1 &
		run_stages "$temporary/sums" "${first[@]}"
		finish_beside "$beside"
	else
		run_stages "$temporary/sums" "${wanted[@]}"
	fi
	printf '\n== all: %s\n' "$(human_time "$(seconds_since "$started")")"
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	((failed == 0))
}

main "$@"
