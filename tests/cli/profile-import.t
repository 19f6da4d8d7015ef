#!/usr/bin/env bash
# Runs that were measured elsewhere: profile import and profile evaluate. Expected figures are
# calculated by hand, and by scikit-learn.
. "$(dirname "$0")/tap.sh"

quit() {
    "$TRADEWIND" broker --stop >/dev/null 2>&1
    rm -rf "$scratch"
}
trap quit EXIT
export TRADEWIND_BROKER_IDLE_S=20

# ---- runs that a model tells exactly: 10 s an epoch, a perfect speed-up ----

cat >runs.csv <<'END'
cpus,memory_mb,epoch,runtime_s
1,512,1,10
1,512,2,20
1,512,4,40
2,512,1,5
2,512,2,10
2,512,4,20
4,512,1,2.5
4,512,4,10
END
run profile import mnist runs.csv --json
is "$code $(json "d['read'], d['added'], d['imported'], d['learned_from'], d['model']" <<<"$out")" \
    "0 8 8 8 8 log-linear" "a profile of imported runs alone"
run profile import mnist runs.csv
is "$code" 0 "the same file again"
contains "$out" "8 runs read, 0 new, 8 imported in all" "adds nothing"
run profile predict mnist epoch=8 --cpus 2 --memory 512 --json
is "$(json "round(d['predicted_s'], 6)" <<<"$out")" 40.0 "its prediction"
run profile show mnist --json
is "$(json "d['template'], d['imported'], d['runs'], d['cpus']" <<<"$out")" "None 8 0 [1.0, 2.0, 4.0]" "profile show"
# Of a long name the first 60 bytes are kept, and no part of a character.
long=$(printf 'a%.0s' {1..59})ä.csv
cp runs.csv "$long"
cp runs.csv $'odd-\xff\t.csv'
run profile import long "$long" --json
is "$(json "d['added'], d['imported']" <<<"$out")" "8 8" "a file whose name is cut within a character"
run profile import long $'odd-\xff\t.csv' --json
is "$code $(json "d['added'], d['imported']" <<<"$out")" "0 0 8" "its runs are there, whatever the file is called"
run profile import odd $'odd-\xff\t.csv'
run profile predict odd epoch=8 --cpus 2 --memory 512 --json
is "$(json "round(d['predicted_s'], 6)" <<<"$out")" 40.0 "runs of a file whose name is no UTF-8"
printf 'name: s\nestimate: {profile: mnist, args: {epoch: 4}}\n' >pipeline.yaml
run plan pipeline.yaml --json
is "$(json "d['stages'][0]['estimate']" <<<"$out")" profile "a plan goes by it"

# ---- the figures, by hand ----

# Predicted 10, 20 and 40 s. Errors -2, 3 and 0: 5/3 and 13/3. The mean is 23; squared distances from it
# 121 + 36 + 289 = 446, from zero 144 + 289 + 1600 = 2033.
printf 'epoch,runtime_s,cpus,memory_mb\n1,12,1,512\n2,17,1,512\n4,40,1,512\n' >held.csv
run profile evaluate mnist held.csv --json
is "$(json "d['runs'], d['unknown'], d['file'],
    [round(p['predicted_s'], 6) for p in d['predictions']], [p['measured_s'] for p in d['predictions']]" <<<"$out")" \
    "3 0 held.csv [10.0, 20.0, 40.0] [12.0, 17.0, 40.0]" "runs held out"
close() { # FIELD EXPRESSION
    is "$(json "abs(d['$1'] - ($2)) < 1e-6" <<<"$out")" True "$1 is $2"
}
close mean_absolute_error_s 5/3
close mean_squared_error_s2 13/3
close explained_variance 1-13/446
close explained_variance_zero 1-13/2033
run profile evaluate mnist held.csv --svg errors.svg
is "$out" "profile mnist on 3 runs of held.csv
mean absolute error  1.7 s
mean squared error   4.333 s²
explained variance   0.9709 against their mean
                     0.9936 against zero" "the same in words"
