"""Study: what it costs that a stream ends its connection.

The same turns as a stream, whose connection ends with it, and as a whole answer on a connection that is kept or that ends; after each turn the
phone's next request. The difference of the last two is the cost of a connection. And the memory of connections that are kept, beside that of
streams.
"""
import asyncio
import json
import re
import time
import uuid
from statistics import median

from ..tokens import access_token
from . import machine, peers, report
from .reads import quantile
from .testbed import progress
from .workloads import Workload

PHONES = 4
# Below the usual soft limit of open files, 1,024.
HELD = 800
MESSAGE = "What would be the smallest step that I could take before tomorrow evening?"
STREAM = ("/functions/v1/chat-stream", {"message": MESSAGE})
WHOLE = ("/v1/chat/completions", {"model": "coach", "messages": [{"role": "user", "content": MESSAGE}]})
# Path and body of the turn, and whether its request says `Connection: close`.
KINDS = {"stream, closed by the gateway": (*STREAM, False), "whole, kept": (*WHOLE, False), "whole, closed": (*WHOLE, True)}
NEXT = "/api/v1/conversations"


class Phone:
    """A client that keeps its connection for as long as the answers allow."""

    def __init__(self, port):
        self.port, self.connection = port, None
        self.token = access_token(peers.Gateway.secret, str(uuid.uuid4()))

    async def send(self, method, path, body=None, closes=False):
        """Sends a request and reads its answer to the end."""
        if self.connection is None:
            self.connection = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.connection
        data = json.dumps(body).encode() if body else b""
        fields = [f"{method} {path} HTTP/1.1", "Host: bench", f"Authorization: Bearer {self.token}"]
        fields += [f"Content-Length: {len(data)}"] if data else []
        fields += ["Connection: close"] if closes else []
        writer.write("\r\n".join(fields).encode() + b"\r\n\r\n" + data)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length, ends = re.search(rb"\r\ncontent-length: *(\d+)", head), b"\r\nconnection: close\r\n" in head
        if not head.startswith(b"http/1.1 200") or not (length or ends):
            raise SystemExit(f"{method} {path} was answered with {head!r}")
        text = await (reader.readexactly(int(length[1])) if length else reader.read())
        if ends:
            self.close()
        return text

    def close(self):
        """Closes the connection, if there is one."""
        if self.connection:
            self.connection[1].close()
            self.connection = None


async def turns(port, path, body, closes, count):
    """Runs turns, each followed by the next request. Returns the milliseconds of these, a new connection included."""
    waits = []

    async def use(phone):
        for _ in range(count // PHONES):
            answer = await phone.send("POST", path, body, closes)
            if not re.search(rb'"finish_reason" *: *"stop"', answer):
                raise SystemExit(f"a turn of the study failed: {answer[-500:]!r}")
            began = time.perf_counter()
            await phone.send("GET", NEXT)
            waits.append((time.perf_counter() - began) * 1e3)
        phone.close()
    await asyncio.gather(*(use(Phone(port)) for _ in range(PHONES)))
    return waits


def measure(testbed, peer, kind, count):
    """The figures of one kind."""
    # The end of the last run's connections is not part of the cost.
    time.sleep(1)
    own, database, began = machine.cpu_seconds(peer.child.pid), machine.cpu_seconds(testbed.postmaster), time.monotonic()
    waits = asyncio.run(turns(peer.port, *KINDS[kind], count))
    seconds = time.monotonic() - began
    # Work after the last byte is part of the cost.
    time.sleep(0.5)
    return {
        "cpu_per_turn": (machine.cpu_seconds(peer.child.pid) - own) / len(waits) * 1e3,
        "database_per_turn": (machine.cpu_seconds(testbed.postmaster) - database) / len(waits) * 1e3,
        "turns_per_s": len(waits) / seconds, "next_p50": quantile(waits, 0.5), "next_p99": quantile(waits, 0.99)}


def kept_kib(testbed, workload):
    """KiB of memory of a connection that is kept after an answer."""
    peer = peers.Gateway(testbed)

    async def hold():
        phones = [Phone(peer.port) for _ in range(HELD)]
        for first in range(0, HELD, 50):
            await asyncio.gather(*(phone.send("GET", "/healthz") for phone in phones[first:first + 50]))
        await asyncio.sleep(1)
        resident = machine.resident_bytes(peer.child.pid)
        for phone in phones:
            phone.close()
        return resident
    try:
        peer.start(workload)
        testbed.warm(peer)
        before = machine.resident_bytes(peer.child.pid)
        return (asyncio.run(hold()) - before) / 1024 / HELD
    finally:
        peer.stop()


def study(testbed, kinds):
    """Measures each kind --rounds times, and the memory of connections and of streams."""
    count = 200 if testbed.options.quick == "yes" else 1000
    workload = Workload("keepalive", "answers of 20 tokens", PHONES, 0, 20, ramp=0)
    peer, runs = peers.Gateway(testbed), {kind: [] for kind in KINDS}
    try:
        peer.start(workload)
        testbed.warm(peer)
        testbed.set_workload(workload.provider_query)
        for number in range(testbed.options.rounds):
            # In the other order in every second round, so that what changes with time falls on all.
            for kind in list(KINDS)[::1 if number % 2 == 0 else -1]:
                runs[kind].append(measure(testbed, peer, kind, count))
                progress(f"  round {number + 1}, {kind}: next request p50 {report.number(runs[kind][-1]['next_p50'])} ms")
    finally:
        peer.stop()
    middle = {kind: {key: median(run[key] for run in of_kind) for key in of_kind[0]} for kind, of_kind in runs.items()}
    kept = kept_kib(testbed, workload)
    streams = testbed.measure(
        peers.Gateway(testbed), Workload("keepalive", f"{HELD} streams, a token every 5 s", HELD, 0.2, 3, ramp=2))
    columns = [
        ("gateway CPU ms / turn and next request", "cpu_per_turn"), ("PostgreSQL ms", "database_per_turn"), ("turns/s", "turns_per_s"),
        ("next request p50 ms", "next_p50"), ("p99", "next_p99")]
    text = (
        f"**keepalive**: {PHONES} phones, each a turn of 20 tokens and then GET `{NEXT}`; a network adds a round trip to each new connection, and TLS in "
        f"front at least one more. Memory: {report.number(kept)} KiB for each of {HELD} kept connections without a stream, "
        f"{report.number(streams['kib_per_stream'])} KiB for each of {HELD} streams with its turn\n\n"
        + report.rows(["answer, connection"] + [title for title, _ in columns], [
            [kind] + [figures[key] for _, key in columns] for kind, figures in middle.items()]))
    return {"text": text, "kinds": middle, "kept_kib": kept, "stream_kib": streams["kib_per_stream"], "rounds": runs}
