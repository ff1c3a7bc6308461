"""Study: the time of every GET of operators, one after the other, among a large ledger."""
import datetime
import http.client
import json
import re
import time
import uuid

from .. import tokens
from . import dashboards, history, machine, peers, report, webhooks
from .reads import quantile
from .testbed import progress
from .workloads import Workload

PREFIX = "/api/v1/operator/"
READS = 10
# Routes that are read in all formats.
SLOWEST = 10
FORMATS = ("application/json", "text/csv", "application/jsonl")
# Rows of a page of a figure, unless more are asked for.
USUAL_ROWS = 1000
# Billing events.
STORED = 200_000
# Days of a period.
PERIODS = (90, 30, 1)
# Beside the answer without parameters. Those of an hour have the same one for all periods, so they are read once.
VARIANTS = {
    "calls": (
        "persona_id={persona}", "model=coach-sim", "domain=leadership&tier=pro", "{hour}", "{hour}&persona_id={persona}", "{hour}&model=coach-sim",
        "error=true", "provider=down", "provider=openai&error=true"),
    "costs": (
        "group_by=day,model", "group_by=day,persona", "group_by=user", "group_by=user,model", "group_by=day,model&grain=hour", "compare=previous",
        "group_by=user&compare=previous", "group_by=user,day&compare=previous", "group_by=day,model,domain,tier&grain=hour",
        "group_by=persona,model", "group_by=day,persona,model", "group_by=day,persona,model&tz=Asia/Kolkata",
        "group_by=day,persona,domain&tz=Europe/Berlin", "group_by=day,persona,tier&grain=hour&tz=Asia/Kolkata", "group_by=persona,domain",
        "group_by=persona,model,domain", "group_by=persona,model,domain,tier&tz=Asia/Kolkata", "group_by=user,persona,model,domain,tier",
        "group_by=day,provider,tier&tz=Asia/Kolkata", "group_by=day,model,domain,tier&tz=Asia/Kolkata",
        "group_by=day,model,domain&grain=week&tz=Asia/Kolkata",
        # The largest that the dashboard asks for.
        "group_by=day,persona&limit=5000", "group_by=persona&limit=5000"),
    "domains": (
        "group_by=day,domain&tz=Asia/Kolkata", "group_by=day,domain&grain=hour&tz=Asia/Kolkata", "group_by=day&grain=hour&tz=Asia/Kolkata"),
    "errors": ("group_by=day,code&grain=hour",),
    "latency": (
        "group_by=day,model", "group_by=day,model&tz=Asia/Kolkata", "group_by=day,domain", "group_by=day,domain&tz=Asia/Kolkata",
        "group_by=day,domain&grain=hour", "group_by=day,model&grain=hour&tz=Asia/Kolkata", "group_by=day,domain&grain=hour&tz=Asia/Kolkata",
        "group_by=day,model,domain", "group_by=day&grain=hour&tz=Asia/Kolkata"),
    "providers": ("group_by=provider,model", "group_by=day&grain=hour&tz=Asia/Kolkata"),
    "safety": ("group_by=day,tier,category,jurisdiction&grain=week", "group_by=jurisdiction"),
    "subscriptions": ("grain=hour&tz=Asia/Kolkata",),
    "usage": ("grain=week",),
    "usage/retention/users": ("week=1",),
}


def goal(rows):
    """Milliseconds by the rows of the ledger."""
    return 100 if rows <= 10_000_000 else 300


