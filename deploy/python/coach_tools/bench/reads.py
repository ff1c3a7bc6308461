"""Study: the latency of every GET of users and creators, among millions of messages and 100,000 personas, beside streams."""
import asyncio
import base64
import json
import random
import re

from .. import tokens
from . import history, machine, peers, plans, report
from .beside import beside, pace, run
from .testbed import progress
from .workloads import Workload

RATE = 200
PERSONAS = 100_000
PERSONAS_PER_CREATOR = 10
CREATORS_WITH_CURSORS = 100
# The export is streamed; a turn's stream is measured by the workloads.
SKIPPED = re.compile(r"/api/v1/(operator/|me/export)|/functions/|/v1/|/operator|/try|/docs|/openapi|/healthz|/readyz")

# The first users of history.py become creators, each with a redeemed persona of another. One persona of a hundred is listed. Their turns of a month are
# in the ledger, two rows each; in the partition of other days, as loaded rows of past days are.
LOAD = """
set session_replication_role = replica;
begin;
create temporary table made on commit drop as
    select n, ('be9cb000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id,
        ('be9c0000-0000-4000-8000-' || lpad(to_hex({first} + n / {per_creator}), 12, '0'))::uuid as user_id
    from generate_series(0, {personas} - 1) n;
insert into public.coaching_personas
    (id, user_id, name, description, domain, tone, methodology, visibility, status, published_version, published_at, change, was_listed)
    select id, user_id, 'Coach ' || n, 'Asks one question at a time.', '"mindset"', '"warm"', '["listen", "ask"]',
        case when n % 100 = 0 then 'listed' else 'link' end, 'published', 1, now() - n * interval '1 minute', n + 1, n % 100 = 0 from made;
update gateway.persona_counter set last_change = {personas};
insert into public.persona_versions (persona_id, version, name, description, domain, tone, methodology)
    select id, 1, 'Coach ' || n, 'Asks one question at a time.', '"mindset"', '"warm"', '["listen", "ask"]' from made;
-- 20 KiB that do not compress, for the persona that is read.
insert into public.persona_avatars (persona_id, format, content)
    select id, 'image/png', (select decode(string_agg(md5(made.n || '.' || part), ''), 'hex') from generate_series(1, 1280) part)
    from made where n % {per_creator} = 0;
insert into public.share_links (persona_id, user_id, token) select id, user_id, 'bench' || lpad(n::text, 25, '0') from made;
insert into public.persona_redemptions (user_id, persona_id, link_id)
    select m.user_id, l.persona_id, l.id
    from made m join made other on other.n = {personas} - 1 - m.n join public.share_links l on l.persona_id = other.id where m.n % {per_creator} = 0;
insert into public.usage_logs
    (account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, tier, booked_at)
    select u.account_id, t.day, t.id, 1, 1, 0, 'chat', t.conversation_id, t.message_id, 'free', t.day + time '12:00'
    from public.users u join public.turns t on t.user_id = u.id where u.id in (select user_id from made);
insert into public.usage_logs
    (account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, tier, booked_at, finalized_by, status, provider, model,
    input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out, cost_usd, domain,
    domain_confidence, domain_source, time_to_first_token_ms, duration_ms)
    select l.account_id, l.day, l.turn_id, 1, 1, 1, 'chat', l.conversation_id, l.message_id, 'free', l.booked_at, 'owner', 'complete', 'simulator',
        'sim-coach-1', 900, 0, 0, 64, 0, 900, 64, 0.0004, 'mindset', 0.8, 'message', 300, 4000
    from public.usage_logs l where l.revision = 0;
update public.conversations c set persona_id = m.id, persona_version = 1 from made m
    where m.n % {per_creator} = 0 and c.user_id = m.user_id and c.id = ('be9cc000-0000-4000-8000-' || right(m.user_id::text, 12))::uuid;
commit;
-- The gateway folds what turns add, not two million rows at once.
call gateway.rebuild_rollups();
-- What so many rows at once leave to autovacuum and to the next checkpoint.
vacuum analyze;
checkpoint;
"""


