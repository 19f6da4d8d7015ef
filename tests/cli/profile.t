#!/usr/bin/env bash
# Profiles from the first run to the plan that goes by them: a real program that needs the processor,
# on a small grid of this machine. Times are compared with what the commands say of one another and
# with the published prices, never with a clock.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20
spin=${TRADEWIND_BUILD:-$root/build}/tests/tools/spin
[[ -x $spin ]] || skip_all "make unit builds $spin"
cp "$spin" spin

jobs_of() { # NAME: how many jobs it has
    "$TRADEWIND" job ls --json | json "sum(j['name'] == '$1' for j in d)"
}

# ---- what is refused, before anything is submitted ----

fails 2 'not a name' profile a/b -- ./spin
fails 2 'command of its own' profile -- predict ./spin
fails 2 'not a list of numbers' profile p --cpus 1,x -- ./spin --n '{1,2}'
fails 2 'not a multiple of 0.5' profile p --cpus 0.7 -- ./spin --n '{1,2}'
fails 2 'not a multiple of 256' profile p --mems 300 -- ./spin --n '{1,2}'
fails 2 '--wait-for' profile p --wait-for 2 -- ./spin --n '{1,2}'
fails 2 'not a value of an argument' profile p -- './{a,b}'
ten='{0,1,2,3,4,5,6,7,8,9}'
fails 2 'more than 10000' profile p -- ./spin "$ten" "$ten" "$ten" "$ten" "$ten"
fails 2 'that makes 18000 jobs' profile p -- ./spin "$ten" "$ten" "$ten" '{1,2}'
fails 5 'more than this machine has' profile p --cpus 1000 -- ./spin --n '{1,2}'
fails 3 'no such profile' profile p
fails 3 'no such profile' profile show p
is "$("$TRADEWIND" profile ls --json)" "[]" "nothing came of them"
is "$("$TRADEWIND" job ls --json | json 'len(d)')" 0 "nor a job"

# ---- a profile ----

profile=("$TRADEWIND" profile spin --code code --cpus '0.5,1' --mems 256)
mkdir code && mv spin code/
check "a profile" "${profile[@]}" -- ./spin --n '{5,20,80}' --seed 1 >text 2>progress
contains "$(<progress)" "6 jobs, 0 finished before, 6 submitted now" "it says what it does"
contains "$(<text)" "6 jobs, 6 finished; on 0.5, 1 CPUs and 256 MB" "and what came of it"
run profile show spin --json
is "$(json "d['name'], d['template'], d['runs'], d['done'], d['cpus'], d['memories_mb']" <<<"$out")" \
    "spin ./spin --n '{5,20,80}' --seed 1 6 6 [0.5, 1.0] [256.0]" "profile show"
is "$(json "sorted(d['model'])" <<<"$out")" "['coefficients', 'kind', 'loo_error', 'r2', 'runs']" \
    "the model"
is "$(json "d['box']" <<<"$out")" "{'cpus': [0.5, 1.0], 'memory_mb': [256.0, 256.0], 'n': [5.0, 80.0]}" \
    "the box of the runs"
# The least-squares slope over three values equally far apart (in logarithms), each with as many runs,
# is the last one's mean less the first one's, over their distance: the value between has no say.
slope_of_runs() {
    "$TRADEWIND" job ls --json | python3 -c '
import json, math, statistics, sys
jobs = [j for j in json.load(sys.stdin) if j["name"] == "profile spin"]
def mean(n):
    return statistics.fmean(math.log(j["runtime_s"]) for j in jobs if j["command"][2] == n)
print((mean("80") - mean("5")) / math.log(16))'
}
kind=$(json "d['model']['kind']" <<<"$out")
slope=$(json "d['model']['coefficients']['n']" <<<"$out")
if [[ $kind = log-linear ]]; then
    check "time grows with the work as it did in the runs" \
        python3 -c "import sys; sys.exit(abs($slope - $(slope_of_runs)) > 1e-9)"
else
    skip "time grows with the work as it did in the runs" "noise made the model $kind"
