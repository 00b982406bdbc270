#!/usr/bin/env python3
"""Predicts how fast training is on many hosts, and compares the prediction with measurements:

    tools/bench/cluster_model.py [char] [gpt2] [--build FOLDER] [--rounds N] [--network NAME:SECONDS:BYTES_PER_SECOND …]

The model follows src/dist/buckets.cpp. Each of P hosts has one process, which computes its share of the
grains one after the other. The gradients of the last one become complete over a part of its time, in the order
of backward; those of the embeddings, one of which is also the head, at its end. A full bucket goes out in two
messages to every other host: the exchange, pieces of each node of the tree that the process has, and, when all
pieces have come and are added up, the completion, the sum of its own piece. A host sends and receives
`bandwidth` bytes a second, both at once, one bucket after the other; a message arrives `latency` seconds later,
and one above 64 KiB asks first, as Open MPI's over TCP do. Then come the losses and the optimiser. Copying and
adding pass over memory at --memory bytes a second, and nothing is computed meanwhile. Full switches, TCP's slow
start, slower hosts and evaluation are not in the model.

The measured points are two processes with one thread each on this machine and, for root, in two network
namespaces with a cable of known latency and bandwidth between them (netns_link.py). The model's parameters are
those of the two on this machine. In the table of many hosts each is like this machine, with
one process and all its threads. Root needs OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.
"""
import argparse
import subprocess
import sys
from dataclasses import dataclass

from dist import BATCH, FOLDER, MPIRUN, alternately, dist_bench, table

# layers, C, block, V, biases (torch_peer.py)
SIZES = {"char": (4, 128, 64, 65, False), "gpt2": (12, 768, 1024, 50257, True)}
NETWORKS = ["1 Gbit/s:100e-6:125e6", "10 Gbit/s:50e-6:1.25e9", "25 Gbit/s:20e-6:3.125e9", "100 Gbit/s:5e-6:12.5e9"]
CABLES = {  # seconds, bytes a second
    "char": [(100e-6, 125e6), (1e-3, 125e6), (10e-3, 125e6), (1e-3, 12.5e6), (10e-3, 12.5e6)],
    "gpt2": [(100e-6, 125e6), (10e-3, 125e6)],
}
HOSTS = (2, 4, 8, 16, 32, 64)
EAGER = 65536  # bytes that are sent without asking


