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

"$replay" "$dir/corpus" >/dev/null || fail 'the inputs alone are fine'
dies "$replay" --mutate=2000 --seed=5 --dict="$dir/toy.dict" "$dir/corpus"
told=$(sed -n 's/^died of a mutation of .*; the same again: //p' "$dir/err")
[ -n "$told" ] || fail 'it is not told what it died of'

# shellcheck disable=SC2086 # two words
dies "$replay" $told --save="$dir/x" --dict="$dir/toy.dict" "$dir/corpus"
grep -q "again: $told\$" "$dir/err" || fail 'another one died'
[ "$(cut -b 2 "$dir/x" | head -n 1)" = X ] || fail 'what was kept is not what died'
dies "$replay" "$dir/x"
grep -q "^died of $dir/x\$" "$dir/err" || fail 'a file that dies is not named'

"$replay" >/dev/null 2>&1 && fail 'no inputs are no mistake'
"$replay" "$dir/nothing" >/dev/null 2>&1 && fail 'a file that is not there is no mistake'
exit 0
