#!/usr/bin/env bash
# Prints the lines of code, without comments and blank lines, of each room and of two parts of the library:
#   the core   the folder, in the order in which to read it (docs/architecture.md)
#   the card   the core with layer norm, modules, layers, attention, SGD, AdamW and gradcheck
# With --sums, these two alone (tests/house/budgets.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
code() { cat "$@" | grep -cvE '^\s*(//|$)'; }
sources() { git ls-files "$@" | grep -E '\.(h|cpp)$'; }
card="include/weft/ops/norms.h src/ops/norms.cpp include/weft/nn/module.h src/nn/module.cpp include/weft/nn/layers.h src/nn/layers.cpp
      include/weft/nn/attention.h src/nn/attention.cpp include/weft/optim/optimizer.h src/optim/optimizer.cpp src/optim/rules.cpp
      include/weft/check/gradcheck.h src/check/gradcheck.cpp"
core=$(code $(sources src/core include/weft/core))
sums() { printf '%-10s%6d\n%-10s%6d\n' core "$core" card $((core + $(code $card))); }
if [ "${1-}" = --sums ]; then sums; exit; fi
all=0
for room in base core ops packed fast derive watch nn optim check dist io text lm viz report training; do
    lines=$(code $(sources "src/$room" "include/weft/$room"))
    all=$((all + lines))
    printf '%-10s%6d\n' "$room" "$lines"
done
printf '%-10s%6d\n\nThe core in an evening:\n' together $((all + $(code include/weft/*.h)))
for file in $(sed -n '/^## The core in an evening/,/^## Two trips/p' docs/architecture.md | grep -oE '`(src|include)/[^`]*\.(h|cpp)`' | tr -d '`'); do
    printf '%6d  %s\n' "$(code "$file")" "$file"
done
echo
sums
