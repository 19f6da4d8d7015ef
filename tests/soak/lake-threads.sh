#!/bin/bash
# The tests of store and lake, whose work is done by several threads, under the thread sanitizer.
# Soak: at most 1800 s
cd "$(dirname "$0")/../.." || exit 1
status=0
for source in tests/unit/store/test_*.c tests/unit/lake/test_*.c; do
    test=$TRADEWIND_BUILD/san-thread/${source%.c}
    if TSAN_OPTIONS=halt_on_error=1:exitcode=66 TRADEWIND_SLOW=1 "$test" >"$test.log" 2>&1; then
        echo "ok ${source#tests/unit/}"
    else
        echo "NOT OK ${source#tests/unit/} (exit $?)"
        grep -A 30 "WARNING: ThreadSanitizer\|^not ok" "$test.log" | head -n 60
        status=1
    fi
done
exit $status
