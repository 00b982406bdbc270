#!/usr/bin/env bash
# Builds what the reader wrote and tries it, without a word from make or ninja.
#   exercises/try.sh CMAKE BUILD KIND N [OPTION]
# N is the number of a chapter (KIND exercise), a project or a fault. If it is empty: all of them, a line each.
#   --hint    prints the next hint for the first part that does not pass
#   --check   prints the verdict of check:: on a fault
#   --watch   tries it again whenever the file is saved, until Ctrl-C
cmake=$1 build=$2 kind=$3 chosen=$4 option=$5
folder=exercises
[ "$kind" = fault ] && folder=exercises/faults
mkdir -p "$build/exercises"
log=$build/exercises/build.log

# Prints the program of a file: 10_heads is exercise_10, project_1_clusters is exercise_project_1; a fault's is fault_09.
program_of() {
    [[ $1 =~ ^(project_[0-9]|[0-9][0-9]) ]] || return
    [ "$kind" = fault ] && echo "fault_${BASH_REMATCH[1]}" || echo "exercise_${BASH_REMATCH[1]}"
}

# Prints after how many seconds a program is stopped; projects train models.
patience() {
    case $1 in *project*) echo 900 ;; fault*) echo "${PATIENCE:-20}" ;; *) echo 60 ;; esac
}

# Runs a program for so many seconds at most, where there is timeout, which macOS lacks.
limited() {
    if command -v timeout >/dev/null; then timeout --foreground "$@"; else "${@:2}"; fi
}

# Prints what the compiler said; ninja's own lines, and the command after each "FAILED", go.
errors() {
    awk '/^FAILED: / { getline; next } /^\[[0-9]+\/[0-9]+\] / || /^ninja: / { next } { print }' "$log"
}

try() {
    if ! "$cmake" --build "$build" --target "$program" >"$log" 2>&1; then
        errors
        printf '\n%s/%s.cpp does not compile yet; the first error is the one to look at.\n' "$folder" "$name"
        return 1
    fi
    [ "$kind" = fault ] && grep -qxF "$(cksum "$folder/$name.cpp")" exercises/faults/as_given.txt && set -- --untouched "$@"
    limited "$(patience "$program")" "$build/exercises/$program" --progress "$build/exercises/progress" "$@"
    local status=$?
    [ $status = 124 ] && echo "  stopped after $(patience "$program") seconds: does a loop never end?"
    return $status
}

watch() {
    local seen=$build/exercises/seen # as old as the file that was tried last
    rm -f "$seen"
    trap 'echo; exit 0' INT
    while true; do
        if [ "$folder/$name.cpp" -nt "$seen" ]; then
            touch -r "$folder/$name.cpp" "$seen"
            printf '\n---- %s\n' "$(date +%H:%M:%S)"
            try
            echo "waiting for $folder/$name.cpp to be saved; Ctrl-C ends this"
        fi
        sleep 0.5
    done
}

list() {
    echo "building the ${folder#*/}; the first time this takes some minutes"
    "$cmake" --build "$build" --target "${folder#*/}" -- -k 0 >"$log" 2>&1
    echo
    for file in "$folder"/[0-9]*.cpp "$folder"/project_*.cpp; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .cpp)
        program=$build/exercises/$(program_of "$name")
        # A program that is older than its file was not built: what the reader wrote does not compile.
        if [ ! -x "$program" ] || [ "$file" -nt "$program" ]; then
            echo "  $name does not compile"
        else
            limited "$(patience "$(program_of "$name")")" "$program" --brief || [ $? = 1 ] || echo "  $name does not come to an end"
        fi
    done | awk '
        {
            print
            if (/ (mended|sick)$/) { faults++; mended += / mended$/ }
            if ($0 !~ / [0-9]+\/[0-9]+/) next
            passed = all = 0
            line = $0
            while (match(line, / [0-9]+\/[0-9]+/)) {
                split(substr(line, RSTART + 1, RLENGTH - 1), share, "/")
                passed += share[1]; all += share[2]
                line = substr(line, RSTART + RLENGTH)
            }
            tasks += all; passed_tasks += passed
            if (passed == all) done++
        }
        END { if (faults) printf "\n%d of %d mended\n", mended, NR; else printf "\n%d of %d exercises done, %d of %d tasks\n", done, NR, passed_tasks, tasks }'
}

if [ -z "$chosen" ] && [ -z "$option" ]; then
    list
    exit
fi
number=none
[[ $chosen =~ ^[0-9]+$ ]] && number=$(printf %02.0f "$chosen")
[ "$kind" = project ] && number=project_$chosen
name=$(basename "$(ls "$folder/$number"_*.cpp 2>/dev/null)" .cpp)
if [ -z "$name" ]; then
    if [ "$kind" = fault ]; then
        echo "choose a fault by N=1 to N=$(ls "$folder"/[0-9]*.cpp | wc -l)"
    else
        echo "choose a chapter by N=1 to N=$(ls exercises/[0-9]*.cpp | wc -l), or a project by PROJECT=1 to" \
            "PROJECT=$(ls exercises/project_*.cpp 2>/dev/null | wc -l)"
    fi
    exit 2
fi
program=$(program_of "$name")
[ -x "$build/exercises/$program" ] || echo "building; the first time this takes some minutes"
case $option in
    --watch) watch ;;
    --hint | --check) try "$option" ;;
    *) try ;;
esac
status=$?
# On a terminal, make's "Error 1" would say nothing new; a script gets the program's exit code.
[ -t 1 ] && [ $status = 1 ] && exit 0
exit $status
