#!/usr/bin/env bash
# The sources' companions, docs/sources/N_name.md: a page's listings are its program. Under each heading (a step) `cpp` blocks go above main
# and `cpp main` blocks to main's end.
#   exercises/follow.sh split PAGE FOLDER              writes the program as it is after each step, FOLDER/01.cpp and on, and FOLDER/steps,
#                                                      a line each: number, line of the page, heading; the compiler's errors name the page.
#                                                      FOLDER/whole.cpp is what is built: below what each step types stands main as it is
#                                                      by then, so a step that uses what a later one types does not compile;
#                                                      exercises/steps.cpp has the functions that it calls besides
#   exercises/follow.sh enter CMAKE BUILD S SECTION    what `make follow S=1 SECTION=28.6` does: exercises/follow/1_tensorweaver.cpp gets the
#                                                      program before that section, or is compiled and run if you have written in it
# YOURS is the folder of the reader's files, PATIENCE how many seconds a program may take.
set -euo pipefail
cd "$(dirname "$0")/.."

split() {
    local page=$1 folder=$2 new
    new=$(mktemp -d)
    awk -v folder="$new" -v page="$page" '
        function finish(  file, typed) {
            if (!step) return
            file = sprintf("%s/%02d.cpp", folder, step)
            printf "%s\n%sint main() {\n%s}\n", above, at_main, main > file
            close(file)
            typed = substr(above, length(above_before) + 1)
            # a member function that was only declared before
            gsub(/\n[A-Za-z][^\n(]* [A-Za-z]+::[^\n{(]*\([^\n{]*\{/, "& needs_step(" step ");", typed)
            states = states typed at_main "[[maybe_unused]] static void after_step_" step "() {\n" main "}\n"
            marked = marked substr(main, length(main_before) + 1) "    step_ends();\n"
            above_before = above
            main_before = main
        }
        /^```/ {
            inside = !inside
            code = inside && /^```cpp( main)?$/
            into_main = /^```cpp main$/
            skeleton = 0
            if (code && heading != step_heading) {
                finish()
                step_heading = heading
                printf "%02d\t%d\t%s\n", ++step, heading, title > (folder "/steps")
            }
            if (code) {
                mark = sprintf("#line %d \"%s\"\n", NR + 1, page)
                if (into_main) main = main mark; else above = above (above ? "\n" : "") mark
                indent = into_main ? "    " : ""
            }
            next
        }
        !inside && /^###? / { heading = NR; title = $0; sub(/^#+ /, "", title) }
        !code { next }
        /^int main\(\) {$/ {
            into_main = skeleton = 1
            sub(/\n+$/, "\n", above)
            at_main = sprintf("#line %d \"%s\"\n", NR, page)
            next
        }
        skeleton && /^}$/ { code = 0; next }
        into_main { main = main (/./ ? indent $0 : "") "\n"; next }
        { above = above $0 "\n" }
        END {
            finish()
            printf "void needs_step(int step);\nvoid step_ends();\n%s%sint main() {\n%s}\n", states, at_main, marked > (folder "/whole.cpp")
        }' "$page"
    mkdir -p "$folder"
    # What has not changed keeps its time, so that it is not compiled again.
    for file in "$folder"/*; do [ -e "$new/$(basename "$file")" ] || rm -f "$file"; done
    for file in "$new"/*; do cmp -s "$file" "$folder/$(basename "$file")" || cp "$file" "$folder/"; done
    rm -rf "$new"
}

# A program's lines without comments and spaces, as they are compared: text, a tab, and the line of the page or, without #line, of the file.
plain() {
    awk '/^#line / { line = $2 - 1; next }
         { ++line; text = $0; sub(/\/\/.*/, "", text); gsub(/[ \t]/, "", text); if (text != "") print text "\t" line }' "$1"
}

# Whether two programs differ in comments and spaces at most.
same() { cmp -s <(plain "$1" | cut -f1) <(plain "$2" | cut -f1); }

# The line of the page that belongs to line $3 of the reader's file $1, where $2 is what the page has by then. A line that differs belongs to
# the one that stands there on the page.
page_line() {
    { diff -U 100000 <(plain "$1" | cut -f1) <(plain "$2" | cut -f1) || true; } | tail -n +4 |
        awk -F '\t' -v at="$3" '
            FILENAME == ARGV[1] { if ($2 <= at) last = FNR; next }
            FILENAME == ARGV[2] { line[FNR] = $2; next }
            /^[ +]/ { ++theirs }
            /^[ -]/ && ++yours == last { print line[/^ / ? theirs : theirs + 1]; exit }' <(plain "$1") <(plain "$2") -
}

enter() {
    local cmake=$1 build=$2 number=$3 section=$4
    local page states=$build/follow/$number
    page=$(ls docs/sources/"$number"_*.md)
    local name
    name=$(basename "$page" .md)
    local yours=${YOURS:-exercises/follow}/$name.cpp
    split "$page" "$states"

    # The headings that the section may mean, and the first step at or after it.
    local found
    found=$(awk -v wanted="$(tr '[:upper:]' '[:lower:]' <<<"$section")" '
        /^```/ { inside = !inside }
        !inside && /^###? / { title = $0; sub(/^#+ /, "", title); if (index(tolower(title), wanted) == 1) print NR "\t" title }' "$page")
    if [ -z "$found" ] && [[ $section =~ ^[0-9]+$ ]]; then found=$section; fi
    local step
    step=$(awk -F '\t' -v from="$(head -1 <<<"$found" | cut -f1)" 'from != "" && $2 >= from { print; exit }' "$states/steps")
    if [ -z "$step" ] || [ "$(wc -l <<<"$found")" -gt 1 ]; then
        [ -z "$step" ] && echo "$page has no section \"$section\" with something to type. SECTION is the beginning of one of these headings, or its line:" ||
            echo "Several headings begin with \"$section\". SECTION may also be the line of one of these:"
        awk -F '\t' '{ printf "  %4d  %s\n", $2, $3 }' "$states/steps"
        return 2
    fi
    local line title before="" next
    title=$(cut -f3 <<<"$step") line=$(cut -f2 <<<"$step") step=$((10#$(cut -f1 <<<"$step")))
    [ $step = 1 ] || before=$states/$(printf %02d $((step - 1))).cpp
    local goal=$states/$(printf %02d "$step").cpp

    # A file that holds a state of the page, or nothing, is the page's own, so it may be replaced by a later one.
    local own=1 state
    if [ -e "$yours" ] && [ -n "$(plain "$yours")" ]; then
        own=
        for state in "$states"/[0-9]*.cpp; do
            if [[ $state < $goal ]] && same "$yours" "$state"; then own=1; fi
        done
    fi
    if [ -n "$own" ]; then
        mkdir -p "$(dirname "$yours")"
        if [ -n "$before" ]; then
            grep -v '^#line ' "$before" >"$yours"
            echo "$yours holds the program as it is before \"$title\"."
        else
            echo "// $page" >"$yours"
            echo "$yours is empty."
        fi
        echo "Type what $page:$line shows, and run this again."
        return 0
    fi

    local log=$build/follow/build.log
    if ! "$cmake" --build "$build" --target "yours_$number" >"$log" 2>&1; then
        local error
        error=$(grep -m1 -nE "$name\.cpp:[0-9]+:.* error: " "$log" || true)
        if [ -z "$error" ]; then
            cat "$log"
        else
            echo "$yours does not compile. The compiler's first error:"
            echo
            tail -n "+${error%%:*}" "$log" | awk 'NR > 1 && (/ (error|note|warning): / || /^[^ ]/) { exit } NR > 4 { exit } { print "  " $0 }'
            local at on
            at=$(sed -E "s/.*$name\.cpp:([0-9]+):.*/\1/" <<<"$error")
            on=$(page_line "$yours" "$goal" "$at")
            [ -n "$on" ] && printf '\nOn the page this is %s:%d:\n  %s\n' "$page" "$on" "$(sed -n "${on}p" "$page")"
        fi
        return 1
    fi
    local status=0
    timeout --foreground "${PATIENCE:-60}" "$build/examples/yours_$number" || status=$?
    [ $status = 124 ] && { echo "stopped after ${PATIENCE:-60} s: does a loop never end?"; return 1; }
    [ $status -gt 128 ] && { echo "The program crashed here (signal $((status - 128)))."; return 1; }
    echo
    # The first line of the page that the file lacks.
    local missing
    missing=$({ diff <(plain "$yours" | cut -f1) <(plain "$goal" | cut -f1) || true; } | sed -nE '/^[0-9,]+[ac]([0-9]+).*/{s//\1/p;q}')
    if [ -n "$missing" ]; then
        missing=$(plain "$goal" | sed -n "${missing}p" | cut -f2)
        printf 'Up to "%s" the page has a line that your file has not, %s:%d:\n  %s\n' "$title" "$page" "$missing" "$(sed -n "${missing}p" "$page")"
        return 0
    fi
    next=$(sed -n "$((step + 1))p" "$states/steps")
    [ -z "$next" ] && echo "Your file has the whole page." && return
    printf 'Your file has all of "%s". Next: "%s", %s:%d\n' "$title" "$(cut -f3 <<<"$next")" "$page" "$(cut -f2 <<<"$next")"
}

"$@"
