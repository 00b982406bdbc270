#!/usr/bin/env bash
# Runs the examples that are built in a folder such as build/release, all but train_gpt and those that need a model, up to the first that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
for file in examples/*.cpp; do
    name=$(basename "$file" .cpp) path=
    case $name in
        train_gpt | generate | chat | evaluate | inside | command_line | train_gpt_options | standard_output) continue ;;
        layers_picture) path=$1/layers.svg ;;
    esac
    echo "$1/examples/$name" $path
    "$1/examples/$name" $path
done
