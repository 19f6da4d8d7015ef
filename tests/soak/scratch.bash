# Sourced by soaks of the data lake: they stand in a scratch directory with a lake of their own, and
# set status=1 for what went wrong.
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tradewind-soak-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export TRADEWIND_HOME=$scratch/home
status=0

# measured WHAT COMMAND...: prints its time and its peak of memory, which is bounded
measured() {
    "$here/peak.py" "$@" || status=1
}
