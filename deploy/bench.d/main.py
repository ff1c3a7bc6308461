"""One run of the benchmark: in each round each peer meets each workload once. Started by deploy/bench."""
import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import machine
import peers
import report
import workloads


def say(line):
    print(line, file=sys.stderr, flush=True)


class Stage:
    """What stays for the whole run: PostgreSQL (started by deploy/bench) and the provider."""

    def __init__(self, options):
        self.options, self.folder = options, Path(options.folder)
        self.provider_port = machine.free_port()
        self.provider = machine.Child(
            "provider", [options.tool, "provider", "--port", str(self.provider_port)], self.folder / "provider.log")
        self.provider.wait_until(lambda: machine.listens(self.provider_port))
        self.is_first_failure = True

    def set_workload(self, query):
        status, _ = machine.get(self.provider_port, f"/workload?{query}")
        if status != 200:
            raise SystemExit(f"the provider does not understand {query}")

    def load(self, peer, arguments, limit, while_running=lambda: None):
        command = [self.options.tool, "load", "--kind", peer.kind, "--port", str(peer.port)] + peer.load_arguments() + arguments
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            end = time.monotonic() + limit
            while process.poll() is None:
                if time.monotonic() > end:
                    raise SystemExit(f"{' '.join(command)} did not end in {limit:g} s")
                while_running()
                time.sleep(0.25)
            return json.loads(process.stdout.read())
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def measure(self, peer, workload):
        peer.start(workload)
        try:
            # So that pools are filled and pages touched before anything is counted.
            self.set_workload("pace=0&tokens=20")
            self.load(peer, ["--streams", "50", "--expect-tokens", "20", "--ramp", "0.3", "--answers", "4", "--patience", "20"], 40)
            self.set_workload(workload.provider_query)
            time.sleep(1)
            return self.figures(peer, workload)
        finally:
            peer.stop()

    def figures(self, peer, workload):
        process, postmaster = peer.child and peer.child.pid, self.options.postmaster
        idle = machine.resident_bytes(process) if process else 0
        largest = idle

        def sample():
            nonlocal largest
            if process:
                largest = max(largest, machine.resident_bytes(process))

        def accounts():
            return [machine.cpu_seconds(pid) if pid else 0 for pid in (process, postmaster, self.provider.pid)] + [
                time.process_time(), machine.busy_seconds(), time.monotonic()]

        before = accounts()
        seen = self.load(peer, workload.load_arguments(), workload.limit, sample)
        # What follows the last byte (the end of a transaction, a connection that is closed) belongs to it.
        time.sleep(0.5)
        own, database, provider, driver, busy, wall = (b - a for a, b in zip(before, accounts()))
        tokens, turns = max(seen["tokens"], 1), max(seen["complete"], 1)
        result = {
            "cpu_per_million": own / tokens * 1e6 if process else None,
            "database_per_million": database / tokens * 1e6 if peer.has_database else None,
            "cpu_per_turn": own / turns * 1e3 if process else None,
            "database_per_turn": database / turns * 1e3 if peer.has_database else None,
            "added_p50": seen["added_us"]["p50"], "added_p99": seen["added_us"]["p99"],
            "first_p50": seen["first_token_us"]["p50"] / 1e3, "first_p99": seen["first_token_us"]["p99"] / 1e3,
            "begin_p50": seen["begin_us"]["p50"] / 1e3, "begin_p99": seen["begin_us"]["p99"] / 1e3,
            "tokens_per_s": seen["tokens_per_s"], "turns_per_s": seen["turns_per_s"],
            "kib_per_stream": (largest - idle) / 1024 / workload.streams if process else None,
            "gap_max": seen["gap_us"]["max"] / 1e3, "gaps_too_long": seen["gaps_too_long"],
            "not_whole": seen["refused"] + seen["incomplete"] + seen["lost"],
            "provider_share": provider / seen["wall_s"], "load_share": seen["load_cpu_s"] / seen["wall_s"],
            "proxy_share": own / seen["wall_s"] if process else None,
            # What else went on in the machine: near 0, or the times mean little.
            "others_share": max(0, busy - own - database - provider - driver - seen["load_cpu_s"]) / wall,
            "load": seen,
        }
        if result["not_whole"]:
            say(f"  {peer.name}, {workload.name}: {result['not_whole']} of {seen['begun']} not whole. {seen['refusal']} {seen['oddity']} {seen['loss']}")
        return result


def main():
    parser = argparse.ArgumentParser()
    for name in ("root", "folder", "output", "command", "database", "nginx", "haproxy", "executable", "tool", "quick", "only", "peers"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--postmaster", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    # Every way out passes the `finally`s below.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        chosen = [workloads.named(name, options.quick == "yes") for name in options.only.split(",")]
        kinds = [peers.ALL[name] for name in options.peers.split(",")]
    except KeyError as error:
        say(f"there is no {error}")
        return 2

    commit = subprocess.run(["git", "-C", options.root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    facts = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": machine.description(), "command": options.command,
        "commit": commit, "rounds": options.rounds}
    stage = Stage(options)
    runs = {workload.name: {peer.name: [] for peer in kinds} for workload in chosen}
    try:
        for round_number in range(1, options.rounds + 1):
            for workload in chosen:
                for kind in kinds:
                    result = stage.measure(kind(stage), workload)
                    runs[workload.name][kind.name].append(result)
                    shown = ", ".join(f"{title} {report.number(result[key])}" for title, key, _ in report.columns(workload)[:4])
                    say(f"round {round_number}, {workload.name}, {kind.name}: {shown}")
    finally:
        stage.provider.stop()

    print(f"{facts['date']}, {facts['machine']}, commit {commit}, `{options.command}`, medians of {options.rounds} round(s)\n")
    for workload in chosen:
        print(report.table(workload, runs[workload.name]))
    file = Path(options.output) / time.strftime("%Y%m%d-%H%M%S.json", time.gmtime())
    file.write_text(json.dumps(facts | {"runs": runs}, indent=1))
    say(f"All figures: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
