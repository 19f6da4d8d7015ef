#!/usr/bin/env bash
# The man page is sound roff and says everything that help says.
. "$(dirname "$0")/tap.sh"

"$TRADEWIND" help --man >tradewind.1
contains "$(head -n 1 tradewind.1)" ".TH TRADEWIND 1" "it begins with its title"
if command -v groff >/dev/null; then
    groff -ww -man -Tutf8 -P-cbou -rLL=200n tradewind.1 >page 2>warnings
    is "$(<warnings)" "" "groff has nothing to complain about"
else
    sed -e 's/\\-/-/g' -e 's/\\(aq/'"'"'/g' -e 's/\\f[BIR]//g' tradewind.1 >page
    skip "groff has nothing to complain about" "groff is not installed"
fi
for section in NAME SYNOPSIS DESCRIPTION COMMANDS ENVIRONMENT FILES "EXIT STATUS"; do
    check "it has $section" grep -q "^\(.SH \)\?$section" page
done
"$TRADEWIND" help | sed -n '1,/^Options:/s/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p' >commands
check "help lists commands" test -s commands
while read -r -a words; do
    check "it has ${words[*]}" grep -q "tradewind ${words[*]}" page
    for option in $("$TRADEWIND" help "${words[@]}" | sed -n 's/^  \(-[a-z], \)\?\(--[a-z0-9-]*\).*/\2/p'); do
        check "it has ${words[*]} $option" grep -q -e "$option" page
    done
done <commands
done_testing
