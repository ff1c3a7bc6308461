"""Study: how much of the input of long conversations providers serve from their caches, by the place of the turn."""
import json
import time
import urllib.request
import uuid

from ..processes import free_port
from ..tokens import access_token
from . import machine, peers, report
from .testbed import progress
from .workloads import Workload

TURNS = 20
CONVERSATIONS = 10
# A dialect that caches by itself and one that needs marks.
DIALECTS = ("openai", "anthropic")
# Places of turns in their conversation.
GROUPS = ((1, 1), (2, 5), (6, 10), (11, 20))
ANSWER = {"words": 150, "first_token_ms": 0, "pace_ms": 0, "prefix_cache": True}
# The users' messages differ, so that none is served from another's conversation.
MESSAGE = ("{user}, turn {turn}: I keep putting off a hard talk with my manager about my workload. I wrote down what I want to say, and then the day "
           "went by again. What would be the smallest step, and how do I notice that I have taken it?")


def study(testbed, kinds):
    """Runs conversations through a gateway and the simulator, and reads the ledger."""
    rows, found = [], {}
    for dialect in DIALECTS:
        simulator_port = free_port()
        simulator = machine.Child(
            "simulator", [testbed.options.executable, "simulate-llm", "--port", str(simulator_port)], testbed.folder / "simulator.log")
        peer = CachedGateway(testbed, dialect, simulator_port)
        began = testbed.sql("select clock_timestamp()")[0]
        try:
            simulator.wait_until(lambda: machine.listens(simulator_port))
            send(simulator_port, "PUT", "/simulator/script", ANSWER)
            peer.start(Workload("conversations", "", 1, 0, 1, ramp=0))
            for number in range(CONVERSATIONS):
                converse(testbed, peer)
        finally:
            peer.stop()
            simulator.stop()
        found[dialect] = ledger(testbed, began)
        for (first, last), (read, written, all_input) in found[dialect].items():
            rows.append([dialect, f"{first}–{last}" if last > first else f"{first}", all_input, read / all_input * 100, written / all_input * 100])
        read, written, all_input = (sum(values) for values in zip(*found[dialect].values()))
        rows.append([dialect, "all", all_input, read / all_input * 100, written / all_input * 100])
        progress(f"  {dialect}: {read / all_input:.0%} of {all_input:,} input tokens from the cache")
    text = (f"**conversations**: {CONVERSATIONS} users with {TURNS} turns each, answers of {ANSWER['words']} tokens; the simulator counts as cached what an earlier "
            "request began with, by each provider's rule; figures of the ledger\n\n"
            + report.rows(["dialect", "turns", "input tokens", "from the cache %", "written to it %"], rows))
    return {"text": text, "found": {dialect: list(groups.values()) for dialect, groups in found.items()}}


class CachedGateway(peers.Gateway):
    """The gateway with one model of the simulator, in a dialect."""
    def __init__(self, testbed, dialect, simulator_port):
        super().__init__(testbed)
        self.dialect, self.simulator_port = dialect, simulator_port

    def environment(self, workload):
        return super().environment(workload) | {"KEY": "bench"}

    def root(self):
        root = super().root()
        file = root / "deploy/models.json"
        models = json.loads(file.read_text())
        base = f"http://127.0.0.1:{self.simulator_port}/v1"
        models["providers"] = {"simulator": {"dialect": self.dialect, "base_url": base, "api_key_env": "KEY"}}
        models["routes"] = {"default": [{"provider": "simulator", "model": "sim-coach-1", "max_output_tokens": 1024}]}
        own = root.parent / f"root-{self.dialect}"
        if not own.exists():
            (own / "deploy").mkdir(parents=True)
            for item in root.iterdir():
                if item.name != "deploy":
                    (own / item.name).symlink_to(item.resolve())
            for item in (root / "deploy").iterdir():
                (own / "deploy" / item.name).write_text(item.read_text())
            (own / "deploy/models.json").write_text(json.dumps(models))
        return own


def converse(testbed, peer):
    """One conversation of a new user, who writes again when a summary that is due has been made: people take longer to write than it takes."""
    user = str(uuid.uuid4())
    token = access_token(peer.secret, user)
    body = {"domain": "career_coaching"}
    for turn in range(1, TURNS + 1):
        answer = send(peer.port, "POST", "/functions/v1/chat-stream", body | {"message": MESSAGE.format(user=user, turn=turn)}, token)
        events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: ")]
        if events[-1]["type"] != "done":
            raise SystemExit(f"a turn of the study failed: {events[-1]}")
        body["conversation_id"] = events[0]["conversation_id"]
        end = time.monotonic() + 10
        while testbed.sql("select count(*) from gateway.jobs where kind = 'summarise_conversation'") != ["0"]:
            if time.monotonic() > end:
                raise SystemExit("a summary was not made in 10 s")
            time.sleep(0.05)


def ledger(testbed, began):
    """Tokens of turns since a time, by place: read from the cache, written to it, all input."""
    places = " ".join(f"when place <= {last} then {first}" for first, last in GROUPS)
    lines = testbed.sql(f"""
        with call as (
            select row_number() over (partition by l.account_id order by min(l.booked_at)) as place, sum(l.cached_input_tokens) as read,
                sum(l.cache_write_tokens) as written, sum(l.tokens_in) as all_input
            from public.usage_logs l where l.purpose = 'chat' and l.call = 1 and l.booked_at > '{began}' group by l.account_id, l.turn_id
        )
        select (case {places} end) as first, sum(read)::bigint, coalesce(sum(written), 0)::bigint, sum(all_input)::bigint from call group by 1 order by 1""")
    found = [[int(part) for part in line.split("|")] for line in lines if line.count("|") == 3]
    return {group: tuple(values) for group, (_, *values) in zip(GROUPS, found)}


def send(port, method, path, body, token=None):
    """The text of a response."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}", "Accept": "text/event-stream"} if token else {})
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read().decode()
