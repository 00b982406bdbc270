#!/usr/bin/env bash
# Debian's Open MPI as tests on one machine want it: tools/mpirun.sh -n 4 PROGRAM
# It refuses root, which containers have; it would bind each of two processes to one core, and wait long for a host that is cut off.
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec mpirun --oversubscribe --bind-to none --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 \
    --mca oob_tcp_keepalive_probes 3 "$@"
