"""Checks of official clients: `check` declares one, `run_checks` runs all."""

import sys
import traceback

checks = []


def check(sentence):
    def register(function):
        checks.append((sentence, function))
        return function

    return register


def raises(kind, action):
    try:
        action()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def run_checks():
    """Runs all checks, prints a line for each, and ends the process."""
    failures = 0
    for sentence, function in checks:
        try:
            function()
            print("ok", sentence, flush=True)
        except Exception:
            failures += 1
            print("FAILED", sentence, flush=True)
            traceback.print_exc()
    print(f"{len(checks) - failures} of {len(checks)} checks passed")
    sys.exit(1 if failures else 0)
