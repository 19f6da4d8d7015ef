#!/usr/bin/env bash
# config get, set and show.
. "$(dirname "$0")/tap.sh"

file=$TRADEWIND_HOME/config.yaml

run config get plan.boot_s
is "$code:$out" "0:60" "a default, with no file at all"
check "reading creates nothing" test ! -e "$TRADEWIND_HOME"
run config show --origin
contains "$out" "plan.local_gbit: 10 " "show has every default"
check "and says it is one" grep -qE '^plan.uplink_gbit: 0.1 +default$' <<<"$out"
check "home comes from the environment" grep -qE "^home: $TRADEWIND_HOME +environment$" <<<"$out"

run config set plan.boot_s 90
is "$code:$out$err" "0:" "set says nothing"
is "$(<"$file")" "plan: {boot_s: 90}" "and writes the file"
is "$(stat -c %a "$TRADEWIND_HOME"):$(stat -c %a "$file")" "700:600" "for its owner alone"
run config get plan.boot_s
is "$out" "90" "get reads it back"

cat >"$file" <<'YAML'
# Ours. Keep it.
plan:                 # planning
  boot_s: 60          # a minute
  preemptions_per_hour:
    aws: 0.02
store: dir:objects    # here
YAML
chmod 640 "$file"
run config set plan.boot_s 75
run config set plan.preemptions_per_hour.gcp 0.1
run config set catalog.update '[https://example.org/a.csv, https://example.org/b.csv]'
run config set clouds.aws.regions '[us-east-1]'
is "$(<"$file")" "# Ours. Keep it.
plan:                 # planning
  boot_s: 75          # a minute
  preemptions_per_hour:
    aws: 0.02
    gcp: 0.1
store: dir:objects    # here
catalog: {update: [https://example.org/a.csv, https://example.org/b.csv]}
clouds: {aws: {regions: [us-east-1]}}" "comments and layout stay"
is "$(stat -c %a "$file")" 640 "and so do permissions"
is "$(ls -A "$TRADEWIND_HOME")" "config.yaml" "nothing is left behind"

run config get catalog.update
is "$out" $'https://example.org/a.csv\nhttps://example.org/b.csv' "a list, one item a line"
run config get plan.preemptions_per_hour
contains "$out" "plan.preemptions_per_hour.gcp: 0.1" "a group"
run config show --origin
check "a value of the file has its line" grep -qE "^plan.boot_s: 75 +file \($file:3\)$" <<<"$out"
check "beside defaults" grep -qE '^plan.preemptions_per_hour.azure: 0.05 +default$' <<<"$out"
run config get plan.boot_s --json
contains "$out" '"value": 75.0' "get --json: the value as a number"
run config get plan --json
contains "$out" '"key": "plan.uplink_gbit"' "get --json of a group: all of its settings"
run config show --json
check "JSON knows kinds, origins and lines" perl -MJSON::PP -e '
    my %s = map { $_->{key} => $_ } @{decode_json(shift)->{settings}};
    my $boot = $s{"plan.boot_s"};
    exit !($boot->{value} == 75 && $boot->{origin} eq "file" && $boot->{line} == 3
        && $s{"store"}{value} eq "dir:objects" && $s{"plan.local_gbit"}{origin} eq "default"
        && $s{"home"}{origin} eq "environment")' "$out"

before=$(<"$file")
fails 2 'no setting is named "plan.boot": did you mean plan.boot_s?' config set plan.boot 5
fails 2 'plan.boot_s: "soon" is not a duration' config set plan.boot_s soon
fails 2 'plan.local_gbit: must be above 0' config set plan.local_gbit 0
fails 2 'catalog.update: "ftp://x" is not an https://' config set catalog.update ftp://x
fails 2 'is not a list or map' config set catalog.update '[a'
fails 2 'unknown field "clouds.aws.zones"' config set clouds.aws.zones '[a]'
fails 2 'is text, not a map' config set plan.boot_s.aws 5
fails 2 'no setting is named "kitchen"' config get kitchen
fails 3 'limits.max_usd_per_month is not set' config get limits.max_usd_per_month
fails 2 'an operand is missing' config set plan.boot_s
fails 2 'a value has at most 65536 bytes' config set store "dir:$(printf '%065600d' 0)"
is "$(<"$file")" "$before" "what is refused changes nothing"

printf 'plan:\n  boot_z: 3\n' >"$file"
fails 2 "$file:2: unknown field \"plan.boot_z\": did you mean boot_s?" config show
fails 2 "$file:2: " config set plan.boot_s 5
fails 2 "$file:2: " config get plan.boot_s

rm "$file"
mkdir elsewhere
echo 'plan: {boot_s: 1}' >elsewhere/real.yaml
ln -s "$PWD/elsewhere/real.yaml" "$file"
run config set plan.boot_s 2
check "a symbolic link stays one" test -L "$file"
is "$(<elsewhere/real.yaml)" "plan: {boot_s: 2}" "and its target changes"

rm "$file"
pids=()
for i in 1 2 3 4 5 6 7 8; do
    "$TRADEWIND" config set "plan.preemptions_per_hour.c$i" "0.$i" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
is "$(grep -o 'c[1-8]: 0' "$file" | wc -l)" 8 "eight at once lose nothing"

sed -n '/^```yaml/,/^```$/p' "$root/docs/configuration.md" | sed '1d; /^```$/,$d' >"$file"
run config get hosts.lab.0.accelerators
is "$code:$out$err" "0:A100:4" "the documentation's file"

TRADEWIND_HOME=$scratch/new/deep/home run config set store dir:x
is "$code" 0 "a home several levels deep is made"
if [[ $(id -u) != 0 ]]; then
    mkdir closed && chmod 500 closed
    TRADEWIND_HOME=$scratch/closed/home fails 4 'closed/home: Permission denied' config set store dir:x
    chmod 700 closed
else
    skip "a home that cannot be made" "root may write everywhere"
fi
TRADEWIND_HOME=$scratch/$'\xff' run config show --json
contains "$code $out" "\"file\": \"$scratch/?/config.yaml\"" "a home that is no UTF-8"
unset TRADEWIND_HOME
HOME=$scratch/me run config show --origin
check "without TRADEWIND_HOME: ~/.tradewind" grep -qE "^home: $scratch/me/.tradewind +default$" <<<"$out"
account=$(getent passwd "$(id -u)" | cut -d: -f6)
if [[ -n $account ]]; then
    out=$(env -u HOME "$TRADEWIND" config show)
    contains "$out" "home: $account/.tradewind" "without HOME: the account's, not the working directory"
else
    skip "without HOME: the account's" "this account has no home"
fi
done_testing
