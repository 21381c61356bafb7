#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Help, man page and completion: complete, and in their own language.
# shellcheck disable=SC2154,SC1090
load helper

actions='keys put shuffle get delete engines check new-engine'
options='action path driver klen vlen keys report-interval count threads option durability
	cache seed value-ratio verify-rate settle clock pin allow-missing fold quiet only format fresh hang-after version help'

@test "help goes to stdout and lists every action and option" {
	mininb 0 --help
	equals "$stderr" ''
	for action in $actions; do
		matches "$output" $'\n'"  $action( [A-Z]+)? +[a-z]"
	done
	for option in $options; do
		matches "$output" $'\n'"  (-[a-z], |    )--${option}[^a-z]"
	done
	long=$output
	mininb 0 -h
	equals "$output" "$long"
}

@test "help lists no option that is not taken" {
	mininb 0 --help
	local names
	names=$(grep -oE '^  (-[a-z], |    )--[a-z-]+' <<<"$output" | grep -oE '[a-z-]+$')
	equals "$(wc -l <<<"$names")" "$(wc -w <<<"$options")"
	for name in $names; do
		run "$MININB" "$name=" put
		lacks "$output" 'there is no option'
	done
}

@test "help fits 80 columns" {
	mininb 0 --help
	equals "$(awk 'length > 80' <<<"$output")" ''
}

@test "help states the defaults" {
	mininb 0 --help
	local flat
	flat=$(tr -s ' \n' '  ' <<<"$output")
	for default in 100000 16 100 keys.bin leveldb ./nb auto compact 0.01 0.5 10000; do
		contains "$flat" "[$default]"
	done
}

@test "version" {
	mininb 0 --version
	matches "$output" '^mininb [0-9]+\.[0-9]+\.[0-9]+$'
	equals "$stderr" ''
}

@test "the man page has every action and option" {
	mininb 0 --help=man
	equals "$stderr" ''
	for action in $actions; do
		matches "$output" $'\n'"\.BI? ${action//-/\\\\-}( \" [A-Z]+\")?"$'\n'
	done
	for option in $options; do
		contains "$output" "\\-\\-${option//-/\\-}"
	done
	for section in NAME SYNOPSIS DESCRIPTION ACTIONS OPTIONS 'EXIT STATUS' ENVIRONMENT FILES \
		EXAMPLES DURABILITY; do
		contains "$output" ".SH $section"
	done
	contains "$output" MININB_PLUGIN_PATH
	contains "$output" NO_COLOR
}

@test "mandoc has nothing to say about the man page" {
	command -v mandoc >/dev/null || skip 'mandoc is not installed'
	"$MININB" --help=man >mininb.1
	run mandoc -Tlint -W style mininb.1
	equals "$output" ''
}

@test "man formats the page without a warning" {
	command -v groff >/dev/null || skip 'groff is not installed'
	"$MININB" --help=man >mininb.1
	run --separate-stderr groff -man -Tascii -ww -z mininb.1
	equals "$stderr" ''
}

# Outside of a completion this one fails.
compopt()
{
	:
}

complete_words()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_mininb
}

@test "completion has every action and option" {
	source <("$MININB" --help=bash)
	complete_words mininb ''
	for action in $actions; do
		contains " ${COMPREPLY[*]} " " $action "
	done
	complete_words mininb --
	for option in $options; do
		matches " ${COMPREPLY[*]} " " --$option=? "
	done
}

@test "completion offers what the action looks at" {
	source <("$MININB" --help=bash)
	complete_words mininb shuffle --
	contains " ${COMPREPLY[*]} " ' --count= '
	lacks " ${COMPREPLY[*]} " ' --driver= '
	complete_words mininb put --th
	equals "${COMPREPLY[*]}" '--threads='
	complete_words mininb new-engine put --
	lacks " ${COMPREPLY[*]} " ' --threads= '
	complete_words mininb new-engine ''
	equals "${COMPREPLY[*]}" ''
}

@test "completion of values" {
	source <("$MININB" --help=bash)
	complete_words mininb put --clock = t
	equals "${COMPREPLY[*]}" tsc
	complete_words mininb put --settle =
	equals "${COMPREPLY[*]}" 'none flush compact'
	complete_words mininb put --durability p
	equals "${COMPREPLY[*]}" 'process periodic'
	complete_words mininb -a sh
	equals "${COMPREPLY[*]}" shuffle
	complete_words mininb --help = m
	equals "${COMPREPLY[*]}" man
	touch mykeys.bin
	complete_words mininb put -i my
	equals "${COMPREPLY[*]}" mykeys.bin
	complete_words mininb put -c ''
	equals "${COMPREPLY[*]}" ''
}

@test "completion of drivers" {
	source <("$MININB" --help=bash)
	complete_words "$MININB" put -d mem
	equals "${COMPREPLY[*]}" memory
	complete_words "$MININB" put --driver = nu
	equals "${COMPREPLY[*]}" null
	touch mine.so
	complete_words "$MININB" put -d ./mi
	equals "${COMPREPLY[*]}" ./mine.so
}

@test "shellcheck has nothing to say about the completion" {
	command -v shellcheck >/dev/null || skip 'shellcheck is not installed'
	"$MININB" --help=bash >mininb.bash
	run shellcheck mininb.bash
	equals "$output" ''
}
