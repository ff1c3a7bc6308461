"""Study: half load with faults for a long time; checks that memory, descriptors, turns and threads do not grow."""
import asyncio
import contextlib
import random
import threading
import time
from statistics import median

from .. import wire
from ..processes import stat_fields
from ..tokens import access_token
from . import machine, peers, report
from .testbed import progress
from .workloads import Workload

STREAMS = 500
RESUMERS = 4
FIRST_RESUMER = 900_000


def study(testbed, kinds):
    """Runs the load with faults and returns the samples and findings."""
    minutes = testbed.options.minutes
    seconds = minutes * 60
    workload = Workload(
        "soak", "", STREAMS, 20, 200, ramp=5, warm_up=0, seconds=seconds, users=4 * STREAMS, drop=0.05)
    peer = peers.Gateway(testbed)
    clients, lines = [], []
    try:
        peer.start(workload)
        clients = [Resumer(peer, number) for number in range(RESUMERS)]
        testbed.warm(peer)
        # The provider cuts 1 % of the answers and rejects 2 % of the requests.
        testbed.set_workload("pace=20&tokens=200&first_ms=0&pack=1&cut=0.01&rejected=0.02")
        idle = machine.descriptors(peer.child.pid)
        began = time.monotonic()
        load = testbed.begin_load(peer, workload.load_arguments())
        for client in clients:
            client.start()
        # Faults that happen once: seconds after the start, description, action.
        events = [(0.4 * seconds, "PostgreSQL restarted", testbed.restart_database), (0.6 * seconds, "provider restarted", lambda: restart_provider(testbed))]
        pause = min(60, seconds / 10)
        due = pause

        def watch():
            """Runs due faults and takes due samples."""
            nonlocal due
            now = time.monotonic() - began
            if events and now >= events[0][0]:
                _, what, action = events.pop(0)
                action()
                progress(f"  {now / 60:.1f} min: {what}")
            if now >= due and now <= seconds + 5:
                due += pause
                lines.append([now / 60] + state(peer))
                progress(f"  {now / 60:.1f} min: resident {lines[-1][1]:.1f} MiB, {lines[-1][2]} descriptors, {lines[-1][3]:.0f} turns, "
                    f"{lines[-1][4]} threads")

        seen = testbed.end_load(load, seconds + workload.limit, watch)
        for client in clients:
            client.stop()
        end = time.monotonic() + 60
        while (left := running_turns(peer)) and time.monotonic() < end:
            time.sleep(0.5)
        after = state(peer)
        if peer.child.process.poll() is not None:
            raise SystemExit("the gateway has ended in the middle")
    finally:
        for client in clients:
            client.stop()
        peer.stop()
    findings = check_growth(lines, left) + [text for client in clients for text in client.findings[:1]]
    verdict = "flat" if not findings else "; ".join(findings)
    resumed = sum(client.resumed for client in clients)
    head = ["minute", "resident MiB", "descriptors", "running turns", "threads"]
    text = (f"**soak**: {minutes:g} minutes, {STREAMS} streams x 20 tokens/s; 1 % of answers cut and 2 % rejected by the provider, 5 % left by "
            f"their clients, PostgreSQL and provider restarted once; {seen['complete']:,} whole answers, {seen['incomplete']} in part, "
            f"{seen['rejected']} rejected, {seen['lost']} cut, {resumed} resumed to the byte. Verdict: {verdict}.\n\n"
            + report.rows(head, lines + [["after"] + after]))
    return {"text": text, "lines": lines, "after": after, "idle_descriptors": idle, "findings": findings, "load": seen}


def restart_provider(testbed):
    """Restarts the provider with the same workload."""
    testbed.provider.stop()
    testbed.start_provider()
    testbed.set_workload("pace=20&tokens=200&first_ms=0&pack=1&cut=0.01&rejected=0.02")


def state(peer):
    """A sample: resident MiB, descriptors, running turns, threads."""
    process = peer.child.pid
    fields = stat_fields(process)
    return [machine.resident_bytes(process) / 2**20, machine.descriptors(process), running_turns(peer), int(fields[17]) if fields else 0]


def running_turns(peer):
    """The gateway's metric of running turns."""
    _, body = machine.get(peer.metrics_port, "/metrics")
    return next((float(line.split()[-1]) for line in body.decode().splitlines() if line.startswith("coach_running_turns ")), 0.0)


def check_growth(lines, left):
    """Compares the medians of the first and last third of the samples, without the first fifth, in which pools and caches fill."""
    findings = []
    settled = lines[len(lines) // 5:]
    third = max(1, len(settled) // 3)
    for place, what, slack in ((1, "resident memory", 4), (2, "descriptors", 30), (3, "running turns", 30), (4, "threads", 2)):
        first, last = median(line[place] for line in settled[:third]), median(line[place] for line in settled[-third:])
        if last > first * 1.1 + slack:
            findings.append(f"{what} grew from {report.number(first)} to {report.number(last)}")
    if left:
        findings.append(f"{left:.0f} turns still run a minute after the last client left")
    return findings


class Resumer(threading.Thread):
    """A client that disconnects in the middle of every answer and resumes, and checks that the received text is complete."""

    def __init__(self, peer, number):
        super().__init__(daemon=True)
        self.peer, self.resumed, self.findings, self.is_stopped = peer, 0, [], False
        self.token = access_token(peer.secret, f"be9c0000-0000-4000-8000-{FIRST_RESUMER + number:012x}")

    def stop(self):
        """Ends the thread after the current answer."""
        self.is_stopped = True

    def run(self):
        """Requests answers until it is stopped."""
        asyncio.run(self.request_answers())

    async def request_answers(self):
        """Requests one answer after another."""
        while not self.is_stopped:
            try:
                await self.answer()
            except wire.Broken:
                await asyncio.sleep(0.5)
            except wire.Nonsense as error:
                self.findings.append(str(error))

    async def answer(self):
        """Requests one answer, disconnects after a random byte, and resumes to the end."""
        text, turn = bytearray(), None
        ended = None
        leaves_at = random.randint(1, 2500)
        async with self.stream("POST", "", {"message": "How do I begin?"}) as exchange:
            async for identifier, event in exchange.events(30):
                turn = event.get("turn_id", turn)
                ended = self.take(text, identifier, event)
                if ended or len(text) >= leaves_at:
                    break
        while turn and not ended and not self.is_stopped:
            await asyncio.sleep(random.random())
            async with self.stream("GET", f"/{turn}", headers={"Last-Event-ID": str(len(text))}) as exchange:
                async for identifier, event in exchange.events(30):
                    if ended := self.take(text, identifier, event):
                        break
        if ended == "done":
            self.resumed += 1

    @contextlib.asynccontextmanager
    async def stream(self, method, path, body=None, headers=None):
        """A streamed response; Broken for any other status."""
        exchange = await wire.Exchange.begin(
            self.peer.port, method, f"/functions/v1/chat-stream{path}", self.token, body, headers, timeout=30)
        try:
            if not exchange.is_stream:
                raise wire.Broken(f"status {exchange.status}")
            yield exchange
        finally:
            exchange.close()

    def take(self, text, identifier, event):
        """Appends the event's text and checks its position; returns the event's type if it is the last one."""
        kind = event.get("type")
        if kind == "token":
            text += event["content"].encode()
            if identifier != len(text):
                self.findings.append(f"after {len(text)} bytes came the token that ends at {identifier}")
        if kind == "done" and identifier != len(text):
            self.findings.append(f"an answer of {identifier} bytes arrived as {len(text)}")
        return kind if event.get("done") else None
