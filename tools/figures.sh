#!/usr/bin/env bash
# Draws the figures of the book and of docs/architecture.md anew, by the programs that are built in a folder such as build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in "$1"/examples/chapter_[0-9][0-9]; do
    echo "$program --figures docs/figures"
    "$program" --figures docs/figures >/dev/null
done
"$1/examples/layers_picture" docs/figures/layers.svg
