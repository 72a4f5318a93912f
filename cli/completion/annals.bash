# Completion of annals for bash. In ~/.bashrc:
#
#     source <(annals completion bash)

# The words as annals would get them: bash splits at "=" and ":", too. Into the array _annals_words, the last one as far as the cursor.
__annals_read_words() {
	local rest=${COMP_LINE:0:COMP_POINT} word i
	_annals_words=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((i > 0)) && [[ $rest && $rest != [[:space:]]* ]]; then
			[[ $rest == "$word"* ]] || word=$rest # the cursor is within it
			_annals_words[${#_annals_words[@]}-1]+=$word
		else
			rest=${rest#"${rest%%[![:space:]]*}"}
			[[ $rest == "$word"* ]] || word=$rest
			_annals_words+=("$word")
		fi
		rest=${rest#"$word"}
	done
}

_annals() {
	local _annals_words lines directive program current value i
	__annals_read_words
	program=${_annals_words[0]/#\~/$HOME}
	current=${_annals_words[${#_annals_words[@]}-1]}
	mapfile -t lines < <("$program" __complete "${_annals_words[@]:1}" 2>/dev/null)
	COMPREPLY=()
	[[ ${#lines[@]} -gt 0 ]] || return
	directive=${lines[${#lines[@]}-1]#:}
	unset "lines[${#lines[@]}-1]"
	value=$current
	[[ $current == -*=* ]] && value=${current#*=}
	case $directive in
	0 | 16)
		compopt -o filenames 2>/dev/null
		if [[ $directive == 0 ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$value")
		else
			mapfile -t COMPREPLY < <(compgen -d -- "$value")
		fi
		;;
	*)
		COMPREPLY=("${lines[@]%%$'\t'*}")
		((directive & 2)) && compopt -o nospace 2>/dev/null
		;;
	esac
	# What bash replaces is behind the last sign at which it splits words.
	if [[ $current == -*=* && $COMP_WORDBREAKS != *=* ]]; then
		COMPREPLY=("${COMPREPLY[@]/#/${current%%=*}=}")
	elif [[ $value == *:* && $COMP_WORDBREAKS == *:* ]]; then
		for i in "${!COMPREPLY[@]}"; do
			COMPREPLY[i]=${COMPREPLY[i]#"${value%"${value##*:}"}"}
		done
	fi
}

complete -F _annals annals kubectl-annals
