"""Counts the CPU instructions of operations with valgrind and compares them with thresholds. Started by deploy/instructions.

The count of an operation is the difference between a run with many repetitions and one with few, which removes the start-up cost.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Ratios to the threshold: above TOO_MANY the check fails, below FEW it recommends a lower threshold.
TOO_MANY, FEW = 1.10, 0.80

# Without this the hash seed is random, and so is the number of collisions.
ENVIRONMENT = {"PATH": os.environ["PATH"], "SWIFT_DETERMINISTIC_HASHING": "1"}


class Failed(Exception):
    """An operation could not be counted."""


def instructions(executable, name, count):
    """The instructions of a process that repeats an operation `count` times."""
    with tempfile.NamedTemporaryFile("r") as log:
        finished = subprocess.run(
            ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log.name}",
             executable, "run", name, str(count)],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        report = log.read()
    total = re.search(r"I +refs: +([0-9,]+)", report)
    if finished.returncode != 0 or not total:
        raise Failed(f"{name} could not be counted (exit code {finished.returncode}):\n{finished.stdout}{report}")
    return int(total[1].replace(",", ""))


def of_one_operation(executable, name, count):
    """The instructions of one operation."""
    few, many = (instructions(executable, name, times) for times in (count, 5 * count))
    return round((many - few) / (4 * count))


def counted(executables):
    """Counts all operations, by executable and name. Runs them concurrently: other load does not change the counts."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        pending = {}
        for executable in executables:
            listed = subprocess.run([executable, "list"], env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True).stdout
            pending[Path(executable).name] = {
                name: pool.submit(of_one_operation, executable, name, int(count)) for name, count in map(str.split, listed.splitlines())}
        return {product: {name: count.result() for name, count in counts.items()} for product, counts in pending.items()}


def verdict(count, threshold):
    """The last cell of an operation's row; empty if the count is within the threshold."""
    if threshold is None:
        return "no threshold"
    if count is None:
        return "no such operation"
    if count > TOO_MANY * threshold:
        return "too many"
    return "lower the threshold" if count < FEW * threshold else ""


def compare(counts, thresholds):
    """Prints the table and returns the operations that fail."""
    print("| instructions of one operation | counted | threshold | ratio | |")
    print("|---|---|---|---|---|")
    failing = []
    for product, found in counts.items():
        expected = thresholds.get(product, {})
        for name in [*found, *sorted(set(expected) - set(found))]:
            count, threshold = found.get(name), expected.get(name)
            result = verdict(count, threshold)
            ratio = f"{count / threshold:.2f}" if count and threshold else "–"
            print(f"| {name} | {number(count)} | {number(threshold)} | {ratio} | {result} |")
            if result not in ("", "lower the threshold"):
                failing.append(f"{name}: {result}")
    return failing


def number(count):
    """Formats a count; a dash for None."""
    return "–" if count is None else f"{count:,}"


def main():
    """Counts, prints the table, and updates or checks the thresholds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--thresholds", type=Path, required=True)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("executables", nargs="+")
    options = parser.parse_args()

    thresholds = json.loads(options.thresholds.read_text())
    try:
        counts = counted(options.executables)
    except Failed as reason:
        sys.exit(str(reason))
    failing = compare(counts, thresholds)
    if options.update:
        options.thresholds.write_text(json.dumps({"toolchain": options.toolchain, **counts}, indent=2, sort_keys=True) + "\n")
    elif thresholds.get("toolchain") != options.toolchain:
        print(f"The thresholds are those of {thresholds.get('toolchain')}, this is {options.toolchain}: not compared.")
    elif failing:
        sys.exit("Instructions: " + "; ".join(failing) + ". deploy/instructions --update writes what was counted, where it is meant so.")


if __name__ == "__main__":
    main()
