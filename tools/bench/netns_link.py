#!/usr/bin/env python3
"""Two network namespaces, weft1 (10.77.0.1) and weft2 (10.77.0.2), with a cable between them (needs root):

    tools/bench/netns_link.py SECONDS BYTES_PER_SECOND

The cable is this program: what one side sends arrives at the other after so many seconds, with so many bytes a
second in each direction. Prints "ready" when the cable lies, and removes the namespaces when its input ends.
It needs /dev/net/tun, and not the kernel's netem.
"""
import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


def ip(*arguments, check=True):
    subprocess.run(["ip", *arguments], check=check, stderr=None if check else subprocess.DEVNULL)


def plug(here, there, mtu):
    """A descriptor of the cable's end in the namespace `here`."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", f"weft{here}".encode(), IFF_TUN | IFF_NO_PI))
    ip("netns", "add", f"weft{here}")
    ip("link", "set", f"weft{here}", "netns", f"weft{here}")
    ip("-n", f"weft{here}", "address", "add", f"10.77.0.{here}", "peer", f"10.77.0.{there}", "dev", f"weft{here}")
    ip("-n", f"weft{here}", "link", "set", f"weft{here}", "mtu", str(mtu), "up")
    ip("-n", f"weft{here}", "link", "set", "lo", "up")
    return end


def carry(ends, latency, bandwidth):
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    waiting = {end: collections.deque() for end in ends}  # (when it arrives, packet), by where it was sent
    free = dict.fromkeys(ends, 0.0)  # when the last packet has left
    while True:
        arrivals = [queue[0][0] for queue in waiting.values() if queue]
        pause = max(0.0, min(arrivals) - time.monotonic()) if arrivals else None
        readable = select.select([sys.stdin, *ends], [], [], pause)[0]
        if sys.stdin in readable:
            return
        for end in readable:
            packet = os.read(end, 65535)
            free[end] = max(free[end], time.monotonic()) + len(packet) / bandwidth
            waiting[end].append((free[end] + latency, packet))
        now = time.monotonic()
        for end, queue in waiting.items():
            while queue and queue[0][0] <= now:
                os.write(other[end], queue.popleft()[1])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    latency, bandwidth = map(float, sys.argv[1:])
    mtu = max(1500, min(65535, int(bandwidth * 200e-6)))  # large ones cost less; none keeps the cable for long
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # no cable waits for a processor
    try:
        ends = [plug(1, 2, mtu), plug(2, 1, mtu)]
        print("ready", flush=True)
        carry(ends, latency, bandwidth)
    finally:
        for name in ("weft1", "weft2"):
            ip("netns", "delete", name, check=False)


if __name__ == "__main__":
    main()
