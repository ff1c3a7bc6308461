"""Billing events beside chat: the time of the intake, of the fold of a long history, and what a replay costs chat's first tokens."""
import asyncio
import json
import secrets
import time
from dataclasses import replace

from . import peers, report
from .beside import beside, pace
from .testbed import progress
from .workloads import Workload

# Events per second beside chat, and how many connections send a replay at once.
RATE = 500
REPLAY_CONNECTIONS = 32
# Seconds of chat before the events.
REPLAY_AFTER = 3
AUTHORIZATION = "Bearer bench"
DAY = 86_400_000
# The longest history of one subscriber.
HISTORY = 500

# Stored events of subscribers who do not take part, with bodies of the usual size. Of a later version of the fold, so that no job folds them again.
FILL = """
insert into gateway.subscribers (revision, fold_version) select 10, 2147483647 from generate_series(1, {subscribers});
insert into gateway.billing_events (source, event_id, status, subscriber, type, environment, body, event)
select 'revenuecat', 'fill-' || s.id || '-' || n, 'folded', s.id, 'RENEWAL', 'production', convert_to(repeat('x', 1200), 'UTF8'), repeat('y', 400)
from gateway.subscribers s, generate_series(1, 10) n where s.revision = 10;
insert into gateway.billing_figures (event_number, source, event_id, occurred_at, kind, purchase, store, price_usd, period_start, period_end, renews)
select -row_number() over (), 'revenuecat', 'fill-' || s.id || '-' || n, now() - n * interval '30 days', 'renewal', s.id::text, 'app_store', 9.99,
    now() - n * interval '30 days', now() - (n - 1) * interval '30 days', true
from gateway.subscribers s, generate_series(1, 10) n where s.revision = 10;
select gateway.rebuild_subscription_figures();
vacuum (freeze, analyze) gateway.subscribers, gateway.billing_events, gateway.billing_figures, gateway.subscription_changes, gateway.subscription_rollup;
checkpoint;
"""


class Gateway(peers.Gateway):
    """The gateway with the webhook's credentials."""

    def environment(self, workload):
        return super().environment(workload) | {"REVENUECAT_WEBHOOK_AUTH": AUTHORIZATION}


def body(user, number, at=None):
    """A renewal of a subscriber, as RevenueCat sends it."""
    at = at or int(time.time() * 1000)
    return json.dumps({"api_version": "1.0", "event": {
        "type": "RENEWAL", "id": secrets.token_hex(16), "event_timestamp_ms": at, "app_user_id": user, "original_app_user_id": user,
        "aliases": [user], "product_id": "monthly", "entitlement_ids": ["pro"], "period_type": "NORMAL", "purchased_at_ms": at,
        "expiration_at_ms": at + 30 * DAY, "store": "APP_STORE", "environment": "PRODUCTION", "transaction_id": f"{user}-{number}",
        "original_transaction_id": user, "price": 9.99, "currency": "USD", "price_in_purchased_currency": 9.99, "country_code": "US",
        "subscriber_attributes": {"$email": {"value": "someone@example.com", "updated_at_ms": at}}}}).encode()


def new_user():
    """The id of a user who was never seen before."""
    text = secrets.token_hex(16)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


class Sender:
    """Sends events over kept connections and records the seconds until each answer."""

    def __init__(self, port):
        self.port, self.seconds, self.failed = port, [], 0

    async def connect(self):
        """Opens a connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, connection, data):
        """Sends one event on a connection and reads its answer."""
        reader, writer = connection
        began = time.perf_counter()
        writer.write(
            f"POST /functions/v1/webhook-revenuecat HTTP/1.1\r\nHost: bench\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: {len(data)}\r\n\r\n"
            .encode() + data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(length)
        self.seconds.append(time.perf_counter() - began)
        self.failed += not head.startswith(b"HTTP/1.1 200")

    async def replay(self, count, connections=REPLAY_CONNECTIONS):
        """Sends so many events, as fast as the answers come."""
        async def worker(share):
            connection = await self.connect()
            for number in range(share):
                await self.send(connection, body(new_user(), number))
            connection[1].close()
        await asyncio.gather(*(worker(count // connections) for _ in range(connections)))

    async def pace(self, rate, seconds):
        """Sends events at a rate."""
        async def send(connection, number):
            await self.send(connection, body(new_user(), 1))
            # The seconds since the event was due instead of those since it was sent.
            self.seconds.pop()
            return self.seconds.append
        await pace(rate, seconds, self.connect, send)

    def quantile(self, share):
        """Milliseconds."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1e3 if ordered else None