check "the picture is well-formed" python3 -c 'import xml.dom.minidom as m; m.parse("errors.svg")'
is "$(grep -c '<circle' errors.svg)" 9 "three panels of three points"
contains "$(<errors.svg)" "against CPUs" "one against CPUs"
contains "$(<errors.svg)" "against memory, GiB" "one against memory"
contains "$(<errors.svg)" "against the measured run time" "one against the run time"
# The profile says 10, 20 and 40 s of them.
printf 'epoch,runtime_s,cpus,memory_mb\n1,10.05,1,512\n2,20.01,1,512\n4,39.97,1,512\n' >near.csv
run profile evaluate mnist near.csv
contains "$out" "mean absolute error  0.03 s" "a small error keeps its digits"
printf 'epoch,runtime_s,cpus,memory_mb\n1,12,1,512\n' >one.csv
run profile evaluate mnist one.csv --json
is "$(json "d['explained_variance']" <<<"$out")" None "one run has no variance"
run profile evaluate mnist one.csv
contains "$out" "undefined against their mean" "and the text says so"
# Without a file every run is predicted from the others: of exact runs exactly.
run profile evaluate mnist --json
is "$(json "d['file'], d['runs'], d['mean_absolute_error_s'] < 1e-9, round(d['explained_variance'], 9)" <<<"$out")" \
    "None 8 True 1.0" "its own runs, left out"

# ---- the figures, by scikit-learn ----

if /usr/bin/python3 -c 'import sklearn' 2>/dev/null; then
    /usr/bin/python3 - <<'END'
import math, random
random.seed(3)
for name, n in ('noisy.csv', 30), ('more.csv', 15):
    with open(name, 'w') as f:
        f.write('cpus,memory_mb,runtime_s,epoch\n')
        for _ in range(n):
            cpus, memory, epoch = random.choice([1, 2, 4, 8]), random.choice([512, 1024, 2048]), random.choice([1, 3, 9])
            seconds = 7 * epoch ** 0.8 * cpus ** -0.6 * math.exp(random.gauss(0, 0.2))
            f.write(f'{cpus},{memory},{seconds:.6f},{epoch}\n')
END
    "$TRADEWIND" profile import noisy noisy.csv --json >imported.json
    "$TRADEWIND" profile evaluate noisy more.csv --json >more.json
    "$TRADEWIND" profile evaluate noisy --json >own.json
    /usr/bin/python3 - >figures <<'END'
import csv, json
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict

print(json.load(open('imported.json'))['model'])
def read(path):
    rows = list(csv.DictReader(open(path)))
    x = np.log([[float(r[k]) for k in ('cpus', 'memory_mb', 'epoch')] for r in rows])
    return x, np.array([float(r['runtime_s']) for r in rows])
x, y = read('noisy.csv')
new_x, new_y = read('more.csv')
model = LinearRegression().fit(x, np.log(y))
predicted = {'more': (new_y, np.exp(model.predict(new_x))),
             'own': (y, np.exp(cross_val_predict(LinearRegression(), x, np.log(y), cv=LeaveOneOut())))}
for name, (measured, guess) in predicted.items():
    got = json.load(open(f'{name}.json'))
    want = {'mean_absolute_error_s': mean_absolute_error(measured, guess),
            'mean_squared_error_s2': mean_squared_error(measured, guess),
            'explained_variance': r2_score(measured, guess),
            'explained_variance_zero': 1 - mean_squared_error(measured, guess) / mean_squared_error(measured, 0 * measured)}
    for key, value in want.items():
        print(name, key, 'agrees' if abs(got[key] - value) < 1e-6 * abs(value) else f'{got[key]}, not {value}')
END
    is "$(sort figures | uniq)" "log-linear
$(for name in more own; do for key in explained_variance explained_variance_zero mean_absolute_error_s mean_squared_error_s2; do
        echo "$name $key agrees"; done; done)" "scikit-learn says the same of a log-linear model"
else
    skip "scikit-learn says the same" "no scikit-learn"
fi

# ---- what is wrong with a file: its line, why, what to do; and nothing changes ----

