#!/usr/bin/env bash
# The core asks nothing of what hangs on it: no object of its rooms has an undefined symbol that an observer, weights in blocks or a
# kernel defines. The slots are left out, and printing, which Tensor::str is. Reads a build whose libraries were compiled file by file:
#   symbols.sh BUILD
set -euo pipefail
objects=$(realpath "$1")/CMakeFiles/weft_core.dir/src
cd "$(dirname "$0")/../../src"
hanging=$(ls {watch,packed,derive,fast,fast/*}/*.cpp | grep -v '^watch/print.cpp$')
core=$(ls {base,core,ops}/*.cpp)
test "$(wc -l <<<"$core")" -gt 25
symbols() { # of kinds $1 in the objects of $2
    for source in $2; do if [ -e "$objects/$source.o" ]; then nm "$objects/$source.o"; fi; done |
        awk -v kinds="$1" 'index(kinds, $(NF - 1)) { print $NF }' | sort -u
}
found=$(comm -12 <(symbols U "$core") <(symbols TDRB "$hanging") | c++filt | grep -vE '^weft::(kernels::(installed|installed_in_ops|widen_rows)|\w+_kernel)$' || true)
if [ -n "$found" ]; then echo "The core asks for what hangs on it:"$'\n'"$found"; exit 1; fi
echo "No symbol of $(wc -l <<<"$core") objects is defined in the $(wc -l <<<"$hanging") that hang on them, but for the slots."
