"""Runs the benchmark: in each round each peer runs each workload once, followed by the studies. Started by deploy/bench."""
import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import goals, machine, peers, report, studies, workloads
from .testbed import Testbed, progress


def arguments():
    """Parses the command line, which deploy/bench builds."""
    parser = argparse.ArgumentParser()
    for name in (
            "root", "folder", "output", "command", "cluster", "password", "nginx", "haproxy", "litellm", "executable", "tool", "quick",
            "only", "peers", "budgets", "explain"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("database-port", "rounds", "messages", "rows"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    return parser.parse_args()


def rounds(testbed, chosen, kinds, count):
    """Runs all rounds. Returns the figures by workload and peer, one entry per round."""
    peers_of = {
        workload.name: [kind for kind in kinds if kind.workload_names is None or workload.name in kind.workload_names] for workload in chosen}
    runs = {name: {kind.name: [] for kind in present} for name, present in peers_of.items()}
    for number in range(1, count + 1):
        for workload in chosen:
            for kind in list(peers_of[workload.name]):
                try:
                    result = testbed.measure(kind(testbed), workload)
                except peers.Unavailable as reason:
                    progress(f"Without {kind.name}: {reason}")
                    peers_of[workload.name].remove(kind)
                    continue
                runs[workload.name][kind.name].append(result)
                shown = ", ".join(f"{title} {report.number(result[key])}" for title, key, _ in report.columns(workload.name)[:4])
                progress(f"round {number}, {workload.name}, {kind.name}: {shown}")
    return runs


def main():
    """Runs the benchmark and prints the tables; returns the exit status."""
    options = arguments()
    # Signals raise SystemExit, so that the `finally` clauses below run.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    names = options.only.split(",")
    try:
        chosen = [workloads.named(name, options.quick == "yes") for name in names if name not in studies.ALL]
        kinds = [peers.ALL[name] for name in options.peers.split(",")]
    except KeyError as error:
        progress(f"there is no {error}")
        return 2
    if not options.litellm:
        kinds = [kind for kind in kinds if kind is not peers.LiteLLM]

    commit = subprocess.run(["git", "-C", options.root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    facts = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": machine.description(), "command": options.command,
        "commit": commit or "unknown", "rounds": options.rounds}
    testbed = Testbed(options)
    began = time.monotonic()
    found = {}
    try:
        runs = rounds(testbed, chosen, kinds, options.rounds)
        for name in (name for name in names if name in studies.ALL):
            progress(f"{name} …")
            found[name] = studies.ALL[name](testbed, kinds)
    finally:
        testbed.provider.stop()
        medians = {name: report.by_peer(by_peer) for name, by_peer in locals().get("runs", {}).items()}
        print(f"{facts['date']}, {facts['machine']}, commit {facts['commit']}, `{facts['command']}`, medians of {facts['rounds']} round(s), "
              f"{(time.monotonic() - began) / 60:.0f} minutes\n")
        print(goals.table(medians, found))
        for workload in chosen:
            if workload.name in medians:
                print(report.table(workload, medians[workload.name]))
        for study in found.values():
            print(study["text"])
        file = Path(options.output) / time.strftime("%Y%m%d-%H%M%S.json", time.gmtime())
        file.write_text(json.dumps(facts | {"runs": locals().get("runs", {}), "studies": found}, indent=1))
        progress(f"All figures: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
