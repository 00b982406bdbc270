#!/usr/bin/env bash
# Fails where a target compiles more units than budgets.txt allows, or needs other libraries, and where the core or the card has another number
# of lines than budgets.txt says, the smallest that they have been: budgets.sh BUILD
set -euo pipefail
cd "$(dirname "$0")"
build=$1 failed=0
cost() { # the units of a target, and its libraries
    local commands
    commands=$(ninja -C "$build" -t commands "$1")
    echo "$(grep -c -- ' -c ' <<<"$commands")" $(grep -oE 'libweft_[a-z]+\.a' <<<"$commands" | sed -E 's/libweft_(.*)\.a/\1/' | sort -u)
}
while read -r target units libraries; do
    case $target in
    \#* | minutes | "") continue ;;
    lines)
        lines=$(bash ../../tools/lines.sh --sums | awk -v part="$units" '$1 == part { print $2 }')
        [ "$lines" = "$libraries" ] || { echo "$units: $lines lines; budgets.txt has $libraries: write the number if it is smaller"; failed=1; }
        continue
        ;;
    esac
    found=$(cost "$target")
    if [ "${found%% *}" -gt "$units" ] || { [ -n "$libraries" ] && [ "${found#* }" != "$libraries" ]; }; then
        echo "$target: $found; budgets.txt allows $units $libraries"
        failed=1
    fi
done <budgets.txt
exit $failed
