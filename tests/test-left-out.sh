#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Meson omits and names a plugin that does not compile, unless the user requested it. The other
# plugins are built: test-left-out.sh SOURCE_TREE MESON
set -eu

root=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '#include <%s>\n' gdbm.h depot.h | cc -I/usr/include/qdbm -fsyntax-only -xc - || {
	echo "skipped: the header of GDBM or QDBM is missing"
	exit 77
}

# Configured with gdbm=$1 and a GDBM library with another interface, Meson must print a line that
# matches each of the other arguments.
expect() {
	option=$1
	shift
	for pattern in "$@"; do
		grep -q "$pattern" "$dir/$option" || {
			echo "gdbm=$option: no line like '$pattern':"
			cat "$dir/$option"
			exit 1
		}
	done
}

others=$(sed -n "s/^option('\([a-z]*\)', type: 'feature'.*/-D\1=disabled/p" "$root/meson_options.txt" |
	grep -v dbm)
export CC=cc
for option in auto enabled; do
	# shellcheck disable=SC2086
	"$@" setup "$dir/build-$option" "$root" -Dtests=false $others -Dqdbm=auto -Dgdbm=$option \
		'-Dc_args=-Dgdbm_close()=1' >"$dir/$option"
done
expect auto '^ *gdbm *: NO, it does not compile' '^ *qdbm *: YES' \
	'WARNING: the plugin gdbm is left out'
expect enabled '^ *gdbm *: YES' '^ *qdbm *: YES'
