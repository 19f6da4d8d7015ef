#!/usr/bin/env bash
# Provenance: trace in both directions, by hops, as JSON, for Graphviz and as a picture (27, 28).
. "$(dirname "$0")/tap.sh"

# create NAME REF...: a set version
create() {
    "$TRADEWIND" set create "$@" >/dev/null
}

# refs ARGUMENTS...: the set versions of a trace, sorted
refs() {
    "$TRADEWIND" trace "$@" --json | json '" ".join(sorted(n["ref"] for n in d["nodes"]))'
}

# edges ARGUMENTS...: "from>to" each, sorted
edges() {
    "$TRADEWIND" trace "$@" --json |
        json '" ".join(sorted(e["from"] + ">" + e["to"] for e in d["edges"]))'
}

is "$("$TRADEWIND" trace --json | json 'd')" "{'nodes': [], 'edges': []}" "a lake without sets"
contains "$("$TRADEWIND" trace)" "0 set versions, 0 edges" "in words"

printf 1 | "$TRADEWIND" put - /raw >/dev/null
printf 2 | "$TRADEWIND" put - /code >/dev/null
printf 3 | "$TRADEWIND" put - /label >/dev/null
create raw /raw
create code /code
create clean @raw
create clean @clean /label
create model @clean @code
create report @model @raw
create alone /label

# ---- 27: nodes are set versions, edges are creations
is "$(refs)" "@alone:1 @clean:1 @clean:2 @code:1 @model:1 @raw:1 @report:1" "the whole graph"
is "$(edges)" "@clean:1>@raw:1 @clean:2>@clean:1 @model:1>@clean:2 @model:1>@code:1 @report:1>@model:1 @report:1>@raw:1" \
    "an edge from each to what it was made from"
is "$("$TRADEWIND" trace @clean:1 --back --json | json 'd')" \
    "{'nodes': [{'ref': '@clean:1'}, {'ref': '@raw:1'}], 'edges': [{'from': '@clean:1', 'to': '@raw:1', 'kind': 'create', 'job': None}]}" \
    "the fields of JSON"

# ---- 28: hops and directions
is "$(refs @model --back)" "@clean:1 @clean:2 @code:1 @model:1 @raw:1" "all the way back"
is "$(refs @model --back --hops 1)" "@clean:2 @code:1 @model:1" "one hop back"
is "$(refs @clean:1 --forward)" "@clean:1 @clean:2 @model:1 @report:1" "all the way forward"
is "$(refs @clean:1 --forward --hops 1)" "@clean:1 @clean:2" "one hop forward"
is "$(refs @clean)" "@clean:1 @clean:2 @model:1 @raw:1 @report:1" "both ways, from the latest"
is "$(edges @clean)" "@clean:1>@raw:1 @clean:2>@clean:1 @model:1>@clean:2 @report:1>@model:1 @report:1>@raw:1" \
    "with every edge among them, once"
is "$(refs @clean --back --forward)" "$(refs @clean)" "--back --forward are both ways, too"
is "$(refs @clean --hops 1)" "@clean:1 @clean:2 @model:1" "one hop both ways"
is "$(refs @alone)" "@alone:1" "a set on its own"
is "$(refs /raw)" "@clean:1 @clean:2 @code:1 @model:1 @raw:1 @report:1" \
    "a file stands for the sets that hold it"
is "$(refs /code --back --hops 1)" "@clean:2 @code:1 @model:1 @raw:1 @report:1" "each of them"
is "$("$TRADEWIND" trace @report --back --json | json '[n["ref"] for n in d["nodes"]][0]')" \
    "@report:1" "the start comes first"

# ---- jobs
python3 - "$TRADEWIND_HOME/lake.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
ids = {"@%s:%d" % (name, number): i for i, name, number in db.execute(
    "SELECT v.id, s.name, v.number FROM set_version v JOIN fileset s ON s.id = v.fileset")}
db.execute("INSERT INTO edge VALUES (?, ?, 2, 7, 0)", (ids["@report:1"], ids["@code:1"]))
db.commit()
PY
is "$("$TRADEWIND" trace @report --hops 1 --back --json | json '[(e["to"], e["kind"], e["job"]) for e in d["edges"] if e["job"]]')" \
    "[('@code:1', 'job', 7)]" "a job edge and its job"

# ---- for people
is "$("$TRADEWIND" trace @report --back --hops 1)" "@report:1
    from @raw:1
    from @code:1 by job 7
    from @model:1
@raw:1
@code:1
@model:1
    from @code:1
4 set versions, 4 edges" "lines for people"

# ---- 29: what it cost
python3 - "$TRADEWIND_HOME/lake.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
ids = {"@%s:%d" % (name, number): i for i, name, number in db.execute(
    "SELECT v.id, s.name, v.number FROM set_version v JOIN fileset s ON s.id = v.fileset")}
for job, output, cost, runtime in ((7, "@report:1", 1500000, 60), (8, "@code:1", 250000, 30.25),
                                   (9, "@alone:1", 4000000, 1)):
    db.execute("INSERT INTO job (id, project, creator, name, state, reason, output_version, cpus,"
               " memory_mb, priority, queued, changed, runtime_s, cost_microusd)"
               " VALUES (?, 1, 'ann', 'x', 6, '', ?, 1, 1, 0, 0, 0, ?, ?)",
               (job, ids[output], runtime, cost))
db.commit()
PY
is "$("$TRADEWIND" trace @report --cost --hops 1 --json | json 'd["cost"]')" \
    "{'jobs': 2, 'cost_usd': 1.75, 'runtime_s': 90.25}" "all jobs upstream, however far is shown"
