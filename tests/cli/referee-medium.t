#!/bin/bash
# Cases with too many combinations to look at: the planner against a mixed-integer program, and
# its answers to related questions against each other.
# TRADEWIND_SLOW=1, for a program built with sanitizers, tries fewer cases.
. "$(dirname "$0")/tap.sh"
medium=$root/tests/referee/medium.py
python=/usr/bin/python3
small=12..40 seeds=1..7 alone=8..10
if [[ -n ${TRADEWIND_SLOW:-} ]]; then
    small=28..32 seeds=1..2 alone=8..8
fi

# agree OPTION...: what the comparison prints is shown only when it fails
agree() {
    local output
    output=$($python "$medium" "$@" 2>&1) && return
    sed 's/^\(# \)\?/# /' <<<"$output"
    return 1
}

if command -v cbc >/dev/null; then
    check "the mixed-integer program is right, seeds $small" agree --small --seeds $small
    check "plans score what its plans score, seeds $seeds" \
        agree --seeds $seeds --max-places 12
else
    skip "the mixed-integer program is right" "no cbc (package coinor-cbc)"
    skip "plans score what its plans score" "no cbc (package coinor-cbc)"
fi
check "answers fit together, seeds $alone" agree --alone --seeds $alone

# 35 has no plan at all; in 40 tables were split whose messages met in no state, which was once taken
# for a proof that there is no plan.
anneal() {
    local output
    output=$($python "$root/tests/referee/anneal.py" --seed "$1" --steps 1000 2>&1) && return
    sed 's/^\(# \)\?/# /' <<<"$output"
    return 1
}
for seed in 35 40; do
    check "annealing finds no better plan, seed $seed" anneal $seed
done
done_testing
