"""Compares the figures with the goals. A goal whose workload did not run is omitted."""
from . import report


class Goals:
    """Collects one row per goal: title, goal, figure, ratio, reached."""

    def __init__(self, medians, found):
        self.medians, self.found, self.lines = medians, found, []

    def figure(self, workload, peer, key):
        """The median of a figure; None if it was not measured."""
        return self.medians.get(workload, {}).get(peer, {}).get(key)

    def at_most(self, title, goal, value, unit=""):
        """Adds a goal with an upper limit, unless `value` is None. A ratio below 1 is better than the goal."""
        if value is not None:
            self.lines.append([title, f"≤ {goal}{unit}", f"{report.number(value)}{unit}", value / goal if goal else "", value <= goal])

    def at_least(self, title, goal, value, unit=""):
        """Adds a goal with a lower limit, unless `value` is None."""
        if value is not None:
            self.lines.append([title, f"≥ {goal}{unit}", f"{report.number(value)}{unit}", value / goal, value >= goal])

    def against_nginx(self, workload, peer, key):
        """The ratio of a peer's figure to nginx's; None if one was not measured."""
        own, other = self.figure(workload, peer, key), self.figure(workload, "nginx", key)
        return own / other if own is not None and other else None

    def collect(self):
        """Adds the goals of all workloads and studies."""
        for workload, what in (("paced", "1,000 streams"), ("tls", "1,000 streams, TLS")):
            for peer, limit in (("gateway", 1.15), ("pass-through", 1.0)):
                self.at_most(f"{what}: CPU per token, {peer} : nginx", limit, self.against_nginx(workload, peer, "cpu_per_million"))
            self.at_most(f"{what}: added p50, gateway : nginx", 1, self.against_nginx(workload, "gateway", "added_p50"))
            self.at_most(f"{what}: added p99, gateway : nginx", 2, self.against_nginx(workload, "gateway", "added_p99"))
        self.crowd()
        idle = "nearly idle streams"
        self.at_least(f"{idle}: asked for (two descriptors each)", 10_000, self.figure("idle", "gateway", "streams"))
        self.at_most(f"{idle}: not whole", 0, self.figure("idle", "gateway", "not_whole"))
        self.at_most(f"{idle}: memory", 32, self.figure("idle", "gateway", "kib_per_stream"), " KiB")
        self.at_most(f"{idle}: silences above 10.5 s", 0, self.figure("idle", "gateway", "silences_too_long"))
        self.at_least("saturation: tokens/s, gateway : nginx", 1, self.against_nginx("saturation", "gateway", "tokens_per_s"))
        own, other = (self.figure("saturation", peer, "tokens_per_s") for peer in ("gateway", "litellm"))
        self.at_least("saturation: tokens/s, gateway : LiteLLM with one worker", 80, own / other if own and other else None)
        for point, limit in (("p50", 1.5), ("p99", 5)):
            own, other = (self.figure("ttft", peer, f"first_{point}") for peer in ("gateway", "bare"))
            self.at_most(
                f"first token above the bare provider, {point}", limit, own - other if own is not None and other is not None else None, " ms")
        self.at_most("of which begin_turn in PostgreSQL (mean, without commit)", 1, self.figure("ttft", "gateway", "begin_in_database"), " ms")
        self.studies()

    def crowd(self):
        """Adds the goals of the study `crowd`."""
        crowd = self.found.get("crowd")
        if crowd:
            own = crowd["figures"].get("gateway", {})
            what = f"{crowd['streams']:,} streams"
            self.at_least("streams x 20 tokens/s that nginx sustains here", 5000, crowd["streams"])
            self.at_most(f"{what}: lost", 0, own.get("not_whole"))
            self.at_most(f"{what}: gaps > 10 x pace", 0, own.get("gaps_too_long"))
            self.at_most(f"{what}: memory", 40, own.get("kib_per_stream"), " KiB")

    def studies(self):
        """Adds the goals of the other studies."""
        turns = self.found.get("turns")
        if turns and "gateway" in turns.get("reached", {}):
            reached = turns["reached"]["gateway"]
            self.at_least("turns/s with p99 begin ≤ 25 ms", 500, reached["rate"])
            self.at_most(f"CPU a turn at {turns['judged_at']}/s, gateway", 0.5, reached["cpu_per_turn"], " ms")
            self.at_most(f"CPU a turn at {turns['judged_at']}/s, PostgreSQL", 0.8, reached["database_per_turn"], " ms")
        if "history" in self.found:
            largest = self.found["history"]["sizes"][-1]
            self.at_most(f"begin_turn alone among {largest['messages']:,} messages, p99", 10, largest["alone_p99"], " ms")
            self.at_most(f"begin through the gateway among {largest['messages']:,} messages, p99", 10, largest["begin_p99"], " ms")
        pair = self.found.get("pair", {})
        self.at_least("two gateways : one, tokens/s", 1.95, pair.get("ratio"))
        for study, what in ((turns or {}, "one gateway"), (pair, "two gateways")):
            self.at_least(f"turns/s of {what}, with shared budgets : without", 0.95, study.get("budgets_ratio"))
        if "jobs" in self.found:
            jobs = self.found["jobs"]
            self.at_least("jobs/s beside 200 streams", 1000, jobs["rate"] if jobs["done"] == jobs["enqueued"] else 0)
            self.at_most("… the oldest due job waited", 1, jobs["oldest_s"], " s")
        if "webhooks" in self.found:
            webhooks = self.found["webhooks"]
            self.at_most("p99 intake of 500 billing events/s beside chat", 50, webhooks["intake_p99"], " ms")
            failed = sum(webhooks[f"{what}_failed"] for what in ("intake", "replay", "fold"))
            self.at_most("… not answered 200, a replay's included", 0, failed)
            self.at_most("… of an event that is folded with 500 earlier stored ones, p50", 5, webhooks["whole_fold_ms"], " ms")
            for point, limit in (("p50", 1.1), ("p99", 1.5)):
                during, alone = (webhooks[run][f"first_{point}"] for run in ("beside_replay", "alone"))
                self.at_most(f"… chat's first token {point}, during a replay : alone", limit, during / alone)
        if "reads" in self.found:
            reads = self.found["reads"]
            # The goal holds for every route. By route: requests, p50, p99, longest.
            routes = {route: figures for route, figures in reads["routes"].items() if "search" not in route}
            for place, point, limit in ((1, "p50", 3), (2, "p99", 15)):
                slowest = max(routes, key=lambda route: routes[route][place])
                self.at_most(f"GETs beside 500 streams, {point} of the slowest route ({slowest})", limit, routes[slowest][place], " ms")
            self.at_most("… of search, p99", 100, reads["search_p99"], " ms")
            self.at_most("… refused", 0, sum(reads["refused"].values()))
        if "dashboards" in self.found:
            dashboards = self.found["dashboards"]
            self.at_most("figures of ten dashboards, p99", 100, dashboards["figure_p99"], " ms")
            self.at_most("… refused", 0, dashboards["refused"])
            for point, limit in (("p50", 1.1), ("p99", 1.5)):
                for what, key in (("begin", f"begin_{point}"), ("first token", f"first_{point}")):
                    alone = max(dashboards["alone"][key], dashboards["alone_again"][key])
                    self.at_most(f"… chat's {what} {point}, beside them : alone", limit, dashboards["beside"][key] / alone)
        if "operators" in self.found:
            operators = self.found["operators"]
            self.at_most(
                f"longest of all GETs of operators among {operators['rows']:,} rows of the ledger", operators["goal"], operators["longest"], " ms")
            self.at_most("… refused", 0, len(operators["refused"]))
        if "soak" in self.found:
            self.at_most("soak: what is not flat", 0, len(self.found["soak"]["findings"]))


def table(medians, found):
    """The table of goals; empty if none was measured."""
    goals = Goals(medians, found)
    goals.collect()
    body = [line[:-1] + ["yes" if line[-1] else "**no**"] for line in goals.lines]
    return "**Goals**\n\n" + report.rows(["what", "goal", "here", "here : goal", "reached"], body) if body else ""
