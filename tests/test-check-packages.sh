#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-packages.sh finds each kind of error: test-check-packages.sh SOURCE_TREE VERSION
set -eu

root=$1
version=$2
check=$root/tests/check-packages.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A copy, changed by the command $2..., must be rejected with the text $1.
refuses() {
	text=$1
	shift
	rm -rf "$dir/tree"
	mkdir "$dir/tree"
	(cd "$root" && cp -r debian meson_options.txt "$dir/tree" &&
		for file in plugins/*/meson.build lib/*/meson.build; do
			mkdir -p "$dir/tree/${file%/*}"
			cp "$file" "$dir/tree/$file"
		done)
	(cd "$dir/tree" && "$@")
	if sh "$check" "$dir/tree" "$version" >"$dir/said"; then
		echo "not detected: $text"
		exit 1
	fi
	grep -qF "$text" "$dir/said" || {
		echo "'$text' is not in the report:"
		cat "$dir/said"
		exit 1
	}
}

refuses 'no package mininb-lmdb' sed -i 's/^Package: mininb-lmdb$/Package: mininb-other/' debian/control
refuses 'mininb-engines-all lacks mininb-lmdb' sed -i '/^ mininb-lmdb (/d' debian/control
refuses 'debian/mininb-lmdb.install: has to be' rm debian/mininb-lmdb.install
refuses 'Build-Depends lacks liblmdb-dev' sed -i '/^ liblmdb-dev,/d' debian/control
refuses 'meson_options.txt has no lmdb' sed -i "/^option('lmdb'/d" meson_options.txt
refuses 'libmininb-recorder.so is in no package' sed -i '/recorder/d' debian/rules
refuses 'its version is 0.0' sed -i '1s/(.*)/(0.0)/' debian/changelog
