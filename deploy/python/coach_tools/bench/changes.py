"""Study: what the numbers of changes cost turns.

Each turn takes its user's next number twice, under that user's lock (`gateway.next_change`), and writes it into an index of messages. One gateway
runs turns with them and without them, in turn: without, the function returns a constant and the index is dropped.
"""
import time
from dataclasses import replace
from statistics import median

from . import budgets, peers, report
from .testbed import progress
from .workloads import Workload

NAMES = ("without", "with")
WITHOUT = """
create or replace function gateway.next_change(user_id uuid) returns bigint language plpgsql as $$ begin return 1; end $$;
drop index if exists public.idx_messages_change;
"""
# What the migrations made, as statements.
DEFINITIONS = """
select pg_get_functiondef('gateway.next_change(uuid)'::regprocedure) || ';';
select replace(pg_get_indexdef('public.idx_messages_change'::regclass), 'CREATE INDEX', 'CREATE INDEX IF NOT EXISTS') || ';';
"""


def study(testbed, kinds):
    """Measures turns without and with numbers, --rounds times each."""
    fast = Workload(
        "changes", "answers of 20 tokens", budgets.STREAMS, 0, 20, ramp=0, seconds=4 if testbed.options.quick == "yes" else 8,
        users=budgets.USERS)
    paced = replace(fast, streams=500, rate=budgets.RATE)
    peer, runs, statements = peers.Gateway(testbed), {name: [] for name in NAMES}, {"without": WITHOUT}
    try:
        peer.start(fast)
        testbed.warm(peer)
        statements["with"] = "\n".join(testbed.sql(DEFINITIONS))
        for number in range(testbed.options.rounds):
            # In the other order in every second round, so that what changes with time falls on both.
            for name in NAMES if number % 2 == 0 else NAMES[::-1]:
                testbed.sql(statements[name])
                before = calls(testbed)
                run = budgets.measure(testbed, [peer], [fast, paced])
                taken, spent = (after - earlier for earlier, after in zip(before, calls(testbed)))
                run |= {"taken_per_turn": taken / max(1, run["turns"]), "take_us": spent / max(1, taken) * 1e3}
                runs[name].append(run)
                progress(f"  round {number + 1}, {name}: {report.number(run['database_per_turn'])} ms of PostgreSQL a turn")
    finally:
        peer.stop()
        if "with" in statements:
            testbed.sql(statements["with"])
    middle = {name: {key: median(run[key] for run in runs[name]) for key in runs[name][0]} for name in NAMES}
    return {"text": text(middle), "numbers": middle, "rounds": runs}


def calls(testbed):
    """The number of calls of next_change and their milliseconds so far, by PostgreSQL's track_functions."""
    # A backend reports its statistics after it has been idle for a second.
    time.sleep(1.2)
    rows = testbed.sql("select calls, total_time from pg_stat_user_functions where schemaname = 'gateway' and funcname = 'next_change'")
    return tuple(float(part) for part in rows[0].split("|")) if rows else (0.0, 0.0)


def text(middle):
    """The study's table."""
    columns = [
        ("turns/s", "turns_per_s"), ("begin p50 ms", "busy_begin_p50"), ("p99", "busy_begin_p99"), ("PostgreSQL ms / turn", "database_per_turn"),
        (f"at {budgets.RATE}/s: begin p50 ms", "begin_p50"), ("p99", "begin_p99"), ("numbers a turn", "taken_per_turn"), ("µs each", "take_us"),
        ("not whole", "not_whole")]
    body = [[name] + [middle[name][key] for _, key in columns] for name in NAMES]
    body.append(["with : without"] + [
        middle["with"][key] / middle["without"][key] if middle["without"][key] and key != "not_whole" else "" for _, key in columns])
    return (
        f"**changes**: {budgets.STREAMS} streams as fast as they go, of {budgets.USERS:,} users; turns with a number of changes for each user cost "
        f"{middle['with']['database_per_turn'] - middle['without']['database_per_turn']:+.2f} ms of PostgreSQL more\n\n"
        + report.rows(["numbers of changes"] + [title for title, _ in columns], body))