fi
is "$("$TRADEWIND" find 'kind=job profile=spin n=80' | tail -n +2 | wc -l)" 2 \
    "its jobs are found by the profile and by their arguments"

# ---- resumed and extended, never redone ----

check "the same again" "${profile[@]}" -- ./spin --n '{5,20,80}' --seed 1 >text 2>progress
contains "$(<progress)" "6 finished before, 0 submitted now" "nothing is done twice"
check "without the command" "$TRADEWIND" profile spin >text 2>progress
contains "$(<progress)" "6 finished before, 0 submitted now" "nothing either"
is "$(jobs_of 'profile spin')" 6 "six jobs still"
run profile spin --code code --cpus 1 --mems 256 --json -- ./spin --n '{5,40}' --seed 1
contains "$err" "2 jobs, 1 finished before, 1 submitted now" "one value more is one job more"
is "$(json "d['runs'], d['template'], d['model']['runs']" <<<"$out")" \
    "7 ./spin --n '{5,20,80,40}' --seed 1 7" "it is of the same profile"
fails 2 'of another command' profile spin -- ./spin --n '{5,20}' --seed 2
fails 2 'of another command' profile spin -- ./spin --n 5 --seed '{1,2}'
is "$(jobs_of 'profile spin')" 7 "which submits nothing"

# Interrupted, the jobs continue; the same command resumes.
mkfifo go1 go2 go9
cat >wait.sh <<END
read -r line <"$scratch/go\$2"
END
slow=("$TRADEWIND" profile slow --cpus 0.5 --mems 256 -- sh "$scratch/wait.sh" --n '{1,2}')

# submitted FILE: waits until the command that writes there has submitted its jobs. The file is new:
# an older one would be taken for it before the command has begun.
submitted() {
    local i
    for ((i = 0; i < 1200; i++)); do
        grep -qs "submitted now" "$1" && return
        sleep 0.05
    done
    return 1
}

"${slow[@]}" 2>interrupted &
pid=$!
submitted interrupted
kill -TERM $pid
wait $pid
is $? 130 "Ctrl-C ends the command"
contains "$(<interrupted)" "the jobs continue" "and says that the jobs continue"
is "$(jobs_of 'profile slow')" 2 "they are there"
"${slow[@]}" >text 2>again &
resumed=$!
submitted again
echo go >go1
echo go >go2
wait $resumed
is $? 5 "resumed, it waits for them"
contains "$(<again)" "2 jobs, 0 finished before, 0 submitted now" "nothing was submitted again"
contains "$(<again)" "profile slow: 2 finished runs" "two runs are too few: that is said"
is "$("$TRADEWIND" profile show slow --json | json "d['done'], d['model'], d['box']")" "2 None None" \
    "a profile without a model"

# A failure is told and retried; stragglers are killed on request.
"$TRADEWIND" profile fails --cpus 1 --mems 256 -- false --n '{1,2}' 2>progress
is $? 5 "nothing to learn from failures"
contains "$(<progress)" "2 did not finish: job" "they are named"
"$TRADEWIND" profile fails --cpus 1 --mems 256 -- false --n '{1,2}' 2>progress
contains "$(<progress)" "0 finished before, 2 submitted now" "and tried again"
cat >some.sh <<END
[ "\$2" = 9 ] && read -r line <"$scratch/go9"
exec true
END
"$TRADEWIND" profile some --cpus 0.5,1 --mems 256 --wait-for 0.7 --kill-stragglers \
    -- sh "$scratch/some.sh" --n '{1,2,3,9}' >text 2>progress
contains "$(<progress)" "2 stragglers are killed" "stragglers are killed"
"$TRADEWIND" profile some --cpus 0.5,1 --mems 256 -- sh "$scratch/some.sh" --n '{1,2,3,9}' >text 2>progress
contains "$(<progress)" "6 finished before, 0 submitted now" "and not tried again"

# ---- every run teaches ----

