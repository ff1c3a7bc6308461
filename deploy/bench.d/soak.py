"""Hours in minutes: half load with everything going wrong now and then, and whether anything grows."""
import base64
import hashlib
import hmac
import http.client
import json
import random
import threading
import time
from statistics import median

import machine
import peers
import report
from stage import say
from workloads import Workload

STREAMS = 500
RESUMERS = 4
FIRST_RESUMER = 900_000


def study(stage, kinds):
    minutes = stage.options.minutes
    seconds = minutes * 60
    workload = Workload(
        "soak", "", STREAMS, 20, 200, ramp=5, warm_up=0, seconds=seconds, users=4 * STREAMS, drop=0.05)
    peer = peers.Gateway(stage)
    people, lines = [], []
    try:
        peer.start(workload)
        people = [Resumer(peer, number) for number in range(RESUMERS)]
        stage.warm(peer)
        # One answer in a hundred is cut, one in fifty refused.
        stage.set_workload("pace=20&tokens=200&first_ms=0&pack=1&cut=0.01&refused=0.02")
        idle = machine.descriptors(peer.child.pid)
        began = time.monotonic()
        load = stage.begin_load(peer, workload.load_arguments())
        for person in people:
            person.start()
        # What happens once, when so many seconds are over.
        events = [(0.4 * seconds, "PostgreSQL restarted", stage.restart_database), (0.6 * seconds, "provider restarted", lambda: renew(stage))]
        pause = min(60, seconds / 10)
        due = pause

        def watch():
            nonlocal due
            now = time.monotonic() - began
            if events and now >= events[0][0]:
                _, what, action = events.pop(0)
                action()
                say(f"  {now / 60:.1f} min: {what}")
            if now >= due and now <= seconds + 5:
                due += pause
                lines.append([now / 60] + state(peer))
                say(f"  {now / 60:.1f} min: resident {lines[-1][1]:.1f} MiB, {lines[-1][2]} descriptors, {lines[-1][3]:.0f} turns, "
                    f"{lines[-1][4]} threads")

        seen = stage.end_load(load, seconds + workload.limit, watch)
        for person in people:
            person.stop()
        end = time.monotonic() + 60
        while (left := running_turns(peer)) and time.monotonic() < end:
            time.sleep(0.5)
        after = state(peer)
        if peer.child.process.poll() is not None:
            raise SystemExit("the gateway has ended in the middle")
    finally:
        for person in people:
            person.stop()
        peer.stop()
    complaints = judge(lines, left) + [text for person in people for text in person.complaints[:1]]
    verdict = "flat" if not complaints else "; ".join(complaints)
    resumed = sum(person.resumed for person in people)
    head = ["minute", "resident MiB", "descriptors", "running turns", "threads"]
    text = (f"**soak**: {minutes:g} minutes, {STREAMS} streams x 20 tokens/s; 1 % of answers cut and 2 % refused by the provider, 5 % left by "
            f"their clients, PostgreSQL and provider restarted once; {seen['complete']:,} whole answers, {seen['incomplete']} in part, "
            f"{seen['refused']} refused, {seen['lost']} cut, {resumed} resumed to the byte. Verdict: {verdict}.\n\n"
            + report.rows(head, lines + [["after"] + after]))
    return {"text": text, "lines": lines, "after": after, "idle_descriptors": idle, "complaints": complaints, "load": seen}


def renew(stage):
    stage.provider.stop()
    stage.start_provider()
    stage.set_workload("pace=20&tokens=200&first_ms=0&pack=1&cut=0.01&refused=0.02")


def state(peer):
    process = peer.child.pid
    fields = machine.fields(process)
    return [machine.resident_bytes(process) / 2**20, machine.descriptors(process), running_turns(peer), int(fields[17]) if fields else 0]


def running_turns(peer):
    _, body = machine.get(peer.metrics_port, "/metrics")
    return next((float(line.split()[-1]) for line in body.decode().splitlines() if line.startswith("coach_running_turns ")), 0.0)


def judge(lines, left):
    """What grew from the first third to the last. The first minutes, in which pools and caches fill, are left out."""
    complaints = []
    settled = lines[len(lines) // 5:]
    third = max(1, len(settled) // 3)
    for place, what, slack in ((1, "resident memory", 4), (2, "descriptors", 30), (3, "running turns", 30), (4, "threads", 2)):
        first, last = median(line[place] for line in settled[:third]), median(line[place] for line in settled[-third:])
        if last > first * 1.1 + slack:
            complaints.append(f"{what} grew from {report.number(first)} to {report.number(last)}")
    if left:
        complaints.append(f"{left:.0f} turns still run a minute after the last client left")
    return complaints


class Resumer(threading.Thread):
    """A phone that loses its line in every answer and resumes: what it has in the end must be the whole text."""

    def __init__(self, peer, number):
        super().__init__(daemon=True)
        self.peer, self.resumed, self.complaints, self.is_stopped = peer, 0, [], False
        self.authorization = {"Authorization": f"Bearer {token(peer.secret, FIRST_RESUMER + number)}", "Accept": "text/event-stream"}

    def stop(self):
        self.is_stopped = True

    def run(self):
        while not self.is_stopped:
            try:
                self.answer()
            except (OSError, http.client.HTTPException):
                time.sleep(0.5)

    def answer(self):
        text, turn = bytearray(), None
        body = json.dumps({"message": "How do I begin?"})
        ended = None
        with Line(self.peer.port, "POST", "", body, self.authorization) as line:
            leaves_at = random.randint(1, 2500)
            for identifier, event in line.events():
                turn = event.get("turn_id", turn)
                ended = self.take(text, identifier, event)
                if ended or len(text) >= leaves_at:
                    break
        while turn and not ended and not self.is_stopped:
            time.sleep(random.random())
            with Line(self.peer.port, "GET", f"/{turn}", None, self.authorization | {"Last-Event-ID": str(len(text))}) as line:
                for identifier, event in line.events():
                    if ended := self.take(text, identifier, event):
                        break
        if ended == "done":
            self.resumed += 1

    def take(self, text, identifier, event):
        """Appends what is new; the kind of the event when it is the last."""
        kind = event.get("type")
        if kind == "token":
            text += event["content"].encode()
            if identifier != len(text):
                self.complaints.append(f"after {len(text)} bytes came the token that ends at {identifier}")
        if kind == "done" and identifier != len(text):
            self.complaints.append(f"an answer of {identifier} bytes arrived as {len(text)}")
        return kind if event.get("done") else None


class Line:
    def __init__(self, port, method, path, body, headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request(method, f"/functions/v1/chat-stream{path}", body, headers)
        self.response = self.connection.getresponse()
        if self.response.status != 200:
            self.connection.close()
            raise http.client.HTTPException(f"status {self.response.status}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The response holds the socket open until it is read to its end or closed.
        self.response.close()
        self.connection.close()

    def events(self):
        identifier = 0
        for line in self.response:
            if line.startswith(b"id:"):
                identifier = int(line[3:])
            elif line.startswith(b"data:"):
                yield identifier, json.loads(line[5:])


def token(secret, number):
    """An access token as the issuer signs it."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    claims = {
        "aud": "authenticated", "role": "authenticated", "sub": f"be9c0000-0000-4000-8000-{number:012x}", "iat": int(time.time()),
        "exp": int(time.time()) + 14_400}
    signed = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()) + b"." + part(json.dumps(claims).encode())
    return (signed + b"." + part(hmac.new(secret.encode(), signed, hashlib.sha256).digest())).decode()
