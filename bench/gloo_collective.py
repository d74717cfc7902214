#!/usr/bin/env python3
"""Times PyTorch's all_reduce over Gloo on the loopback interface, as mpi_collective.c does for MPI.

usage: bench/gloo_collective.py DEVICES REPEATS BYTES...      prints one JSON object per size
"""

import json
import os
import statistics
import sys
import time

MOST_ROUNDS = 1000


def time_rounds(dist, tensor, rounds):
    dist.barrier()
    start = time.perf_counter()
    for _ in range(rounds):
        dist.all_reduce(tensor)
    return (time.perf_counter() - start) / rounds * 1e6


def longest(dist, torch, value):
    agreed = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(agreed, op=dist.ReduceOp.MAX)
    return agreed.item()


def run(rank, devices, repeats, sizes, port):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=devices)
    tensors = [torch.zeros(size // 4) for size in sizes]
    times = [[] for _ in sizes]
    for _ in range(repeats):
        for tensor, list_of in zip(tensors, times):
            time_rounds(dist, tensor, 1)
            first = longest(dist, torch, time_rounds(dist, tensor, 1))
            rounds = max(1, min(MOST_ROUNDS, int(500 / (first + 1e-3))))
            list_of.append(longest(dist, torch, time_rounds(dist, tensor, rounds)))
    for size, list_of in zip(sizes, times):
        if rank == 0:
            print(json.dumps({"bytes": size, "microseconds": statistics.median(list_of),
                              "from_microseconds": min(list_of), "to_microseconds": max(list_of)}), flush=True)
    dist.destroy_process_group()


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    import torch.multiprocessing as processes
    devices, repeats, *sizes = map(int, sys.argv[1:])
    processes.spawn(run, args=(devices, repeats, sizes, free_port()), nprocs=devices)
    return 0


if __name__ == "__main__":
    sys.exit(main())
