"""Ports and processes of this machine, from /proc."""
import os
import random
import signal
import socket
from pathlib import Path


def free_port():
    """A free port of 127.0.0.1, below the range of ephemeral ports, which outgoing connections could take before the caller listens."""
    while True:
        port = random.randint(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def stat_fields(process):
    """The fields after the name in /proc/PID/stat (the name may contain any character); None when the process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def children_of(parent):
    """The ids of the child processes."""
    return [
        int(entry) for entry in os.listdir("/proc")
        if entry.isdigit() and (fields := stat_fields(entry)) and int(fields[1]) == parent]


def family(process):
    """The ids of a process and its children."""
    return [process] + children_of(process)


def send(process, number):
    """Sends a signal to a process that may have ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def kill_family(process):
    """Kills a process and its children at once. The parent is stopped first, so that it makes no more children."""
    send(process, signal.SIGSTOP)
    for member in children_of(process) + [process]:
        send(member, signal.SIGKILL)
