# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC1090
#
# Prints what bash offers at the end of each LINE, a line of words each:
# complete.bash SCRIPT LINE..., where SCRIPT is the completion. '=' is a word of its own, as in
# readline; the '=' at the end of an offered word is omitted.
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
