"""What checks of the simulator by the `openai` package share: the clients, and scripts for the simulator."""

import json
import sys
import urllib.request

from openai import OpenAI

BASE = sys.argv[1].rstrip("/") if len(sys.argv) == 2 else sys.exit("Usage: openai_sdk.py BASE_URL")
MESSAGES = [
    {"role": "system", "content": "You are a coach."},
    {"role": "user", "content": "I keep putting off my exam preparation."},
]
FAST = {"pace_ms": 1, "first_token_ms": 1}

client = OpenAI(base_url=BASE + "/v1", api_key="sk-simulated", max_retries=0, timeout=20)
retrying = OpenAI(base_url=BASE + "/v1", api_key="sk-simulated", max_retries=2, timeout=20)


def by_header(**script):
    return {"X-Simulator-Script": json.dumps({**FAST, **script})}


def by_message(**script):
    return [{"role": "user", "content": "Please [[sim " + json.dumps({**FAST, **script}) + "]] help."}]


def control(method, path, value=None):
    body = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(BASE + "/simulator/" + path, data=body, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def streamed(messages=MESSAGES, sdk=client, **options):
    return list(sdk.chat.completions.create(model="sim-coach-1", messages=messages, stream=True, **options))


def text_of(chunks):
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
