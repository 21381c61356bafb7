#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Install the packages that mininb needs on Debian 12, Debian 13 or Ubuntu 24.04. If all are
# installed, the script does nothing and needs neither a network nor root. You can run it again at
# any time.
#
#   extra/setup.sh               packages to build, run and test
#   extra/setup.sh --build-only  packages to build and run
#   extra/setup.sh --list        print the packages, one a line, with the reason; install nothing
#
# Run the script as root or with sudo rights. It uses apt, without recommended packages. Servers are
# installed without being started or enabled; servers that were installed before do not change.
# Ubuntu has no package of Chromium: the tests that need a browser are skipped there.
#
# One part does not come from apt: hdrhistogram of PyPI, with which the tests verify the histogram.
# The script installs it into <repository>/build-venv. If that fails, the script prints a warning,
# and those tests are skipped.
#
# Exit status: 0 everything is installed; 1 an installation failed; 2 wrong usage.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly venv=$repo/build-venv
readonly oracle=hdrhistogram==0.10.8

# package | reason
readonly to_build='
gcc              | the compiler
libc6-dev        | headers of the C library; gcc only recommends them
meson            | the build, 1.0.1 or later
ninja-build      | what meson drives
pkg-config       | how meson finds zlib and xxhash
zlib1g-dev       | compressed histograms
libxxhash-dev    | checksums of values; headers only
libjansson-dev   | result files
libleveldb-dev   | the leveldb engine
libkyotocabinet-dev | the kyotocabinet engine
libdb5.3-dev     | the berkeleydb engine
liblmdb-dev      | the lmdb engine
librocksdb-dev   | the rocksdb engine
libwiredtiger-dev | the wiredtiger engine
libsqlite3-dev   | the sqlite engine
libmariadb-dev   | the mariadb engine
libtkrzw-dev     | the tkrzw engine
libtokyocabinet-dev | the tokyocabinet engine
libgdbm-dev      | the gdbm engine
libqdbm-dev      | the qdbm engine
libtdb-dev       | the tdb engine
libpmemobj-dev   | the fptree engine
libpmem-dev      | the fptree engine
libpq-dev        | the postgresql engine
libssl-dev       | encrypted connections to servers
libfabric-dev    | connections over InfiniBand and the like
scdoc            | the manual pages
'
readonly to_test='
g++               | the public headers must be valid C++ too, and an example is in C++
rustc             | an example of a plugin is in Rust
cargo             | what builds it, without a network
libjudy-dev       | the engine of the tutorial
check             | unit tests in C
libopenmpi-dev    | ranks of one run, by Open MPI
openmpi-bin       | its mpirun
libmpich-dev      | ranks of one run, by MPICH
mpich             | its mpirun
git               | which files are ours, for the tests that look at each of them
bats              | tests of the program as a user runs it
jq                | figures of results in the tests of the program
clang             | the second compiler
libclang-rt-dev   | its sanitizers; clang only recommends them
llvm              | llvm-symbolizer: file and line in what they report
clang-format      | the style of the code is checked
shellcheck        | the scripts are checked
valgrind          | leaks and uninitialised bytes, engine included
mandoc            | the manual pages are checked
zsh               | its completion is tried in it
abigail-tools     | abidiff: the public interface stays compatible
gnuplot-nox       | our plots are drawn
python3-venv      | a place for hdrhistogram
python3-jsonschema | result files are held to their schema
python3-dev       | to compile it on machines for which PyPI has no binary
'
# Servers that mininb starts itself. Their services are neither started nor enabled.
readonly servers='
redis-server      | the server of the redis engine
redis-tools       | redis-cli, which joins the nodes of a cluster
memcached         | the server of the memcached engine
mariadb-server    | the server of the mariadb engine
postgresql        | the server of the postgresql engine
libfabric-bin     | fi_info: which fabrics there are
'
# Installed only if the system has such a package.
readonly to_test_if_offered='
chromium          | pages in HTML, as a browser shows them
'

names()
{
	sed -n 's/^\([^ |]*\) *|.*/\1/p' <<<"$1"
}

# The package of clang's sanitizers, in the version of the installed clang.
sanitizers()
{
	local version
	version=$(dpkg-query -W -f '${Depends}' clang 2>/dev/null | sed 's/^clang-\([0-9]*\).*/\1/') ||
		version=
	printf 'libclang-rt-%sdev' "${version:+$version-}"
}

# Print those of the given packages that apt knows; report the others.
offered()
{
	local package
	for package; do
		if apt-cache show "$package" >/dev/null 2>&1; then
			printf '%s\n' "$package"
		else
			say "this system has no package $package; the tests that need it are skipped"
		fi
	done
}

make_venv()
{
	local version=${oracle#*==}
	if [[ $("$venv/bin/python3" -c \
		'from importlib.metadata import version as v; import hdrh; print(v("hdrhistogram"))' \
		2>/dev/null) == "$version" ]]; then
		return
	fi
	say "installing $oracle into $venv"
	if ! as_owner /usr/bin/python3 -m venv --clear "$venv" ||
		! as_owner "$venv/bin/pip" install --quiet --disable-pip-version-check "$oracle"; then
		rm -rf "$venv"
		say "$oracle is not installed; the tests that need it are skipped"
	fi
}

# Install server packages, but prevent their services from starting now or at the next boot. An
# existing policy-rc.d of the user does not change.
need_servers()
{
	local policy=/usr/sbin/policy-rc.d is_ours=no new services=() service
	new=$(missing "$@")
	[[ -n $new ]] || return 0
	if as_root test ! -e $policy; then
		is_ours=yes
		trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
		as_root chmod 755 $policy
	fi
	need "$@"
	if [[ $is_ours == yes ]]; then
		as_root rm -f $policy
		trap - EXIT
	fi
	for service in $new; do
		case $service in
		redis-server | memcached | postgresql) services+=("$service") ;;
		mariadb-server) services+=(mariadb) ;;
		esac
	done
	if ((${#services[@]} > 0)) && command -v systemctl >/dev/null; then
		as_root systemctl disable --quiet "${services[@]}" ||
			say "cannot disable the services ${services[*]}"
	fi
}

main()
{
	local with_tests=yes
	case ${1-} in
	'') ;;
	--build-only) with_tests=no ;;
	--list)
		printf '%s%s%s%s' "$to_build" "$servers" "$to_test" "$to_test_if_offered" | sed '/^$/d; s/ *| */\t/' | expand -t 24
		exit 0
		;;
	-h | --help)
		show_help
		exit 0
		;;
	*)
		usage_error "unknown option $1"
		;;
	esac

	command -v dpkg-query >/dev/null ||
		die "this system has no dpkg; --list prints the packages that mininb needs"
	local packages
	mapfile -t packages < <(names "$to_build")
	[[ $with_tests == no ]] || mapfile -t -O ${#packages[@]} packages < <(names "$to_test")
	need "${packages[@]/%libclang-rt-dev/$(sanitizers)}"
	mapfile -t packages < <(names "$servers")
	need_servers "${packages[@]}" >&2
	[[ $with_tests == yes ]] || return 0
	mapfile -t packages < <(names "$to_test_if_offered")
	mapfile -t packages < <(offered "${packages[@]}")
	need "${packages[@]}"
	make_venv >&2
}

main "$@"
