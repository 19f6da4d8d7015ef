# train.sh --lr RATE: gradient descent on (w - 3)^2, nine steps; prints the loss after each.
awk -v lr="$2" 'BEGIN {
    for (step = 1; step <= 9; step++) {
        w += lr * 2 * (3 - w)
        printf "[TRADEWIND_METRIC] loss %d %.4g\n", step, (w - 3) ^ 2
    }
    print w >(ENVIRON["TRADEWIND_OUTPUT"] "/weight")
}'
