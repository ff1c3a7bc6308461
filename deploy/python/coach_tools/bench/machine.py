"""Child processes, and figures of this machine from /proc."""
import http.client
import os
import platform
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

from ..processes import family, stat_fields

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(process):
    """User and kernel time in seconds of a process, its children, and the children that it has waited for."""
    total = 0
    for member in family(process):
        if found := stat_fields(member):
            total += int(found[11]) + int(found[12])
            if member == process:
                total += int(found[13]) + int(found[14])
    return total / TICKS


def busy_seconds():
    """The seconds that all processors were busy, including time stolen by the hypervisor."""
    user, nice, system, _, _, interrupts, soft, stolen = (int(part) for part in Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + interrupts + soft + stolen) / TICKS


def resident_bytes(process, members=None):
    """The resident memory in bytes of a process and its children, or of known members: looking for them reads /proc for milliseconds, which
    a latency measured meanwhile would include."""
    total = 0
    for member in family(process) if members is None else members:
        try:
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * PAGE
        except OSError:
            pass
    return total


def get(port, path, timeout=2):
    """The status and body of a GET request; status 0 without a response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


class Child:
    """A child process with a log file."""

    def __init__(self, name, arguments, log, environment=None):
        self.name, self.log, self.arguments = name, log, arguments
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                arguments, env=environment or os.environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        self.pid = self.process.pid

    def wait_until(self, is_ready, seconds=30):
        """Polls until the process is ready; exits with the end of its log if it ends or the time is over."""
        end = time.monotonic() + seconds
        while not is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{self.name} did not start:\n" + Path(self.log).read_text(errors="replace")[-2000:])
            time.sleep(0.05)

    def stop(self, timeout=15):
        """Sends SIGTERM, and SIGKILL after `timeout` seconds."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def listens(port):
    """Whether a server accepts connections on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def most_streams():
    """The most streams by the limit of open files. A proxy needs two descriptors per stream; the gateway needs a third in its first second."""
    return (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000) // 2


def descriptors(process):
    """The number of open files of a process; 0 when it has ended."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return 0


def description():
    """The machine in one line: processors, memory, kernel."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemTotal"))
    return f"{os.cpu_count()} x {model}, {memory / 2**20:.0f} GiB, Linux {platform.release()}"
