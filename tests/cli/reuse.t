#!/usr/bin/env bash
# Which stages are run again after a change, and which are reused: by the files that a stage was seen
# to use, by the names of all files, and by what the pipeline file says.
. "$(dirname "$0")/tap.sh"

export TRADEWIND_BROKER_IDLE_S=30
trap '"$TRADEWIND" broker --stop >/dev/null 2>&1; rm -rf "$scratch"' EXIT

wait_for() { # a command that comes true
    local i
    for i in {1..600}; do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}
# As if the machine of a job were gone: its agent is killed.
lose() { # the job
    PYTHONPATH=$root/tests/cli python3 -c 'import sys, broker_home
home = broker_home.Home.__new__(broker_home.Home)
home.path = sys.argv[1]
found = home.supervisors(int(sys.argv[2]))
assert len(found) == 1, found
broker_home.os.kill(found[0], 9)' "$TRADEWIND_HOME" "$1"
}
# states FILE [OPTION...]: runs it; "prep=reused train=finished"
states() {
    "$TRADEWIND" run "$@" --yes --json 2>/dev/null | tail -n 1 |
        json '" ".join(s["stage"] + "=" + s["state"] for s in d["stages"])'
}
# why STAGE FILE EXPRESSION: of the answer w
why() {
    "$TRADEWIND" run "$2" --why "$1" --json 2>/dev/null | json "(lambda w: ($3))(d['why'])"
}
# notes STAGE: what the last run says of the stage, in JSON
notes() {
    "$TRADEWIND" run ls --limit 1 --json | json 'd[0]["run"]' | xargs "$TRADEWIND" run show --json |
        json "[s['reason'] for s in d['stages'] if s['stage'] == '$1'][0]"
}
because() { # the last job of the stage
    "$TRADEWIND" job ls --json | json "[j.get('because') for j in d if j['stage'] == '$1'][0]"
}
changes="w['changes']"
reused="w['reused']"
every='prep=reused train=reused evaluate=reused'

# ---- three stages ----
mkdir -p w/lib w/docs
cd w || exit 1
git init -q .
echo 'print("data")' >prep.py
printf 'import json, os\nfrom lib import net\nprint(json.dumps([net.width, os.environ["LR"]]))\n' \
    >train.py
echo 'import sys; print("score of", open(sys.argv[1]).read())' >evaluate.py
touch lib/__init__.py
echo 'width = 4' >lib/net.py
echo 'depth = 2' >lib/unused.py
echo 'Read me' >README.md
echo 'Guide' >docs/guide.md
cat >p.yaml <<'END'
name: p
defaults: {workdir: ., estimate: {seconds: 1}}
---
name: prep
outputs: {data: 0.001}
run: python3 prep.py >"$TRADEWIND_OUTPUT/data/x"
---
name: train
inputs: [prep.data]
outputs: {model: 0.001}
envs: {LR: 0.1, DEPTH: 2}
run: python3 train.py >"$TRADEWIND_OUTPUT/model/x"
---
name: evaluate
inputs: [train.model]
outputs: {report: 0.001}
run: python3 evaluate.py "$TRADEWIND_INPUT/p.train/model/x" >"$TRADEWIND_OUTPUT/report/x"
END
git add . && git -c user.name=a -c user.email=a@b commit -qm first
cd ..
is "$(why train w/p.yaml "w['reused'], w['job'], w['code']")" \
    "(False, None, 'All of its code counts: it has not finished yet.')" "before its first run all counts"
is "$(states w/p.yaml)" "prep=finished train=finished evaluate=finished" "the first run"
is "$(states w/p.yaml)" "$every" "nothing changed"
is "$(why train w/p.yaml "$reused, $changes")" "(True, [])" \
    "and --why says so, in whatever order the file has the variables"
is "$(why train w/p.yaml "w['used']")" "['lib/__init__.py', 'lib/net.py', 'train.py']" \
    "what train used is known"

# ---- what reuses everything ----
echo 'more' >>w/README.md
echo 'more' >>w/docs/guide.md
is "$(states w/p.yaml)" "$every" "README.md edited"
echo '# a comment' >>w/lib/unused.py
is "$(states w/p.yaml)" "$every" "a comment in a file that no stage used"
printf '*.log\n' >w/.gitignore
mkdir w/.github w/.vscode
echo '{}' >w/.github/x
echo '{}' >w/.vscode/settings.json
printf '*.tmp\n' >w/.tradewindignore
touch w/{.gitattributes,.editorconfig,a.log,b.tmp}
is "$(states w/p.yaml)" "$every" ".gitignore and the like added, and ignored files"
sed -i 's/^name: evaluate/&\nenvs: {DIGITS: 3}/' w/p.yaml
is "$(states w/p.yaml)" "prep=reused train=reused evaluate=finished" \
    "another stage of the pipeline file changed: it alone runs"