"$TRADEWIND" job submit --wait --code code --memory 256 -- ./spin --n 10 --seed 1 >text
run profile fit spin --json
is "$(json "d['runs'], d['model']['runs']" <<<"$out")" "7 8" "a run that nobody profiled counts"
"$TRADEWIND" job submit --wait --code code --memory 256 -- ./spin --n 10 --seed 7 >text
run profile predict spin --values n=10 --json
is "$code" 0 "what is asked knows it without being told"
is "$("$TRADEWIND" profile show spin --json | json "d['model']['runs'], d['box']['seed']")" \
    "9 [1.0, 7.0]" "and an option that changed is learned, too"

# ---- predictions ----

run profile predict spin --values n=30 --cpus 1 --memory 256 --json
is "$(json "sorted(d)" <<<"$out")" "['high_s', 'low_s', 'outside', 'outside_by', 'predicted_s']" "predict"
is "$(json "0 < d['low_s'] < d['predicted_s'] < d['high_s'], d['outside'], d['outside_by']" <<<"$out")" \
    "True 1.0 {}" "a time in its interval, inside the runs"
run profile predict spin --values n=30 --json
is "$(json "d['outside']" <<<"$out")" 1.0 "where no size is said, one that was profiled is taken"
run profile predict spin n=800,seed=1 --cpus 4 --memory 256 --json
is "$(json "d['outside'], d['outside_by']" <<<"$out")" "10.0 {'cpus': 4.0, 'n': 10.0}" "far outside"
run profile predict spin n=800 --cpus 4 --memory 256
contains "$out" "10 x outside the runs in n" "is said to people, too"
fails 2 '--values n=' profile predict spin
fails 2 'knows no m, but n' profile predict spin --values m=1
fails 2 'is not KEY=VALUE' profile predict spin --values 7
fails 3 "did you mean 'spin'" profile predict spni --values n=1
fails 5 'slow: 2 finished runs' profile predict slow --values n=1

# ---- the best size ----

# Spec: unit prices on a line from 2/3 to 4/3 of the base, 0.5 to 8 vCPU and 512 to 8192 MB.
price='lambda c, m: c * 0.031611 * (2/3 + 2/3 * (c - 0.5) / 7.5) + m / 1024 * 0.004237 * (2/3 + 2/3 * (m - 512) / 7680)'
run autoprovision spin --values n=80 --max-time 1000h --dry-run --json
is "$(json "sorted(d)" <<<"$out")" \
    "['considered', 'cost_usd', 'feasible', 'high_s', 'job', 'low_s', 'max_time_s', 'memory_mb', 'offer', 'outside', 'outside_by', 'predicted_s', 'profile', 'vcpus']" \
    "autoprovision"
is "$(json "d['feasible'], d['considered'], d['job'], d['offer']" <<<"$out")" "True 496 None None" \
    "the whole grid, and no job"
check "its cost is that of the price model" test "$(json "abs(d['cost_usd'] - ($price)(d['vcpus'], d['memory_mb']) * d['predicted_s'] / 3600) < 1e-6" <<<"$out")" = True
size=$(json "'--cpus %g --memory %g' % (d['vcpus'], d['memory_mb'])" <<<"$out")
# shellcheck disable=SC2086
check "its time is that of the profile" test \
    "$("$TRADEWIND" profile predict spin --values n=80 $size --json | json "d['predicted_s']")" = \
    "$(json "d['predicted_s']" <<<"$out")"
cheap=$(json "d['cost_usd']" <<<"$out")
run autoprovision spin --values n=80 --max-time 1000h --catalog --dry-run --json
check "the catalog's machines are looked at, too" test "$(json "d['considered'] > 1000" <<<"$out")" = True
check "none makes the answer dearer" test "$(json "d['cost_usd'] <= $cheap + 1e-9" <<<"$out")" = True
run autoprovision spin --values n=80 --max-cost 1000 --dry-run --json
fast=$(json "d['predicted_s']" <<<"$out")
check "nothing is cheaper than the cheapest, nor faster than the fastest" \
    test "$(json "d['cost_usd'] >= $cheap - 1e-9" <<<"$out")" = True