def requests(document, user, persona):
    """The paths of all routes, and of their variants, with the number of days of each period; None for a route without one."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    hour = f"from={today - datetime.timedelta(days=1)}T10:00:00Z&to={today - datetime.timedelta(days=1)}T11:00:00Z"
    for route, methods in sorted(document["paths"].items()):
        if "get" not in methods or not route.startswith(PREFIX):
            continue
        name = route.removeprefix(PREFIX)
        parameters = {parameter["name"]: parameter["schema"] for parameter in methods["get"].get("parameters", ())}
        path = re.sub(r"\{(\w+)\}", lambda found: {"version": "1"}.get(found[1], "fitness"), name)
        own = {"users": f"id={user}"}.get(name, "from=1" if name.endswith("/diff") else "")
        if name.endswith("/diff") or not {"from", "to"} <= parameters.keys():
            yield "?".join(filter(None, (path, own))), None, None
            continue
        for days in PERIODS:
            period = f"from={today - datetime.timedelta(days=days - 1)}&to={today}"
            for variant in ("", *VARIANTS.get(name, ())):
                if "{hour}" in variant:
                    if days == PERIODS[-1]:
                        yield f"{path}?{variant.format(hour=hour, persona=persona)}", "an hour", parameters["limit"]["maximum"]
                    continue
                variant = variant.format(persona=persona)
                longest = parameters.get("limit", {}).get("maximum", USUAL_ROWS)
                if "&limit=" in variant:
                    variant = variant.split("&limit=")[0]
                else:
                    longest = min(USUAL_ROWS, longest)
                yield f"{path}?" + "&".join(filter(None, (period, variant))), days, longest


def read(port, path, longest, accept):
    """Milliseconds of each read after the first, which warms, and the highest of their statuses. Each has another limit below `longest`, because operators
    who read the same table within two seconds share it."""
    # Each operator's requests are limited.
    token = tokens.access_token(peers.Gateway.secret, str(uuid.uuid4()), "operator")
    connection, times, statuses = http.client.HTTPConnection("127.0.0.1", port, timeout=120), [], []
    try:
        for number in range(READS + 1):
            limited = path if longest is None else f"{path}&limit={longest - number - FORMATS.index(accept) * (READS + 1)}"
            began = time.perf_counter()
            connection.request("GET", PREFIX + limited, headers={"Authorization": f"Bearer {token}", "Accept": accept})
            answer = connection.getresponse()
            answer.read()
            times.append((time.perf_counter() - began) * 1e3)
            statuses.append(answer.status)
    finally:
        connection.close()
    return times[1:], max(statuses[1:])


def study(testbed, kinds):
    """Loads a ledger, then reads."""
    rows = testbed.options.rows
    history.prepare(testbed)
    ledger = dashboards.fill(testbed, rows)
    progress(f"  {ledger}")
    stored = min(STORED, rows // 10)
    testbed.sql(webhooks.FILL.format(subscribers=stored // 10))
    # One with about a call a day.
    persona = testbed.sql(
        "select persona_id from gateway.key_days where key = 'persona_id' and persona_id is not null group by 1 order by abs(sum(calls) - 90) limit 1")[0]
    user = testbed.sql("select id from public.users limit 1")[0]
    peer, body, refused, reads = peers.Gateway(testbed), [], {}, {}
    try:
        peer.start(Workload("operators", "reads of operators", 1, 0, 1, ramp=0))
        document = json.loads(machine.get(peer.port, "/openapi.json")[1])

        def note(path, days, longest, accept):
            times, status = read(peer.port, path, longest, accept)
            if status != 200:
                refused[path] = status
                progress(f"  {status} {path}")
            shown = re.sub(r"(from|to)=\d{4}-\d\d-\d\d[^&]*&?", "", path).replace(user, "…").replace(persona, "…").rstrip("?&")
            kind = ("" if accept == FORMATS[0] else f" as {accept}") + (f", {longest} rows" if longest and longest > USUAL_ROWS else "")
            body.append([f"`{shown}`{kind}", "–" if days is None else days, quantile(times, 0.5), max(times)])
            return max(times)

        for route in requests(document, user, persona):
            reads[route] = note(*route, FORMATS[0])
        # The longest in other formats, too.
        for route in sorted(reads, key=reads.get)[-SLOWEST:]:
            for accept in FORMATS[1:]:
                note(*route, accept)
    finally:
        peer.stop()
    body.sort(key=lambda line: -line[3])
    slowest = body[0]
    text = (
        f"**operators**: {len(body)} reads of every GET of operators, {READS} times each, one after the other, the {SLOWEST} slowest also as CSV and JSON Lines; ledger: {ledger}, and {stored:,} billing events; the longest "
        f"{report.number(slowest[3])} ms ({slowest[0]}), goal {goal(rows)} ms; {sum(line[3] > goal(rows) for line in body)} above it, "
        f"{len(refused)} refused\n\n" + report.rows(["route", "days", "p50 ms", "longest ms"], body))
    return {
        "text": text, "rows": rows, "goal": goal(rows), "longest": slowest[3], "slowest": slowest[0], "refused": refused,
        "routes": {f"{line[0]} {line[1]}": line[2:] for line in body}}
