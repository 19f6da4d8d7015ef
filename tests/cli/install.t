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