run autoprovision spin --values n=80 --max-time 1s --max-cost 1 --dry-run
is "$code" 2 "one limit at a time"
fails 2 'either --max-cost' autoprovision spin --values n=80
fails 2 'outside the runs in n, more than the 4 x that are trusted; profile values that are nearer, or go on with --yes' \
    autoprovision spin --values n=1000 --max-time 1000h </dev/null
before=$("$TRADEWIND" job ls --json | json 'len(d)')
limit=$(python3 -c "print($fast / 2)")
fails 5 'no size is within' autoprovision spin --values n=80 --max-time "$limit"
contains "$err" "the fastest of 496" "and what comes nearest"
# At a price at which even a millisecond costs more than a micro-dollar.
"$TRADEWIND" config set prices.vcpu_hour 100 >/dev/null
run autoprovision spin --values n=80 --max-cost 0 --json
is "$code:$(json "d['feasible'], d['vcpus'], d['job'], sorted(d['nearest'])[0]" <<<"$out")" \
    "5:False None None cost_usd" "no cost at all"
"$TRADEWIND" config set prices.vcpu_hour 0.031611 >/dev/null
run autoprovision spin --values n=80 --max-cost 1000 --yes
if [[ $(nproc) -lt 8 && $code != 0 ]]; then
    contains "$err" "more than this machine has" "the fastest is too large for this machine"
else
    is "$code" 0 "the fastest runs here"
    before=$((before + 1))
fi
is "$("$TRADEWIND" job ls --json | json 'len(d)')" "$before" "no job came of what cannot be"
run autoprovision spin --values n=6 --max-cost 1 --here --yes --json
job=$(json "d['job']" <<<"$out")
check "the best of this machine gets the job" "$TRADEWIND" job wait "$job" >text
is "$("$TRADEWIND" job show "$job" --json | json "d['command'], d['code'], d['tags']['autoprovision']")" \
    "['./spin', '--n', '6', '--seed', '1'] @code-code:1 spin" "with the command and code of the profile"
"$TRADEWIND" config set prices.vcpu_hour 3.1611 >/dev/null
run autoprovision spin --values n=80 --max-time 1000h --dry-run --json
check "prices are those of the configuration" test "$(json "abs(d['cost_usd'] - (${price/0.031611/3.1611})(d['vcpus'], d['memory_mb']) * d['predicted_s'] / 3600) < 1e-6" <<<"$out")" = True

# However little more CPUs helped in the runs, other sizes are slower than the fastest.
fast=$("$TRADEWIND" autoprovision spin --values n=80 --max-cost 1000 --dry-run --json | json "d['predicted_s']")
run autoprovision spin --values n=80 --max-time "$(python3 -c "print($fast * 1.0001)")" --dry-run --svg grid.svg
is "$(python3 - <<'END'
import xml.dom.minidom
d = xml.dom.minidom.parse('grid.svg')
texts = [t.firstChild.data for t in d.getElementsByTagName('text')]
cells = len(d.getElementsByTagName('rect'))
print(cells >= 496, 'vCPU' in texts, 'memory, MB' in texts, any(t.startswith('past ') for t in texts))
END
)" "True True True True" "a picture: every cell, axes with units, what the hatch means"
before=$("$TRADEWIND" job ls --json | json 'len(d)')
"$TRADEWIND" config set limits.max_usd_per_month 0.000001 >/dev/null
fails 5 "spending cap limits.max_usd_per_month: " autoprovision spin --values n=5 --max-cost 1 --here --yes
"$TRADEWIND" config set limits.max_usd_per_month 1000 >/dev/null
is "$("$TRADEWIND" job ls --json | json 'len(d)')" "$before" "one that the month has no money for begins none"
fails 7 "write none/grid.svg" autoprovision spin --values n=5 --max-cost 1 --here --yes --svg none/grid.svg
is "$("$TRADEWIND" job ls --json | json 'len(d)')" "$before" "one that cannot be drawn begins no job"

# ---- a plan that goes by it ----

