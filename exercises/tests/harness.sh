#!/usr/bin/env bash
# harness.sh PROGRAM: what an exercise prints, and how it ends, in the states that a reader's file can be in.
program=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
failures=0

# expect CODE STATE ARGUMENTS LINES…: runs the program in this state; every line is part of what it prints, and
# a line that begins with ! is not.
expect() {
    local code=$1 state=$2 arguments=$3
    shift 3
    local output status
    output=$(HARNESS=$state "$program" $arguments 2>&1)
    status=$?
    [ $status = "$code" ] || { echo "$state $arguments ends with $status, and should end with $code"; failures=1; }
    for line in "$@"; do
        if [[ $line == !* ]]; then
            [[ $output != *"${line:1}"* ]] || { echo "$state $arguments prints \"${line:1}\":"; echo "$output"; failures=1; }
        else
            [[ $output == *"$line"* ]] || { echo "$state $arguments does not print \"$line\":"; echo "$output"; failures=1; }
        fi
    done
}

expect 1 bbbb "" "blank    predict  guess: write down" "blank    write    compute" "0 of 4 passed; make hint N=3" "!is 5" $'!\033'
expect 1 wwww "" "you predicted 3; it is 5. Two and three are five." "mend     repair: the sum is 3, and should be 5" \
    "the sum, for which you entered 3, is too small" "!hint:"
expect 1 eeee "" "it ended with an error: item"
expect 0 rrrr "" "passed   predict  guess: it is 5. Two and three are five." "4 of 4 passed" "!make hint"
expect 1 rrir "" "passed   mend     repair" "crashed  write    compute: it used memory that is not its own"
expect 1 rrfr "" "passed   mend     repair" "crashed  write    compute" "call itself without an end"
# as given: blank, and the bug that was planted
expect 0 bwbb --as-given
expect 1 bbbb --as-given
expect 1 brbb --as-given
expect 1 bebb --as-given
expect 1 bwwb --as-given
expect 1 rwbb --as-given
expect 1 rwbr --brief "3. The harness" "predict 1/1  mend 0/1  write 0/1  paper 1/1"
expect 0 rrrr --brief
# hints: one more each time, of the first part that does not pass
memory="--progress $folder"
expect 0 bbbb "$memory --hint" "guess" "hint 1 of 2: Add." "!hint 2" "make hint N=3 gives the next one"
expect 0 bbbb "$memory --hint" "hint 2 of 2: 2 + 3." "the last one"
expect 0 rrbb "$memory --hint" "compute" "hint 1 of 3: First."
expect 0 rrbb "$memory --hint" "hint 2 of 3: Second." "!Third"
expect 0 rrrr "$memory --hint" "Every part of 3. The harness passes."
# a wrong attempt is given a hint at the second time, what is blank or as given is not
expect 1 bwbw "$memory" "!hint:"
expect 1 bwbw "$memory" "hint: Add." "!Look." "!First."
expect 1 bwbr "$memory" "!hint:"
expect 1 bwbw "$memory" "!hint:"
expect 1 rrww "$memory" "!hint: Second."
expect 1 rrwr "$memory" "hint: Second."
expect 2 rrrr --nonsense "usage:"
exit $failures
