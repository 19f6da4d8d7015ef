#!/usr/bin/env bash
# What holds for every command: help, errors, exit codes, output that cannot be written.
. "$(dirname "$0")/tap.sh"

version=$(<"$root/VERSION")
run --version
is "$code:$out:$err" "0:tradewind $version:" "--version"

run
program_help=$out
is "$code:$err" "0:" "no arguments: help, on stdout"
contains "$out" "Usage: tradewind COMMAND" "help says how to call it"
for words in --help -h help; do
    run $words
    is "$code:$out" "0:$program_help" "$words is the same help"
done
check "help fits 100 columns" test "$(wc -L <<<"$program_help")" -le 100

run help completion
command_help=$out
contains "$out" "Usage: tradewind completion bash|zsh" "help COMMAND"
for words in "completion --help" "completion -h" "completion nonsense --help"; do
    run $words
    is "$code:$out" "0:$command_help" "$words is the same help"
done

fails 2 'no command "hepl"; did you mean "help"?' hepl
fails 2 'no command "kitchen"' kitchen
fails 2 'no command "kitchen"' help kitchen
fails 2 'no command "--verzion"' --verzion
fails 2 'no command ""' ''
fails 2 'no command "compare"; did you mean "run compare" or "job compare"?' compare 1 2
fails 2 'no command "sweeps"; did you mean "sweep ls"?' sweeps
fails 2 'no command "jobs"; did you mean "job ls"?' jobs --all
fails 2 'no command "jobs"; did you mean "job show"?' jobs show 3
# Words of other tools lead to commands that exist.
for word in launch exec status queue logs cancel stop down check show-gpus sbatch srun squeue scancel sacct sinfo add repro; do
    fails 2 "no command \"$word\"; for " "$word"
    grep -o '`tradewind [a-z ]*' <<<"$err" | sed 's/`tradewind //; s/ *$//' >pointers
    check "$word has a pointer" test -s pointers
    while read -r -a words; do
        run help "${words[@]}"
        is "$code" 0 "$word: ${words[*]} is a command"
    done <pointers
done
fails 2 'no option --mna; did you mean --man?' help --mna
fails 2 'no option -x' help -x
fails 2 'no option --yes: the command asks nothing; leave it out' job ls --yes
fails 2 'no option -y: the command asks nothing' job ls -y
fails 2 'no option --epochs; a value is written epochs=VALUE' profile predict mnist --epochs 3
fails 2 '--man takes no value' help --man=yes
fails 2 '--man is given twice' help --man --man
fails 2 'an operand is missing' completion
fails 2 'too many operands at "zsh"' completion bash zsh
fails 2 'no script for "fish"' completion fish
fails 2 'no script for "-"' completion -
fails 2 'no script for "--help"' completion -- --help

# Some groups are commands themselves, as run and run ls: these take operands instead.
"$TRADEWIND" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' >single
groups=$("$TRADEWIND" help | sed -n 's/^  \([a-z]*\) [a-z].*/\1/p' | sort | uniq -d |
    grep -vxF -f single)
for group in $groups; do
    run "$group"
    is "$code:$out" "2:" "$group alone exits 2, nothing on stdout"
    contains "$err" "tradewind $group COMMAND" "$group alone lists its commands"
    run help "$group"
    is "$code:$err" "0:" "help $group"
    run "$group" --help
    is "$code:$err" "0:" "$group --help"
    fails 2 "no command \"$group kitchen\"" "$group" kitchen
done

TRADEWIND_LOG=loud run help
check "a wrong TRADEWIND_LOG is an error that names it" failed_as 2 'TRADEWIND_LOG: no level "loud"'
TRADEWIND_LOG=debug run --version
is "$code:$out" "0:tradewind $version" "a right one is not"

if [[ -w /dev/full ]]; then
    code=0
    "$TRADEWIND" help >/dev/full 2>stderr || code=$?
    is "$code:$(<stderr)" "7:tradewind: write output: No space left on device" "a full disk: exit 7"
else
    skip "a full disk: exit 7" "no /dev/full"
fi
code=0
"$TRADEWIND" help >&- 2>stderr || code=$?
is "$code" "7" "stdout closed: exit 7"
{ "$TRADEWIND" help --man 2>stderr; echo $? >code; } | true
# The reader may have been quick or slow: the output went out, or nobody was there to read it.
check "a reader that leaves is no reason to complain" test ! -s stderr
check "but it may be noticed" grep -qx '[07]' code
mkfifo pipe
true <pipe &
{ wait $!; code=0; "$TRADEWIND" help 2>stderr || code=$?; echo $code >code; } >pipe
is "$(<code):$(<stderr)" "7:" "a reader that left before: exit 7, quietly"

fails 2 'no command "plan kitchen"; did you mean "plan"?' help plan kitchen
run help kitchen
lacks "$err" $'\033' "no colour when stderr is no terminal"
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    terminal=$(TERM=xterm script -qec "$TRADEWIND kitchen" /dev/null </dev/null)
    contains "$terminal" $'\033[1;31mtradewind:' "colour on a terminal"
    terminal=$(TERM=xterm NO_COLOR=1 script -qec "$TRADEWIND kitchen" /dev/null </dev/null)
    lacks "$terminal" $'\033' "unless NO_COLOR is set"
    # A table is as wide as the terminal is; COLUMNS wins.
    printf 'name: %s\nestimate: 1h\n' "$(printf 'x%.0s' {1..180})" >long.yaml
    for width in 80 100 200; do
        widest=$(TERM=dumb script -qec "stty cols $width; \"$TRADEWIND\" plan long.yaml" /dev/null </dev/null |
            tr -d '\r' | wc -L)
        is "$widest" "$width" "a plan is $width columns wide where the terminal is"
    done
    widest=$(TERM=dumb COLUMNS=120 script -qec "stty cols 80; \"$TRADEWIND\" plan long.yaml" /dev/null </dev/null |
        tr -d '\r' | wc -L)
    is "$widest" 120 "COLUMNS wins"
else
    skip "colour on a terminal" "no pseudo-terminal to be had"
fi

done_testing
