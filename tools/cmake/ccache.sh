#!/bin/sh
# Calls a compiler through ccache such that a tree that was compiled in another folder compiles from the cache:
#   ccache.sh FOLDER COMPILER ARGUMENTS…
# The paths below the project's folder become relative; the rest lets ccache take in precompiled headers. What another text of
# this script stored is not used.
export CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1 CCACHE_EXTRAFILES="$0:${0%/*}/sanitize_ignore.txt"
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
shift
# The precompiled header that is to be replaced would be read first, and no two of GCC's have the same bytes. Its headers are
# compared byte for byte (CCACHE_DEPEND): the preprocessor drops macros, which it hands on, and comments, which #pragma once compares.
before=""
for argument; do
    case $before$argument in -o*.gch) rm -f "$argument"; export CCACHE_DEPEND=1 ;; esac
    before=$argument
done
exec ccache "$@"
