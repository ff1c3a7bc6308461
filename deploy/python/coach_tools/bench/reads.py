"""Study: the latency of every GET of users and creators, among millions of messages and 100,000 personas, beside streams."""
import asyncio
import json
import random
import re

from .. import tokens
from . import history, machine, peers, report
from .beside import beside, pace
from .testbed import progress
from .workloads import Workload

RATE = 200
PERSONAS = 100_000
PERSONAS_PER_CREATOR = 10
# The export is streamed; a turn's stream is measured by the workloads.
SKIPPED = re.compile(r"/api/v1/(operator/|me/export)|/functions/|/v1/|/operator|/try|/docs|/openapi|/healthz|/readyz")

# The first users of history.py become creators, each with a redeemed persona of another. One persona of a hundred is listed.
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
update public.conversations c set persona_id = m.id, persona_version = 1 from made m
    where m.n % {per_creator} = 0 and c.user_id = m.user_id and c.id = ('be9cc000-0000-4000-8000-' || right(m.user_id::text, 12))::uuid;
commit;
vacuum analyze public.coaching_personas, public.persona_versions, public.share_links, public.persona_redemptions,
    public.persona_avatars;
"""


class Reader:
    """Sends GETs at a rate over kept connections, independent of the answers, and records milliseconds and statuses by route."""

    def __init__(self, port, routes, creators):
        self.port, self.routes, self.creators = port, routes, creators
        self.times, self.refused, self.random = {route: [] for route in routes}, {}, random.Random(1)
        # Signing takes this process longer than an answer takes the gateway.
        self.tokens = {}

    def request(self, route):
        """The bytes of a request of a random creator for their own resources."""
        number = self.random.randrange(self.creators)
        user = f"{history.FIRST_USER + number:012x}"
        persona = f"be9cb000-0000-4000-8000-{number * PERSONAS_PER_CREATOR:012x}"
        values = {
            "token": f"bench{number * PERSONAS_PER_CREATOR:025d}", "version": "1",
            "id": persona if "/personas/" in route else f"be9cc000-0000-4000-8000-{user}"}
        path = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], route) + {
            "/api/v1/messages/search": "?q=smallest+step", "/api/v1/personas/{id}/diff": "?from=1"}.get(route, "")
        if number not in self.tokens:
            self.tokens[number] = tokens.access_token(peers.Gateway.secret, f"be9c0000-0000-4000-8000-{user}", "creator")
        return f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.tokens[number]}\r\n\r\n".encode()

    async def send(self, connection, route, data):
        """Sends a request and reads its answer."""
        reader, writer = connection
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if length:
            await reader.readexactly(int(length[1]))
        status = int(head.split(b" ")[1])
        if status != 200:
            self.refused[f"{status} {route}"] = self.refused.get(f"{status} {route}", 0) + 1

    async def run(self, seconds):
        """Sends for so many seconds. An answer's time counts from when its request was due."""
        async def send(connection, number):
            # At random, so that no route always follows a slow one.
            route = self.random.choice(self.routes)
            await self.send(connection, route, self.request(route))
            return lambda late: self.times[route].append(late * 1e3)
        await pace(RATE, seconds, lambda: asyncio.open_connection("127.0.0.1", self.port), send)


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
        routes = sorted(
            path for path, methods in json.loads(machine.get(peer.port, "/openapi.json")[1])["paths"].items()
            if "get" in methods and not SKIPPED.match(path))
        reader = Reader(peer.port, routes, PERSONAS // PERSONAS_PER_CREATOR)
        # Prepared statements and caches.
        asyncio.run(reader.run(2))
        reader.times = {route: [] for route in routes}
        figures = beside(testbed, peer, workload, 4, lambda: reader.run(seconds))
    finally:
        peer.stop()
    body = [[f"`{route}`", len(times), quantile(times, 0.5), quantile(times, 0.99), max(times)] for route, times in reader.times.items()]
    body.sort(key=lambda line: -line[3])
    search = [line for line in body if "search" in line[0]]
    others = [time for route, times in reader.times.items() if "search" not in route for time in times]
    for refused, count in reader.refused.items():
        progress(f"  {refused}: {count}")
    text = (
        f"**reads**: {RATE} GETs/s over {len(routes)} routes beside {workload.title}, among {users * history.MESSAGES_PER_USER:,} messages and {PERSONAS:,} "
        f"personas (loaded in {report.number(loading)} s); all but search p50 {report.number(quantile(others, 0.5))} ms, p99 "
        f"{report.number(quantile(others, 0.99))} ms; {sum(reader.refused.values())} refused; streams: {figures['gaps_too_long']} gaps > 10 x pace, "
        f"{figures['not_whole']} not whole\n\n" + report.rows(["route", "requests", "p50 ms", "p99 ms", "longest ms"], body))
    return {
        "text": text, "p50": quantile(others, 0.5), "p99": quantile(others, 0.99), "search_p99": search[0][3], "refused": reader.refused,
        "slowest": body[0], "routes": {line[0]: line[1:] for line in body}, "streams": figures}