touch w/train.py w/lib/net.py
is "$(states w/p.yaml)" "$every" "a time is no change"

# ---- what runs again ----
echo 'width = 8' >w/lib/net.py
is "$(why train w/p.yaml "$changes")" "['lib/net.py changed']" "why: a module that it imports changed"
is "$(why prep w/p.yaml "$reused")" True "and prep would be reused"
is "$(why evaluate w/p.yaml "$changes")" "['stage train runs again: its output may change']" \
    "why: a stage before it runs again"
is "$(states w/p.yaml)" "prep=reused train=finished evaluate=finished" \
    "it runs, and so does what follows"
run run ls --json
before=$(json 'len(d)' <<<"$out")
is "$(states w/p.yaml --env LR=0.2)" "prep=reused train=finished evaluate=finished" \
    "--env LR=0.2 reaches the stage that declares LR"
sed -i 's/LR: 0.1/LR: 0.3/' w/p.yaml
run run w/p.yaml --why train
contains "$out" "train is run again. Since job " "why, for people"
contains "$out" "  env LR: 0.2 -> 0.3" "a variable"
run run ls --json
is "$(json 'len(d)' <<<"$out")" $((before + 1)) "the question starts no run"
is "$(states w/p.yaml)" "prep=reused train=finished evaluate=finished" "LR: edited under train"
is "$(because train)" \
    "env LR: 0.2 -> 0.3" "the job remembers why"
chmod +x w/train.py
is "$(why train w/p.yaml "$changes")" \
    "['train.py is executable now', 'stage prep runs again: its output may change']" "a mode is a part of a name"
chmod -x w/train.py
sed -i 's/print("data")/print("other")/' w/prep.py
states w/p.yaml >/dev/null
is "$(because train)" \
    "input @p.prep:1 -> :2" "an input that is another version"

# ---- names: a new file may be found first ----
echo 'def dumps(x): return "shadowed"' >w/json.py
is "$(states w/p.yaml)" "prep=finished train=finished evaluate=finished" \
    "a module that shadows another: runs"
is "$("$TRADEWIND" cat /p.train/model/x)" shadowed "and has another result"
for name in numpy.py local.sh lib/a.js lib/M.pm .Rprofile .env inc2/h1.h lib/new.py; do
    mkdir -p "$(dirname "w/$name")"
    echo >"w/$name"
    is "$(why prep w/p.yaml "$changes")" "['$name is new']" "new: $name"
    rm "w/$name"
done
rm -r w/inc2
rm w/json.py
is "$(why prep w/p.yaml "$reused")" True "gone: json.py, which was never there for an older job"
rm w/lib/unused.py
is "$(why prep w/p.yaml "$changes")" "['json.py is gone', 'lib/unused.py is gone']" "a name is gone"
echo 'depth = 2' >w/lib/unused.py
is "$(states w/p.yaml)" "$every" "as before it came: the older jobs are found"

# ---- said by hand ----
cat >hand.yaml <<'END'
name: hand
defaults: {workdir: w, estimate: {seconds: 1}}
---
name: few
code: [train.py, ./lib/]
run: cat README.md train.py lib/net.py
---
name: all
needs: []
code: all
run: echo
END
is "$(states hand.yaml)" "few=finished all=finished" "with code: by hand"
echo new >w/new.txt
echo more >>w/README.md
is "$(why few hand.yaml "$reused")" True "another file is new, another one changed: reused"
is "$(why all hand.yaml "$changes")" "['README.md changed', 'new.txt is new']" "code: all has all"
contains "$(why all hand.yaml "w['code']")" "the pipeline file says code: all" "and says so"
echo 'width = 9' >w/lib/net.py
is "$(why few hand.yaml "$changes")" "['lib/net.py changed']" "a directory that it names"
echo >w/lib/more.py
is "$(why few hand.yaml "$changes")" "['lib/more.py is new', 'lib/net.py changed']" "and a name in it"
sed 's/\[train.py/["conf*.yaml", train.py/' hand.yaml >none.yaml
run set ls --json
sets=$out
fails 2 "none.yaml:5: stage few: code: conf*.yaml names no file of workdir w" run none.yaml --yes
run set ls --json
is "$out" "$sets" "a pattern without files changes nothing"
sed 's/\[train.py.*/[..\/x]/' hand.yaml >out.yaml
run plan --check out.yaml
is "$code" 2 "a path that leads out of the workdir"
contains "$out" 'out.yaml:5: error: stage few: code[0]: "../x" is not a path below the workdir' \
    "is told with its line"
