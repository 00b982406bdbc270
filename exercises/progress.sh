#!/usr/bin/env bash
# How far the reader is: every exercise built and tried, a line for each.   exercises/progress.sh CMAKE BUILD
cmake=$1 build=$2
mkdir -p "$build/exercises"
log=$build/exercises/build.log
echo "building the exercises; the first time this takes a while"
"$cmake" --build "$build" --target exercises -- -k 0 >"$log" 2>&1
passed=0 all=0
for file in exercises/[0-9]*.cpp; do
    name=$(basename "$file" .cpp)
    number=${name:0:2}
    program=$build/exercises/exercise_$number
    # A program that is older than its file was not built: what the reader wrote does not compile.
    if [ ! -x "$program" ] || [ "$file" -nt "$program" ]; then
        echo "  does not compile: make exercise N=$((10#$number)) tells why"
    else
        "$program" --brief && passed=$((passed + 1))
    fi
    all=$((all + 1))
done
echo "$passed of $all exercises done"
