"""Study: the latency of the start of a turn for users with a long history, by the size of the tables."""
import re
import subprocess
import time
from dataclasses import replace
from statistics import quantiles

from ..postgres import PSQL
from . import peers, report
from .testbed import progress
from .workloads import Workload

FIRST_USER = 1_000_000
MESSAGES_PER_USER = 200
CONVERSATION = 40
USERS_PER_BATCH = 2500

# `number` is the number of a user; coach-bench computes the same ids (Requests.swift). The rows are those of finished turns, without usage.
LOAD = """
set session_replication_role = replica;
set synchronous_commit = off;
begin;
create temporary table people on commit drop as
    select n as number, ('be9c0000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as user_id from generate_series({first}, {last}) n;
create temporary table talks on commit drop as
    select p.user_id, place, case when place = 0
        then ('be9cc000-0000-4000-8000-' || lpad(to_hex(p.number), 12, '0'))::uuid else gen_random_uuid() end as id
    from people p, generate_series(0, {talks} - 1) place;
-- `seq` is that of the user's message, `change` the number that the beginning took; the end took the next.
create temporary table exchanges on commit drop as
    select t.user_id, t.id as conversation_id, s as seq, t.place * {length} + s as change,
        gen_random_uuid() as id, gen_random_uuid() as user_message_id, gen_random_uuid() as message_id
    from talks t, generate_series(1, {length}, 2) s;
insert into public.users (id) select user_id from people;
insert into public.change_counters (user_id, last_change) select user_id, {talks} * {length} from people;
insert into public.conversations (user_id, id, title, domain, last_seq, change)
    select user_id, id, 'How do I start', 'mindset', {length}, (place + 1) * {length} from talks;
insert into public.turns
    (user_id, id, conversation_id, user_message_id, message_id, seq, status, finish_reason, idempotency_key, request_hash, conversation_named, tier,
    locale, domain, domain_confidence, domain_source, finalized_by, time_to_first_token_ms, duration_ms, day, finished_at, change)
    select user_id, id, conversation_id, user_message_id, message_id, seq, 'complete', 'stop', id::text, decode(md5(id::text), 'hex'), true, 'free',
        'en', 'mindset', 0.8, 'message', 'owner', 300, 4000, current_date - (change / 2) % 30, now(), change + 1
    from exchanges;
insert into public.messages (user_id, id, conversation_id, turn_id, seq, change, role, content, domain, token_count)
    select e.user_id, m.id, e.conversation_id, e.id, e.seq + m.part, e.change + m.part, m.role,
        md5(e.conversation_id::text || (e.seq + m.part)) || ' What would be the smallest step that you could take before tomorrow evening, and who would '
            || 'notice first that you have taken it? Say it in one sentence, and then tell me what usually keeps you from it. ' || md5((e.seq + m.part)::text),
        m.domain, 64
    from exchanges e cross join lateral (values
        (0, e.user_message_id, 'user'::public.message_role, null::public.coaching_domain), (1, e.message_id, 'assistant', 'mindset')) m (part, id, role, domain);
commit;
"""

# The statement of TurnRepository.postgres, with RLS, and rolled back, so that the time does not include the commit's fsync.
BEGIN = r"""\set n random({first}, {last})
begin\; select set_config('request.jwt.claims', json_build_object('sub', 'be9c0000-0000-4000-8000-' || lpad(to_hex(:n), 12, '0'), 'role', 'authenticated')::text, true), set_config('request.jwt.claim.sub', 'be9c0000-0000-4000-8000-' || lpad(to_hex(:n), 12, '0'), true)\; select gateway.begin_turn(('be9c0000-0000-4000-8000-' || lpad(to_hex(:n), 12, '0'))::uuid, jsonb_build_object('message', 'I keep putting off a hard talk with my manager about my workload. Where do I start?', 'conversation_id', 'be9cc000-0000-4000-8000-' || lpad(to_hex(:n), 12, '0'), 'risk', '{{"tier": 0, "categories": [], "subject": "unclear", "patterns": []}}'::jsonb, 'history', '{{"tokens": 3000, "messages": 100}}'::jsonb, 'limits', '{{"requests_per_minute": 1000000, "default_tier": "free", "tiers": {{"free": {{"messages_per_day": 1000000, "concurrent_turns": 100}}}}}}'::jsonb, 'owner', jsonb_build_object('instance', 'be9c0000-0000-4000-8000-000000000000', 'epoch', 1)))\; rollback;
"""