printf 'code: [x]\nrun: echo\n' >out.yaml
run plan --check out.yaml
contains "$out" "out.yaml:1: error: stage stage-1: code: names files of the workdir, and the stage has \
none" "so is one without a workdir"
rm w/new.txt w/lib/more.py
fails 2 "--why: the pipeline has no stage triain; did you mean train?" run w/p.yaml --why triain
fails 2 "--why and --no-cache exclude each other" run w/p.yaml --why train --no-cache
fails 2 "--why and --detach exclude each other" run w/p.yaml --why train --detach

# ---- build tools look at files without opening them ----
mkdir make
printf 'all: gen.c\n\tcat gen.c\ngen.c: gen.y\n\ttouch gen.c\n' >make/Makefile
echo grammar >make/gen.y
echo made >make/gen.c
printf 'name: make\nworkdir: make\nrun: touch gen.c; make -s >/dev/null\nestimate: {seconds: 1}\n' >make.yaml
is "$(states make.yaml)" "make=finished" "a stage that uses make"
is "$(notes make)" "all of its code counts: Makefile was used: build tools look at files without \
opening them" "one line says that all counts"
run run show "$("$TRADEWIND" run ls --limit 1 --json | json 'd[0]["run"]')"
contains "$out" "make: all of its code counts: Makefile was used" "for people, too"
is "$(states make.yaml)" "make=reused" "unchanged"
echo more >>make/gen.y
is "$(states make.yaml)" "make=finished" "gen.y edited: runs"
is "$("$TRADEWIND" job ls --json | json 'd[0]["because"]')" \
    "gen.y changed (all of the code counts: Makefile was used: build tools look at files without \
opening them)" "and the reason says why it counts"

# ---- sizes and times of files that are only looked at (docs/experiments.md) ----
mkdir look
echo 12345 >look/data.txt
cat >look.yaml <<'END'
name: look
defaults: {workdir: look, estimate: {seconds: 1}, outputs: {n: 0.001}}
---
name: blind
run: stat -c %s data.txt >"$TRADEWIND_OUTPUT/n/size"
---
name: told
needs: []
code: [data.txt]
run: stat -c %s data.txt >"$TRADEWIND_OUTPUT/n/size"
---
name: exists
needs: []
run: test -e extra.txt; echo $? >"$TRADEWIND_OUTPUT/n/there"
END
is "$(states look.yaml)" "blind=finished told=finished exists=finished" "stages that look at files"
echo 123456789 >look/data.txt
is "$(states look.yaml)" "blind=reused told=finished exists=reused" \
    "a size that is only looked at is no use, unless code: names the file"
is "$("$TRADEWIND" cat /look.blind/n/size@look.blind:1) $("$TRADEWIND" cat /look.told/n/size@look.told)" \
    "6 10" "so the first has the size of its run"
touch look/extra.txt
is "$(states look.yaml)" "blind=finished told=reused exists=finished" \
    "whether a file exists is seen: names count"

# ---- bytecode ----
mkdir pyc
printf 'import tool\n' >pyc/main.py
printf 'print(1)\n' >pyc/tool.py
echo 'x = 1' >pyc/unused.py
(cd pyc && python3 -c 'import py_compile; py_compile.compile("tool.py", "made/tool.pyc")')
printf 'name: pyc\nworkdir: pyc\nrun: python3 made/tool.pyc\nestimate: {seconds: 1}\n' >pyc.yaml
mv pyc/tool.py pyc/made/
is "$(states pyc.yaml)" "pyc=finished" "a program that is bytecode"
is "$(why pyc pyc.yaml "w['used']")" "['made/tool.py', 'made/tool.pyc']" "its source counts as used"
mv pyc/made/tool.py pyc/
cat >prefix.yaml <<'END'
name: prefix
workdir: pyc
envs: {PYTHONPYCACHEPREFIX: /nonexistent}
run: python3 main.py
estimate: {seconds: 1}
END
is "$(states prefix.yaml)" "prefix=finished" "bytecode of others may be used"
is "$(why prefix prefix.yaml "w['used']")" "['main.py', 'tool.py', 'unused.py']" \
    "then all sources count"
