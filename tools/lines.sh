#!/usr/bin/env bash
# Prints the lines of code, without comments and blank lines, of each room, and of the files of an evening in the order in which to read
# them (docs/architecture.md).
set -euo pipefail
cd "$(dirname "$0")/.."
code() { cat "$@" | grep -cvE '^\s*(//|$)'; }
sources() { git ls-files "$@" | grep -E '\.(h|cpp)$'; }
all=0
for room in base core ops packed fast derive watch nn optim check dist io text lm viz report training; do
    lines=$(code $(sources "src/$room" "include/weft/$room"))
    all=$((all + lines))
    printf '%-10s%6d\n' "$room" "$lines"
done
printf '%-10s%6d\n\nThe core in an evening:\n' together $((all + $(code include/weft/*.h)))
evening=0
for file in $(sed -n '/^## The core in an evening/,/^## Values/p' docs/architecture.md | grep -oE '`(src|include)/[^`]*`' | tr -d '`'); do
    for source in $(sources "$file"); do
        lines=$(code "$source")
        evening=$((evening + lines))
        printf '%6d  %s\n' "$lines" "$source"
    done
done
printf '%6d  together\n' $evening
