#!/usr/bin/env bash
# vary.sh NUMBER: prints one program of everything that can become of exercises/faults/NUMBER_….cpp: "sick" is the file as it is given,
# and faults/mends.txt has the others. Each stands with its test in a namespace of its own; the first argument says which one runs.
set -eo pipefail
cd "$(dirname "$0")/../.."
number=$1
file=$(ls exercises/faults/"$number"_*.cpp) test=exercises/tests/fault_$number.cpp
if ! grep -qxF "$(cksum "$file")" exercises/faults/as_given.txt; then
    echo "$file is not as it was given, and the tests of the faults want it so. If it is your mend, git stash keeps it; if it is to be" \
        "given so from now on: cksum exercises/faults/*.cpp >exercises/faults/as_given.txt" >&2
    exit 1
fi

# Prints the file with a change of mends.txt. Every line that goes must stand there once.
changed() {
    awk -v wanted="$1" '
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
        END { for (i = 1; i <= n; i++) if (met[i] != 1) { print wanted ": not there once: " old[i] >"/dev/stderr"; exit 1 } }
    ' exercises/faults/mends.txt "$file"
}

grep -h '^#include [<"]' "$test" "$file"
runs=""
while read -r change; do
    variant=${change#* }
    variant=${variant// /_}
    echo "namespace fault_$variant {"
    changed "$change" | grep -v '^#include'
    grep -v '^#include' "$test"
    echo "}"
    runs+="    if (variant == \"$variant\") return fault_$variant::main(argc - 1, argv + 1);"$'\n'
done < <(echo "$number sick" && grep "^$number " exercises/faults/mends.txt)
printf 'int main(int argc, char** argv) {\n    const std::string variant = argc > 1 ? argv[1] : "";\n%s    return 2;\n}\n' "$runs"