"$TRADEWIND" broker --stop >/dev/null
printf 'name: env\nrun: echo "[$PYTHONPYCACHEPREFIX]" >"$TRADEWIND_OUTPUT/o/x"\noutputs: {o: 0.001}\n' >env.yaml
PYTHONPYCACHEPREFIX=/tmp/x "$TRADEWIND" run env.yaml --yes >/dev/null 2>&1
is "$("$TRADEWIND" cat /env.env/o/x)" "[]" "undeclared, it is not handed on"

# ---- the same output adds no version ----
mkdir same
echo 'wc -l <words' >same/count.sh
printf 'a\nb\n' >same/words
cat >same.yaml <<'END'
name: same
defaults: {workdir: same, estimate: {seconds: 1}}
---
name: count
run: sh count.sh >"$TRADEWIND_OUTPUT/n/n"
outputs: {n: 0.001}
---
name: show
inputs: [count.n]
run: cat "$TRADEWIND_INPUT/same.count/n/n"
END
is "$(states same.yaml)" "count=finished show=finished" "two stages"
printf 'a\nc\n' >same/words
is "$(states same.yaml)" "count=finished show=reused" "the same output: what follows is reused"
is "$(notes count)" "reproduced @same.count:1" "the run says so"
job=$("$TRADEWIND" job ls --json | json 'd[0]["id"]')
is "$("$TRADEWIND" job show "$job" --json | json 'd["output"], d["reproduced"]')" \
    "@same.count:1 @same.count:1" "so does the record"
run job show "$job"
contains "$out" "output    reproduced @same.count:1" "for people, too"
is "$("$TRADEWIND" set ls same.count --all --json | json 'len(d)')" 1 "there is one version"
is "$("$TRADEWIND" trace @same.count --json | json '[e["job"] for e in d["edges"]]' |
    tr -d '[],' | xargs -n 1 | sort -u | grep -c "^$job$")" 0 "which comes from its own job alone"
printf 'a\nc\nd\n' >same/words
is "$(states same.yaml)" "count=finished show=finished" "another output: what follows runs"

# ---- copies that no access time tells of ----
# In a mount name space of their own, with the whole home on the file system.
copies() { # a command that mounts what is at $2
    mkdir -p "$scratch/copies"
    unshare -m bash -c '
        mount --make-rprivate / && mkdir -p "$1/at" && cd "$1" && eval "$2" || exit 77
        export TRADEWIND_HOME=$1/at/home
        mkdir -p code
        echo one >code/cfg
        printf "name: cp\nworkdir: code\nrun: cp cfg \"\$TRADEWIND_OUTPUT/o/x\"\noutputs: {o: 0.001}\n" >cp.yaml
        for text in one one two; do
            echo $text >code/cfg
            "$TRADEWIND" run cp.yaml --yes --json 2>/dev/null | tail -n 1 |
                python3 -c "import json, sys; print(json.load(sys.stdin)[\"stages\"][0][\"state\"], end=\" \")"
        done
        "$TRADEWIND" cat /cp.cp/o/x
        "$TRADEWIND" broker --stop >/dev/null
    ' - "$scratch/copies" "$1" 2>/dev/null
    local code=$?
    rm -rf "$scratch/copies"
    return $code
}
for mounting in 'XFS truncate -s 320M i && /usr/sbin/mkfs.xfs -q -f i && mount -o loop i at' \
    'overlayfs mkdir l u k && mount -t overlay -o lowerdir=l,upperdir=u,workdir=k overlay at'; do
    out=$(copies "${mounting#* }")
    if (($? == 77)); then
        skip "cp on ${mounting%% *}" "it cannot be mounted here"
    else
        is "$out" "finished reused finished two" "cp on ${mounting%% *}, then the file is edited: runs"
    fi
done

# ---- moved, linked, removed, replaced by the job itself ----
mkdir moved
for name in mv ln rm sed chmod; do echo x >moved/$name; done
cat >moved.yaml <<'END'
name: moved
workdir: moved
estimate: {seconds: 1}
run: mv mv away; ln ln ../output/ln; rm rm; sed -i s/x/y/ sed; chmod 600 chmod
END
is "$(states moved.yaml)" "moved=finished" "a job that moves its code about"
for name in mv ln rm sed chmod; do
    echo more >>moved/$name
    is "$(why moved moved.yaml "$changes")" "['$name changed']" "edited: $name"
    echo x >moved/$name
