# SPDX-License-Identifier: BSD-2-Clause
#
# What zsh offers where TAB is pressed at the end of a line: for each LINE a line of
# words in order, complete.zsh DIRECTORY LINE..., where DIRECTORY has _mininb. An interactive
# zsh in a terminal of its own completes, with compadd watched: it is by that all candidates
# go.
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
		for arg; do # asked what fits, and adds nothing
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
# The terminal is emptied all the while: a shell that may not write does not go on.
wait_for()
{
	local text
	for ((i = 0; i < 1500; i++)); do
		while zpty -rt shell text; do :; done
		[[ ! -e $1 ]] || return 0
		sleep 0.02
	done
	print -u2 "complete.zsh: $1 did not come"
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
