"""One run of the benchmark: in each round each peer meets each workload once; then the studies. Started by deploy/bench."""
import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import goals
import machine
import peers
import report
import studies
import workloads
from stage import Stage, say


def arguments():
    parser = argparse.ArgumentParser()
    for name in (
            "root", "folder", "output", "command", "cluster", "password", "nginx", "haproxy", "litellm", "executable", "tool", "quick",
            "only", "peers"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("database-port", "rounds", "messages"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    return parser.parse_args()


def rounds(stage, chosen, kinds, count):
    """Figures of every meeting: by workload, by peer, one for each round."""
    meeting = {
        workload.name: [kind for kind in kinds if kind.meets is None or workload.name in kind.meets] for workload in chosen}
    runs = {name: {kind.name: [] for kind in present} for name, present in meeting.items()}
    for number in range(1, count + 1):
        for workload in chosen:
            for kind in list(meeting[workload.name]):
                try:
                    result = stage.measure(kind(stage), workload)
                except peers.Unavailable as reason:
                    say(f"Without {kind.name}: {reason}")
                    meeting[workload.name].remove(kind)
                    continue
                runs[workload.name][kind.name].append(result)
                shown = ", ".join(f"{title} {report.number(result[key])}" for title, key, _ in report.columns(workload.name)[:4])
                say(f"round {number}, {workload.name}, {kind.name}: {shown}")
    return runs


def main():
    options = arguments()
    # Every way out passes the `finally`s below.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    names = options.only.split(",")
    try:
        chosen = [workloads.named(name, options.quick == "yes") for name in names if name not in studies.ALL]
        kinds = [peers.ALL[name] for name in options.peers.split(",")]
    except KeyError as error:
        say(f"there is no {error}")
        return 2
    if not options.litellm:
        kinds = [kind for kind in kinds if kind is not peers.LiteLLM]

    commit = subprocess.run(["git", "-C", options.root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    facts = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": machine.description(), "command": options.command,
        "commit": commit or "unknown", "rounds": options.rounds}
    stage = Stage(options)
    began = time.monotonic()
    found = {}
    try:
        runs = rounds(stage, chosen, kinds, options.rounds)
        for name in (name for name in names if name in studies.ALL):
            say(f"{name} …")
            found[name] = studies.ALL[name](stage, kinds)
    finally:
        stage.provider.stop()
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
        say(f"All figures: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
