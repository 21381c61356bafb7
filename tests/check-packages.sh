#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that debian/ matches the source tree: check-packages.sh SOURCE_TREE VERSION
#
# Checked are a package with its plugin for each engine whose library Debian has, and its dependency
# in mininb-engines-all. Other modules must be in some package. The build dependencies must contain
# the engines' libraries. The version must match. extra/package.sh, which takes longer, tests
# whether the packages can be built and installed. Lists each error and fails.
set -eu

cd "$1"
version=$2
wrong=0

say() {
	echo "$*"
	wrong=1
}

engines=$(sed -n "s/^option('\([a-z0-9_]*\)', type: 'feature'.*plugin.*/\1/p" meson_options.txt)
[ -n "$engines" ] || say "meson_options.txt: no engines were found"

for engine in $engines; do
	package=mininb-$engine
	grep -qx "Package: $package" debian/control ||
		say "debian/control: no package $package"
	sed -n '/^Package: mininb-engines-all$/,/^Description/p' debian/control |
		grep -q "^ $package (= \${binary:Version})" ||
		say "debian/control: mininb-engines-all lacks $package"
	[ "$(cat "debian/$package.install" 2>/dev/null)" = "usr/lib/*/mininb/plugins/$engine.so" ] ||
		say "debian/$package.install: has to be usr/lib/*/mininb/plugins/$engine.so"
	[ "$(cat "debian/$package.docs" 2>/dev/null)" = "plugins/$engine/README.md" ] ||
		say "debian/$package.docs: has to be plugins/$engine/README.md"
	libraries=$(sed -n "s/^engine_packages += {'$engine': '\(.*\)'}\$/\1/p" \
		"plugins/$engine/meson.build")
	[ -n "$libraries" ] || say "plugins/$engine/meson.build: names no Debian package"
	for library in $libraries; do
		sed -n '/^Build-Depends:/,/^[^ B]/p' debian/control | grep -qE "^ ${library}([, ]|\$)" ||
			say "debian/control: Build-Depends lacks $library"
	done
done

for file in debian/mininb-*.install; do
	engine=${file#debian/mininb-}
	engine=${engine%.install}
	echo "$engines" | grep -qx "$engine" || say "$file: meson_options.txt has no $engine"
done

# No other package's pattern may match the files that are installed next to the plugins.
modules=$(sed -n "s/.*shared_module('\([a-z-]*\)'.*/\1/p" lib/*/meson.build)
for module in $modules; do
	cat debian/rules debian/*.install | grep -qF "usr/lib/*/mininb/lib$module.so" ||
		say "debian/: lib$module.so is in no package"
done

packaged=$(sed -n '1s/^mininb (\(.*\)) .*/\1/p' debian/changelog)
[ "$packaged" = "$version" ] ||
	say "debian/changelog: its version is $packaged, that of meson.build $version"

exit $wrong
