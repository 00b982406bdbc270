#!/usr/bin/env bash
# Fails where a compilation through the cache takes a precompiled header that was made of another text: precompiled.sh CCACHE_SH COMPILER
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CCACHE_DIR=$folder/cache
unset CCACHE_DISABLE
here=$folder/here there=$folder/there
for f in "$here" "$there"; do
    mkdir -p "$f"
    printf '#pragma once\n// one\n#define VALUE 1\nstruct Once {};\n' >"$f/header.h"
    echo '#include <header.h>' >"$f/headers.hxx"
    printf '#include "header.h"\nint main() { return VALUE; }\n' >"$f/unit.cpp"
    : >"$f/empty.cxx"
done
ccache_sh=$1 compiler=$2
is() {  # is FOLDER VALUE: the program of this folder ends with this value
    local compile=("$ccache_sh" "$1" "$compiler" -I"$1" -fpch-preprocess -include "$1/headers.hxx" -MD) value=0
    cd "$1"
    "${compile[@]}" -MF header.d -x c++-header -o headers.hxx.gch -c "$1/empty.cxx"
    "${compile[@]}" -MF unit.d -o unit.o -c "$1/unit.cpp"
    "$compiler" unit.o -o program
    ./program || value=$?
    [ "$value" = "$2" ] || { echo "$(basename "$1"): the program ends with $value, its header says $2"; exit 1; }
}
is "$here" 1
is "$there" 1
ccache -s | grep -q 'Hits: *2' || { ccache -s; echo "the second folder compiled what the first had compiled"; exit 1; }
sed -i 's/one/two/' "$there/header.h" # a comment: the same text for the preprocessor, another one for #pragma once
echo 'int other;' >>"$there/unit.cpp"
is "$there" 1
sed -i 's/VALUE 1/VALUE 2/' "$here/header.h" # a macro that the header itself does not use
is "$here" 2
