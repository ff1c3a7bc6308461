"""Workloads, which are the same for all peers. Measurements that need more than one run of the load generator are in studies.py."""
from dataclasses import dataclass

from . import machine


@dataclass
class Workload:
    """The parameters of the provider and the load generator for one run."""
    name: str
    title: str
    streams: int
    # Tokens a second (0: unpaced) and tokens of each answer.
    pace: float
    tokens: int
    # Seconds over which the streams begin, and seconds after them that are not measured.
    ramp: float
    warm_up: float = 1
    # Seconds to measure, during which each stream repeats its request; 0: each stream has `answers`.
    seconds: float = 0
    answers: int = 1
    users: int = 0
    # Tokens that the provider packs into one write.
    pack: int = 1
    # TLS between proxy and provider.
    secure: bool = False
    # The most milliseconds between two reads of a stream; longer silences are counted. 0: no limit.
    silence_limit: int = 0
    # Requests per second, independent of the answers; 0: each stream sends its next request after an answer.
    rate: float = 0
    # Each user continues their conversation that history.py creates.
    conversations: bool = False
    first_user: int = 0
    drop: float = 0
    # Users talk to PERSONA.
    persona: bool = False

    @property
    def provider_query(self):
        """The query that sets the workload in the provider."""
        return f"pace={self.pace:g}&tokens={self.tokens}&first_ms=0&pack={self.pack}&cut=0&rejected=0"

    @property
    def time_limit(self):
        """The seconds after which the load generator ends the run."""
        answer = self.tokens / self.pace if self.pace else 30
        # A stream that begins in the last measured second reads its whole answer.
        return self.ramp + self.warm_up + self.seconds + self.answers * answer * 1.5 + 20

    def load_arguments(self):
        """The arguments of `coach-bench load`."""
        arguments = {
            "streams": self.streams, "ramp": self.ramp, "warm-up": self.warm_up, "seconds": self.seconds, "answers": self.answers,
            "expect-tokens": self.tokens, "time-limit": self.time_limit, "gap-limit": int(10_000 / self.pace) if self.pace else 0,
            "silence-limit": self.silence_limit, "rate": self.rate, "drop": self.drop, "first-user": self.first_user}
        if self.users:
            arguments["users"] = self.users
        if self.persona:
            arguments["persona"] = PERSONA
        flags = ["--conversations", "--shuffle"] if self.conversations else []
        return [part for name, value in arguments.items() for part in (f"--{name}", str(value))] + flags

    @property
    def limit(self):
        """The seconds after which the benchmark fails because the load generator has not ended."""
        return self.time_limit + 30


# A persona of db/seed.sql that everyone may use.
PERSONA = "00000000-0000-4000-8000-0000000000a3"
# Milliseconds. The gateway sends a heartbeat every 10 s.
HEARTBEAT_LIMIT = 10_500


def named(name, quick):
    """The workload of this name; raises KeyError if there is none."""
    # As many streams as the limit of open files allows.
    idle = min(10_000, machine.most_streams())
    brief = 4 if quick else 8
    return {
        "paced": Workload("paced", "1,000 streams x 20 tokens/s", 1000, 20, 200 if quick else 400, ramp=4),
        "tls": Workload(
            "tls", "1,000 streams x 20 tokens/s, TLS between proxy and provider", 1000, 20, 200 if quick else 400, ramp=4, secure=True),
        "saturation": Workload("saturation", "200 streams, unpaced (LiteLLM: 20)", 200, 0, 2000, ramp=0.5, seconds=brief),
        "packed": Workload("packed", "200 streams, unpaced, 8 tokens to a write", 200, 0, 4000, ramp=0.5, seconds=brief, pack=8),
        "ttft": Workload("ttft", "one stream after another", 1, 200, 3, ramp=0, warm_up=0, answers=200 if quick else 600),
        "idle": Workload(
            "idle", f"{idle:,} streams, a token every 30 s", idle, 1 / 30, 3, ramp=15, silence_limit=HEARTBEAT_LIMIT),
    }[name]
