"""The faults of a run, at times that the seed determines. Each sequence runs one fault at a time; sequences overlap."""
import asyncio
import random
import time

# Seconds in which a gateway notices that a host is silent (a statement's limit and 3 s more) and has connected to the next.
NOTICED = 8.0


class Killer:
    """Runs the faults and records their times."""

    def __init__(self, stage, record, seed, seconds, say):
        self.stage, self.record, self.seconds, self.say = stage, record, seconds, say
        self.seed = seed
        # (kind, start, end), monotonic.
        self.faults = []
        self.over_at = time.monotonic() + seconds
        # One thing at a time is done to PostgreSQL.
        self.database = asyncio.Lock()

    @property
    def is_over(self):
        """Whether the time for faults is over."""
        return time.monotonic() >= self.over_at

    async def run(self):
        """Runs all faults."""
        await asyncio.sleep(4)
        # Each once under load and with nothing else wrong: nobody who resumes notices the first, the second is noticed elsewhere.
        await self.rolling_restart()
        await self.pause(2)
        await self.lose_gateway()
        await asyncio.gather(
            self.repeat("gateway", 0.3, 2, [self.kill_gateway] * 10 + [self.lose_gateway, self.rolling_restart, self.move_clock]),
            self.repeat("database", 8, 16, [self.kill_postgres, self.freeze_postgres, self.silence_host]),
            self.repeat("simulator", 12, 25, [self.cut_simulator]),
            self.outage())

    async def repeat(self, name, shortest, longest, faults):
        """Runs random faults of a list, one after another, with random pauses."""
        chance = random.Random(f"{self.seed}/{name}")
        deck = []
        while True:
            await self.pause(chance.uniform(shortest, longest))
            if self.is_over:
                return
            # Shuffled decks rather than dice: even a short run meets everything.
            if not deck:
                deck = chance.sample(faults, len(faults))
            await deck.pop()()

    async def outage(self):
        """Stops PostgreSQL for 20 to 60 s every three minutes, in runs of at least five minutes."""
        chance = random.Random(f"{self.seed}/outage")
        while self.seconds >= 300:
            await self.pause(chance.uniform(60, 120))
            if self.is_over:
                return
            async with self.database:
                async with Fault(self, "PostgreSQL stopped for 20-60 s"):
                    await self.stage.postgres.stop()
                    await asyncio.sleep(chance.uniform(20, 60))
                    await self.stage.postgres.start()

    async def pause(self, seconds):
        """Waits, but not beyond the end of the run."""
        await asyncio.sleep(max(0.0, min(seconds, self.over_at - time.monotonic())))

    # Faults ----------------------------------------------------------------------------------------------------

    async def kill_gateway(self):
        """Kills a gateway and restarts it within 3 s."""
        chance = random.Random(f"{self.seed}/kill/{len(self.faults)}")
        gateway = chance.choice(self.stage.gateways)
        async with Fault(self, "kill -9 of a gateway"):
            await gateway.kill()
            await asyncio.sleep(chance.uniform(0, 3))
            await gateway.start()
            await self.ready(gateway)

    async def lose_gateway(self):
        """Kills a gateway and restarts it after 11 s, so that the other one must notice the crash."""
        gateway = random.Random(f"{self.seed}/lose/{len(self.faults)}").choice(self.stage.gateways)
        async with Fault(self, "kill -9 of a gateway that stays down for 11 s"):
            await gateway.kill()
            await asyncio.sleep(11)
            await gateway.start()
            await self.ready(gateway)

    async def rolling_restart(self):
        """Restarts the gateways one after another with SIGTERM."""
        async with Fault(self, "rolling restart (SIGTERM to both, one after another)"):
            for gateway in self.stage.gateways:
                status = await gateway.end(timeout=120)
                if status != 0:
                    self.record.violation("a gateway that does not end on SIGTERM", None, f"{gateway.name}: status {status}")
                await gateway.start()
                await self.ready(gateway)

    async def kill_postgres(self):
        """Kills all processes of PostgreSQL and restarts it within 3 s."""
        chance = random.Random(f"{self.seed}/postgres/{len(self.faults)}")
        async with self.database:
            async with Fault(self, "kill -9 of PostgreSQL, all processes"):
                await self.stage.postgres.kill_all()
                await asyncio.sleep(chance.uniform(0, 3))
                await self.stage.postgres.start()

    async def freeze_postgres(self):
        """Stops all processes of PostgreSQL for 5 s."""
        async with self.database:
            async with Fault(self, "PostgreSQL frozen for 5 s"):
                await self.stage.postgres.freeze(5)

    async def silence_host(self):
        """The first host of the connection string swallows everything; the second is the same server."""
        chance = random.Random(f"{self.seed}/silence/{len(self.faults)}")
        async with self.database:
            async with Fault(self, "PostgreSQL's first host silent for 12-20 s"):
                # Until a gateway has noticed it and reached the other host.
                self.stage.postgres.count_away(time.monotonic(), NOTICED)
                self.stage.relay.is_silent = True
                await asyncio.sleep(chance.uniform(12, 20))
                self.stage.relay.is_silent = False

    async def move_clock(self):
        """The wall clock of one process for its life; its monotonic clock is right."""
        chance = random.Random(f"{self.seed}/clock/{len(self.faults)}")
        gateway = chance.choice(self.stage.gateways)
        async with Fault(self, "kill -9 of a gateway that comes back with its clock moved by an hour"):
            await gateway.kill()
            await gateway.start(**self.stage.moved_clock.environment(chance.choice(["+1h", "-1h"])))
            await self.ready(gateway)
            await asyncio.sleep(chance.uniform(8, 15))
            await gateway.kill()
            await gateway.start()
            await self.ready(gateway)

    async def cut_simulator(self):
        """Kills the provider and restarts it."""
        async with Fault(self, "kill -9 of the provider"):
            await self.stage.simulator.kill()
            await asyncio.sleep(0.5)
            await self.stage.simulator.start()

    async def ready(self, gateway):
        """Waits until the gateway is ready; at most 20 s if the database was away."""
        deadline = time.monotonic() + 60
        while not await gateway.is_ready():
            if not gateway.is_running:
                self.record.violation("a gateway that does not start", None, gateway.name)
                return
            waited = 60 - (deadline - time.monotonic())
            if waited > 20 and self.stage.postgres.was_away(time.monotonic() - waited, time.monotonic()):
                return
            if waited > 60:
                self.record.violation("a gateway that does not become ready", None, gateway.name)
                return
            await asyncio.sleep(0.05)


class Fault:
    """Records the time span of a fault, as a context manager."""

    def __init__(self, killer, kind):
        self.killer, self.kind = killer, kind

    async def __aenter__(self):
        self.start = time.monotonic()
        self.entry = [self.kind, self.start, float("inf")]
        self.killer.faults.append(self.entry)
        self.killer.say(f"{self.kind}")

    async def __aexit__(self, *error):
        self.entry[2] = time.monotonic()