cat >p.yaml <<'END'
name: p
run: ./spin --n 8000
estimate: {profile: spin, args: {n: 8000}}
resources: {cpus: 2}
END
run plan p.yaml --json
check "a plan by the profile" test "$code" = 0
check "with its interval" test "$(json "d['time_low_s'] < d['time_s'] < d['time_high_s']" <<<"$out")" = True
contains "$out" "profile spin: 100 x outside its runs in n" "what is outside the runs is a guess"
sed -i 's/profile: spin/profile: spni/' p.yaml
fails 3 "p.yaml:3: stage 'p': no such profile 'spni', did you mean 'spin'?" plan p.yaml
sed -i 's/profile: spni/profile: slow/' p.yaml
fails 3 "profile 'slow' has learned nothing yet" plan p.yaml
sed -i 's/profile: slow, args: {n: 8000}/profile: spin/' p.yaml
fails 2 "p.yaml:3: stage 'p': profile 'spin'" plan p.yaml

# ---- sweeps ----

sweep=("$TRADEWIND" sweep seeds --code code --memory 256 -- ./spin)
check "a sweep" "${sweep[@]}" --n '{1,2}' --seed '{3,4}' >text 2>progress
contains "$(<progress)" "4 jobs, 0 finished before, 4 submitted now" "one job for each combination"
is "$(head -n 1 text | tr -s ' ')" "job state runtime cost n seed digest" "what varies, and metrics"
is "$(grep -c finished text)" 4 "all of them"
check "extended" "${sweep[@]}" --n '{1,2}' --seed '{3,4,5}' >text 2>progress
contains "$(<progress)" "6 jobs, 4 finished before, 2 submitted now" "by two"
"$TRADEWIND" sweep seeds --json --code code --memory 256 -- ./spin --n '{1,2}' --seed '{3,4}' >out.json 2>progress
is "$(json "d['name'], d['finished'], len(d['jobs']), sorted(d['jobs'][0]['metrics'])" <out.json)" \
    "seeds 4 4 ['digest']" "sweep --json"
is "$("$TRADEWIND" find 'kind=job sweep=seeds seed=5' | tail -n +2 | wc -l)" 2 "its jobs are tagged"
"$TRADEWIND" sweep bad -- sh -c 'exit $1' x '{0,3}' >text 2>progress
is $? 1 "a sweep with a failure"
is "$(grep -c failed text)" 1 "shows it"
# 11, 111 twice, 1111.
check "a sweep with equal combinations" "$TRADEWIND" sweep equal --json -- true '{1,11}{1,11}' >out.json 2>progress
is "$(json "[j['command'][1] for j in d['jobs']]" <out.json) $(cat progress)" \
    "['11', '111', '1111'] sweep equal: 3 jobs, 0 finished before, 3 submitted now" "runs each of them once"
"$TRADEWIND" profile equal --cpus 1 --mems 256 -- sleep '{0,0}' >text 2>progress
is "$(head -n 1 progress) $(grep -c 'still run' progress)" \
    "profile equal: 1 jobs, 0 finished before, 1 submitted now 0" "and so does a profile"
fails 2 'the command has no list' sweep none -- ./spin 1 2

# ---- runs held out ----

# Twelve runs of a copy, which no profile knows. Intervals that held one run in fifty would have two
# of twelve inside in 2 of 100 such tests. Between that and the 95 of 100 they claim there is room for
# what else the machine does; tests/soak has the strict test.
cp code/spin code/copy
"$TRADEWIND" sweep held --code code --memory 256 --json -- ./copy --n '{8,16,32,64}' --seed '{11,12,13}' >out.json 2>progress
inside=0
for n in 8 16 32 64; do
    "$TRADEWIND" profile predict spin --values n=$n --cpus 1 --memory 256 --json >prediction.json
    inside=$((inside + $(python3 - "$n" <<'END'
import json, sys
p = json.load(open('prediction.json'))
jobs = [j for j in json.load(open('out.json'))['jobs'] if j['tags']['n'] == int(sys.argv[1])]
print(sum(p['low_s'] <= j['runtime_s'] <= p['high_s'] for j in jobs))
END
)))
done
check "at least 2 of 12 runs held out lie in their intervals: $inside" test "$inside" -ge 2

done_testing
