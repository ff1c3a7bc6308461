"""The testbed: PostgreSQL (started by deploy/bench) and the provider, which run all the time, and the measurement of a peer on them."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from ..postgres import PSQL
from ..processes import free_port
from . import machine


def progress(line):
    """Prints a line to standard error."""
    print(line, file=sys.stderr, flush=True)


class Testbed:
    """Starts the provider, runs the load generator, and computes the figures of a run."""

    def __init__(self, options):
        self.options, self.folder = options, Path(options.folder)
        self.provider_port, self.secure_port = free_port(), free_port()
        self.certificate, self.key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "7", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(self.key), "-out", str(self.certificate)],
            check=True, capture_output=True)
        self.start_provider()

    def start_provider(self):
        """Starts the provider and waits until it listens."""
        self.provider = machine.Child("provider", [
            self.options.tool, "provider", "--port", str(self.provider_port), "--tls-port", str(self.secure_port),
            "--certificate", str(self.certificate), "--key", str(self.key)], self.folder / "provider.log")
        self.provider.wait_until(lambda: machine.listens(self.secure_port))

    def set_workload(self, query):
        """Sets the provider's workload for later answers."""
        status, _ = machine.get(self.provider_port, f"/workload?{query}")
        if status != 200:
            raise SystemExit(f"the provider does not understand {query}")

    # MARK: PostgreSQL

    @property
    def postmaster(self):
        """The process id of PostgreSQL, which changes with a restart."""
        return int(self.in_cluster('as_postgres head -n 1 "$2/data/postmaster.pid"'))

    def restart_database(self):
        """Restarts PostgreSQL."""
        self.in_cluster('cluster_start "$2" "$3"')

    def in_cluster(self, command):
        """Runs a shell command with the functions of deploy/lib.sh and returns its output."""
        done = subprocess.run(
            ["bash", "-c", f'set -e; . "$1/deploy/lib.sh"; {command}', "bench", self.options.root, self.options.cluster,
             str(self.options.database_port)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{command}: {done.stderr}")
        return done.stdout

    def sql(self, text, role="postgres"):
        """Runs statements, each in its own transaction, and returns the lines of their output."""
        done = subprocess.run(
            ["psql", *PSQL, "-f", "-"] + self.address(role), env=self.as_role(role),
            input=text, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"psql: {done.stderr}")
        return done.stdout.splitlines()

    def address(self, role):
        """psql's arguments to connect as a role."""
        return ["-h", "127.0.0.1", "-p", str(self.options.database_port), "-U", role, "-d", "postgres"]

    def as_role(self, role):
        """The environment with the password of a role."""
        secret = self.options.password if role == "postgres" else "bench"
        return os.environ | {"PGPASSWORD": secret}

    # MARK: Load

    def begin_load(self, peer, arguments):
        """Starts the load generator against a peer."""
        command = [self.options.tool, "load", "--kind", peer.kind, "--port", str(peer.port)] + peer.load_arguments() + arguments
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def end_load(self, process, limit, while_running=lambda: None):
        """Waits for the load generator and returns its results."""
        try:
            end = time.monotonic() + limit
            while process.poll() is None:
                if time.monotonic() > end:
                    raise SystemExit(f"{' '.join(process.args)} did not end in {limit:g} s")
                while_running()
                time.sleep(0.25)
            if process.returncode:
                raise SystemExit(f"{' '.join(process.args)} ended with {process.returncode}")
            return json.loads(process.stdout.read())
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def load(self, peer, arguments, limit, while_running=lambda: None):
        """Runs the load generator and returns its results."""
        return self.end_load(self.begin_load(peer, arguments), limit, while_running)

    def warm(self, peer, streams=50):
        """Runs a short load that fills pools and caches before the measurement."""
        self.set_workload("pace=0&tokens=20&first_ms=0&pack=1&cut=0&rejected=0")
        self.load(peer, [
            "--streams", str(streams), "--expect-tokens", "20", "--ramp", "0.3", "--answers", "4", "--time-limit", "20"], 40)

    def measure(self, peer, workload):
        """Starts a peer, runs a workload, stops the peer, and returns the figures."""
        workload = peer.adapted(workload)
        try:
            peer.start(workload)
            self.warm(peer, min(50, workload.streams))
            return self.run(peer, workload)
        finally:
            peer.stop()

    def run(self, peer, workload):
        """Runs a workload with a running peer and returns the figures."""
        self.set_workload(workload.provider_query)
        time.sleep(1)
        process, postmaster = peer.child and peer.child.pid, self.postmaster
        members = machine.family(process) if process else []
        idle = machine.resident_bytes(process, members)
        largest = idle

        def sample():
            """Updates the largest resident memory."""
            nonlocal largest
            if process:
                largest = max(largest, machine.resident_bytes(process, members))

        def accounts():
            """CPU seconds of peer, PostgreSQL, provider, this process and all processors, and the time."""
            return [machine.cpu_seconds(pid) if pid else 0 for pid in (process, postmaster, self.provider.pid)] + [
                time.process_time(), machine.busy_seconds(), time.monotonic()]

        before, begins = accounts(), self.begin_turn_calls(peer)
        seen = self.load(peer, workload.load_arguments(), workload.limit, sample)
        # Work after the last byte (commit, closing connections) is part of the cost.
        time.sleep(0.5)
        own, database, provider, driver, busy, wall = (b - a for a, b in zip(before, accounts()))
        def point(histogram, name, unit=1e3):
            return seen[histogram][name] / unit if seen[histogram]["count"] else None

        tokens, turns = max(seen["tokens"], 1), max(seen["complete"], 1)
        result = {
            "streams": workload.streams,
            "cpu_per_million": own / tokens * 1e6 if process else None,
            "database_per_million": database / tokens * 1e6 if peer.has_database else None,
            "cpu_per_turn": own / turns * 1e3 if process else None,
            "database_per_turn": database / turns * 1e3 if peer.has_database else None,
            "begin_in_database": self.begin_turn_mean(peer, begins),
            "added_p50": point("added_us", "p50", 1), "added_p99": point("added_us", "p99", 1),
            "first_p50": point("first_token_us", "p50"), "first_p99": point("first_token_us", "p99"),
            "begin_p50": point("begin_us", "p50"), "begin_p99": point("begin_us", "p99"),
            "tokens_per_s": seen["tokens_per_s"], "turns_per_s": seen["turns_per_s"],
            "kib_per_stream": (largest - idle) / 1024 / workload.streams if process else None,
            "gap_max": seen["gap_us"]["max"] / 1e3, "gaps_too_long": seen["gaps_too_long"],
            "silence_max": seen["silence_us"]["max"] / 1e6, "silences_too_long": seen["silences_too_long"],
            "not_whole": seen["rejected"] + seen["incomplete"] + seen["lost"] + seen["missed"],
            "provider_share": provider / seen["wall_s"], "load_share": seen["load_cpu_s"] / seen["wall_s"],
            "proxy_share": own / seen["wall_s"] if process else None,
            "database_share": database / seen["wall_s"] if peer.has_database else None, "driver_share": driver / seen["wall_s"],
            # CPU of other processes. If it is not near 0, the latencies are not reliable.
            "others_share": max(0, busy - own - database - provider - driver - seen["load_cpu_s"]) / wall,
            "load": seen,
        }
        if result["not_whole"]:
            progress(f"  {peer.name}, {workload.name}: {result['not_whole']} of {seen['begun']} not whole. {seen['first_rejection']} {seen['first_incomplete']} {seen['first_loss']}")
        return result

    def begin_turn_calls(self, peer):
        """The number of calls of begin_turn and their milliseconds so far, by PostgreSQL's track_functions."""
        if not peer.has_database:
            return None
        rows = self.sql("select calls, total_time from pg_stat_user_functions where funcname = 'begin_turn'")
        return tuple(float(part) for part in rows[0].split("|")) if rows else (0.0, 0.0)

    def begin_turn_mean(self, peer, before):
        """The mean milliseconds of begin_turn since `before`."""
        if before is None:
            return None
        # A backend reports its statistics after it has been idle for a second.
        time.sleep(1.2)
        calls, spent = (after - earlier for earlier, after in zip(before, self.begin_turn_calls(peer)))
        return spent / calls if calls else None
