"""Two hosts of one core each on this computer, joined by a slow network: network namespaces and a veth pair that `tc tbf` shapes.
Needs root, Open MPI and iproute2.
"""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

HOSTS = ("troika-a", "troika-b")
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def sh(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True)


def use_usual_tcp(host):
    """Some systems use BBR, whose rate follows what a program sends in bursts: it then halves a link that both ends fill."""
    for key, value in (("tcp_congestion_control", "cubic"), ("tcp_slow_start_after_idle", "0")):
        sh("ip", "netns", "exec", host, "sysctl", "-q", "-w", f"net.ipv4.{key}={value}", check=False)


def make_network(rate):
    remove_network()
    for host in HOSTS:
        sh("ip", "netns", "add", host)
    sh("ip", "link", "add", "veth-a", "netns", HOSTS[0], "type", "veth", "peer", "name", "veth-b", "netns", HOSTS[1])
    for index, host in enumerate(HOSTS):
        device = "veth-" + "ab"[index]
        sh("ip", "-n", host, "addr", "add", f"10.77.0.{index + 1}/24", "dev", device)
        sh("ip", "-n", host, "link", "set", device, "up")
        sh("ip", "-n", host, "link", "set", "lo", "up")
        use_usual_tcp(host)
        sh("ip", "netns", "exec", host, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "16kb",
           "latency", "50ms")


def remove_network():
    for host in HOSTS:
        sh("ip", "netns", "del", host, check=False)


def enter(host):
    """The start of a command line for sh: runs the rest on a host, which has a name and a core of its own."""
    return f"exec unshare --uts sh -c 'hostname {host} && exec taskset -c {HOSTS.index(host)} ip netns exec {host} \"$@\"' sh"


def write_agent(folder):
    """What mpirun starts instead of ssh."""
    path = Path(folder) / "enter"
    path.write_text(f"#!/bin/sh\nhost=$1\nshift\ncase $host in\n10.77.0.1) {enter(HOSTS[0])} sh -c \"$*\";;\n"
                    f"*) {enter(HOSTS[1])} sh -c \"$*\";;\nesac\n")
    path.chmod(0o755)
    return path


@contextlib.contextmanager
def slow_network(rate):
    """Yields what stands before a command that shall run with one rank on each host."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            make_network(rate)
            # The launcher itself starts the first rank, so it runs on the first host. It would bind both to the same core.
            yield ["sh", "-c", f'{enter(HOSTS[0])} "$0" "$@"', "mpirun", "--bind-to", "none",
                   "--mca", "plm_rsh_agent", str(write_agent(folder)), "--mca", "btl", "tcp,self",
                   "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24",
                   "--host", "10.77.0.1:1,10.77.0.2:1", "-n", "2"]
        finally:
            remove_network()
