#!/usr/bin/env bash
# make install puts everything below DESTDIR, and make uninstall takes it away again.
. "$(dirname "$0")/tap.sh"

# The sanitized program is not what anybody installs.
[[ $TRADEWIND == */san-* ]] && skip_all "installs the release build"
build=${TRADEWIND_BUILD:-$root/build}
make_quietly() {
    make -s --no-print-directory -C "$root" BUILD="$build" DESTDIR="$scratch/tree" PREFIX=/opt/tw \
        "$@" >log 2>&1
}

check "make install" make_quietly install || sed 's/^/# /' log
top=tree/opt/tw
is "$("$top/bin/tradewind" --version)" "tradewind $(<"$root/VERSION")" "the program runs"
for file in share/man/man1/tradewind.1 share/bash-completion/completions/tradewind \
    share/zsh/site-functions/_tradewind share/doc/tradewind/LICENSE \
    share/doc/tradewind/examples/fashion.yaml share/doc/tradewind/examples/fashion/Makefile; do
    check "$file is there" test -s "$top/$file"
done
is "$("$top/libexec/tradewind-agent" version)" "tradewind-agent $(<"$root/VERSION")" "so does the agent"
is "$("$top/bin/tradewind-aggregator" --version)" "tradewind-aggregator $(<"$root/VERSION")" \
    "and the aggregator"
# Nothing that a hostile input could overwrite is a table of code addresses, nor is any address fixed.
for program in bin/tradewind bin/tradewind-aggregator libexec/tradewind-agent; do
    headers=$(readelf --wide --file-header --program-headers --dynamic "$top/$program")
    check "$program can be loaded at any address" grep -q '^ *Type: *DYN ' <<<"$headers"
    check "$program: its tables of addresses are read-only" grep -q '^ *GNU_RELRO ' <<<"$headers"
    check "$program: all of them, filled in at the start" grep -q 'BIND_NOW' <<<"$headers"
    check "$program: its stack is not executable" grep -q '^ *GNU_STACK .* RW  *0x' <<<"$headers"
    is "$(grep -c 'TEXTREL' <<<"$headers")" 0 "$program: nor is its code written"
done
is "$(grep -c -e INTERP -e '(NEEDED)' <<<"$headers")" 0 "the agent needs no library of its host"
for file in include/tradewind_worker.h lib/libtradewind-worker.a lib/python3/dist-packages/tradewind/worker.py; do
    check "$file is there" test -s "$top/$file"
done
check "a worker can be built with them" make -s -C "$root/examples/geo" OUT="$scratch" \
    CFLAGS="-I$scratch/$top/include -L$scratch/$top/lib"
is "$(find tree -type f ! -perm 644 -printf '%P\n' | sort)" \
    "opt/tw/bin/tradewind
opt/tw/bin/tradewind-aggregator
opt/tw/libexec/tradewind-agent" "only the programs are executable"
check "make uninstall" make_quietly uninstall
is "$(find tree -type f)" "" "nothing stays behind"
done_testing
