#!/usr/bin/env bash
# A step of docs/from_scratch: compiles your files with the step's tests, and says what holds and what does not.
#
#   make step                      which steps you have written
#   make step N=3                  your files, in exercises/from_scratch/yours
#   make step N=3 SOLUTION=1       the same tests on the solution
#   make step N=5 FROM=solution    copies the solution of steps 1 to 4 into exercises/from_scratch/yours, so that you can begin
#                                  with step 5; refuses if that would overwrite what you wrote
#
# Without make: N=3 exercises/from_scratch/step.sh. YOURS is the folder of your files, STEP_BUILD that of the programs, CXX the compiler.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
yours=${YOURS:-exercises/from_scratch/yours} solution=exercises/from_scratch/solution build=${STEP_BUILD:-build/from_scratch}
CXX=${CXX:-g++}

say() { printf '%s\n' "$@"; }
# Whether a file holds more than comments and blank lines.
written() { [ -e "$1" ] && grep -qvE '^[[:space:]]*(//.*)?$' "$1"; }

if [ -z "${N:-}" ]; then
    for test in exercises/from_scratch/tests/step_*.cpp; do
        number=${test//[^0-9]/} missing=
        for file in "$solution/$number"_*; do
            written "$yours/$(basename "$file")" || missing+=" $(basename "$file")"
        done
        printf 'step %2d  %s\n' "$((10#$number))" "${missing:+to write:$missing}"
    done | sed 's/  $/  written/'
    say "make step N=… tests one of them."
    exit 0
fi

number=$({ printf %02d "$((10#${N:-0}))"; } 2>/dev/null)
test=exercises/from_scratch/tests/step_$number.cpp
if [ ! -e "$test" ]; then
    say "make step N=… wants the number of a step: 1 to $(ls exercises/from_scratch/tests/step_*.cpp | wc -l)."
    exit 2
fi
page=$(ls docs/from_scratch/step_"$number"_*.md)

# The files of the steps before this one.
earlier() { for file in "$solution"/[0-9]*; do [[ $(basename "$file") < $number ]] && basename "$file"; done; }

if [ -n "${FROM:-}" ]; then
    if [ "$FROM" != solution ]; then
        say "FROM=$FROM is not known: write FROM=solution."
        exit 2
    fi
    for file in $(earlier); do
        if written "$yours/$file" && ! cmp -s "$yours/$file" "$solution/$file"; then
            say "$yours/$file holds code that differs from the solution, so nothing was copied." \
                "To keep it, rename it; to give it up, delete it. Then run this again."
            exit 2
        fi
    done
    mkdir -p "$yours"
    for file in $(earlier); do cp "$solution/$file" "$yours/$file"; done
    say "$yours now holds the state after step $((10#$number - 1)). Next: $page"
    exit 0
fi

folder=$yours
[ -n "${SOLUTION:-}" ] && folder=$solution

# The headers that must be there, the earliest first, and then the program of this step, which is looked at later.
for path in "$solution"/[0-9]*.h; do
    file=$(basename "$path")
    [[ $file > ${number}_zzz ]] && break
    written "$folder/$file" && continue
    if [[ $file == "$number"_* ]]; then
        say "$folder/$file has no code yet. $page says what to write, line by line."
    else
        say "Step $((10#$number)) builds on $folder/$file, which has no code yet." \
            "Write step $((10#${file:0:2})) first, or copy what comes before: make step N=$((10#$number)) FROM=solution"
    fi
    exit 1
done

mkdir -p "$build"
# Compiles $1 to $2, with the options $3. If it does not compile, shows the compiler's first error and nothing else.
compile() {
    "$CXX" -std=c++20 $3 -Werror=return-type -fdiagnostics-color=never -I "$folder" \
        -I exercises/from_scratch/tests "$1" -o "$2" 2>"$build/errors" && return
    say "$1 does not compile with $folder. The compiler's first error:" ""
    if grep -q ' error: ' "$build/errors"; then
        awk '/ error: / { if (seen++) exit; print "  " $0; more = 3; next }
             seen && more-- > 0 { if (/ (note|error|warning): / || /^[^ ]/) exit; print "  " $0 }' "$build/errors"
    else
        head -5 "$build/errors"
    fi
    if grep -m 1 ' error: ' "$build/errors" | grep -q '^exercises/from_scratch/tests/'; then
        say "" "An error in the tests means that your files lack something, or call it by another name: compare with $page"
    fi
    return 1
}
# Runs a program; if a signal ends it, says so.
run() {
    bash -c '"$@" 2>&3; exit $?' _ "$@" 3>&2 2>/dev/null # a shell of its own, whose report of the signal is dropped
    local code=$?
    [ $code -gt 128 ] && say "" "The program crashed here (signal $((code - 128))): a stack overflow, or the use of an element or an array that does not exist."
    return $code
}

compile "$test" "$build/step_$number" -O1 || exit 1
run "$build/step_$number" || exit 1
for path in "$solution/$number"_*.cpp; do
    [ -e "$path" ] || continue
    program=$folder/$(basename "$path")
    if ! written "$program"; then
        say "" "Next, the program of this step: $program has no code yet."
        exit 1
    fi
    say "" "$program prints:"
    compile "$program" "$build/program_$number" "-O3 -fno-math-errno" && run "$build/program_$number" || exit 1
done
