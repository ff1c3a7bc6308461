"""Study: chat alone, and beside ten operators whose dashboards read the overview's figures once a second, among a large ledger."""
import asyncio
import datetime
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

from .. import tokens
from . import history, peers, report
from .beside import beside
from .reads import quantile
from .testbed import progress
from .workloads import Workload

OPERATORS = 10
# Connections of a browser to one server with HTTP/1.1; one more has the events.
CONNECTIONS = 6
DAYS = 90
# What the overview reads (Sources/CPageFiles/Static/overview.js), for its default period of 30 days; compared as a period that has ended is.
FIGURES = (
    "costs?{period}&limit=5000&compare=previous", "usage?{period}&limit=5000", "latency?{period}&limit=5000", "alerts?state=firing&limit=5",
    "costs?{period}&limit=5000&group_by=day%2Cmodel&grain=day", "domains?{period}&limit=5000&group_by=domain", "providers?{period}&limit=5000&group_by=provider%2Cmodel",
    "audit?limit=6")


class Dashboard:
    """One operator's browser, signed in: a stream of events, and the figures once a second."""

    def __init__(self, port):
        self.port, self.idle, self.loads, self.late = port, [], [], 0
        self.times, self.refused = {figure: [] for figure in FIGURES}, {}

    async def exchange(self, connection, method, path, headers):
        """Sends a request without a body and reads its answer: the status, and the head."""
        reader, writer = connection
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{headers}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if length:
            await reader.readexactly(int(length[1]))
        return int(head.split(b" ")[1]), head.decode()

    async def sign_in(self):
        """Opens the connections, and a session."""
        self.idle = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(CONNECTIONS)]
        token = tokens.access_token(peers.Gateway.secret, str(uuid.uuid4()), "operator")
        status, head = await self.exchange(
            self.idle[0], "POST", "/operator/session", f"Authorization: Bearer {token}\r\nContent-Length: 0\r\n")
        cookie = re.search(r"\r\nset-cookie: *([^;\r]+)", head, re.IGNORECASE)
        if status >= 400 or not cookie:
            raise SystemExit(f"signing in: {head}")
        self.cookie = f"Cookie: {cookie[1]}\r\n"

    async def figure(self, free, figure, period):
        """Reads one figure over a connection that is free."""
        began = time.perf_counter()
        async with free:
            connection = self.idle.pop()
            status, _ = await self.exchange(connection, "GET", "/api/v1/operator/" + figure.format(period=period), self.cookie)
            self.idle.append(connection)
        self.times[figure].append((time.perf_counter() - began) * 1e3)
        if status != 200:
            self.refused[f"{status} {figure}"] = self.refused.get(f"{status} {figure}", 0) + 1

    async def follow(self):
        """Reads the events until it is cancelled."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"GET /api/v1/operator/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAccept: text/event-stream\r\n{self.cookie}\r\n".encode())
        while await reader.read(65536):
            pass
        raise SystemExit("the events ended")

    async def run(self, place, seconds):
        """Loads all figures once a second, `place` seconds after the others. A load's milliseconds count from when it was due."""
        await self.sign_in()
        today = datetime.datetime.now(datetime.timezone.utc).date()
        period = f"from={today - datetime.timedelta(days=29)}&to={today}"
        events, free = asyncio.create_task(self.follow()), asyncio.Semaphore(CONNECTIONS)
        began = time.perf_counter() + place
        for number in range(int(seconds)):
            wait = began + number - time.perf_counter()
            # A dashboard that has not read everything reads it to the end first.
            self.late += wait < -0.1
            await asyncio.sleep(max(0, wait))
            await asyncio.gather(*(self.figure(free, figure, period) for figure in FIGURES))
            self.loads.append((time.perf_counter() - began - number) * 1e3)
            if events.done():
                events.result()
        events.cancel()
        for _, writer in self.idle:
            writer.close()


def fill(testbed, rows):
    """Loads a ledger, and returns what the loader tells about it."""
    url = f"postgres://postgres@127.0.0.1:{testbed.options.database_port}/postgres"
    done = subprocess.run(
        [sys.executable, "-B", "-m", "coach_tools.ledger", url, "--rows", str(rows), "--days", str(DAYS)],
        env=testbed.as_role("postgres") | {"PYTHONPATH": str(Path(testbed.options.root) / "deploy/python")}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"loading a ledger: {done.stderr}")
    return done.stdout.strip()


def study(testbed, kinds):
    """Short turns alone, beside the dashboards, and alone again."""
    quick = testbed.options.quick == "yes"
    seconds, rows = (8, 20_000) if quick else (60, 1_000_000)
    workload = Workload("dashboards", "50 answers/s of 20 tokens", 50, 0, 20, ramp=0, seconds=seconds, users=2000, rate=50)
    history.prepare(testbed)
    ledger = fill(testbed, rows)
    progress(f"  {ledger}")
    peer = peers.Gateway(testbed)
    try:
        peer.start(workload)
        testbed.warm(peer)
        dashboards = [Dashboard(peer.port) for _ in range(OPERATORS)]

        async def look():
            await asyncio.gather(*(dashboard.run(place / OPERATORS, seconds - 3) for place, dashboard in enumerate(dashboards)))
        before = testbed.run(peer, workload)
        meanwhile = beside(testbed, peer, workload, 2, look)
        after = testbed.run(peer, workload)
    finally:
        peer.stop()
    head = [
        "chat", "answers/s", "begin p50 ms", "p99", "first token p50 ms", "p99", "CPU ms / turn", "PostgreSQL ms / turn", "not whole", "others' CPU"]
    keys = ("turns_per_s", "begin_p50", "begin_p99", "first_p50", "first_p99", "cpu_per_turn", "database_per_turn", "not_whole", "others_share")
    chat = [
        [name] + [run[key] for key in keys]
        for name, run in (("alone", before), (f"beside {OPERATORS} dashboards", meanwhile), ("alone again", after))]
    times = {figure: [time for dashboard in dashboards for time in dashboard.times[figure]] for figure in FIGURES}
    body = [[f"`{figure.format(period='…')}`", len(own), quantile(own, 0.5), quantile(own, 0.99), max(own)] for figure, own in times.items()]
    every, loads = [time for own in times.values() for time in own], [load for dashboard in dashboards for load in dashboard.loads]
    late, refused = sum(dashboard.late for dashboard in dashboards), sum(sum(dashboard.refused.values()) for dashboard in dashboards)
    for dashboard in dashboards:
        for answer, count in dashboard.refused.items():
            progress(f"  {answer}: {count}")
    text = (
        f"**dashboards**: {OPERATORS} operators load {len(FIGURES)} figures each once a second and follow the events; a figure p50 "
        f"{report.number(quantile(every, 0.5))} ms, p99 {report.number(quantile(every, 0.99))} ms; all of them p50 {report.number(quantile(loads, 0.5))} ms, p99 "
        f"{report.number(quantile(loads, 0.99))} ms, {late} of {len(loads)} began late, {refused} refused; ledger: {ledger}; {workload.title}\n\n"
        + report.rows(head, chat) + "\n" + report.rows(["figure", "requests", "p50 ms", "p99 ms", "longest ms"], body))
    return {
        "text": text, "figure_p50": quantile(every, 0.5), "figure_p99": quantile(every, 0.99), "load_p50": quantile(loads, 0.5),
        "load_p99": quantile(loads, 0.99), "late": late, "refused": refused, "alone": before, "beside": meanwhile, "alone_again": after,
        "figures": {line[0]: line[1:] for line in body}}
