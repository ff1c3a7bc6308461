"""Studies: measurements that need more than one run per peer.

A study takes the testbed and the peers and returns `text` (Markdown) and its figures.
"""
from dataclasses import replace

from . import budgets, changes, conversations, dashboards, history, jobs, keepalive, operators, peers, reads, report, soak, webhooks
from .testbed import progress
from .together import not_whole, run_together
from .workloads import Workload

RATES = (200, 400, 500, 600, 800, 1000, 1250, 1500, 2000, 3000)
JUDGED_AT = 500
# Milliseconds.
BEGIN_LIMIT = 25


def turns(testbed, kinds):
    """Sends short turns at increasing rates, independent of the answers (so that queueing counts as latency), until the limit is exceeded.
    With --budgets: without and with shared budgets instead."""
    if testbed.options.budgets == "yes":
        return budgets.study(testbed, 1)
    base = Workload("turns", "answers of 20 tokens", 500, 0, 20, ramp=0, seconds=4 if testbed.options.quick == "yes" else 8, users=5000)
    steps, reached = {}, {}
    for kind in (kind for kind in kinds if kind in (peers.PassThrough, peers.Gateway)):
        peer, steps[kind.name] = kind(testbed), []
        try:
            peer.start(base)
            testbed.warm(peer)
            for rate in RATES:
                figures = testbed.run(peer, replace(base, rate=rate)) | {"rate": rate}
                steps[kind.name].append(figures)
                progress(f"  {kind.name}, {rate}/s: begin p99 {report.number(figures['begin_p99'])} ms, {figures['not_whole']} not whole")
                # Ends after two consecutive rates beyond the limit, because one can be caused by a disturbance.
                if len(steps[kind.name]) > 1 and not any(is_good(last) for last in steps[kind.name][-2:]):
                    break
        finally:
            peer.stop()
        good = [figures for figures in steps[kind.name] if is_good(figures)]
        judged = next((figures for figures in steps[kind.name] if figures["rate"] == JUDGED_AT), steps[kind.name][-1])
        reached[kind.name] = {
            "rate": max((figures["rate"] for figures in good), default=0),
            "cpu_per_turn": judged["cpu_per_turn"], "database_per_turn": judged["database_per_turn"]}
    head = ["peer", "asked/s"] + [title for title, _, _ in report.TURNS]
    body = [
        [name, figures["rate"]] + [figures.get(key) for _, key, _ in report.TURNS] for name, all_steps in steps.items() for figures in all_steps]
    saturated = ", ".join(f"{name} {report.number(point['rate'])}/s" for name, point in reached.items())
    text = (f"**turns**: {base.title}, PostgreSQL with fsync on the same processors; the most with p99 begin ≤ {BEGIN_LIMIT} ms: {saturated}\n\n"
            + report.rows(head, body))
    return {"text": text, "steps": steps, "reached": reached, "judged_at": JUDGED_AT}


def is_good(figures):
    """Whether all turns are complete and p99 of the time to the response is within the limit."""
    return figures["begin_p99"] is not None and figures["begin_p99"] <= BEGIN_LIMIT and not figures["not_whole"]


CROWDS = (5000, 4000, 3000, 2500, 2000, 1500, 1000)


def crowd(testbed, kinds):
    """Finds the most streams x 20 tokens/s that nginx sustains on this machine, and runs every peer with that number."""
    def paced(streams, seconds):
        # All streams overlap for `seconds`: the first must not end before the last one begins.
        ramp = streams / 500
        return Workload("crowd", f"{streams:,} streams x 20 tokens/s", streams, 20, int(20 * (ramp + 1 + seconds)), ramp=ramp)
    streams, trials = 0, []
    for streams in CROWDS:
        figures = testbed.measure(peers.Nginx(testbed), paced(streams, 8))
        share = figures["tokens_per_s"] / (20 * streams)
        trials.append([streams, share, figures["gaps_too_long"], figures["not_whole"]])
        progress(f"  nginx, {streams}: {share:.0%} of the pace, {figures['gaps_too_long']} gaps too long, {figures['not_whole']} not whole")
        if share > 0.98 and not figures["gaps_too_long"] and not figures["not_whole"]:
            break
    workload = paced(streams, 15 if testbed.options.quick == "yes" else 30)
    figures = {}
    for kind in kinds:
        if kind.workload_names is None or "crowd" in kind.workload_names:
            figures[kind.name] = testbed.measure(kind(testbed), workload)
            progress(f"  {kind.name}: longest gap {report.number(figures[kind.name]['gap_max'])} ms")
    tried = report.rows(["streams tried with nginx", "share of the pace", "gaps > 10 x pace", "not whole"], trials)
    return {"text": report.table(workload, figures) + "\n" + tried, "figures": figures, "streams": streams}


def pair(testbed, kinds):
    """Runs two gateways on one database with twice the streams of one. With --budgets: two without and two with shared budgets instead."""
    if testbed.options.budgets == "yes":
        return budgets.study(testbed, 2)
    workload = Workload("pair", "", 500, 20, 200 if testbed.options.quick == "yes" else 400, ramp=4)
    alone = testbed.measure(peers.Gateway(testbed), workload)
    both = [peers.Gateway(testbed), peers.SecondGateway(testbed)]
    try:
        for peer in both:
            peer.start(workload)
            testbed.warm(peer)
        run = run_together(testbed, both, workload)
    finally:
        for peer in both:
            peer.stop()
    seen, database = run["seen"], run["database"]
    together = sum(one["tokens_per_s"] for one in seen)
    body = [["one", workload.streams, alone["tokens_per_s"], alone["cpu_per_million"], alone["database_per_million"], alone["added_p50"],
             alone["added_p99"], alone["not_whole"]]]
    tokens = sum(one["tokens"] for one in seen)
    for name, cpu, one in zip(("two: the first", "the second"), run["own"], seen):
        body.append([
            name, workload.streams, one["tokens_per_s"], cpu / max(1, one["tokens"]) * 1e6, database / max(1, tokens) * 1e6,
            one["added_us"]["p50"], one["added_us"]["p99"], not_whole(one)])
    ratio = together / alone["tokens_per_s"]
    head = ["gateways", "streams", "tokens/s", "CPU s / M tokens", "PostgreSQL s / M (of both)", "added p50 µs", "p99", "not whole"]
    text = f"**pair**: two gateways on one database: {ratio:.2f} x the tokens/s of one\n\n" + report.rows(head, body)
    return {"text": text, "ratio": ratio, "seen": seen, "busy": run["busy"]}


ALL = {"turns": turns, "crowd": crowd, "pair": pair, "history": history.study, "soak": soak.study, "jobs": jobs.study, "webhooks": webhooks.study,
       "reads": reads.study, "dashboards": dashboards.study, "operators": operators.study, "conversations": conversations.study,
       "keepalive": keepalive.study, "changes": changes.study}
