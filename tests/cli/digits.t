#!/usr/bin/env bash
# examples/digits.yaml: a real training with scikit-learn, from the split to the measured accuracy.
. "$(dirname "$0")/tap.sh"

/usr/bin/python3 -c 'import sklearn' 2>/dev/null ||
    skip_all "scikit-learn is missing (Debian's python3-sklearn)"

# run ARGUMENTS...: the example, with its output in run.out
run() {
    "$TRADEWIND" run "$root/examples/digits.yaml" --yes "$@" >run.out 2>&1
}

check "trains" run || sed 's/^/# /' run.out
check "trains with another learning rate" run --env LR=0.01 || sed 's/^/# /' run.out

check "the split does not depend on the learning rate" grep -Eq '^  prep +reused' run.out
check "training does" grep -Eq '^  train +started +job [0-9]+, env LR: 0.001 -> 0.01$' run.out
compared=$("$TRADEWIND" run compare 1 2)
check "the learning rate differs" grep -Eq '^LR +0.001 +0.01$' <<<"$compared"
check "the second run is better" grep -Eq '^accuracy +0\.[0-9]+ +0\.[0-9]+ \*$' <<<"$compared"
lacks "$compared" EPOCHS "what is equal is left out"
is "$("$TRADEWIND" find 'kind=job LR>0 loss<2' --min loss | awk 'NR == 2 {print $1, $3}')" "job:4 0.01" \
    "find has parameters and metrics"

# Chance is 0.1. A linear model reaches about 0.95 on these digits, and a model that knows all of
# them has seen the test digits.
best=$("$TRADEWIND" find 'kind=set name=digits.evaluate version=2' --json |
    sed -n 's/.*"accuracy": \([0-9.]*\).*/\1/p')
check "the accuracy $best is that of such networks" \
    awk "BEGIN {exit !(\"$best\" != \"\" && $best > 0.9 && $best < 1)}"
# A quarter of 1,797 digits is for testing.
is "$("$TRADEWIND" cat /digits.evaluate/report/accuracy.txt | sed 's/^[0-9]* //')" \
    "of 450 digits recognized: $best" "the report has it"
is "$("$TRADEWIND" job metrics 2 --json | grep -c '"step"')" 20 "a point of loss per epoch"
"$TRADEWIND" broker --stop >broker.out 2>&1
done_testing
