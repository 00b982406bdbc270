#!/usr/bin/env bash
# vary.sh NUMBER CHANGE…: prints exercises/faults/NUMBER_….cpp with this change of exercises/faults/mends.txt; the change "sick" is
# none. Every line that goes must stand there once.
cd "$(dirname "$0")/../.." || exit
file=$(ls exercises/faults/"$1"_*.cpp)
if ! grep -qxF "$(cksum "$file")" exercises/faults/as_given.txt; then
    echo "$file is not as it was given, and the tests of the faults want it so. If it is your mend, git stash keeps it; if it is to be" \
        "given so from now on: cksum exercises/faults/*.cpp >exercises/faults/as_given.txt" >&2
    exit 1
fi
awk -v wanted="$*" '
    FNR == NR {
        if (!/^[-+=#]/) here = $0 == wanted
        if (here && /^-/) old[++n] = substr($0, 3)
        if (here && /^\+/) new[n] = substr($0, 3)
        next
    }
    {
        for (i = 1; i <= n; i++) if ($0 == old[i]) { $0 = new[i]; met[i]++; break }
        print
    }
    END {
        for (i = 1; i <= n; i++) if (met[i] != 1) { print wanted ": not there once: " old[i] >"/dev/stderr"; exit 1 }
        if (!n && wanted !~ / sick$/) { print "mends.txt has no \"" wanted "\"" >"/dev/stderr"; exit 1 }
    }' exercises/faults/mends.txt "$file"