@dataclass
class Work:
    workload: str
    grain: float      # seconds
    optimizer: float  # seconds
    ready: float      # share of the last grain's time over which gradients become complete
    memory: float     # bytes a second
    bucket: int       # elements

    def parameters(self):
        """Elements of each parameter in the order of backward, and whether it is an embedding."""
        layers, C, block, V, bias = SIZES[self.workload]
        norm = [C] * (1 + bias)

        def linear(a, b):
            return [b] * bias + [a * b]

        layer = linear(4 * C, C) + linear(C, 4 * C) + norm + linear(C, C) + linear(C, 3 * C) + norm
        return [(n, False) for n in norm + layers * layer] + [(block * C, True), (V * C, True)]

    def buckets(self):
        """Elements of each bucket, and the share of the ready time after which it is complete."""
        parameters = self.parameters()
        total = sum(n for n, embedding in parameters if not embedding)
        found, filled, complete = [], 0, 0
        for n, embedding in parameters:
            complete = total if embedding else complete + n
            filled += n
            found += [(self.bucket, complete / total)] * (filled // self.bucket)
            filled %= self.bucket
        return found + ([(filled, 1.0)] if filled else [])


def share(n, P, r):
    return n * r // P, n * (r + 1) // P


def nodes_within(G, begin, end):
    """How many of the largest nodes of the tree over G grains lie in [begin, end) (src/dist/transport.h)."""

    def nodes(a, b):
        if b <= begin or end <= a:
            return 0
        if begin <= a and b <= end:
            return 1
        middle = a + (1 << ((b - a - 1).bit_length() - 1))
        return nodes(a, middle) + nodes(middle, b)

    return nodes(0, G)


def predicted(work, P, G, latency, bandwidth):
    """Seconds of a step, and those of them after the last grain in which buckets are on their way."""
    grains = max(end - begin for begin, end in (share(G, P, r) for r in range(P)))
    if P == 1:
        return grains * work.grain + work.optimizer, 0.0
    counts = [nodes_within(G, *share(G, P, r)) for r in range(P)]

    def message(piece):  # until it has arrived, without the time of its bytes
        return latency * (3 if piece > EAGER else 1)

    def exchanged(n):  # bytes that a host sends or receives of a bucket of n elements, whichever are more
        return max(max(c * (P - 1), sum(counts) - c) for c in counts) * 4 * n / P

    def completed(n):
        return (P - 1) * 4 * n / P

    def sums(n):  # seconds
        return (sum(counts) - 1) * 4 * n / P / work.memory

    # The process itself lays gradients into buckets and copies what it sends and receives.
    buckets = work.buckets()
    copies = sum(max(counts) * 4 * n + 2 * exchanged(n) + 2 * completed(n) for n, _ in buckets) / work.memory
    last = work.grain + copies  # the last grain's time
    end = latency + (grains - 1) * work.grain + last  # the processes compare their calls first
    free = end - last  # when the host's cable is
    waiting = []  # (when it can go, order, bytes, seconds until it has arrived, what follows when it is added up)
    for b, (n, part) in enumerate(buckets):
        completion = (b, 1, completed(n), message(4 * n / P), None)
        waiting.append((end - work.ready * last * (1 - part), b, 0, exchanged(n), message(max(counts) * 4 * n / P),
                        (sums(n), completion)))
    finish = end
    while waiting:
        waiting.sort(key=lambda message: (max(message[0], free), message[1:3]))
        ready, _, _, size, delay, follows = waiting.pop(0)
        free = max(ready, free) + size / bandwidth
        if follows:
            waiting.append((free + delay + follows[0], *follows[1]))
        else:
            finish = max(finish, free + delay)
    return finish + 2 * latency + work.optimizer, finish - end


def predict(o, work, networks):
    G = max(o.grains, *HOSTS)
    one, _ = predicted(work, 1, G, 0, 1)
    rows = []
    for P in HOSTS:
        row = [str(P)]
        for _, latency, bandwidth in networks:
            seconds, _ = predicted(work, P, G, latency, bandwidth)
            row += [f"{seconds * 1e3:.1f}", f"{one / seconds:.2f} ×"]
        rows.append(row)
    table(f"{work.workload}, {G} grains of {work.grain * 1e3:.1f} ms, optimiser {work.optimizer * 1e3:.1f} ms, "
          f"gradients ready over {work.ready:.2f} of a grain, {sum(n for n, _ in work.parameters()):,} parameters; "
          f"predicted ms for a step, and speed-up over one host, which takes {one * 1e3:.0f} ms",
          ["hosts", *(x for name, _, _ in networks for x in (name, ""))], rows)


def apart(o, workload, latency, bandwidth, **options):
    """What dist_bench prints on two processes in two namespaces."""
    link = subprocess.Popen([sys.executable, f"{FOLDER}/netns_link.py", str(latency), str(bandwidth)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    link.stdout.readline()
    try:
        return dist_bench(o.build, workload, mpirun=APART, **options)
    finally:
        link.stdin.close()
        link.wait()


def compare(o, workload):
    """The model beside what two processes of this machine need, together and apart."""
    options = {"P": 2, "threads": 1, "grains": 8, "bucket": o.bucket}
    refused = namespaces_refused()
    cables = [] if refused else CABLES[workload]
    programs = [lambda: dist_bench(o.build, workload, **options)]
    programs += [lambda cable=cable: apart(o, workload, *cable, **options) for cable in cables]
    results = alternately(o.rounds, programs)
    here = results[0]
    work = Work(workload, here['grain_ms'] / 1e3, here["optimizer_ms"] / 1e3, 1, o.memory, o.bucket)
    work.ready = min(1, here["ready"] / (1 - work.buckets()[0][1]))  # the first bucket left when it was full
    rows = []
    for (latency, bandwidth), r in zip([(5e-6, o.memory), *cables], results):
        seconds, after = predicted(work, 2, 8, latency, bandwidth)
        rows.append([f"{latency * 1e3:.3g}", f"{bandwidth / 1e6:.4g}", f"{r['median_ms']:.1f}", f"{r['min_ms']:.1f}",
                     f"{seconds * 1e3:.1f}", f"{100 * (seconds * 1e3 / r['median_ms'] - 1):+.1f} %",
                     f"{r['exposed_ms']:.1f}", f"{after * 1e3:.1f}"])
    table(f"{workload}, batch {BATCH[workload]}, 8 grains of {here['grain_ms']:.1f} ms, two processes with one "
          "thread each, on this machine (first row) and in two namespaces: step, measured and predicted, and the time "
          "after the last grain in which buckets are on their way",
          ["latency ms", "MB/s", "median ms", "minimum ms", "predicted ms", "error", "after ms", "predicted ms"], rows)
    if refused:
        print(f"\nnot measured in network namespaces, only simulated above: {refused}")
    return work


AGENT = f"{FOLDER}/netns_agent.sh"
APART = [AGENT, "10.77.0.1", MPIRUN, "-H", "10.77.0.1,10.77.0.2", "--mca", "plm_rsh_agent", AGENT,
         *"--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24".split(),
         *"--mca oob_tcp_if_include 10.77.0.0/24".split()]


def namespaces_refused():
    """Why this machine cannot make two network namespaces with a cable between them, or an empty string."""
    done = subprocess.run([sys.executable, f"{FOLDER}/netns_link.py", "0", "1e9"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", choices=[*SIZES, []], metavar="WORKLOAD",
                        help="char, gpt2; default: both")
    parser.add_argument("--build", default=f"{FOLDER}/../build/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--grains", type=int, default=64, help="at least the number of hosts")
    parser.add_argument("--bucket", type=int, default=1 << 18, help="elements of a bucket")
    parser.add_argument("--grain_ms", type=float, help="of a host; default: measured")
    parser.add_argument("--optimizer_ms", type=float, help="the same")
    parser.add_argument("--ready", type=float, help="share of a grain; default: measured, or 2/3")
    parser.add_argument("--memory", type=float, default=5e9, help="bytes a second for copies, and between processes")
    parser.add_argument("--network", action="append", metavar="NAME:SECONDS:BYTES_PER_SECOND")
    parser.add_argument("--no_measurements", action="store_true", help="predict only")
    o = parser.parse_args()
    networks = [(name, float(latency), float(bandwidth))
                for name, latency, bandwidth in (text.split(":") for text in o.network or NETWORKS)]
    for workload in o.workloads or SIZES:
        ready = 2 / 3 if o.no_measurements else compare(o, workload).ready
        if not (o.grain_ms and o.optimizer_ms):
            one = alternately(o.rounds, [lambda: dist_bench(o.build, workload, grains=8)])[0]
        predict(o, Work(workload, (o.grain_ms or one["grain_ms"]) / 1e3, (o.optimizer_ms or one["optimizer_ms"]) / 1e3,
                        o.ready or ready, o.memory, o.bucket), networks)


if __name__ == "__main__":
    main()
