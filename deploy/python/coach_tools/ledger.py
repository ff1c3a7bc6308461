"""Loads generated rows into the ledger by COPY and folds them, to measure operators' figures against a large one.

    PYTHONPATH=deploy/python python3 -m coach_tools.ledger DATABASE-URL --rows 10000000 --days 90

The URL is that of the owner of the tables, in a migrated database without a running gateway. Uses psql.
"""

import argparse
import concurrent.futures
import datetime
import itertools
import os
import random
import subprocess
import sys
import time
import uuid

COLUMNS = (
    "account_id day turn_id attempt call revision purpose finalized_by conversation_id message_id persona_id domain tier provider model "
    "input_tokens cached_input_tokens cache_write_tokens output_tokens reasoning_tokens tokens_in tokens_out cost_usd unpriced status "
    "error_code domain_confidence domain_source time_to_first_token_ms duration_ms booked_at").split()
MODELS = [("openai", "gpt-5-mini", 0.6), ("anthropic", "claude-haiku-4-5", 0.25), ("gemini", "gemini-2.5-flash", 0.1), ("simulator", "coach-sim", 0.05)]
TURNS_A_DAY = 8
"""Of an account that is active on the day."""
BESIDE = (
    # What was found in one of a hundred turns.
    """
    insert into gateway.crisis_events (account_id, day, turn_id, attempt, stage, tier, category, patterns, action, jurisdiction, created_at, bucket, is_counted)
    select l.account_id, l.day, l.turn_id, l.attempt, (array['grammar', 'model', 'state', 'judge'])[1 + n % 4]::gateway.detection_stage, 2 + n % 3,
        (array['suicide', 'self_harm', 'abuse', 'violence', 'eating_disorder', 'psychosis', 'substance'])[1 + n % 7], '{}',
        (array['card', 'opening', 'fixed_text', 'card', 'replaced'])[1 + n / 100 % 5]::gateway.crisis_action,
        (array['US', 'DE', 'IN', 'GB', 'FR', 'BR', 'JP', null])[1 + n / 700 % 8], l.booked_at, date_bin('15 minutes', l.booked_at, 'epoch'), true
    from public.usage_logs l cross join abs(hashtext(l.turn_id::text)::bigint) as n
    where l.revision = 1 and n % 10000 < 100
    on conflict do nothing""",
    # Without the trigger that locks and counts each user's.
    """
    set session_replication_role = replica;
    insert into public.reports (user_id, persona_id, reason, comment, created_at)
    select u.id, gen_random_uuid(), (enum_range(null::public.report_reason))[1 + n::integer % 6], 'It was harmful.', now() - n * interval '1 minute'
    from (select u.id, row_number() over () as n from public.users u limit 100000) as u""",
    """
    insert into gateway.alerts (rule, measure, severity, threshold, value, started_at, resolved_at)
    select 'errors', 'error_share', 'page', 0.1, 0.2, now() - n * interval '10 minutes', now() - n * interval '10 minutes' + interval '5 minutes'
    from generate_series(10000, 1, -1) as n""",
    """
    select count(gateway.append_audit('user.suspend', 'account/' || gen_random_uuid(), null, null, 'spam', null)) from generate_series(1, 10000)""",
)
"""Other tables that operators read."""


def draw_id(random_bits):
    return str(uuid.UUID(int=random_bits(128), version=4))


