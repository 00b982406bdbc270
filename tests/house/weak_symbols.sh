#!/usr/bin/env bash
# Fails where a function of a header that the library has, too, is a test's in weft_tests, which compiles it without optimisation:
# weak_symbols.sh MAP, the linker's list of what it took and of what it left out
set -euo pipefail
awk '
    /^Discarded input sections/ { discarded = 1 }
    /^Memory Configuration/ { discarded = 0 }
    /^ \.text\._Z/ {
        section = $1
        if (NF == 1) getline
        of_library = $NF ~ /libweft_/
        if (discarded && of_library) ++left[section]
        if (!discarded && !(section in taken)) taken[section] = of_library
    }
    END {
        for (section in left) {
            ++sections
            if (section in taken && !taken[section]) { print "a test has its own " section; failed = 1 }
        }
        if (sections < 100) { print "only " sections + 0 " functions are in two objects: is this a map of the linker?"; failed = 1 }
        exit failed
    }' "$1"
