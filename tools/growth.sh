#!/usr/bin/env bash
# Builds tests/growth and runs it: tools/growth.sh CMAKE BUILD [CASES …]. Valgrind 3.19 knows no AVX-512: on a processor that has
# it, for any processor, in a folder of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake=$1 build=$2
shift 2
if grep -qs '\bavx512f\b' /proc/cpuinfo; then
    build=build/growth
    "$cmake" -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWEFT_NATIVE=OFF -DWEFT_EXAMPLES=OFF \
        -DCMAKE_CXX_FLAGS_RELEASE=-O1
fi
tools/build.sh "$cmake" "$build" growth
"$build/tests/growth" "$@"
