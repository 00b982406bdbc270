#!/usr/bin/env bash
# Builds targets and says in one line how far it is; whatever the compiler says is printed below it:
#   tools/build.sh CMAKE BUILD TARGET…
# A failure ends with a line that says what to do. A unit takes at most 0.8 GB of memory; where that is short, fewer run at a time.
set -uo pipefail
cmake=$1 build=$2
shift 2
per_job=900 # MB
jobs=$(getconf _NPROCESSORS_ONLN)
free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null || true)
if [ -n "$free" ] && [ $((free / per_job)) -lt "$jobs" ]; then jobs=$((free / per_job > 0 ? free / per_job : 1)); fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'printf "\nstopped; the same command goes on from here\n"; exit 130' INT

# Ninja's lines [3/27 …] become one line, which is written over on a terminal; elsewhere one is written every half minute.
show() {
    local line width shown=$SECONDS begin=$SECONDS terminal="" on="" done=0 all=0 text
    [ -t 1 ] && terminal=1 && width=$(tput cols 2>/dev/null || echo 80)
    while IFS= read -r line; do
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ Building ]]; then
            done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
            text="building $what: $done of $all steps, $((SECONDS - begin)) s"
            if [ "$done" -gt 2 ]; then # the first steps take longest: half of the time passes with a third of them
                text+=", about $(awk "BEGIN { part = ($done / $all) ^ 0.6; print int(($SECONDS - $begin) * (1 - part) / part) }") s to go"
            fi
            if [ -n "$terminal" ]; then
                printf '\r%-*.*s' $((width - 1)) $((width - 1)) "$text" && on=1
            elif [ $((SECONDS - shown)) -ge 30 ]; then
                echo "$text" && shown=$SECONDS
            fi
        elif [[ ! $line =~ ^(\[[0-9]+/[0-9]+\]|ninja:|--\ ) ]]; then
            [ -n "$on" ] && echo && on=
            echo "$line"
        fi
    done
    [ -z "$on" ] || printf '\r%*s\r' $((width - 1)) ""
}
what=$*
what=${what:-everything}
# How long two slow cores take for it from nothing, in seconds.
case $what in
    toy_attention | chapter_* | gradcheck) takes=110 ;;
    train_gpt) takes=210 ;;
    everything) takes=360 ;;
    *) takes="" ;;
esac
[ -e "$build/libweft_core.a" ] || [ -z "$takes" ] || echo "building $what; the first time takes two slow cores about $takes s"
NINJA_STATUS="[%f/%t] " "$cmake" --build "$build" --parallel "$jobs" ${1:+--target "$@"} 2>&1 | tee "$log" | show
status=${PIPESTATUS[0]}
[ "$status" = 0 ] && exit 0
if [ "$status" = 130 ]; then
    printf "\nstopped; the same command goes on from here\n"
elif grep -q "No space left on device" "$log"; then
    echo "The disk is full: $build and /tmp need a gigabyte. Free some, and run the same command again; it goes on from here."
elif grep -qE "Killed|cannot allocate memory|out of memory" "$log"; then
    echo "The compiler ran out of memory: a unit needs up to $per_job MB. Close other programs, and run the same command again."
fi
exit "$status"
