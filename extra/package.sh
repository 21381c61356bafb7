#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Make the Debian packages of the committed files: mininb, libmininb0, libmininb-dev, one for each
# engine, and mininb-engines-all, which depends on all engines.
#
#   extra/package.sh [DIR]          into DIR, by default <repository>/build-packages
#   extra/package.sh --try [DIR]    then also run lintian, and install mininb and the engine
#                                   leveldb in a fresh Debian to test them there
#
# The script installs missing build dependencies by apt. That needs a network, and so does --try,
# which fetches a small Debian with mmdebstrap. Without a network, --try unpacks the packages and
# runs the program from there. Run the script as root or with sudo rights. You can run it again at
# any time; it replaces packages of the same version in DIR.
#
# Exit status: 0 success; 1 a step failed; 2 wrong usage.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

temporary=

# Unpack the committed tree, without files of other builds.
unpack_source()
{
	local source=$temporary/mininb
	mkdir "$source"
	git -C "$repo" -c safe.directory="$repo" archive HEAD | tar -x -C "$source" ||
		die "$repo is not a git checkout; the packages are made of committed files"
}

build()
{
	local unmet
	need dpkg-dev debhelper
	cd "$temporary/mininb"
	unmet=$(dpkg-checkbuilddeps 2>&1 | sed 's/.*dependencies: //; s/([^)]*)//g' || true)
	# shellcheck disable=SC2086 # names, a word each
	[[ -z $unmet ]] || need $unmet
	say "building; the log is $dir/build.log if it fails"
	DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck noautodbgsym parallel=$(nproc)} \
		dpkg-buildpackage -b -uc -us >"$temporary/build.log" 2>&1 || {
		as_owner cp "$temporary/build.log" "$dir/"
		tail -n 20 "$temporary/build.log" >&2
		die "dpkg-buildpackage failed"
	}
	cd "$repo"
}

ask_lintian()
{
	need lintian
	local options=(-E --fail-on error)
	((EUID != 0)) || options+=(--allow-root)
	lintian "${options[@]}" "$temporary"/*.changes || die "lintian found an error"
}

# Write the commands that test an installation of only mininb and the engine leveldb.
write_trial()
{
	cat >"$temporary/trial" <<-'END'
		set -eux
		mininb --version
		mininb workloads | grep '^ycsb-a '
		mininb engines
		test "$(mininb engines | sed '1d; /^$/,$d; s/ .*//' | tr '\n' ' ')" = 'leveldb memory null '
		cd "$(mktemp -d)"
		mininb keys -c 1000
		mininb put --driver=leveldb -c 1000
		mininb get --driver=leveldb -c 1000
		mininb crash --driver=leveldb --power --rounds=2
	END
}

# Test in a temporary Debian: create its root, install the packages by apt, run the trial, and
# remove everything.
try_in_fresh_root()
{
	local suite
	suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
	mkdir "$temporary/trial.d"
	cp "$temporary"/{mininb,libmininb0,mininb-leveldb}_*.deb "$temporary/trial" "$temporary/trial.d"
	# shellcheck disable=SC2016 # of the shell that mmdebstrap starts
	mmdebstrap --variant=apt --format=null \
		--customize-hook="copy-in '$temporary/trial.d' /root" \
		--customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /root/trial.d/*.deb"' \
		--customize-hook='chroot "$1" sh /root/trial.d/trial' \
		"$suite" - >"$temporary/trial.log" 2>&1
}

# Test without root and network: unpack the packages side by side into a directory. The library
# looks for plugins relative to its own path.
try_unpacked()
{
	local root=$temporary/root package libdir
	for package in "$temporary"/{mininb,libmininb0,mininb-leveldb}_*.deb; do
		dpkg-deb -x "$package" "$root"
	done
	libdir=$(dirname "$root"/usr/lib/*/libmininb.so.0)
	PATH=$root/usr/bin:$PATH LD_LIBRARY_PATH=$libdir MININB_PLUGIN_PATH=$libdir/mininb/plugins \
		MININB_WORKLOAD_PATH=$root/usr/share/mininb/workloads \
		sh "$temporary/trial" >"$temporary/trial.log" 2>&1
}

try_packages()
{
	ask_lintian
	need mmdebstrap
	write_trial
	say "testing the packages in a fresh Debian"
	if try_in_fresh_root; then
		say "the packages work in a fresh Debian"
	elif grep -q '^+ mininb' "$temporary/trial.log"; then
		tail -n 20 "$temporary/trial.log" >&2
		die "the packages do not work in a fresh Debian"
	else
		tail -n 3 "$temporary/trial.log" >&2
		say "cannot create a fresh Debian; testing the unpacked packages instead"
		try_unpacked || {
			tail -n 20 "$temporary/trial.log" >&2
			die "the unpacked packages do not work"
		}
		say "the unpacked packages work"
	fi
}

main()
{
	local is_tried=
	case ${1-} in
	--try)
		is_tried=yes
		shift
		;;
	-h | --help)
		show_help
		exit 0
		;;
	-*) usage_error "unknown option $1" ;;
	esac
	(($# <= 1)) || usage_error "only one DIR is allowed"
	dir=${1-$repo/build-packages}
	as_owner mkdir -p "$dir"
	dir=$(cd "$dir" && pwd)

	temporary=$(mktemp -d)
	trap 'rm -rf "$temporary"' EXIT
	chmod 755 "$temporary" # so that who owns the repository can copy, and apt can read
	unpack_source
	build
	[[ -z $is_tried ]] || try_packages
	as_owner cp "$temporary"/*.deb "$temporary"/*.changes "$temporary"/*.buildinfo "$dir/"
	printf '%s\n' "$dir"/*.deb
}

main "$@"
