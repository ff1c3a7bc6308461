"""Prints the grammar's own cases as messages of another source, for `coach-gateway train --encoder-examples examples.jsonl --others FILE`:

    python3 cases.py > FILE
"""

import json
from pathlib import Path

from labels import CASES

FOLDER = Path(__file__).resolve().parents[2] / "Tests/CoachCoreTests/Safety/Cases"


def messages():
    """Text, whether it shows danger, and what is known of that."""
    for line in lines("must-pass.txt"):
        category, tier, text = line.split(" ", 2)
        yield text, True, {"category": category, "tier": int(tier)}
    for text in lines("must-stay-calm.txt"):
        yield text, False, {}
    for line in lines("entries.txt"):
        if line[0] in "+-":
            yield line[2:], line[0] == "+", {}


def lines(name):
    return [line for line in (FOLDER / name).read_text().splitlines() if line and line[0] not in ";#"]


if __name__ == "__main__":
    for text, is_crisis, known in messages():
        print(json.dumps({"text": text, "label": "crisis" if is_crisis else "not-crisis", "source": CASES} | known, ensure_ascii=False))
