"""Formats the tables: medians over the rounds, and ratios to nginx."""
from statistics import median


def number(value):
    """Formats a cell: a number with about three digits, a text, or a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


SHARES = [
    ("provider CPU", "provider_share", False), ("load CPU", "load_share", False), ("proxy CPU", "proxy_share", False),
    ("others' CPU", "others_share", False)]
STREAMS = [
    ("CPU s / M tokens", "cpu_per_million", True), ("PostgreSQL s / M", "database_per_million", False),
    ("added p50 µs", "added_p50", True), ("p99", "added_p99", True), ("first token p50 ms", "first_p50", False), ("p99", "first_p99", False),
    ("tokens/s", "tokens_per_s", True), ("KiB/stream", "kib_per_stream", True), ("longest gap ms", "gap_max", False),
    ("gaps > 10 x pace", "gaps_too_long", False), ("not whole", "not_whole", False)] + SHARES
TURNS = [
    ("turns/s", "turns_per_s", True), ("begin p50 ms", "begin_p50", False), ("p99", "begin_p99", False),
    ("first token p50 ms", "first_p50", False), ("p99", "first_p99", False), ("begin_turn in PostgreSQL ms", "begin_in_database", False),
    ("CPU ms / turn", "cpu_per_turn", True), ("PostgreSQL ms / turn", "database_per_turn", False), ("not whole", "not_whole", False)
] + SHARES
IDLE = [
    ("KiB/stream", "kib_per_stream", True), ("longest silence s", "silence_max", False), ("silences > 10.5 s", "silences_too_long", False),
    ("not whole", "not_whole", False), ("proxy CPU", "proxy_share", False), ("provider CPU", "provider_share", False),
    ("load CPU", "load_share", False), ("others' CPU", "others_share", False)]


def columns(name):
    """The columns of a workload's table: title, key, and whether the ratio to nginx is shown."""
    return {"ttft": TURNS, "turns": TURNS, "idle": IDLE}.get(name, STREAMS)


def medians(runs):
    """The median of each figure over the runs; None values are left out."""
    keys = {key for run in runs for key, value in run.items() if isinstance(value, (int, float))}
    return {key: median([run[key] for run in runs if run.get(key) is not None]) for key in keys}


def by_peer(runs):
    """The medians of each peer that has runs."""
    return {peer: medians(of_peer) for peer, of_peer in runs.items() if of_peer}


def rows(head, body):
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(number(cell) for cell in row) + " |" for row in body]) + "\n"


def table(workload, middle):
    """The table of a workload. `middle`: the medians by peer."""
    shown = columns(workload.name)
    body = [[peer] + [values.get(key) for _, key, _ in shown] for peer, values in middle.items()]
    reference = middle.get("nginx")
    if reference:
        for peer, values in middle.items():
            if peer not in ("bare", "nginx"):
                body.append([f"{peer} : nginx"] + [
                    values[key] / reference[key] if is_ratio and values.get(key) is not None and reference.get(key) else ""
                    for _, key, is_ratio in shown])
    return f"**{workload.name}**: {workload.title}\n\n" + rows(["peer"] + [title for title, _, _ in shown], body)
