#!/usr/bin/env bash
# Prints the lines of each room, and of the core in the order in which to read it (docs/architecture.md).
set -euo pipefail
cd "$(dirname "$0")/.."
for room in base tensor kernels autograd ops nn optim check dist io text lm viz report training; do
    git ls-files "src/$room/*.cpp" "src/$room/*.h" "include/weft/$room/*" | xargs cat | wc -l | xargs printf '%-10s%6d\n' "$room"
done
sed -n '/^## The core in an evening/,/^## Values/p' docs/architecture.md | grep -oE '`(src|include)/[^`]*`' | tr -d '`' | xargs wc -l