is "$("$TRADEWIND" trace @raw --cost --json |
    json 'd["cost"] == {"jobs": 0, "cost_usd": 0, "runtime_s": 0}')" True "none"
is "$("$TRADEWIND" trace @report --json | json 'sorted(d)')" "['edges', 'nodes']" "only when asked for"
is "$("$TRADEWIND" trace @report --cost | tail -n 1)" \
    "made by 2 jobs that cost \$1.75 and ran for 1 m 30 s" "in words"
fails 2 "set version to start from" trace --cost
fails 2 "pictures have no costs" trace @report --cost --dot

# ---- Graphviz
"$TRADEWIND" trace --dot >whole.dot
is "$(head -n 1 whole.dot):$(tail -n 1 whole.dot)" "digraph provenance {:}" "dot: begin and end"
name='"@[A-Za-z0-9][A-Za-z0-9._-]*:[0-9]+"'
is "$(sed '1d;$d' whole.dot |
    grep -vcE "^  (rankdir=RL|node \[shape=box\]|$name|$name -> $name( \[label=\"job [0-9]+\"\])?);$")" 0 \
    "dot: nothing but nodes and edges"
is "$(grep -cE "^  $name;" whole.dot):$(grep -c -- '->' whole.dot)" "7:7" "dot: all of them"
check "dot: from the newer one" grep -qF '  "@report:1" -> "@code:1" [label="job 7"];' whole.dot
if command -v dot >/dev/null; then
    check "Graphviz reads it" dot -Tsvg -o whole.svg whole.dot
fi

# ---- a picture
"$TRADEWIND" trace --svg >whole.svg
check "svg: well-formed" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("whole.svg")'
is "$(python3 - <<'PY'
import xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("whole.svg").getroot()
boxes = [r for r in root.iter(svg + "rect") if r.get("rx")]
texts = [t for t in root.iter(svg + "text") if t.text.startswith("@")]
x = {t.text: float(r.get("x")) for r, t in zip(boxes, texts)}
rows = {(r.get("x"), r.get("y")) for r in boxes}
paths = [p for p in root.iter(svg + "path") if p.get("stroke")]
inside = all(float(r.get("x")) + float(r.get("width")) <= float(root.get("width")) and
             float(r.get("y")) + float(r.get("height")) <= float(root.get("height")) for r in boxes)
print(len(boxes), len(rows), len(paths), inside,
      x["@raw:1"] < x["@clean:1"] < x["@clean:2"] < x["@model:1"] < x["@report:1"])
PY
)" "7 7 7 True True" "svg: all boxes apart, all arrows, older ones to the left"
run trace @alone --svg
is "$code" 0 "svg of one box"

# ---- refusals
fails 3 "@nothing" trace @nothing
fails 2 "choose one" trace --json --dot
fails 2 "set version to start from" trace --back
fails 2 "--hops 0: must be from 1" trace @raw --hops 0
fails 2 "whole number" trace @raw --hops 1.5
fails 2 "trace a set version" trace /
printf 9 | "$TRADEWIND" put - /nowhere >/dev/null
fails 3 "no set holds /nowhere#1" trace /nowhere

# ---- many: straight into the database
python3 - "$TRADEWIND_HOME/lake.db" <<'PY'
import random, sqlite3, sys
random.seed(5)
db = sqlite3.connect(sys.argv[1])
first = db.execute("SELECT MAX(id) FROM set_version").fetchone()[0] + 1
project = db.execute("SELECT id FROM project").fetchone()[0]
made = db.execute("SELECT MAX(id) FROM made").fetchone()[0]
db.execute("INSERT INTO fileset VALUES (1000, ?, 'big', 'x', '', 438, 6000, ?)", (project, first + 5999))
db.executemany("INSERT INTO set_version VALUES (?, ?, 1000, ?, 1, 1, ?, 0)",
               [(first + i, project, i + 1, made) for i in range(6000)])
edges = {(c, random.randrange(max(0, c - 40), c)) for c in range(1, 6000) for _ in range(3)}
db.executemany("INSERT INTO edge VALUES (?, ?, 1, 0, 0)", [(first + c, first + p) for c, p in edges])
db.commit()
def reach(start, step, hops):
    seen, wave = {start}, [start]
    while wave and hops:
        wave = {n for w in wave for n in step.get(w, ())} - seen
        seen |= wave
        hops -= 1
    return seen
back, forward = {}, {}
for c, p in edges:
    back.setdefault(c, set()).add(p)
    forward.setdefault(p, set()).add(c)
with open("wanted", "w") as out:
    for flag, step, start in (("--back", back, 5999), ("--forward", forward, 3), ("--back", back, 2000)):
        for hops in (-1, 30):
            nodes = reach(start, step, hops)
            inner = sum(c in nodes and p in nodes for c, p in edges)
            print(flag, "@big:%d" % (start + 1), hops, len(nodes), inner, file=out)
PY
while read -r flag ref hops nodes inner; do
    hop_flags=()
    [ "$hops" = -1 ] || hop_flags=(--hops "$hops")
    is "$("$TRADEWIND" trace "$ref" "$flag" "${hop_flags[@]}" --json |
        json 'len(d["nodes"]), len(set(n["ref"] for n in d["nodes"])), len(set((e["from"], e["to"]) for e in d["edges"]))')" \
        "$nodes $nodes $inner" "$ref $flag, $hops hops: as a simple search finds"
done <wanted
fails 2 "--dot" trace --svg
done_testing