done

# ---- several attempts, and checkpoints ----
mkdir tries
for name in one two three; do echo $name >tries/$name; done
cat >tries.yaml <<END
name: tries
workdir: tries
checkpoint: 1s
estimate: {seconds: 1}
run: |
  if [ -e \$TRADEWIND_CHECKPOINT/x ]; then cat two
  else cat one >\$TRADEWIND_CHECKPOINT/x; sleep 0.1; exit 1; fi
END
"$TRADEWIND" run tries.yaml --yes >/dev/null 2>&1
is "$(states tries.yaml --resume)" "tries=finished" "resumed from the checkpoint of one that failed"
is "$(why tries tries.yaml "w['used']")" "['one', 'two']" "what both used counts"
echo more >>tries/three
is "$(why tries tries.yaml "$reused")" True "the rest does not"
echo more >>tries/one
is "$(states tries.yaml)" "tries=failed" "a change for the first runs again"
touch jobs
cat >lost.yaml <<END
name: lost
workdir: tries
checkpoint: 1s
estimate: {seconds: 1}
run: |
  cat two
  echo >>$scratch/jobs
  while [ ! -e $scratch/go ]; do sleep 0.05; done
END
"$TRADEWIND" run lost.yaml --yes >lost.txt 2>&1 &
watcher=$!
first_runs() { [[ -s jobs ]]; }
check "it runs" wait_for first_runs
lose "$("$TRADEWIND" job ls --state running --json | json 'd[0]["id"]')"
touch go
wait $watcher
contains "$(<lost.txt)" "told nothing of its code" \
    "an attempt whose agent was killed: all counts, and one line says so"

# ---- gangs ----
mkdir gang
echo 0 >gang/r0
echo 1 >gang/r1
echo 2 >gang/r2
printf 'name: gang\nworkdir: gang\nnum_nodes: 2\nresources: {cpus: 1, memory: 1+}\nestimate: {seconds: 1}\nrun: cat r$SKYPILOT_NODE_RANK\n' >gang.yaml
is "$(states gang.yaml)" "gang=finished" "two nodes that use different files"
is "$(why gang gang.yaml "w['used']")" "['r0', 'r1']" "the files of both count"
echo more >>gang/r2
is "$(why gang gang.yaml "$reused")" True "and no other"
echo more >>gang/r1
is "$(why gang gang.yaml "$changes")" "['r1 changed']" "one that rank 1 alone used"

# ---- how much code goes in ----
mkdir size
mkdir size/{.venv,venv,node_modules,__pycache__,.mypy_cache,out}
for d in .venv venv node_modules __pycache__ .mypy_cache out; do echo >size/$d/x; done
echo out >size/.tradewindignore
printf '12345' >size/a
printf 'name: size\nworkdir: size\nrun: ls -A >"$TRADEWIND_OUTPUT/o/ls"\noutputs: {o: 0.001}\n' >size.yaml
run run size.yaml --yes
contains "$err" "code of size: 2 files, 9 B" "one line says how much code went in"
lacks "$err" "largest" "without names when it is little"
is "$("$TRADEWIND" cat /size.size/o/ls | xargs)" ".tradewindignore a" "environments stay out"
run job submit --code size -- true
contains "$err" "code of size: 2 files, 9 B" "job submit says it, too"
truncate -s 30000000 size/big
truncate -s 20000001 size/medium
run job submit --code size -- true
contains "$err" "code of size: 4 files, 47.7 MiB; the largest: big (28.6 MiB), medium (19.1 MiB), \
a (5 B); .tradewindignore leaves files out" "above 50 MB the largest are named"
for directory in . ./ ../size/. "$PWD/size/../size/."; do
    err=$(cd size && "$TRADEWIND" job submit --code "$directory" -- true 2>&1 >/dev/null)
    contains "$err" "code of $directory (@code-size:2): 4 files" "$directory is no name: its set stands beside it"
done
sed -e 's/^name: size/name: other/' size.yaml | tail -n +2 >>size.yaml
printf 'name: twice\n---\nname: a\nworkdir: size\nrun: echo\n---\nname: b\nworkdir: size\nrun: echo\n' >twice.yaml
run run twice.yaml --yes
is "$(grep -c 'code of size' <<<"$err")" 1 "stages that share a workdir store it once"

done_testing