before=$(sha256sum "$TRADEWIND_HOME"/profiles/*.json)
bad() { # TEXT PART
    printf "$1" >bad.csv
    fails 2 "$2" profile import mnist bad.csv
    is "$(sha256sum "$TRADEWIND_HOME"/profiles/*.json)" "$before" "  nothing changed"
}
head='cpus,memory_mb,epoch,runtime_s\n'
bad '' 'bad.csv: no rows; the first is the header: cpus, memory_mb, runtime_s'
bad "$head" 'bad.csv: no runs below the header'
bad 'cpus,memory_mb,epoch\n1,2,3\n' 'bad.csv:1: no column "runtime_s"; the header needs'
bad 'cpus,cpus,memory_mb,epoch,runtime_s\n' 'bad.csv:1: two columns "cpus"'
bad 'cpus,memory_mb,epoch,epoch,runtime_s\n' 'bad.csv:1: two columns "epoch"'
bad 'cpus,memory_mb,the epoch,runtime_s\n1,1,1,1\n' 'bad.csv:1: "the epoch" is no name of a value; use'
bad "${head}1,512,1\n" 'bad.csv:2: 3 fields; the header has 4'
bad "${head}1,512,1,10\n\n1,512,2,fast\n" 'bad.csv:4: runtime_s "fast": must be a number above 0'
bad "${head}0,512,1,10\n" 'bad.csv:2: cpus "0": must be a number above 0'
bad "${head}1,-5,1,10\n" 'bad.csv:2: memory_mb "-5": must be a number above 0'
bad "${head}1,512,1,1e999\n" 'bad.csv:2: runtime_s "1e999"'
bad "${head}1,512,,10\n" 'bad.csv:2: epoch "": must be a number, or a text'
bad "${head}1,512,\\xff,10\n" 'bad.csv:2: epoch'
bad "${head}1,512,\"1,10\n" 'bad.csv:2'
bad 'cpus,memory_mb,epoch,batch,runtime_s\n1,512,1,8,10\n' 'profile mnist: column batch, which the imported runs have not'
bad 'cpus,memory_mb,runtime_s\n1,512,10\n' 'profile mnist: no column epoch, which the imported runs have'
bad "${head}$(printf '1,512,1,%d.5\\n' {1..2001})" 'a profile takes at most 2000 runs'
bad "${head}$(printf '1,512,t%d,5\\n' {1..40})" 'epoch'
fails 2 'missing.csv' profile import mnist missing.csv
fails 2 'is not a name' profile import a/b runs.csv
fails 2 'it is a command of its own' profile import evaluate runs.csv
fails 3 "no such profile 'mnits', did you mean 'mnist'?" profile evaluate mnits
printf "${head}1,512,1,10\n1,512,2,x\n" >bad.csv
fails 2 'bad.csv:3: runtime_s "x"' profile evaluate mnist bad.csv
printf 'cpus,memory_mb,epoc,runtime_s\n1,512,1,10\n' >bad.csv
fails 2 'bad.csv:2: profile mnist knows no epoc; did you mean epoch?' profile evaluate mnist bad.csv
is "$(sha256sum "$TRADEWIND_HOME"/profiles/*.json)" "$before" "none of it changed anything"

# ---- too few runs are kept until there are more ----

printf "${head}1,512,1,10\n1,512,2,20\n" >few.csv
run profile import few few.csv
is "$code" 0 "two runs"
contains "$out" "nothing learned yet: " "are too few to learn from"
contains "$out" "at least " "the reason says how many"
fails 5 'are needed' profile evaluate few
run profile import few runs.csv --json
is "$(json "d['added'], d['imported'], d['model']" <<<"$out")" "6 8 log-linear" "with more of them it learns"

# ---- with a command ----

fails 2 'profile mnist has imported runs and no command; give it one: tradewind profile mnist -- COMMAND' profile mnist
fails 2 'imported runs and no command' autoprovision mnist --values epoch=2 --max-time 1h
fails 2 'column epoch is no value of the command' profile mnist --cpus 1 --mems 256 -- true --n '{1,2}'
fails 2 'no column n, of which the command has a list' profile mnist --cpus 1 --mems 256 -- true --epoch 1 --n '{1,2}'
check "imported runs get a command" "$TRADEWIND" profile mnist --cpus 1 --mems 256 -- true --epoch '{1,2}' >text 2>progress || sed 's/^/# /' progress
run profile show mnist --json
is "$(json "d['template'], d['imported'], d['runs'], d['cpus'], d['model']['runs']" <<<"$out")" \
    "true --epoch '{1,2}' 8 2 [1.0] 10" "which runs on its own sizes, and counts as well"
check "a command" "$TRADEWIND" profile cmd --cpus 1 --mems 256 -- true --epoch '{1,2,3}' --seed 7 >text 2>progress || sed 's/^/# /' progress
run profile import cmd runs.csv --json
is "$(json "d['added'], d['learned_from']" <<<"$out")" "8 11" "gets imported runs"
printf 'cpus,memory_mb,epoch,batch,runtime_s\n1,512,1,8,10\n' >bad.csv
fails 2 'profile cmd: column batch is no value of the command' profile import cmd bad.csv
printf 'cpus,memory_mb,seed,runtime_s\n1,512,1,10\n' >bad.csv
fails 2 'profile cmd: no column epoch, of which the command has a list' profile import cmd bad.csv

done_testing
