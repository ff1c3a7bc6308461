"""What shared budgets cost turns: `turns` and `pair` with --budgets.

Gateways without and with budgets of the installation, the tier and the persona run at the same time on one database, and take turns under load.
"""
from dataclasses import replace
from statistics import median

from . import peers, report
from .testbed import progress
from .together import not_whole, run_together
from .workloads import PERSONA, Workload

# Of all gateways together: streams that request the next answer after each, and turns per second, independent of the answers.
STREAMS = 64
RATE = 400
USERS = 5000
# Users of the gateways without and with budgets: see coach-bench, Requests.swift.
FIRST_USERS = (2_000_000, 3_000_000)
NAMES = ("without", "with")

# US dollars that the turns of users from `first` to before `last` have cost.
SPENT = """
select coalesce(sum(l.cost_usd), 0) from public.usage_logs l join public.users u on u.account_id = l.account_id
where u.id >= ('be9c0000-0000-4000-8000-' || lpad(to_hex({first}), 12, '0'))::uuid
    and u.id < ('be9c0000-0000-4000-8000-' || lpad(to_hex({last}), 12, '0'))::uuid
"""
TAKEN = "select scope, id, sum(taken) / 1e9 from gateway.shared_budgets group by scope, id"
# The three budgets of a turn, as in gateway.shared_budgets.
BUDGETS = {("installation", ""), ("tier", "free"), ("persona", PERSONA)}


def study(testbed, count):
    """Measures `count` gateways without shared budgets and as many with them, in turn. Fails when the budgets were not debited for every turn."""
    quick = testbed.options.quick == "yes"
    fast = Workload(
        "turns", "answers of 20 tokens", STREAMS // count, 0, 20, ramp=0, seconds=4 if quick else 8, users=USERS, persona=True)
    paced = replace(fast, streams=500 // count, rate=RATE / count)
    groups = [[kind(testbed) for _ in range(count)] for kind in (peers.Gateway, peers.BudgetedGateway)]
    runs = ([], [])
    try:
        start(testbed, groups[0], NAMES[0], fast)
        # No gateway has a slice yet.
        slices, before = takes(testbed), accounts(testbed)
        start(testbed, groups[1], NAMES[1], fast)
        for number in range(testbed.options.rounds):
            # In the other order in every second round, so that what changes with time falls on both.
            for place in (0, 1) if number % 2 == 0 else (1, 0):
                run = measure(testbed, groups[place], [replace(each, first_user=FIRST_USERS[place]) for each in (fast, paced)])
                runs[place].append(run)
                progress(
                    f"  round {number + 1}, {count} {NAMES[place]}: {report.number(run['turns_per_s'])} turns/s; at {RATE}/s begin p99 "
                    f"{report.number(run['begin_p99'])} ms")
    finally:
        # Gives back what is left of the slices.
        for peer in (peer for group in groups for peer in group):
            peer.stop()
    debits = check_debits(before, accounts(testbed)) | {"slices": takes(testbed) - slices, "turns": sum(run["turns"] for run in runs[1])}
    middle = [{key: median(run[key] for run in runs[place]) for key in runs[place][0]} for place in (0, 1)]
    ratio = middle[1]["turns_per_s"] / middle[0]["turns_per_s"]
    return {
        "text": text(count, middle, ratio, debits), "budgets_ratio": ratio, "budgets": dict(zip(NAMES, middle)), "debits": debits,
        "rounds": dict(zip(NAMES, runs))}


def start(testbed, gateways, name, workload):
    """Starts and warms gateways, each with a state folder of its own."""
    for place, peer in enumerate(gateways):
        peer.state = f"state-{name}-{place}"
        peer.start(workload)
        testbed.warm(peer)


def text(count, middle, ratio, debits):
    """The study's table. `middle`: the medians without and with budgets."""
    columns = [
        ("turns/s", "turns_per_s"), ("begin p50 ms", "busy_begin_p50"), ("p99", "busy_begin_p99"), ("gateway CPU ms / turn", "cpu_per_turn"),
        ("PostgreSQL ms / turn", "database_per_turn"), (f"at {RATE}/s: begin p50 ms", "begin_p50"), ("p99", "begin_p99"),
        ("not whole", "not_whole")]
    body = [[name] + [run[key] for _, key in columns] for name, run in zip(NAMES, middle)]
    body.append(["with : without"] + [
        middle[1][key] / middle[0][key] if middle[0][key] and key != "not_whole" else "" for _, key in columns])
    return (
        f"**shared budgets**, {count} gateway(s), {STREAMS} streams as fast as they go: {ratio:.2f} x the turns/s of those without; "
        f"{debits['slices']:,} slices for {debits['turns']:,} turns; debited {debits['debited']:.2f} of each budget, spent "
        f"{debits['spent']:.2f} US dollars\n\n" + report.rows(["shared budgets"] + [title for title, _ in columns], body))


def measure(testbed, gateways, workloads):
    """The figures of streams as fast as they go, and of turns at a rate. Percentiles are those of the slower gateway."""
    fast, paced = (run_together(testbed, gateways, workload) for workload in workloads)
    for one in fast["seen"] + paced["seen"]:
        # Others, such as those of a busy machine, are counted as not whole.
        if "BIZ_2002" in one["first_rejection"]:
            raise SystemExit(f"a budget refused turns: {one['first_rejection']}")
    turns = sum(one["complete"] for one in fast["seen"])

    def slowest(run, point):
        return max(one["begin_us"][point] for one in run["seen"]) / 1e3
    return {
        "turns_per_s": sum(one["turns_per_s"] for one in fast["seen"]), "busy_begin_p50": slowest(fast, "p50"),
        "busy_begin_p99": slowest(fast, "p99"), "cpu_per_turn": sum(fast["own"]) / turns * 1e3, "database_per_turn": fast["database"] / turns * 1e3,
        "begin_p50": slowest(paced, "p50"), "begin_p99": slowest(paced, "p99"),
        "not_whole": sum(not_whole(one) for one in fast["seen"] + paced["seen"]),
        "turns": turns + sum(one["complete"] for one in paced["seen"])}


def takes(testbed):
    """How many slices gateways have taken so far, by PostgreSQL's track_functions."""
    rows = testbed.sql("select calls from pg_stat_user_functions where funcname = 'take_slice'")
    return int(rows[0]) if rows else 0


def accounts(testbed):
    """The US dollars so far that turns of the gateways with budgets have cost, and with which each budget was debited."""
    spent = float(testbed.sql(SPENT.format(first=FIRST_USERS[1], last=FIRST_USERS[1] + 1_000_000))[0])
    rows = (row.split("|") for row in testbed.sql(TAKEN))
    return spent, {(scope, name): float(dollars) for scope, name, dollars in rows}


def check_debits(before, after):
    """Exits unless each of the three budgets was debited with what the turns between two readings of `accounts` have cost. Returns the dollars."""
    spent = after[0] - before[0]
    debited = {budget: dollars - before[1].get(budget, 0) for budget, dollars in after[1].items()}
    if spent <= 0 or debited.keys() != BUDGETS or min(debited.values()) < spent - 1e-6:
        raise SystemExit(f"turns cost {spent} US dollars, but the shared budgets were debited with {debited}")
    return {"spent": spent, "debited": min(debited.values())}
