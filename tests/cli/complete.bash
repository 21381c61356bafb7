# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC1090
#
# Prints bash's offers at the end of each LINE, one line of words each: complete.bash SCRIPT LINE...
# SCRIPT is the completion. '=' is a separate word, as in readline. The '=' at the end of an offered
# word is omitted.
compopt()
{
	:
}
source "$1"
shift
for line; do
	read -ra COMP_WORDS <<<"${line//=/ = }"
	[[ $line != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_mininb
	printf '%s\n' "${COMPREPLY[@]%=}" | sort -u | tr '\n' ' '
	echo
done
