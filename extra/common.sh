# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the scripts of this directory share. Sourced, not run.

# One language for messages that are parsed, one decimal point for times.
export LC_ALL=C

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly repo
script=$(basename "$0")
readonly script

say()
{
	printf '%s: %s\n' "$script" "$*" >&2
}

die()
{
	say "$*"
	exit 1
}

usage_error()
{
	say "$*; see --help"
	exit 2
}

# The comment at the head of the script is its help.
show_help()
{
	awk 'NR > 3 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"
}

readonly kept_variables=CC,CXX,CXXFLAGS,CI,HDR_PYTHON,ASAN_OPTIONS,UBSAN_OPTIONS,TSAN_OPTIONS,CK_TIMEOUT_MULTIPLIER

# Run a command as the user who called sudo, if the repository is that user's:
# what is made in it must not become root's.
as_owner()
{
	if ((EUID == 0)) && [[ ${SUDO_UID:-0} != 0 && $(stat -c %u "$repo") == "${SUDO_UID:-0}" ]]; then
		sudo -H -u "#$SUDO_UID" --preserve-env="$kept_variables" "$@"
	else
		"$@"
	fi
}

# Make the build directory $1 with the options that follow, unless it is made.
configure()
{
	local dir=$1
	shift
	[[ -f $dir/build.ninja ]] || as_owner meson setup "$dir" "$repo" "$@"
}

# Seconds since $1, which is an earlier $EPOCHREALTIME, as a whole number.
seconds_since()
{
	printf '%d' $(((${EPOCHREALTIME/./} - ${1/./} + 500000) / 1000000))
}

# 75 -> 1m 15s
human_time()
{
	local s=$1
	if ((s < 60)); then
		printf '%ds' "$s"
	elif ((s < 3600)); then
		printf '%dm %02ds' $((s / 60)) $((s % 60))
	else
		printf '%dh %02dm' $((s / 3600)) $((s % 3600 / 60))
	fi
}

# Those of the packages given that are not installed.
missing()
{
	local package
	for package; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
			printf '%s\n' "$package"
	done
}

as_root()
{
	if ((EUID == 0)); then
		env DEBIAN_FRONTEND=noninteractive "$@"
	else
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

# A fresh system knows no packages yet, and what a stale one knows is gone from
# the mirror: only then are the lists fetched.
install_packages()
{
	if apt-cache show "$@" >/dev/null 2>&1 &&
		as_root apt-get install -y --no-install-recommends "$@"; then
		return
	fi
	as_root apt-get update || die "apt-get update failed"
	as_root apt-get install -y --no-install-recommends "$@" ||
		die "apt-get could not install: $*"
}

# Install those of the packages given that are missing.
need()
{
	local needed
	needed=$(missing "$@")
	[[ -n $needed ]] || return 0
	mapfile -t needed <<<"$needed"
	((EUID == 0)) || command -v sudo >/dev/null ||
		die "no root and no sudo; as root: apt-get install --no-install-recommends ${needed[*]}"
	install_packages "${needed[@]}" >&2
}
