# Completion of annals for fish. Once:
#
#     annals completion fish > ~/.config/fish/completions/annals.fish

function __annals_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~' "$HOME" -- $words[1])
    set -l lines ($program __complete $words[2..-1] "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive (string replace : '' -- $lines[-1])
    set -e lines[-1]
    # fish replaces the whole word, with the flag before "=".
    set -l flag (string match -r -- '^-[^=]*=' $current)
    switch $directive
        case 0 16
            set -l value (string replace -r -- '^-[^=]*=' '' $current)
            for path in (complete -C "'' $value")
                if test $directive = 0; or string match -q '*/' -- (string split \t -- $path)[1]
                    printf '%s%s\n' "$flag" $path
                end
            end
        case '*'
            for line in $lines
                printf '%s%s\n' "$flag" $line
            end
    end
end

complete -c annals -f -k -a '(__annals_complete)'
complete -c kubectl-annals -f -k -a '(__annals_complete)'
