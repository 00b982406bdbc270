#!/bin/sh
# Starts what mpirun starts on a host, in a network namespace of this machine that plays that host:
#
#     netns_agent.sh 10.77.0.2 COMMAND…    in the namespace weft2, with that as the name of its host
#
# mpirun calls it if told `--mca plm_rsh_agent tools/bench/netns_agent.sh` (cluster_model.py makes the namespaces).
name=weft${1##*.}
shift
exec ip netns exec "$name" unshare --uts sh -c "hostname $name; $*"
