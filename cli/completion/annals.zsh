#compdef annals kubectl-annals
# Completion of annals for zsh. In ~/.zshrc, behind compinit:
#
#     source <(annals completion zsh)
#
# or as a file _annals in a folder of $fpath.

_annals() {
	local -a lines offers
	local line text meaning directive
	lines=("${(@f)$("${words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	directive=${lines[-1]#:}
	lines[-1]=()
	if [[ ${words[CURRENT]} == -*=* ]]; then
		compset -P '-*='
	fi
	for line in "${lines[@]}"; do
		text=${line%%$'\t'*}
		meaning=''
		[[ $line == *$'\t'* ]] && meaning=":${line#*$'\t'}"
		offers+=("${text//:/\\:}$meaning")
	done
	case $directive in
	0) _files ;;
	16) _files -/ ;;
	<->)
		if (( directive & 2 )); then
			_describe -t annals annals offers -S ''
		else
			_describe -t annals annals offers
		fi
		;;
	esac
}

if [[ ${funcstack[1]} == _annals ]]; then
	_annals "$@"
elif (( ${+functions[compdef]} )); then
	compdef _annals annals kubectl-annals
fi
