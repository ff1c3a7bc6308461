"""What the peers are put through."""
from dataclasses import dataclass

import machine


@dataclass
class Workload:
    name: str
    title: str
    streams: int
    # Tokens a second (0: unpaced) and tokens of each answer.
    pace: float
    tokens: int
    # Seconds over which streams begin, seconds after it that are not measured.
    ramp: float
    warm_up: float = 1
    # Seconds to measure with streams begun again and again; 0: `answers` for each stream.
    seconds: float = 0
    answers: int = 1
    users: int = 0
    # Tokens that the provider packs into one write.
    pack: int = 1

    @property
    def provider_query(self):
        return f"pace={self.pace:g}&tokens={self.tokens}&first_ms=0&pack={self.pack}"

    def load_arguments(self):
        answer = self.tokens / self.pace if self.pace else 30
        patience = self.ramp + self.warm_up + self.seconds + self.answers * answer * 1.5 + 20
        gap = 10_000 / self.pace if self.pace else 0
        arguments = {
            "streams": self.streams, "ramp": self.ramp, "warm-up": self.warm_up, "seconds": self.seconds, "answers": self.answers,
            "expect-tokens": self.tokens, "patience": patience, "gap-limit": int(gap)}
        if self.users:
            arguments["users"] = self.users
        return [part for name, value in arguments.items() for part in (f"--{name}", str(value))]

    @property
    def limit(self):
        """Seconds after which a run is broken off."""
        arguments = self.load_arguments()
        return float(arguments[arguments.index("--patience") + 1]) + 30


def named(name, quick):
    # As many as the limit of open files allows.
    idle = min(10_000, machine.most_streams())
    return {
        "paced": Workload("paced", "1,000 streams x 20 tokens/s", 1000, 20, 200 if quick else 400, ramp=4),
        "saturation": Workload("saturation", "200 streams, unpaced", 200, 0, 2000, ramp=0.5, seconds=4 if quick else 8),
        "packed": Workload(
            "packed", "200 streams, unpaced, 8 tokens to a write", 200, 0, 4000, ramp=0.5, seconds=4 if quick else 8, pack=8),
        "ttft": Workload("ttft", "one stream after another", 1, 200, 3, ramp=0, warm_up=0, answers=200 if quick else 600),
        "turns": Workload(
            "turns", "answers of 20 tokens, 32 connections, closed loop", 32, 0, 20, ramp=0.5, seconds=4 if quick else 10, users=2000),
        "crowd": Workload("crowd", "5,000 streams x 20 tokens/s", 5000, 20, 400 if quick else 600, ramp=10),
        "idle": Workload("idle", f"{idle:,} streams, a token every 10 s", idle, 0.1, 5 if quick else 8, ramp=15),
    }[name]
