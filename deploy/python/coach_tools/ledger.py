"""Loads generated rows into the ledger by COPY and folds them, to measure operators' figures against a large one.

    PYTHONPATH=deploy/python python3 -m coach_tools.ledger DATABASE-URL --rows 10000000 --days 90

The URL is that of the owner of the tables, in a migrated database without a running gateway. Uses psql.
"""

import argparse
import datetime
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


def draw_id(random_bits):
    return str(uuid.UUID(int=random_bits(128), version=4))


def turn(draw, accounts, personas, domains, first_day, days):
    """The rows of one turn, as text for COPY."""
    bits = draw.getrandbits
    # On each day another part of the accounts is active.
    day = int(days * draw.random())
    active = max(1, accounts // 4)
    number = (day * 31 * active // 7 + int(active * draw.random())) % accounts
    account = str(uuid.UUID(int=number + (1 << 120)))
    tier = ("free", "free", "free", "plus", "pro")[number % 5]
    provider, model, _ = draw.choices(MODELS, [share for *_, share in MODELS])[0]
    persona = personas[int(len(personas) * draw.random() ** 3)] if draw.random() < 0.3 else "\\N"
    domain = domains[int(len(domains) * draw.random() ** 1.5)] if draw.random() < 0.9 else "\\N"
    turn_id, message = draw_id(bits), draw_id(bits)
    conversation = str(uuid.UUID(int=(number << 40) + day * 3 + int(2 * draw.random())))
    date = first_day + datetime.timedelta(days=day)
    second = int(86390 * draw.random())
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the ledger; a turn has two")
    parser.add_argument("--days", type=int, default=90, help="they end with today (UTC)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    turns = arguments.rows // 2
    accounts = max(1, 4 * turns // (TURNS_A_DAY * arguments.days))
    first_day = datetime.datetime.now(datetime.timezone.utc).date() - datetime.timedelta(days=arguments.days - 1)
    psql = ["psql", "-q", "-v", "ON_ERROR_STOP=1", arguments.url]

    def query(text):
        return subprocess.run(psql + ["-At", "-c", text], check=True, capture_output=True, text=True).stdout.split()

    domains = query("select unnest(enum_range(null::public.coaching_domain))")
    # Partitions of past days, as if the gateway had run then.
    query(f"""
        do $$ begin for n in 1..{arguments.days - 1} loop
            execute format('create table if not exists ledger.%I partition of public.usage_logs for values from (%L) to (%L)',
                to_char(current_date - n, '"usage_logs_"YYYYMMDD'), current_date - n, current_date - n + 1);
        end loop; end $$""")
    query(f"""
        insert into public.users (id, account_id)
        select gen_random_uuid(), ('01000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid from generate_series(0, {accounts - 1}) as n
        on conflict do nothing""")
    personas = [draw_id(draw.getrandbits) for _ in range(50)]
    start = time.monotonic()
    copy = subprocess.Popen(psql + ["-c", f"copy public.usage_logs ({', '.join(COLUMNS)}) from stdin"], stdin=subprocess.PIPE, text=True)
    for number in range(turns):
        for row in turn(draw, accounts, personas, domains, first_day, arguments.days):
            copy.stdin.write(row + "\n")
    copy.stdin.close()
    if copy.wait() != 0:
        sys.exit("the rows could not be copied")
    query("analyze public.usage_logs")
    loaded = time.monotonic()
    query("select gateway.rebuild_rollups()")
    folded = time.monotonic()
    query("vacuum analyze public.usage_logs")
    query("vacuum analyze")
    print(f"{2 * turns} rows of {accounts} accounts over {arguments.days} days: loaded in {loaded - start:.0f} s, folded in {folded - loaded:.0f} s")


if __name__ == "__main__":
    main()
