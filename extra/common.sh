# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Common functions of the scripts in this directory. Source it, do not run it.

# The C locale makes messages parseable, and decimal points the same everywhere.
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

# For a script with the arguments BUILD [NUMBER]: set $mininb and $number. $1: its default; the rest:
# the arguments of the script.
build_and_number()
{
	local default=$1
	shift
	[[ ${1-} != -h && ${1-} != --help ]] || {
		show_help
		exit 0
	}
	(($# == 1 || $# == 2)) || usage_error "give the build directory"
	mininb=$(realpath "$1")/cli/mininb
	number=${2-$default}
	readonly mininb number
	[[ -x $mininb ]] || usage_error "$mininb is not a program"
	[[ $number =~ ^[0-9]+$ ]] || usage_error "'$number' is not a number"
}

readonly kept_variables=CC,CXX,CXXFLAGS,CI,HDR_PYTHON,ASAN_OPTIONS,UBSAN_OPTIONS,TSAN_OPTIONS,CK_TIMEOUT_MULTIPLIER

# Run a command as the user who called sudo, if that user owns the repository: new files in it must
# not belong to root.
as_owner()
{
	if ((EUID == 0)) && [[ ${SUDO_UID:-0} != 0 && $(stat -c %u "$repo") == "${SUDO_UID:-0}" ]]; then
		sudo -H -u "#$SUDO_UID" --preserve-env="$kept_variables" "$@"
	else
		"$@"
	fi
}

# Create the build directory $1 with the options that follow, unless it exists.
configure()
{
	local dir=$1
	shift
	[[ -f $dir/build.ninja ]] || as_owner meson setup "$dir" "$repo" "$@"
}

# Seconds since $1, an earlier $EPOCHREALTIME, as an integer.
seconds_since()
{
	printf '%d' $(((${EPOCHREALTIME/./} - ${1/./} + 500000) / 1000000))
}

# Format seconds: 75 -> 1m 15s
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

# Print those of the given packages that are not installed.
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

# Install packages. Fetch the package lists only if they are missing or stale, so that apt does not
# know a package or cannot download it.
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

# Install those of the given packages that are missing.
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
