#!/usr/bin/env bash
# The completion scripts, driven as a shell drives them.
. "$(dirname "$0")/tap.sh"

"$TRADEWIND" completion bash >complete.bash
check "the bash script parses" bash -n complete.bash
# shellcheck disable=SC1091
. ./complete.bash
check "it registers itself" includes "$(complete -p tradewind)" "-F _tradewind"

# completes WORD...: what the last word may become, sorted, on one line
completes() {
    COMP_WORDS=(tradewind "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _tradewind
    printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ' | sed 's/ $//'
}

is "$(completes hel)" "help" "a command"
contains "$(completes '')" "completion" "all commands"
is "$(completes --ver)" "--version" "an option of the program"
is "$(completes completion '')" "bash zsh" "alternatives of an operand"
is "$(completes completion z)" "zsh" "one of them"
is "$(completes help --m)" "--man" "an option"
is "$(completes help --)" "--help --json --man --operations" "all options"
contains "$(completes help '')" "completion" "commands as operands of help"
is "$(completes kitchen '')" "" "nothing for an unknown command"

commands=$("$TRADEWIND" help | sed -n '1,/^Options:/s/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p')
check "help lists commands" test -n "$commands"
while read -r -a words; do
    "$TRADEWIND" help "${words[@]}" | sed -n 's/^  \(-[a-z], \)\?\(--[a-z0-9-]*\).*/\2/p' >options
    echo --help >>options
    is "$(completes "${words[@]}" --)" "$(sort -u options | tr '\n' ' ' | sed 's/ $//')" \
        "all options of ${words[*]}"
done <<<"$commands"

mkdir files files/sub
touch 'files/pipe line.yaml' files/data.csv
is "$(completes plan --solver '')" "exact exhaustive greedy" "alternatives of a value"
is "$(completes plan --solver gr)" "greedy" "one of them"
is "$(completes plan --solver = gr)" "greedy" "one of them behind ="
is "$(completes plan --solver =)" "exact exhaustive greedy" "all of them behind ="
contains "$(completes plan --objective '')" "weighted:" "a value that goes on"
is "$(completes plan files/p)" "files/pipe line.yaml" "a file as operand"
contains "$(completes plan --svg files/)" "files/data.csv" "a file as value"
is "$(completes plan --catalog files/)" "files/sub" "a directory as value"
is "$(completes catalog list --accelerator '')" "" "nothing for NAME[:COUNT]"
contains "$(completes catalog i)" "import" "a command of a group"
contains "$(completes profile s)" "show" "a command of a group that is a command, too"
is "$(completes '' | tr ' ' '\n' | uniq -d)" "" "each first word once"
contains "$(completes run files/p)" "files/pipe line.yaml" "its operand"
contains "$(completes catalog import --format '')" "skypilot" "an option's value there"

"$TRADEWIND" completion zsh >_tradewind
contains "$(<_tradewind)" "#compdef tradewind" "the zsh script names its command"
contains "$(<_tradewind)" 'weighted\:)' "colons in its words are escaped"
if command -v zsh >/dev/null; then
    check "the zsh script parses" zsh -n _tradewind
else
    skip "the zsh script parses" "zsh is not installed"
fi
done_testing
