#!/usr/bin/env bash
# Runs every harness of a build with clang and WEFT_SANITIZE for so many seconds, two at a time, and prints what each has done:
#   bash tests/fuzz/run.sh build/sanitize 15
# Ends with 1 when one crashes, leaks, takes more than ten seconds or a GiB for one input; that input is then in
# build/sanitize/found.
set -euo pipefail
build=$(realpath "$1")
export build seconds=$2 corpus=$(realpath "$(dirname "$0")")/corpus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work # of the harnesses' own files
mkdir -p "$build/found"

fuzz() {
    local name=${1#fuzz_}
    mkdir "$TMPDIR/$name"
    WEFT_NUM_THREADS=1 "$build/tests/fuzz/$1" "$TMPDIR/$name" "$corpus/$name" \
        -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -max_len=16384 -print_final_stats=1 \
        -artifact_prefix="$build/found/$name-" >"$TMPDIR/$name.log" 2>&1 || touch "$TMPDIR/$name.failed"
}
export -f fuzz

cd "$build/tests/fuzz"
harnesses=$(find . -maxdepth 1 -type f -executable -name 'fuzz_*' -printf '%f\n' | sort)
[ -n "$harnesses" ] || { echo "there is no harness in $build/tests/fuzz; build the target fuzz_harnesses"; exit 1; }
xargs -P 2 -I{} bash -c 'fuzz {}' <<<"$harnesses"

printf '\n%-12s %12s %10s %8s\n' harness executions 'per second' covered
for log in "$work"/*.log; do
    name=$(basename "$log" .log)
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    printf '%-12s %12s %10s %8s\n' "$name" "${executions:--}" "${speed:--}" "${edges:--}"
    ((${executions:-0} > 0)) || touch "$work/$name.failed"
done
for failed in "$work"/*.failed; do
    [ -e "$failed" ] || exit 0
    printf '\n==== %s\n' "$(basename "$failed" .failed)"
    tail -60 "${failed%.failed}.log"
done
echo "inputs that failed are in $build/found"
exit 1
