# SPDX-License-Identifier: BSD-2-Clause
#
# Prints zsh's offers for TAB at the end of each LINE, one line of words each, in order:
# complete.zsh DIRECTORY LINE... DIRECTORY contains _mininb. An interactive zsh completes in its own
# terminal, and a replacement of compadd records all candidates.
emulate -R zsh
zmodload zsh/zpty

local dir=$1 line out=$PWD/offered i
shift
rm -f $out $out.done
cat >$out.zsh <<'END'
	PROMPT= RPROMPT=
	fpath=($dir $fpath)
	autoload -Uz compinit
	compinit -u -D
	compadd()
	{
		local arg
		local -a __offered
		for arg; do # a query for matches adds no candidates
			[[ $arg != (-|--) ]] || break
			[[ $arg != -[OAD] ]] || { builtin compadd "$@"; return }
		done
		builtin compadd -O __offered "$@"
		print -rl -- $__offered >>$out
		builtin compadd "$@"
	}
	press()
	{
		zle complete-word
		: >$out.done
	}
	zle -N press
	bindkey '^I' press
END
zpty shell zsh -f -i
zpty -w shell "dir=${(q)dir} out=${(q)out}; cd ${(q)PWD}; . ${(q)out}.zsh; : >${(q)out}.ready"
# Read the terminal all the time, because a shell that cannot write does not continue.
wait_for()
{
	local text
	for ((i = 0; i < 1500; i++)); do
		while zpty -rt shell text; do :; done
		[[ ! -e $1 ]] || return 0
		sleep 0.02
	done
	print -u2 "complete.zsh: $1 never appeared"
	exit 1
}
wait_for $out.ready
for line; do
	rm -f $out $out.done
	zpty -w -n shell $'\C-u'$line$'\t'
	wait_for $out.done
	: >>$out
	print -r -- ${(f)"$(sort -u $out)"}
done
zpty -d shell
