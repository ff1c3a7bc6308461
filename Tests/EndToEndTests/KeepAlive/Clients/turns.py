"""What all Python clients do: turns back to back on pooled connections, a list of conversations between them, and an account of what failed."""
import json
import random
import sys

URL, TOKENS, WORKERS, TURNS, SEED = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
CHAT = URL + "/functions/v1/chat-stream"
CONVERSATIONS = URL + "/api/v1/conversations?limit=1"
WORDS = 6

failures = []
done = 0


def headers(worker):
    """Each worker is a user of its own, for a user has a number of turns a day."""
    return {"Authorization": "Bearer " + TOKENS[worker], "Content-Type": "application/json", "Accept": "text/event-stream"}


def bodies(worker):
    """Requests whose answers take 0.3 to 2 s, and whether a list of conversations is to be asked for after each."""
    choose = random.Random(SEED * 1000 + worker)
    for number in range(TURNS // WORKERS):
        script = {"words": WORDS, "first_token_ms": 0, "pace_ms": int(choose.uniform(300, 2000) / WORDS)}
        yield json.dumps({"message": "Hello [[sim %s]]" % json.dumps(script)}).encode(), number % 3 == 2


def turn_ended(status, body):
    global done
    done += 1
    if status != 200 or b'"type":"done"' not in body:
        failures.append("turn: %s %r" % (status, body[-200:]))


def list_ended(status):
    if status != 200:
        failures.append("list: %s" % status)


def failed(error):
    failures.append("%s: %s" % (type(error).__name__, error))


def report():
    print(json.dumps({"turns": done, "failures": failures}))
