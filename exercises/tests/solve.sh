#!/usr/bin/env bash
# solve.sh NAME: prints exercises/NAME with our solutions: each function of solutions/NAME, with what stands above it there, takes the
# place of the function that begins alike.
cd "$(dirname "$0")/.." || exit
awk '
    function beginning(line) { return line ~ /^[A-Za-z].*\(/ && line !~ /;$/ ? substr(line, 1, index(line, "(")) : "" }
    FNR == NR {
        text = text $0 "\n"
        if (name == "") name = beginning($0)
        if (name != "" && /^[^ ].*}$|^}$/) { solution[name] = text; text = name = "" }
        next
    }
    inside { inside = $0 != "}"; next }
    beginning($0) in solution {
        printf "%s", solution[beginning($0)]
        delete solution[beginning($0)]
        inside = !/}$/
        next
    }
    { print }
    END { for (name in solution) { print "no function begins with " name >"/dev/stderr"; exit 1 } }
' "solutions/$1" "$1"
