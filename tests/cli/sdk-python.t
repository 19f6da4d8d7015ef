#!/usr/bin/env bash
# The Python package's own tests, with whichever Python is here, each as a line; and that what it writes
# is what the program reads.
. "$(dirname "$0")/tap.sh"

# One that has numpy, if there are several.
for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
command -v "$python" >/dev/null || skip_all "python3 is not installed"
export PYTHONPATH=$root/sdk/python PYTHONDONTWRITEBYTECODE=1
"$python" -m unittest discover -v -s "$root/sdk/python/tests" >log 2>&1
status=$?
while read -r name rest; do
    check "$name" test "${rest##* }" != FAIL -a "${rest##* }" != ERROR
done < <(grep -E '^test_[a-z_0-9]+ .*(ok|FAIL|ERROR|skipped.*)$' log)
is "$status" 0 "all of them" || sed 's/^/# /' log

"$python" - <<'PYTHON'
from tradewind import safetensors
open("a.safetensors", "wb").write(safetensors.dumps({"w": [1.0, 2.0], "b": [-4.0]}))
open("b.safetensors", "wb").write(safetensors.dumps({"w": [3.0, 4.0], "b": [4.0]}))
PYTHON
run aggregate --out mean.safetensors a.safetensors b.safetensors
is "$out" "mean.safetensors: the mean of 2 files; 2 tensors, 3 numbers, $(stat -c %s mean.safetensors) B" \
    "the program averages its files"
is "$("$python" -c 'from tradewind import safetensors as s
m = s.loads(open("mean.safetensors", "rb").read())
print(list(m["w"]), list(m["b"]))')" "[2.0, 3.0] [0.0]" "and it reads the mean"
done_testing
