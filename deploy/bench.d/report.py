"""Medians over the rounds, and ratios to nginx."""
from statistics import median


def number(value):
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


# Title, key of a run, whether a ratio to nginx makes sense.
COLUMNS = {
    "streams": [
        ("CPU s / M tokens", "cpu_per_million", True), ("PostgreSQL s / M", "database_per_million", False),
        ("added p50 µs", "added_p50", True), ("p99", "added_p99", True), ("first token p50 ms", "first_p50", False), ("p99", "first_p99", False),
        ("tokens/s", "tokens_per_s", True), ("KiB/stream", "kib_per_stream", True), ("longest gap ms", "gap_max", False),
        ("gaps > 10 x pace", "gaps_too_long", False), ("not whole", "not_whole", False), ("provider CPU", "provider_share", False),
        ("load CPU", "load_share", False), ("proxy CPU", "proxy_share", False),
        ("others' CPU", "others_share", False)],
    "turns": [
        ("turns/s", "turns_per_s", True), ("begin p50 ms", "begin_p50", False), ("p99", "begin_p99", False),
        ("first token p50 ms", "first_p50", False), ("p99", "first_p99", False), ("CPU ms / turn", "cpu_per_turn", True),
        ("PostgreSQL ms / turn", "database_per_turn", False), ("not whole", "not_whole", False), ("provider CPU", "provider_share", False),
        ("load CPU", "load_share", False), ("proxy CPU", "proxy_share", False),
        ("others' CPU", "others_share", False)],
}


def columns(workload):
    return COLUMNS["turns" if workload.name in ("turns", "ttft") else "streams"]


def medians(runs):
    keys = {key for run in runs for key, value in run.items() if isinstance(value, (int, float))}
    return {key: median(run[key] for run in runs if run.get(key) is not None) for key in keys}


def table(workload, by_peer):
    """`by_peer`: name to the runs of all rounds."""
    shown = columns(workload)
    lines = [f"**{workload.name}**: {workload.title}", ""]
    lines.append("| peer | " + " | ".join(title for title, _, _ in shown) + " |")
    lines.append("|---" * (len(shown) + 1) + "|")
    middle = {peer: medians(runs) for peer, runs in by_peer.items()}
    for peer, values in middle.items():
        cells = [number(values.get(key)) for _, key, _ in shown]
        lines.append(f"| {peer} | " + " | ".join(cells) + " |")
    reference = middle.get("nginx")
    if reference:
        for peer, values in middle.items():
            if peer in ("bare", "nginx"):
                continue
            cells = [
                number(values[key] / reference[key]) if is_ratio and values.get(key) is not None and reference.get(key) else ""
                for _, key, is_ratio in shown]
            lines.append(f"| {peer} : nginx | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
