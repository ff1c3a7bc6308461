"""Runs clients and faults against real processes and checks the results. Started by deploy/chaos, which creates the cluster and the executable."""
import argparse
import asyncio
import json
import re
import signal
import sys
import time

from .. import wire
from .clients import User
from .killer import Killer
from .observations import Record
from .report import report
from .stage import Stage, eventually
from .verdict import Verdict

START = time.monotonic()


def say(text):
    """Prints a line with the seconds since the start."""
    print(f"[{time.monotonic() - START:6.1f}] {text}" if text else "", flush=True)


def plain(text):
    """Prints a line."""
    print(text, flush=True)


async def read_journal(stage, calls):
    """Collects the simulator's journal while the simulator runs, because the journal ends with it. Entries are read again until they have ended."""
    life, after = None, 0
    while True:
        if stage.simulator.process is not life:
            life, after = stage.simulator.process, 0
        try:
            _, answer, _ = await wire.ask(stage.simulator.port, "GET", f"/simulator/requests?after={after}")
            for entry in answer.get("requests", []):
                asked = next((m["content"] for m in reversed(entry.get("messages", [])) if m["role"] == "user"), "")
                marker = re.search(r"mark[a-z]{14}", asked if isinstance(asked, str) else "")
                # A summary's request quotes messages.
                if marker and "<messages>" not in asked:
                    calls[(id(life), entry["sequence"])] = (marker.group(), entry["tokens_sent"])
            # Up to the first that still runs.
            for entry in answer.get("requests", []):
                if entry["outcome"] == "running":
                    break
                after = entry["sequence"]
        except wire.Broken:
            pass
        await asyncio.sleep(1.0)


async def watch(stage, record):
    """Records a violation for every process that ends by itself, and restarts it."""
    while True:
        for child in stage.crashed():
            record.violation("a process ended by itself", None, f"{child.name} with {child.process.returncode}, see {child.log}")
            await child.start()
        await asyncio.sleep(0.25)


async def run(options):
    """Runs the clients and faults, checks the results, and returns the exit status."""
    stage, record = Stage(options), Record()
    try:
        say("starting PostgreSQL, the provider simulator, two gateways and HAProxy")
        await stage.start()
        seconds = options.minutes * 60
        killer = Killer(stage, record, options.seed, seconds, say)
        users = [
            User(index, options.seed, stage.proxy_port, stage.secret, record, lambda: killer.is_over) for index in range(options.users)]
        calls = {}
        background = [asyncio.ensure_future(read_journal(stage, calls)), asyncio.ensure_future(watch(stage, record))]
        people = asyncio.gather(*(user.live() for user in users))
        say(f"{options.users} users, {options.minutes:g} minutes, seed {options.seed}")
        await killer.run()
        say("nothing more goes wrong; clients read their answers to the end")
        await people
        try:
            await eventually(30, "the end of all turns", lambda: nothing_runs(stage))
        except RuntimeError as error:
            record.violation("turns that run 30 s after the end", None, str(error))
        await asyncio.sleep(1.5)
        for task in background:
            task.cancel()
        verdict = Verdict(stage, record, killer)
        await verdict.load()
        verdict.check()
        verdict.check_calls(calls.values())
        for wrong in await stage.stop():
            record.violation("an unclean end", None, wrong)
        count_alarms(stage, record, verdict)
        report(verdict, plain)
        with open(stage.folder / "violations.json", "w") as file:
            json.dump(record.violations, file, indent=1)
        return 1 if record.violations else 0
    finally:
        stage.kill_everything()


async def nothing_runs(stage):
    """Whether no turn is running in the database."""
    rows = await stage.postgres.rows(stage.owner_url, "select count(*) as running from turns where status = 'running'")
    return rows[0]["running"] == 0


def count_alarms(stage, record, verdict):
    """Records critical log lines and crashes of the gateways as violations."""
    for gateway in stage.gateways:
        for line in open(gateway.log, encoding="utf-8", errors="replace"):
            if '"level":"critical"' in line:
                record.violation("a critical log line", None, f"{gateway.name}: {line.strip()[:300]}")
            elif line.startswith(("Fatal error", "*** ")) or "Crash" in line[:40]:
                record.violation("a crash", None, f"{gateway.name}: {line.strip()[:300]}")


def main():
    """Parses the command line and runs until the end or a signal."""
    parser = argparse.ArgumentParser()
    for name in ("root", "folder", "cluster", "password", "postgres-bin", "haproxy", "faketime", "executable"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--users", type=int, required=True)
    options = parser.parse_args()

    async def interruptible():
        task = asyncio.ensure_future(run(options))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            plain("interrupted")
            return 130
    sys.exit(asyncio.run(interruptible()))


main()