def study(testbed, kinds):
    """Measures with a tenth of --messages, and with all of them."""
    quick = testbed.options.quick == "yes"
    workload = Workload(
        "history", "", 100, 0, 20, ramp=0, seconds=5 if quick else 12, rate=100, conversations=True, first_user=FIRST_USER)
    prepare(testbed)
    sizes, users = [], 0
    for wanted in (max(1, testbed.options.messages // 10), testbed.options.messages):
        goal = max(100, wanted // MESSAGES_PER_USER)
        took = fill(testbed, users, goal)
        users = goal
        alone = begin_alone(testbed, users, 5 if quick else 12)
        peer = peers.Gateway(testbed)
        try:
            peer.start(workload)
            # The warm-up uses other users, so that its turns do not change the measured histories.
            testbed.warm(peer)
            figures = testbed.run(peer, replace(workload, users=min(users, 20_000)))
        finally:
            peer.stop()
        size = testbed.sql("select pg_total_relation_size('public.messages'), pg_indexes_size('public.messages')")[0].split("|")
        sizes.append({
            "messages": users * MESSAGES_PER_USER, "users": users, "loading_s": took, "gib": int(size[0]) / 2**30,
            "index_gib": int(size[1]) / 2**30, "alone_p50": alone[0], "alone_p99": alone[1]} | figures)
        progress(f"  {users * MESSAGES_PER_USER:,} messages: begin p99 {report.number(figures['begin_p99'])} ms, alone {report.number(alone[1])} ms")
    columns = [
        ("messages", "messages"), ("users", "users"), ("table GiB", "gib"), ("of it indexes", "index_gib"), ("begin_turn alone p50 ms", "alone_p50"),
        ("p99", "alone_p99"), ("in the gateway's PostgreSQL, mean", "begin_in_database"), ("begin through the gateway p50 ms", "begin_p50"),
        ("p99", "begin_p99"), ("CPU ms / turn", "cpu_per_turn"), ("PostgreSQL ms / turn", "database_per_turn"), ("not whole", "not_whole"),
        ("loading s", "loading_s")]
    body = [[size[key] for _, key in columns] for size in sizes]
    body.append(["x 10:"] + [
        sizes[1][key] / sizes[0][key] if isinstance(sizes[0].get(key), (int, float)) and sizes[0][key] else "" for _, key in columns[1:]])
    text = (f"**history**: random users, conversations of {CONVERSATION} messages of 64 tokens, of which what fits into 3,000 tokens is read; "
            f"{workload.rate:g} turns/s\n\n" + report.rows([title for title, _ in columns], body))
    return {"text": text, "sizes": sizes}


def prepare(testbed):
    """Creates the schema by starting a gateway once."""
    peer = peers.Gateway(testbed)
    try:
        peer.start(Workload("history", "", 1, 0, 1, ramp=0))
    finally:
        peer.stop()


def fill(testbed, users, goal):
    """Adds users `users` to `goal` with their messages and returns the seconds it took. Loads without fsync: the data is disposable."""
    began = time.monotonic()
    testbed.sql("alter system set fsync = off;\nselect pg_reload_conf();")
    script = testbed.folder / "load.sql"
    running = []
    try:
        for first in range(users, goal, USERS_PER_BATCH):
            last = min(first + USERS_PER_BATCH, goal) - 1
            script.write_text(LOAD.format(
                first=FIRST_USER + first, last=FIRST_USER + last, talks=MESSAGES_PER_USER // CONVERSATION, length=CONVERSATION))
            # psql reads an open descriptor, because the file is replaced by the next batch in the meantime.
            with open(script) as text:
                running.append(subprocess.Popen(
                    ["psql", *PSQL, "-f", "-"] + testbed.address("postgres"), env=testbed.as_role("postgres"),
                    stdin=text, stdout=subprocess.DEVNULL))
                script.unlink()
            if len(running) == 2:
                ended(running.pop(0))
            if last // 20_000 != first // 20_000:
                progress(f"  {(last + 1) * MESSAGES_PER_USER:,} messages after {time.monotonic() - began:.0f} s")
        while running:
            ended(running.pop(0))
    finally:
        for process in running:
            process.terminate()
            process.wait()
    testbed.sql("alter system reset fsync;\nselect pg_reload_conf();\nvacuum analyze public.messages;\nanalyze;\ncheckpoint;")
    return time.monotonic() - began


def ended(process):
    """Waits for psql, which must succeed."""
    if process.wait():
        raise SystemExit("loading messages failed")


def begin_alone(testbed, users, seconds):
    """p50 and p99 of begin_turn in milliseconds, over 4 connections without other load."""
    script = testbed.folder / "begin.pgbench"
    script.write_text(BEGIN.format(first=FIRST_USER, last=FIRST_USER + users - 1))
    log = testbed.folder / "pgbench"
    log.mkdir(exist_ok=True)
    for old in log.iterdir():
        old.unlink()
    command = ["pgbench", "-n", "-f", str(script), "-c", "4", "-j", "1", "-T", str(seconds), "-l", "--log-prefix", str(log / "log")]
    done = subprocess.run(command + testbed.address("coach_gateway")[:6] + ["postgres"], env=testbed.as_role("coach_gateway"), capture_output=True, text=True)
    times = [int(line.split()[2]) / 1000 for file in log.iterdir() for line in file.read_text().splitlines() if re.match(r"\d+ \d+ \d+ ", line)]
    if done.returncode or len(times) < 100:
        raise SystemExit(f"pgbench: {done.stderr[-2000:]}")
    # The first calls fill the caches of their connections.
    points = quantiles(times[50:], n=100)
    return points[49], points[98]
