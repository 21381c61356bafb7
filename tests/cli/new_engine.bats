#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# new-engine copies the template completely, under the new name, or not at all.
# shellcheck disable=SC2154,SC2016
load helper

# Compile the plugin $1 with all warnings.
compile()
{
	"${CC:-cc}" -std=c11 -O1 -Wall -Wextra -Wpedantic -Werror -fPIC -shared \
		-fvisibility=hidden -I "$MININB_TEST_INCLUDE" -o "$1/$1.so" "$1/$1.c"
}

@test "new-engine writes three files and prints the next steps" {
	mininb 0 new-engine foo
	equals "$stderr" ''
	equals "$(ls -A . foo)" "$(printf '.:\nfoo\n\nfoo:\nREADME.md\nfoo.c\nmeson.build')"
	for line in 'Action: new-engine' 'Directory: foo' 'File: foo/foo.c' \
		'File: foo/meson.build' 'File: foo/README.md' '    cd foo' \
		'    meson setup build' '    ninja -C build' \
		'    mininb check --driver=./build/foo.so'; do
		contains $'\n'"$output"$'\n' $'\n'"$line"$'\n'
	done
}

@test "the new engine compiles without a warning and passes check" {
	mininb 0 new-engine foo
	compile foo
	mininb 0 engines -d ./foo/foo.so
	contains "$output" 'Driver: foo'
	contains "$output" fanout
	mininb 0 keys -c 2000
	mininb 0 put -d ./foo/foo.so -c 2000 --verify-rate 1 -o fanout=2
	mininb 0 get -d ./foo/foo.so -c 2000 --verify-rate 1
	mininb 0 delete -d ./foo/foo.so -c 2000 --verify-rate 1
	mininb 1 put -d ./foo/foo.so -c 2000 --durability=commit
	# mininb puts the engine's name in front of each failure
	run -1 grep -nE '^[^/]*(fail|UNSUPPORTED).*"(foo|example): ' foo/foo.c
	mininb 0 check -d ./foo/foo.so -o fanout=2
	contains "$output" ', 0 broken, '
	refuses '' put -d ./foo/foo.so -c 2000 -o fanout=1
	MININB_PLUGIN_PATH=$PWD/foo mininb 0 engines -d foo
	contains "$output" "File: $PWD/foo/foo.so"
}

@test "any valid name makes a plugin with that name" {
	for name in a-b-c x_ int get "$(printf 'n%.0s' {1..64})"; do
		mininb 0 new-engine "$name"
		compile "$name"
		mininb 0 engines -d "./$name/$name.so"
		contains "$output" "Driver: $name"$'\n'
		run -1 grep -rn -e example "$name"
	done
	run -1 grep -rnF engine.c a-b-c
	contains "$(<a-b-c/a-b-c.c)" 'a_b_c_store_put('
	contains "$(<a-b-c/meson.build)" "shared_module('a-b-c', 'a-b-c.c'"
	contains "$(<a-b-c/README.md)" '--driver=./build/a-b-c.so'
}

@test "the name of an existing engine causes a warning" {
	mininb 0 new-engine memory
	contains "$stderr" "warning: an engine 'memory' already exists (built in)"
	[[ -f memory/memory.c ]]
}

@test "a missing name and a second name are rejected" {
	refuses 'new-engine: NAME is missing (mininb new-engine NAME)' new-engine
	refuses 'new-engine: NAME is missing (mininb new-engine NAME)' --action=new-engine
	refuses "unexpected argument 'b'; the action is 'new-engine'" new-engine a b
	refuses "only one action is allowed, got 'new-engine' and 'put'" new-engine a put
	refuses 'unknown option -x' new-engine -x
	equals "$(ls -A)" ''
	mininb 0 new-engine --help
	contains "$output" 'new-engine NAME'
}

@test "an invalid name of a driver is rejected" {
	for name in '' ' ' . .. / ./a a/b /tmp/a A fooBar 1a 9 _a -a a.b a.so 'a b' 'a;b' $'a\nb' \
		$'\303\244' "$(printf 'n%.0s' {1..65})"; do
		refuses "new-engine: '" new-engine -- "$name"
		contains "$stderr" 'is not a valid engine name: use a letter a-z, then a-z, 0-9, _ and -, 64 characters at most'
	done
	equals "$(ls -A)" ''
}

@test "a name reserved by Meson is rejected" {
	for name in test install clean all meson-a; do
		refuses "new-engine: '$name' is reserved by Meson" new-engine "$name"
	done
	equals "$(ls -A)" ''
}

@test "new-engine does not change existing files" {
	mkdir foo
	echo mine >foo/foo.c
	mininb 1 new-engine foo
	equals "$output" ''
	equals "$stderr" 'mininb: foo already exists; mininb did not change it'
	equals "$(ls -A foo)" foo.c
	equals "$(<foo/foo.c)" mine
	mkdir empty
	mininb 1 new-engine empty
	equals "$(ls -A empty)" ''
	echo mine >file
	mininb 1 new-engine file
	equals "$(<file)" mine
	ln -s nowhere link
	mininb 1 new-engine link
	[[ -L link && ! -e nowhere ]]
}

@test "an unwritable or missing directory is reported" {
	mkdir locked
	chmod 555 locked
	cd locked
	unprivileged 1 new-engine foo
	equals "$output" ''
	contains "$stderr" 'cannot make foo: Permission denied'
	mkdir ../gone
	cd ../gone
	rmdir ../gone
	mininb 1 new-engine foo
	contains "$stderr" 'cannot make foo: No such file'
}

# Each round has one more page of space, so each of the three files fails once.
@test "a full disk leaves no files" {
	needs_small_room
	local pages failed=''
	for ((pages = 1; pages < 100; pages++)); do
		export room=$((pages * $(getconf PAGESIZE)))
		run -0 --separate-stderr in_small_room sh -c '"$MININB" new-engine foo 2>&1; ls -A'
		[[ $output != *'No space left'* ]] && break
		matches "$output" '^mininb: cannot write foo/[A-Za-z.]+: No space left on device; mininb made nothing$'
		failed+=" $(sed -n 's|.*cannot write \(foo[^:]*\):.*|\1|p' <<<"$output")"
	done
	for file in foo.c meson.build README.md; do
		contains "$failed " "foo/$file "
	done
	equals "${output##*$'\n'}" foo
}