def turn(draw, accounts, personas, domains, date, day, days, second):
    """The rows of one turn, as text for COPY."""
    bits = draw.getrandbits
    # On each day another part of the accounts is active.
    active = max(1, accounts // 4)
    number = (day * 31 * active // 7 + int(active * draw.random())) % accounts
    account = str(uuid.UUID(int=number + (1 << 120)))
    tier = ("free", "free", "free", "plus", "pro")[number % 5]
    provider, model, _ = draw.choices(MODELS, [share for *_, share in MODELS])[0]
    persona = personas[int(len(personas) * draw.random() ** 3)] if draw.random() < 0.3 else "\\N"
    domain = domains[int(len(domains) * draw.random() ** 1.5)] if draw.random() < 0.9 else "\\N"
    turn_id, message = draw_id(bits), draw_id(bits)
    conversation = str(uuid.UUID(int=(number << 40) + day * 3 + int(2 * draw.random())))
    begin = f"{date} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}+00"
    key = [account, str(date), turn_id, "1", "1"]
    yield "\t".join(key + ["0", "chat", "\\N", conversation, message, persona, "\\N", tier] + ["\\N"] * 10 + ["0"] + ["\\N"] * 6 + [begin])
    confidence = f"{0.5 + draw.random() / 2:.3f}"
    source = "message" if domain != "\\N" else "abstained"
    first = int(draw.lognormvariate(6.2, 0.5))
    if draw.random() < 0.01:
        yield "\t".join(
            key + ["1", "chat", "\\N", conversation, message, persona, domain, tier] + ["\\N"] * 10
            + ["0", "failed", "EXT_4001", confidence, source, "\\N", "6000", begin])
        return
    tokens_in, cached, tokens_out = 200 + int(900 * draw.random()), int(200 * draw.random()), 40 + int(300 * draw.random())
    cost = f"{tokens_in * 250 + tokens_out * 2000 + cached * 25}"
    cost = f"0.{cost.zfill(9)}" if draw.random() < 0.999 else "\\N"
    yield "\t".join(key + [
        "1", "chat", "owner", conversation, message, persona, domain, tier, provider, model, str(tokens_in), str(cached), "0", str(tokens_out), "0",
        str(tokens_in + cached), str(tokens_out), cost, str(int(cost == "\\N")), "complete", "\\N", confidence, source, str(first),
        str(first + tokens_out * 18), begin])
    if draw.random() < 0.001:
        # A call that failed before.
        key[-1] = "3"
        yield "\t".join(
            key + ["1", "chat", "\\N", conversation, message, persona, domain, tier, "down", "m"] + ["\\N"] * 8 + ["0"] + ["\\N"] * 6 + [begin])


class Ledger:
    """The ledger of a database, by psql."""

    def __init__(self, url):
        self.psql = ["psql", "-q", "-v", "ON_ERROR_STOP=1", url]

    def query(self, text):
        return subprocess.run(self.psql + ["-At", "-c", text], check=True, capture_output=True, text=True).stdout.split()

    def load(self, date, rows):
        """Adds the rows of a day: into a table without indexes, which becomes its partition and gets them then, where there is none."""
        table = f"ledger.usage_logs_{date:%Y%m%d}"
        is_new = not self.query(f"select to_regclass('{table}')")
        if is_new:
            self.query(f"create table {table} (like public.usage_logs including all excluding indexes)")
        copy = subprocess.Popen(self.psql + ["-c", f"copy {table} ({', '.join(COLUMNS)}) from stdin"], stdin=subprocess.PIPE, text=True)
        for row in rows:
            copy.stdin.write(row + "\n")
        copy.stdin.close()
        if copy.wait() != 0:
            sys.exit("the rows could not be copied")
        if is_new:
            self.query(f"""
                alter table {table} enable row level security;
                select gateway.make_append_only('{table}');
                alter table public.usage_logs attach partition {table} for values from ('{date}') to ('{date + datetime.timedelta(days=1)}')""")


def load_day(url, date, day, turns, accounts, personas, domains, days, seed):
    """Loads one day, in the order of time, as turns book them. In a process of its own: making the rows takes longer than storing them."""
    draw = random.Random(f"{seed} {day}")
    seconds = sorted(int(86390 * draw.random()) for _ in range(turns))
    Ledger(url).load(date, (row for second in seconds for row in turn(draw, accounts, personas, domains, date, day, days, second)))


def fold(ledger):
    """Makes all rollups, the days of as many weeks beside each other as there are processors."""
    days = ledger.query("select unnest(gateway.begin_rebuild())")
    weeks = [list(group) for _, group in itertools.groupby(days, lambda day: datetime.date.fromisoformat(day).isocalendar()[:2])]

    def fold_week(week):
        for day in week:
            ledger.query(f"select gateway.rebuild_day('{day}')")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # Neighbouring weeks share half an hour of latency.
        for apart in weeks[::2], weeks[1::2]:
            list(pool.map(fold_week, apart))
    for day in days:
        ledger.query(f"select gateway.end_rebuild('{day}')")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the ledger; a turn has two")
    parser.add_argument("--days", type=int, default=90, help="they end with today (UTC)")
    parser.add_argument("--personas", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    turns = arguments.rows // 2
    accounts = max(1, 4 * turns // (TURNS_A_DAY * arguments.days))
    first_day = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=arguments.days - 1)
    ledger = Ledger(arguments.url)
    query = ledger.query
    domains = query("select unnest(enum_range(null::public.coaching_domain))")
    query(f"""
        insert into public.users (id, account_id)
        select gen_random_uuid(), ('01000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid from generate_series(0, {accounts - 1}) as n
        on conflict do nothing""")
    personas = [draw_id(draw.getrandbits) for _ in range(arguments.personas)]
    start = time.monotonic()
    with concurrent.futures.ProcessPoolExecutor() as pool:
        loads = [
            pool.submit(
                load_day, arguments.url, first_day + datetime.timedelta(days=day), day,
                turns * (day + 1) // arguments.days - turns * day // arguments.days, accounts, personas, domains, arguments.days, arguments.seed)
            for day in range(arguments.days)]
        for load in loads:
            load.result()
    query("analyze public.usage_logs")
    # Rows booked beside a transaction that still runs, as a vacuum's, would be left to the gateway.
    last = query("select gateway.ledger_id()")[0]
    while query(f"select gateway.oldest_running() <= '{last}'") == ["t"]:
        time.sleep(0.1)
    loaded = time.monotonic()
    fold(ledger)
    folded = time.monotonic()
    for statement in BESIDE:
        query(statement)
    query("vacuum analyze")
    print(f"{2 * turns} rows of {accounts} accounts over {arguments.days} days: loaded in {loaded - start:.0f} s, folded in {folded - loaded:.0f} s")


if __name__ == "__main__":
    main()
