#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-text.sh finds each kind of violation, and nothing in a correct tree: test-check-text.sh
# CHECK
set -eu

check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# A correct tree, and a program that prints its manual page.
make_tree() {
	rm -rf "${tree:?}"/*
	mkdir -p "$tree/extra/doc" "$tree/extra/man" "$tree/extra/workloads"
	echo '[a](extra/doc/a.md)' >"$tree/README.md"
	echo 'See [README](../../README.md).' >"$tree/extra/doc/a.md"
	echo "install_data('a.md')" >"$tree/extra/doc/meson.build"
	echo '_a.md_' >"$tree/extra/man/mininb.1.scd"
	echo 'Results.' >"$tree/extra/man/mininb-result.5.scd.in"
	echo '# Tutorial' >"$tree/extra/tutorial.md"
	echo '# Workloads' >"$tree/extra/workloads/README.md"
	printf '#!/bin/sh\necho "print a line"\n' >"$tree/program"
	chmod +x "$tree/program"
}

# $1: the expected report on the current tree.
expect_refusal() {
	if output=$(sh "$check" "$tree" "$tree/program"); then
		echo "not detected: $1"
		failed=1
	elif ! printf '%s\n' "$output" | grep -qF "$1"; then
		echo "expected the report '$1', got: $output"
		failed=1
	fi
	make_tree
}

make_tree
sh "$check" "$tree" "$tree/program" || failed=1

yes line | head -n 200 >>"$tree/README.md"
expect_refusal 'README.md: has 201 lines'
echo 'install_data()' >"$tree/extra/doc/meson.build"
expect_refusal 'extra/doc/meson.build: does not install a.md'
echo '# A' >"$tree/README.md"
expect_refusal 'README.md: does not link extra/doc/a.md'
echo >"$tree/extra/man/mininb.1.scd"
expect_refusal 'extra/man/mininb.1.scd: does not name a.md'
echo 'See [a](a.md) and [b](b.md) there.' >"$tree/extra/doc/a.md"
expect_refusal 'extra/doc/a.md: links b.md'
printf '#!/bin/sh\necho "what takes the time"\n' >"$tree/program"
expect_refusal 'mininb.1: what takes the time'
echo 'All but for this.' >>"$tree/extra/tutorial.md"
expect_refusal 'extra/tutorial.md: All but for this.'
echo 'Its kin' >>"$tree/extra/man/mininb-result.5.scd.in"
expect_refusal 'extra/man/mininb-result.5.scd.in: Its kin'

exit $failed