def histories(testbed, port, subscribers):
    """The intake of one more event of subscribers with `HISTORY` of them: a sender with the times of events newer than all, which are folded
    alone, and one with those of events older than all, which are folded with all others of their subscriber."""
    users, now = [new_user() for _ in range(subscribers)], int(time.time() * 1000)

    def event(user, day):
        """The event of a day, of which the first is 0."""
        return body(user, day, now - (HISTORY + 1 - day) * DAY)

    async def each(days, connections=1):
        """Sends the events of these days for every subscriber, in order."""
        sender = Sender(port)

        async def worker(share):
            connection = await sender.connect()
            for user in share:
                for day in days:
                    await sender.send(connection, event(user, day))
            connection[1].close()
        await asyncio.gather(*(worker(users[place::connections]) for place in range(connections)))
        return sender
    stored = asyncio.run(each(range(1, HISTORY + 1), connections=8))
    newest = asyncio.run(each([HISTORY + 1]))
    # With a state, which an older event cannot be appended to.
    names = ", ".join(f"'{user}'" for user in users)
    ready = testbed.sql(
        "select count(*) from gateway.subscribers s join gateway.subscriber_ids i on i.subscriber = s.id "
        f"where i.id in ({names}) and s.revision = {HISTORY + 1} and s.state is not null")[0]
    if stored.failed or newest.failed or int(ready) != subscribers:
        raise SystemExit(f"{stored.failed + newest.failed} events were not stored; {ready} of {subscribers} subscribers have a history with a state")
    return newest, asyncio.run(each([0]))


def beside_chat(testbed, peer, workload, work):
    """Runs the workload while `work` (a coroutine of a sender) runs, and returns the figures and the sender."""
    sender = Sender(peer.port)
    return beside(testbed, peer, workload, REPLAY_AFTER, lambda: work(sender)), sender


def study(testbed, kinds):
    """Short turns alone, beside paced events, and beside a replay; then long histories."""
    quick = testbed.options.quick == "yes"
    seconds, stored, replayed, subscribers = (8, 100_000, 5_000, 10) if quick else (30, 1_000_000, 50_000, 50)
    workload = Workload("webhooks", "50 answers/s of 20 tokens", 50, 0, 20, ramp=0, seconds=seconds, users=2000, rate=50)
    # Chat is measured while the replay runs: from about a second after its begin, and not longer than it lasts.
    during = replace(workload, warm_up=REPLAY_AFTER, seconds=3 if quick else 25)
    peer = Gateway(testbed)
    try:
        peer.start(workload)
        progress(f"  storing {stored:,} events")
        testbed.sql(FILL.format(subscribers=stored // 10))
        testbed.warm(peer)
        alone = testbed.run(peer, workload)
        paced, intake = beside_chat(testbed, peer, workload, lambda sender: sender.pace(RATE, seconds - REPLAY_AFTER))
        began = time.monotonic()
        replay, replayer = beside_chat(testbed, peer, during, lambda sender: sender.replay(replayed))
        lasted = max(sum(replayer.seconds) / REPLAY_CONNECTIONS, 0.001)
        newest, oldest = histories(testbed, peer.port, subscribers)
    finally:
        peer.stop()
    head = ["chat", "answers/s", "first token p50 ms", "p99", "begin p99 ms", "not whole", "gateway CPU", "PostgreSQL's", "senders'", "others'"]
    rows = [
        [name] + [run[key] for key in (
            "turns_per_s", "first_p50", "first_p99", "begin_p99", "not_whole", "proxy_share", "database_share", "driver_share", "others_share")]
        for name, run in (("alone", alone), (f"beside {RATE} events/s", paced), (f"beside a replay of {replayed:,}", replay))]
    text = (
        f"**webhooks**: {stored:,} events stored; intake of {RATE}/s p50 {report.number(intake.quantile(0.5))} ms, p99 "
        f"{report.number(intake.quantile(0.99))} ms, {intake.failed} not answered 200; {len(replayer.seconds):,} replayed at "
        f"{len(replayer.seconds) / lasted:,.0f}/s over {REPLAY_CONNECTIONS} connections, p99 {report.number(replayer.quantile(0.99))} ms, "
        f"{replayer.failed} not answered 200, chat measured during {during.seconds} of its {lasted:.0f} s; {workload.title}\n\n"
        + report.rows(head, rows) + "\n" + report.rows(
            [f"event of a subscriber with {HISTORY}", "subscribers", "intake p50 ms", "p99"], [
                [name, subscribers, sender.quantile(0.5), sender.quantile(0.99)]
                for name, sender in (("newer than all: folded alone", newest), ("older than all: all are folded", oldest))]))
    return {
        "text": text, "stored": stored, "intake_p50": intake.quantile(0.5), "intake_p99": intake.quantile(0.99), "intake_failed": intake.failed,
        "replayed": len(replayer.seconds), "replay_seconds": lasted, "replay_p99": replayer.quantile(0.99), "replay_failed": replayer.failed,
        "fold_ms": newest.quantile(0.5), "fold_p99": newest.quantile(0.99), "whole_fold_ms": oldest.quantile(0.5),
        "whole_fold_p99": oldest.quantile(0.99), "fold_failed": newest.failed + oldest.failed, "alone": alone, "beside_events": paced, "beside_replay": replay, "elapsed_s": time.monotonic() - began}
