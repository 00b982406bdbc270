#!/usr/bin/env bash
# Builds everything and runs every test, or builds and runs those of one room, all but those that start programs:
#   tools/test.sh CMAKE BUILD [ROOM [FILTER …]]
set -euo pipefail
cd "$(dirname "$0")/.."
cmake=$1 build=$2 room=${3:-}
if [ -n "$room" ]; then
    ls "tests/$room"/test_*.cpp >/dev/null 2>&1 || { echo "make test ROOM=… wants a folder of tests with tests: $(dirname tests/*/test_*.cpp | sort -u | xargs -n 1 basename | xargs)"; exit 2; }
    [ "$room" != programs ] || { echo "the tests of programs need all of them: make test, then build/release/tests/weft_tests '[programs]~[book]'"; exit 2; }
    tools/build.sh "$cmake" "$build" "tests_$room"
    shift 3
    exec "$build/tests/tests_$room" "${@:-~[mpi]~[programs]}"
fi
tools/build.sh "$cmake" "$build"
ctest=ctest
case $cmake in /*) ctest=$(dirname "$cmake")/ctest ;; esac
"$ctest" --test-dir "$build" --no-tests=error --output-on-failure --parallel $(($(getconf _NPROCESSORS_ONLN) + 1))
grep -hE '^(All tests passed|test cases:|assertions:|Skipped:)' "$build/Testing/Temporary/LastTest.log"
