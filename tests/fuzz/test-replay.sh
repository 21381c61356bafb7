#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The replay names the mutation that crashed, and its message reproduces the crash: test-replay.sh
# REPLAY_TOY
set -eu

replay=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/corpus"
printf 'abcdef' >"$dir/corpus/a"
printf 'ghi' >"$dir/corpus/b"
printf '# one word\nname="\\x58"\n' >"$dir/toy.dict"

fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

dies() {
	"$@" >"$dir/out" 2>"$dir/err" && fail "$*: did not die"
	:
}

"$replay" "$dir/corpus" >/dev/null || fail 'the inputs without mutations crashed'
dies "$replay" --mutate=2000 --seed=5 --dict="$dir/toy.dict" "$dir/corpus"
repetition=$(sed -n 's/^a mutation of .* crashed; repeat with //p' "$dir/err")
[ -n "$repetition" ] || fail 'the message does not name the mutation'

# shellcheck disable=SC2086
dies "$replay" $repetition --save="$dir/x" --dict="$dir/toy.dict" "$dir/corpus"
grep -q "repeat with $repetition\$" "$dir/err" || fail 'another mutation crashed'
[ "$(cut -b 2 "$dir/x" | head -n 1)" = X ] || fail 'the saved input is another one'
dies "$replay" "$dir/x"
grep -q "^$dir/x crashed\$" "$dir/err" || fail 'the message does not name the input that crashed'

"$replay" >/dev/null 2>&1 && fail 'missing inputs were accepted'
"$replay" "$dir/nothing" >/dev/null 2>&1 && fail 'a missing file was accepted'
exit 0