class Reader:
    """Sends GETs at a rate over kept connections, independent of the answers, and records milliseconds and statuses by kind of request: a route,
    and what a phone asks of it later on."""

    def __init__(self, port, document, creators, epoch):
        self.port, self.creators, self.epoch = port, creators, epoch
        # Kinds of requests: the route, and what follows its path, by the creator's number.
        self.kinds, self.times, self.refused, self.random = {}, {}, {}, random.Random(1)
        self.cursors = {}
        # Signing takes this process longer than an answer takes the gateway.
        self.tokens = {}
        for route, methods in sorted(document["paths"].items()):
            if "get" in methods and not SKIPPED.match(route):
                self.add(route, {parameter["name"] for parameter in methods["get"].get("parameters", ())})

    def add(self, route, parameters):
        """Adds a route's kinds of requests."""
        own = {"/api/v1/messages/search": "?q=smallest+step", "/api/v1/personas/{id}/diff": "?from=1"}.get(route, "")
        self.kinds[route] = (route, lambda number: own)
        last = history.MESSAGES_PER_USER
        for parameter in ("since", "updated_since"):
            if parameter in parameters:
                # After the last change, and before the last five turns.
                for title, change in (("nothing new", last), ("ten messages new", last - 10)):
                    query = f"?{parameter}={self.token(change, parameter == 'since')}"
                    self.kinds[f"{route}?{parameter}= ({title})"] = (route, lambda number, query=query: query)
        if "cursor" in parameters:
            self.cursors[route] = {}
            self.kinds[f"{route}?cursor="] = (
                route, lambda number: (own + "&" if own else "?") + f"cursor={self.cursors[route].get(number, '')}")

    def token(self, change, with_personas):
        """The token of a client that has all changes up to one, and all personas."""
        return sealed(f"{self.epoch}_{base36(change)}" + (f".{base36(PERSONAS)}" if with_personas else ""))

    def request(self, kind, number, more=""):
        """The bytes of a request of a creator for their own resources."""
        user = f"{history.FIRST_USER + number:012x}"
        persona = f"be9cb000-0000-4000-8000-{number * PERSONAS_PER_CREATOR:012x}"
        route, query = self.kinds[kind]
        values = {
            "token": f"bench{number * PERSONAS_PER_CREATOR:025d}", "version": "1",
            "id": persona if "/personas/" in route else f"be9cc000-0000-4000-8000-{user}"}
        path = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], route) + query(number) + more
        if number not in self.tokens:
            self.tokens[number] = tokens.access_token(peers.Gateway.secret, f"be9c0000-0000-4000-8000-{user}", "creator")
        return f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.tokens[number]}\r\n\r\n".encode()

    async def send(self, connection, kind, data):
        """Sends a request and returns the body of its answer."""
        reader, writer = connection
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1])) if length else b""
        status = int(head.split(b" ")[1])
        if status != 200:
            self.refused[f"{status} {kind}"] = self.refused.get(f"{status} {kind}", 0) + 1
        return body

    def connect(self):
        return asyncio.open_connection("127.0.0.1", self.port)

    async def prepare(self):
        """Reads the cursors of some creators. A kind of request that has none is left out. And one creator's changes to their end: the token there
        must be the one that this study makes for all."""
        connection, last = await self.connect(), {"has_more": True, "next": ""}
        while last["has_more"]:
            data = self.request("/api/v1/sync", 0, "?limit=100" + (f"&since={last['next']}" if last["next"] else ""))
            last = json.loads(await self.send(connection, "/api/v1/sync", data))["data"]
        if last["next"] != self.token(history.MESSAGES_PER_USER, True):
            raise SystemExit(f"the token after all changes is {last['next']}, not {self.token(history.MESSAGES_PER_USER, True)}")
        for route, found in self.cursors.items():
            for number in range(min(CREATORS_WITH_CURSORS, self.creators)):
                data = self.request(route, number, ("&" if "?" in self.kinds[route][1](number) else "?") + "limit=3")
                cursor = json.loads(await self.send(connection, route, data))["pagination"]["next_cursor"]
                if not cursor:
                    del self.kinds[f"{route}?cursor="]
                    break
                found[number] = cursor
        connection[1].close()
        self.times = {kind: [] for kind in self.kinds}

    def creator(self, kind):
        """The number of a random creator, one with a cursor where one is needed."""
        few = kind.endswith("?cursor=")
        return self.random.randrange(min(CREATORS_WITH_CURSORS, self.creators) if few else self.creators)

    async def run(self, seconds):
        """Sends for so many seconds. An answer's time counts from when its request was due."""
        kinds = list(self.kinds)

        async def send(connection, number):
            # At random, so that no kind always follows a slow one.
            kind = self.random.choice(kinds)
            await self.send(connection, kind, self.request(kind, self.creator(kind)))
            return lambda late: self.times[kind].append(late * 1e3)
        await pace(RATE, seconds, self.connect, send)

    async def repeat(self, kind, count):
        """Sends requests of one kind one after the other."""
        connection = await self.connect()
        for _ in range(count):
            await self.send(connection, kind, self.request(kind, self.creator(kind)))
        connection[1].close()


