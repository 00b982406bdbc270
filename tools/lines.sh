#!/usr/bin/env bash
# Prints the lines of each layer, and of the core in the order in which to read it (docs/architecture.md).
set -euo pipefail
cd "$(dirname "$0")/.."
for layer in core nn models viz train dist; do
    git ls-files src/$layer include/weft/$layer include/weft/$layer.h | { grep -vE '\.py$|core/more' || true; } | xargs cat | wc -l |
        xargs printf '%-10s%6d\n' $layer
done
git ls-files src/core/more include/weft/core/more.h | xargs cat | wc -l | xargs printf 'core/more %6d\n'
sed -n '/^## The core in an evening/,/^## Values/p' docs/architecture.md | grep -oE '`(src|include)/[^`]*`' | tr -d '`' | xargs wc -l
