"""PyTorch's training step for the models of the zoo that torch_step.py does not have: alexnet, inception_v3, lenet.

    torch_models.py [--threads 2] [--models alexnet,inception_v3,lenet] [--compile] [--repeats 7] [--json]

The same options and the same JSON as torch_step.py, so that bench/against_torch can run either.
"""

import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def alexnet():
    def conv(i, o, kernel, stride, pad):
        return [nn.Conv2d(i, o, kernel, stride, pad), nn.ReLU(True)]
    pool = nn.MaxPool2d(3, 2)
    features = [*conv(3, 64, 11, 4, 2), pool, *conv(64, 192, 5, 1, 2), pool, *conv(192, 384, 3, 1, 1),
                *conv(384, 256, 3, 1, 1), *conv(256, 256, 3, 1, 1), pool]
    return nn.Sequential(*features, nn.Flatten(), nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(),
                         nn.Linear(4096, 4096), nn.ReLU(True), nn.Linear(4096, 1000))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(True),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(True), nn.Linear(120, 84),
                         nn.ReLU(True), nn.Linear(84, 10))


def unit(i, o, kernel=1, stride=1, pad=0):
    return nn.Sequential(nn.Conv2d(i, o, kernel, stride, pad, bias=False), nn.BatchNorm2d(o, eps=1e-3), nn.ReLU(True))


class Join(nn.Module):
    """Branches over one input, side by side along the channels."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def average(i, o):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), unit(i, o))


def row(i, o, length=7):
    return unit(i, o, (1, length), 1, (0, length // 2))


def column(i, o, length=7):
    return unit(i, o, (length, 1), 1, (length // 2, 0))


def module_a(i, pool):
    return Join(unit(i, 64), nn.Sequential(unit(i, 48), unit(48, 64, 5, 1, 2)),
                nn.Sequential(unit(i, 64), unit(64, 96, 3, 1, 1), unit(96, 96, 3, 1, 1)), average(i, pool))


def module_c(i, m):
    twice = nn.Sequential(unit(i, m), column(m, m), row(m, m), column(m, m), row(m, 192))
    return Join(unit(i, 192), nn.Sequential(unit(i, m), row(m, m), column(m, 192)), twice, average(i, 192))


def module_e(i):
    def fork():
        return Join(row(384, 384, 3), column(384, 384, 3))
    return Join(unit(i, 320), nn.Sequential(unit(i, 384), fork()),
                nn.Sequential(unit(i, 448), unit(448, 384, 3, 1, 1), fork()), average(i, 192))


def inception_v3():
    pool = nn.MaxPool2d(3, 2)
    stem = [unit(3, 32, 3, 2), unit(32, 32, 3), unit(32, 64, 3, 1, 1), pool, unit(64, 80), unit(80, 192, 3), pool]
    to_17 = Join(unit(288, 384, 3, 2), nn.Sequential(unit(288, 64), unit(64, 96, 3, 1, 1), unit(96, 96, 3, 2)), pool)
    to_8 = Join(nn.Sequential(unit(768, 192), unit(192, 320, 3, 2)),
                nn.Sequential(unit(768, 192), row(192, 192), column(192, 192), unit(192, 192, 3, 2)), pool)
    return nn.Sequential(*stem, module_a(192, 32), module_a(256, 64), module_a(288, 64), to_17,
                         *[module_c(768, middle) for middle in (128, 160, 160, 192)], to_8, module_e(1280),
                         module_e(2048), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(2048, 1000))


# network, batch, shape of a sample, classes
CASES = {"alexnet": (alexnet, 32, (3, 224, 224), 1000),
         "inception_v3": (inception_v3, 8, (3, 299, 299), 1000),
         "lenet": (lenet, 64, (1, 28, 28), 10)}


def seconds_per_step(name, compiled, repeats, channels_last):
    make, batch, shape, classes = CASES[name]
    net, x, y = make().train(), torch.randn(batch, *shape), torch.randint(0, classes, (batch,))
    if channels_last:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    run = torch.compile(net) if compiled else net
    optimizer, times = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9), []
    for repeat in range(repeats + 2):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(run(x), y).backward()
        optimizer.step()
        if repeat >= 2:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    for name in arguments.models.split(","):
        batch = CASES[name][1]
        step = min(seconds_per_step(name, arguments.compile, arguments.repeats, last) for last in (False, True))
        row_of = {"model": name, "batch": batch, "threads": arguments.threads, "compile": arguments.compile,
                  "torch": torch.__version__, "step_ms": step * 1e3, "items_per_second": batch / step,
                  "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
        print(json.dumps(row_of) if arguments.json else f"{name:14s} {step * 1e3:9.1f} ms", flush=True)


if __name__ == "__main__":
    main()
