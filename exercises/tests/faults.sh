#!/usr/bin/env bash
# faults.sh CMAKE BUILD: what try.sh says of a reader's file in every state, in a folder of its own.
export real_cmake=$1 real_build=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
failures=0
mkdir -p "$folder/exercises" "$folder/build/exercises"
cp -r "$root/exercises/faults" "$root/exercises/try.sh" "$folder/exercises"
file=$folder/exercises/faults/07_moody.cpp
cd "$folder" || exit
# In place of CMake: builds the file of this folder, and takes the others, mended, from the real build.
cat >cmake.sh <<'END'
#!/usr/bin/env bash
if [ "$4" = faults ]; then
    for program in "$real_build"/exercises/fault_variants_[0-9][0-9]; do
        printf '#!/bin/sh\nexec "%s" mended "$@"\n' "$program" >"build/exercises/fault_${program##*_}"
    done
    chmod +x build/exercises/fault_*
fi
cp exercises/faults/07_moody.cpp "$real_build/exercises/faults/trial.cpp"
"$real_cmake" --build "$real_build" --target fault_trial && cp "$real_build/exercises/fault_trial" build/exercises/fault_07
END
chmod +x cmake.sh

# expect CODE ARGUMENTS LINES…: try.sh with these arguments; every line is part of what it prints, one with ! before it is not.
expect() {
    local code=$1 arguments=$2 output status
    shift 2
    output=$(PATIENCE=${patience:-60} exercises/try.sh ./cmake.sh build fault $arguments 2>&1)
    status=$?
    [ $status = "$code" ] || { echo "$arguments ends with $status, and should end with $code:"; echo "$output"; failures=1; }
    for line in "$@"; do
        if [[ $line == !* ]]; then
            [[ $output != *"${line:1}"* ]] || { echo "$arguments prints \"${line:1}\":"; echo "$output"; failures=1; }
        else
            [[ $output == *"$line"* ]] || { echo "$arguments does not print \"$line\":"; echo "$output"; failures=1; }
        fi
    done
}

expect 2 13 "choose a fault by N=1 to N=12"
expect 2 x "choose a fault by N=1 to N=12"
expect 2 7x "choose a fault by N=1 to N=12"
expect 1 7 "evaluation 3" "Still sick: the file is as it was given. Nothing was trained" "make fault N=7 HINT=1 helps"
expect 0 "7 --hint" "hint 1 of 3" "!hint 2" "make fault N=7 HINT=1 gives the next one" "!evaluation 3"
expect 0 "7 --hint" "hint 2 of 3" "!hint 3"
expect 0 "7 --check" "check::attention: 0 of 18 failed" "!evaluation 3"
echo "// I was here." >>"$file"
expect 1 07 "Still sick: Nothing was trained" "!as it was given"
sed -i "s/const NoGrad off;/const NoGrad off; const nn::EvalMode eval;/" "$file"
expect 0 7 "Mended: " "!HINT"
expect 0 "" "Fault 7. Moody                        mended" "12 of 12 mended"
sed -i "s/double sum = 0;/double sum = 0; model.eval();/; s/const nn::EvalMode eval;//" "$file"
expect 1 7 "Something else is broken: after an evaluation"
sed -i "s/model.eval();/for (volatile int i = 0;;) i = i + 1;/" "$file"
patience=3 expect 124 7 "stopped after 3 seconds: does a loop never end?"
patience=10 expect 0 "" "07_moody does not come to an end" "11 of 12 mended"
sed -i "s/double sum = 0;/double sum = 0/; s/batches.size()/batches.sise()/" "$file"
expect 1 7 "error: expected" "07_moody.cpp does not compile yet" "!sise" "!FAILED"
exit $failures
