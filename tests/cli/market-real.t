#!/usr/bin/env bash
# The published histories, where they are at hand: what is in them, and the published evaluation
# beside a second program of the same rules, simulation by simulation.
. "$(dirname "$0")/tap.sh"

data=$root/../shared/data
[[ -d $data/spot-2020 ]] || skip_all "no ../shared/data/spot-2020"

run market import "$data/spot-2020" --json
is "$code" 0 "all files are imported $err"
# Its README: 16,973 records of AWS, 16,560 of them distinct.
is "$(json '[(sum(f["rows_read"] for f in d["files"] if f["format"] == "aws"), sum(f["rows_kept"] for f in d["files"] if f["format"] == "aws"))]' <<<"$out")" \
    "[(16973, 16560)]" "AWS: duplicates are found"
is "$(json '[(x["count"], x["reason"]) for x in d["dropped"]]' <<<"$out")" \
    "[(413, 'the same record again')]" "and nothing else is dropped"
is "$(json '[x["count"] for x in d["notes"] if x["reason"].startswith("three times")]' <<<"$out")" "[1]" \
    "Azure's slip of the pen is noticed"
run market ls --json
is "$(json 'sorted({x["end"][:10] for x in d if x["format"] == "aws"})' <<<"$out")" "['2020-03-23']" \
    "histories of AWS end on 23 March"

# Published tables 1 (but for Transformer, whose 0.8 does not follow from its 3.3), 2 and 3.
run market tables --json --throughputs "$data/spot-2020/throughputs.csv"
is "$(json '[[round(x["throughput"][g], 1) for g in ("P100", "V100")] + [round(x["throughput_per_dollar"][g], 1) for g in ("P100", "V100")] for x in d["table1"]["models"]]' <<<"$out")" \
    "[[3.3, 3.3, 1.0, 0.6], [1.2, 2.2, 0.4, 0.4], [4.6, 9.3, 1.4, 1.7], [4.0, 6.8, 1.2, 1.2], [3.7, 9.6, 1.1, 1.8]]" \
    "table 1"
is "$(json '[[round(100 * x[k], 2 if k[0] == "d" else 3) for k in ("dataset_share", "checkpoint_share")] for x in d["table2"]["models"]]' <<<"$out")" \
    "[[9.13, 0.006], [0.98, 0.025]]" "table 2"
is "$(json '{x["cloud"]: [v and round(v, 1) for v in x["reduction"].values()] for x in d["table3"]}' <<<"$out")" \
    "{'aws': [2.7, None, 3.3], 'azure': [7.3, 8.0, 5.1], 'gcp': [3.4, 3.4, 3.3]}" "table 3"

# Known from an independent reproduction.
run market replay --mode paper --model A3C --work "4 V100-days" --json
is "$(json '[round(x["reduction"], 2) for x in d["strategies"]]' <<<"$out")" \
    "[1.0, 1.32, 1.71, 3.1, 3.53]" "A3C, four days"
is "$(json '(d["starts"], d["covered_starts"], d["start_days"][0], d["start_days"][-1])' <<<"$out")" \
    "(30, 24, '2020-02-18', '2020-03-18')" "thirty starts; Azure begins on 24 February"
run market sweep --model "Transformer (batch size 256)" --json
is "$(json 'round(d["figure6"]["models"][0]["reduction"][-1], 2)' <<<"$out")" 1.41 \
    "Transformer, eight days: dynamic"

# To the second: cells with optima that are not proved, and no others, stand below with their bound.
long=(--mode market --model "ResNet-18 (batch size 256)" --durations 1,8)
run market sweep "${long[@]}" --json
doubts=$(json '[c["v100_days"] for c in d["cells"] if c["proved_starts"] < c["covered_starts"]]' <<<"$out")
is "$(json 'all(c["bound_usd"] <= c["mean_cost_usd"]["offline"] <= c["mean_cost_usd"]["dynamic"] for c in d["cells"])' <<<"$out")" \
    True "no optimum is below its bound or above what a policy paid"
run market sweep "${long[@]}"
is "[$(sed '1,/^Optima not proved/d' <<<"$out" | awk 'NF && $1 != "model" {print $(NF - 4) ".0"}' | paste -sd, | sed 's/,/, /g')]" \
    "$doubts" "what is not proved is said"

# Every simulation of every model and duration.
models=(A3C CycleGAN LM:80 LM:5 Recommendation:8192 ResNet-18:256 ResNet-18:16 ResNet-50:128
    Transformer:256 Transformer:16)
[[ ${TRADEWIND_SLOW-} ]] && models=(A3C Transformer:256)
cases=()
for model in "${models[@]}"; do
    for days in 0.125 0.25 0.5 1 2 4 8; do cases+=("$model" "$days"); done
done
speeds=$data/spot-2020/throughputs.csv
python3 "$root/tests/referee/market_paper.py" "$data/spot-2020" "$speeds" "${cases[@]}" >referee.json
mkdir answers
for ((i = 0; i < ${#cases[@]}; i += 2)); do
    name=${cases[i]}
    [[ $name == *:* ]] && name="${name%:*} (batch size ${name#*:})"
    "$TRADEWIND" market replay --mode paper --throughputs "$speeds" --model "$name" \
        --work "${cases[i + 1]} V100-days" --json >"answers/$i.json" || break
done
is "$(python3 - <<'END'
import json
referee = json.load(open("referee.json"))
compared = wrong = 0
for i, want in enumerate(referee["answers"]):
    got = json.load(open(f"answers/{2 * i}.json"))
    assert got["start_days"] == referee["starts"]
    for strategy in got["strategies"]:
        runs = want["costs"][strategy["name"]]
        assert len(runs) == len(strategy["costs_usd"])
        for ours, (theirs, _, _) in zip(strategy["costs_usd"], runs):
            compared += 1
            wrong += abs(ours - theirs) > 1e-9 * theirs
        wrong += abs(strategy["mean_hours"] - sum(r[1] for r in runs) / len(runs)) > 1e-6
        wrong += strategy["switches_max"] != max(r[2] for r in runs)
print(compared, wrong)
END
)" "$((${#cases[@]} / 2 * 150)) 0" "every simulation costs what the referee says"

# The catalog's daily history.
daily=$data/skypilot-catalog/aws-spot-history.csv.gz
if [[ -f $daily ]]; then
    TRADEWIND_HOME=$scratch/daily run market import "$daily" --json
    is "$(json '(d["rows_read"], d["rows_kept"] + sum(x["count"] for x in d["dropped"]))' <<<"$out")" \
        "(552573, 552573)" "the daily history: every row kept or counted"
else
    skip "the daily history" "no aws-spot-history.csv.gz"
fi

done_testing
