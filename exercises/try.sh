#!/usr/bin/env bash
# Builds what the reader wrote and tries it, without a word from make or ninja.
#   exercises/try.sh CMAKE BUILD N PROJECT [OPTION]
# N is the number of a chapter, or PROJECT that of a project; the other is empty. If both are: all of them, a line each.
#   --hint    prints the next hint for the first part that does not pass
#   --watch   tries it again whenever the file is saved, until Ctrl-C
cmake=$1 build=$2 chapter=$3 project=$4 option=$5
mkdir -p "$build/exercises"
log=$build/exercises/build.log

# Prints the number in the names of programs: 09_heads is exercise_09, project_1_clusters is exercise_project_1.
number_of() { [[ $1 =~ ^(project_[0-9]|[0-9][0-9]) ]] && echo "${BASH_REMATCH[1]}"; }

# Prints after how many seconds a program is stopped; projects train models.
patience() { [[ $1 == project* ]] && echo 900 || echo 60; }

# Runs a program for so many seconds at most, where there is timeout, which macOS lacks.
limited() {
    if command -v timeout >/dev/null; then timeout --foreground "$@"; else "${@:2}"; fi
}

# Prints what the compiler said; ninja's own lines, and the command after each "FAILED", go.
errors() {
    awk '/^FAILED: / { getline; next } /^\[[0-9]+\/[0-9]+\] / || /^ninja: / { next } { print }' "$log"
}

try() {
    if ! "$cmake" --build "$build" --target "exercise_$number" >"$log" 2>&1; then
        errors
        printf '\nexercises/%s.cpp does not compile yet; the first error is the one to look at.\n' "$name"
        return 1
    fi
    limited "$(patience "$number")" "$build/exercises/exercise_$number" --progress "$build/exercises/progress" "$@"
    local status=$?
    [ $status = 124 ] && echo "  stopped after $(patience "$number") seconds: does a loop never end?"
    return $status
}

watch() {
    local seen=$build/exercises/seen # as old as the file that was tried last
    rm -f "$seen"
    trap 'echo; exit 0' INT
    while true; do
        if [ "exercises/$name.cpp" -nt "$seen" ]; then
            touch -r "exercises/$name.cpp" "$seen"
            printf '\n---- %s\n' "$(date +%H:%M:%S)"
            try
            echo "waiting for exercises/$name.cpp to be saved; Ctrl-C ends this"
        fi
        sleep 0.5
    done
}

list() {
    echo "building the exercises; the first time this takes some minutes"
    "$cmake" --build "$build" --target exercises -- -k 0 >"$log" 2>&1
    echo
    for file in exercises/[0-9]*.cpp exercises/project_*.cpp; do
        name=$(basename "$file" .cpp)
        program=$build/exercises/exercise_$(number_of "$name")
        # A program that is older than its file was not built: what the reader wrote does not compile.
        if [ ! -x "$program" ] || [ "$file" -nt "$program" ]; then
            echo "  $name does not compile"
        else
            limited "$(patience "$(number_of "$name")")" "$program" --brief || [ $? = 1 ] || echo "  $name does not come to an end"
        fi
    done | awk '
        {
            print
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
        END { printf "\n%d of %d exercises done, %d of %d tasks\n", done, NR, passed_tasks, tasks }'
}

if [ -z "$chapter$project" ] && [ -z "$option" ]; then
    list
    exit
fi
[ -n "$project" ] && number=project_$project || number=$(printf %02.0f "$chapter" 2>/dev/null)
name=$(basename "$(ls "exercises/$number"_*.cpp 2>/dev/null)" .cpp)
if [ -z "$name" ]; then
    echo "choose a chapter by N=1 to N=$(ls exercises/[0-9]*.cpp | wc -l), or a project by PROJECT=1 to" \
        "PROJECT=$(ls exercises/project_*.cpp 2>/dev/null | wc -l)"
    exit 2
fi
[ -x "$build/exercises/exercise_$number" ] || echo "building; the first time this takes some minutes"
case $option in
    --watch) watch ;;
    --hint) try --hint ;;
    *) try ;;
esac
status=$?
# On a terminal, make's "Error 1" would say nothing new; a script gets the program's exit code.
[ -t 1 ] && [ $status = 1 ] && exit 0
exit $status
