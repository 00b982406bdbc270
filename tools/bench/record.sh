#!/usr/bin/env bash
# Runs a program of bench and prints before its output where and when it ran, as the files of docs/measured begin:
#   bash tools/bench/record.sh build/release compare char --threads 2
set -euo pipefail
programs=$1/bench
shift
# The floor of the smallest workload tells OpenBLAS's kernels, which the processor and OPENBLAS_CORETYPE decide.
kernels=$("$programs/gemm_floor" toy | sed -n 's/.*"kernels": *"\([^"]*\)".*/\1/p')
cat <<END
processor  $(LC_ALL=C lscpu | sed -n 's/^Model name: *//p'), $(nproc) cores
kernels    $kernels
commit     $(git describe --always --dirty)
date       $(date +%F)
command    $*

END
exec "$programs/$1" "${@:2}"