def sealed(token):
    """A token of changes as clients see it (`SealedText`): behind its FNV-1a sum, in base64url."""
    total = 0xCBF29CE484222325
    for byte in b"changes\0" + token.encode():
        total = (total ^ byte) * 0x100000001B3 % 2**64
    return base64.urlsafe_b64encode(total.to_bytes(8, "big") + token.encode()).decode().rstrip("=")


def base36(number):
    """A number in the digits of tokens."""
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def quantile(times, share):
    """The value below which a share of the times lies."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def study(testbed, kinds):
    """Loads, then reads beside 500 streams."""
    quick = testbed.options.quick == "yes"
    seconds = 10 if quick else 60
    workload = Workload("reads", "500 streams x 20 tokens/s", 500, 20, 20 * (seconds + 6), ramp=2)
    history.prepare(testbed)
    users = max(PERSONAS // PERSONAS_PER_CREATOR, testbed.options.messages // history.MESSAGES_PER_USER)
    loading = history.fill(testbed, 0, users)
    testbed.sql(LOAD.format(first=history.FIRST_USER, personas=PERSONAS, per_creator=PERSONAS_PER_CREATOR))
    peer = peers.Gateway(testbed)
    try:
        peer.start(workload)
        testbed.warm(peer)
        document = json.loads(machine.get(peer.port, "/openapi.json")[1])
        reader = Reader(peer.port, document, PERSONAS // PERSONAS_PER_CREATOR, testbed.sql("select epoch from public.database_epoch")[0])
        run(reader.prepare())
        # Prepared statements and caches.
        run(reader.run(2))
        reader.times = {kind: [] for kind in reader.kinds}
        figures = beside(testbed, peer, workload, 4, lambda: reader.run(seconds))
    finally:
        peer.stop()
    body = [[f"`{kind}`", len(times), quantile(times, 0.5), quantile(times, 0.99), max(times)] for kind, times in reader.times.items() if times]
    body.sort(key=lambda line: -line[2])
    search = [line for line in body if "search" in line[0]]
    others = [time for kind, times in reader.times.items() if "search" not in kind for time in times]
    for refused, count in reader.refused.items():
        progress(f"  {refused}: {count}")
    text = (
        f"**reads**: {RATE} GETs/s of {len(reader.kinds)} kinds beside {workload.title}, among {users * history.MESSAGES_PER_USER:,} messages and "
        f"{PERSONAS:,} personas (loaded in {report.number(loading)} s); all but search p50 {report.number(quantile(others, 0.5))} ms, p99 "
        f"{report.number(quantile(others, 0.99))} ms; {sum(reader.refused.values())} refused; streams: {figures['gaps_too_long']} gaps > 10 x pace, "
        f"{figures['not_whole']} not whole; times count from when a request was due, and this client is late by 0.2 ms (median)\n\n"
        + report.rows(["request", "requests", "p50 ms", "p99 ms", "longest ms"], body))
    if testbed.options.explain == "yes":
        text += explained(testbed, peer, workload, reader, next(line[0] for line in body if "search" not in line[0]).strip("`"))
    return {
        "text": text, "p50": quantile(others, 0.5), "p99": quantile(others, 0.99), "search_p99": max(line[3] for line in search), "refused": reader.refused,
        "slowest": body[0], "routes": {line[0]: line[1:] for line in body}, "streams": figures}


def explained(testbed, peer, workload, reader, kind):
    """The plan of the longest statement of the slowest kind of request, as the gateway's role or its users execute it, on a gateway without other
    requests."""
    with plans.logged(testbed):
        peer.start(workload)
        try:
            reader.port = peer.port
            # So often that connections have a plan without the first values.
            run(reader.repeat(kind, 200))
            with plans.Recording(testbed) as recording:
                run(reader.repeat(kind, 1))
        finally:
            peer.stop()
    return f"\nThe longest statement of `{kind}`, `explain (analyze, buffers)`:\n\n```\n{recording.longest}\n```\n"
