#!/bin/bash
# Prediction intervals hold what they claim on runs that the model does not know: rounds of a profile
# and of a copy of its program take turns, so that whatever else the machine does falls on both.
# Of n runs held out, each inside with probability 0.95, as few as the bound below or fewer come once
# in 1,000 times.
# Soak: at most 1800 s
. "$(dirname "$0")/scratch.bash"
export TRADEWIND_BROKER_IDLE_S=20
rounds=${ROUNDS:-6}
quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
mkdir code
cp "$(dirname "$TRADEWIND")/tests/tools/spin" code/spin || exit 1
cp code/spin code/copy

for ((round = 1; round <= rounds; round++)); do
    # Seeds of its own, so that each round is new work.
    "$TRADEWIND" profile spin --code code --cpus 0.5,1 --mems 256 \
        -- ./spin --n '{20,60,180}' --seed "{$((2 * round)),$((2 * round + 1))}" >/dev/null 2>&1 || status=1
    for cpus in 0.5 1; do
        "$TRADEWIND" sweep "held-$round-$cpus" --json --code code --cpus $cpus --memory 256 \
            -- ./copy --n '{30,50,90,150}' --seed "{$((2 * round)),$((2 * round + 1))}" >"held-$round-$cpus.json" \
            2>/dev/null || status=1
    done
done

python3 - "$TRADEWIND" held-*.json <<'END' || status=1
import json, math, subprocess, sys
inside = n = 0
for path in sys.argv[2:]:
    for job in json.load(open(path))['jobs']:
        told = json.loads(subprocess.run(
            [sys.argv[1], 'profile', 'predict', 'spin', '--cpus', str(job['cpus']), '--memory', '256',
             '--json', '--values', 'n=%d,seed=%d' % (job['tags']['n'], job['tags']['seed'])],
            check=True, capture_output=True).stdout)
        n += 1
        inside += told['low_s'] <= job['runtime_s'] <= told['high_s']
chance, bound = 0, 0
while True:
    chance += math.comb(n, bound) * 0.95 ** bound * 0.05 ** (n - bound)
    if chance > 1e-3:
        break
    bound += 1
print('%d of %d runs held out lie in their intervals; at least %d must' % (inside, n, bound))
sys.exit(inside < bound)
END
exit $status
