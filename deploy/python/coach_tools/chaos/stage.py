"""The processes of a run: PostgreSQL, the provider simulator, two gateways, the proxy."""
import asyncio
import json
import os
import signal
import time
from pathlib import Path

from .. import wire
from ..postgres import PSQL
from ..processes import children_of, family, free_port, kill_family, send
from .moved_clock import MovedClock
from .relay import Relay


class Child:
    """A program that can be killed and restarted. Its output is appended to its log."""

    def __init__(self, name, arguments, environment, log):
        self.name, self.arguments, self.environment, self.log = name, arguments, environment, log
        self.process = None
        self.is_wanted = False

    async def start(self, **environment):
        """Starts the program. `environment`: additional variables for this process only."""
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.arguments, env=self.environment | environment, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.is_wanted = True

    @property
    def is_running(self):
        """Whether the process runs."""
        return self.process is not None and self.process.returncode is None

    def send(self, number):
        """Sends a signal if the process runs."""
        if self.is_running:
            self.process.send_signal(number)

    async def kill(self):
        """Sends SIGKILL and waits for the end."""
        self.is_wanted = False
        self.send(signal.SIGKILL)
        await self.process.wait()

    async def end(self, timeout):
        """Sends SIGTERM. Returns the exit status, or None if the process had to be killed after `timeout` seconds."""
        self.is_wanted = False
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(timeout):
                return await self.process.wait()
        except TimeoutError:
            await self.kill()
            return None


class Postgres(Child):
    """The PostgreSQL cluster of the run, with fsync. `away` holds the spans (monotonic) in which it was unavailable."""

    def __init__(self, folder, binaries, port, log):
        drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] if os.getuid() == 0 else []
        settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": 100}
        super().__init__(
            "postgres",
            drop + [f"{binaries}/postgres", "-D", f"{folder}/data"] + [p for k, v in settings.items() for p in ("-c", f"{k}={v}")],
            {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, log)
        self.folder, self.binaries, self.port = folder, binaries, port
        self.away = []

    async def start(self):
        """Starts PostgreSQL and waits until it accepts connections."""
        await super().start()
        await eventually(60, "PostgreSQL", self._accepts)
        if self.away and self.away[-1][1] is None:
            self.away[-1] = (self.away[-1][0], time.monotonic())

    async def _accepts(self):
        probe = await asyncio.create_subprocess_exec(
            f"{self.binaries}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))
        return await probe.wait() == 0

    def _leave(self):
        self.is_wanted = False
        self.away.append((time.monotonic(), None))

    async def kill_all(self):
        """Kills all processes at once, as a power failure does."""
        self._leave()
        kill_family(self.process.pid)
        await self.process.wait()

    async def stop(self):
        """Stops PostgreSQL with a fast shutdown: closes connections and rolls back transactions."""
        self._leave()
        self.send(signal.SIGINT)
        await self.process.wait()

    async def freeze(self, seconds):
        """Stops all processes for some seconds. Connections stay open without a response."""
        self.away.append((time.monotonic(), None))
        parent = self.process.pid
        # The parent first: it makes no more children then.
        send(parent, signal.SIGSTOP)
        processes = family(parent)
        try:
            for process in processes:
                send(process, signal.SIGSTOP)
            await asyncio.sleep(seconds)
        finally:
            for process in processes:
                send(process, signal.SIGCONT)
        self.away[-1] = (self.away[-1][0], time.monotonic())

    def count_away(self, start, seconds):
        """Records a span in which the gateways could not use PostgreSQL although it was running."""
        self.away.append((start, start + seconds))

    def was_away(self, start, end):
        """Whether PostgreSQL was unavailable at any time between two times."""
        return any(left < end and (back or float("inf")) > start for left, back in self.away)

    def seconds_away(self, start, end):
        """The seconds of unavailability between two times, with one second more for every recovery."""
        return sum(max(0.0, min(end, (back or end) + 1) - max(start, left)) for left, back in self.away)

    async def rows(self, url, sql):
        """The rows of a query as objects."""
        psql = await asyncio.create_subprocess_exec(
            f"{self.binaries}/psql", *PSQL, "-d", url,
            "-c", f"select to_jsonb(answer) from ({sql}) as answer",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, err = await psql.communicate()
        if psql.returncode:
            raise RuntimeError(f"psql: {err.decode()}")
        return [json.loads(line) for line in out.decode().split("\n") if line]


class Gateway(Child):
    """A gateway instance with its own port, state folder and log."""

    def __init__(self, name, executable, environment, folder):
        self.port = free_port()
        own = {"COACH_HOST": "127.0.0.1", "COACH_PORT": str(self.port), "COACH_STATE_DIR": str(folder / f"state-{name}")}
        super().__init__(name, [executable, "serve"], environment | own, folder / f"gateway-{name}.log")
        # When it was killed, as (monotonic, unix).
        self.kills = []

    async def kill(self):
        """Kills the process and records the time."""
        self.kills.append((time.monotonic(), time.time()))
        await super().kill()

    async def is_ready(self):
        """Whether /readyz answers 200."""
        try:
            return (await wire.ask(self.port, "GET", "/readyz", timeout=2.0))[0] == 200
        except wire.Broken:
            return False


class Simulator(Child):
    """The provider. Its journal exists only while the process runs."""

    def __init__(self, executable, environment, folder):
        self.port = free_port()
        super().__init__(
            "simulator", [executable, "simulate-llm", "--port", str(self.port)], environment, folder / "simulator.log")

    async def is_ready(self):
        """Whether its control API answers."""
        try:
            return (await wire.ask(self.port, "GET", "/simulator/stats", timeout=2.0))[0] == 200
        except wire.Broken:
            return False


class Stage:
    """Starts and stops all processes of a run."""

    def __init__(self, options):
        self.folder = Path(options.folder)
        self.executable = options.executable
        self.secret = os.urandom(32).hex()
        self.postgres = Postgres(options.cluster, options.postgres_bin, free_port(), self.folder / "postgres.log")
        at = f"127.0.0.1:{self.postgres.port}/postgres"
        self.owner_url = f"postgres://postgres:{options.password}@{at}"
        base = {
            "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "COACH_ENV": "development", "COACH_ROOT": options.root,
            "COACH_METRICS_LISTEN": "off", "COACH_JWT_SECRET": self.secret, "COACH_DATABASE_PASSWORD": options.password,
            "DATABASE_URL": f"postgres://coach_gateway:{options.password}@{at}",
        }
        # Gateways know two hosts of the database: the first may fall silent. What operators run goes to the second.
        self.relay = Relay(free_port(), self.postgres.port)
        self.moved_clock = MovedClock(options.faketime)
        self.simulator = Simulator(self.executable, base, self.folder)
        # Turns of this run last 1 to 4 s: after 1 s of drain most clients are handed over.
        serving = base | {"COACH_SIMULATOR_URL": f"http://127.0.0.1:{self.simulator.port}/v1", "COACH_DRAIN_SECONDS": "1",
                          "DATABASE_URL": f"postgres://coach_gateway:{options.password}@127.0.0.1:{self.relay.port},{at}"}
        del serving["COACH_DATABASE_PASSWORD"]
        self.gateways = [Gateway(name, self.executable, serving, self.folder) for name in ("a", "b")]
        self.proxy_port = free_port()
        a, b = self.gateways
        self.proxy = Child(
            "haproxy", [options.haproxy, "-db", "-f", f"{options.root}/deploy/proxy/haproxy.cfg"],
            {"PATH": os.environ["PATH"], "COACH_PROXY_LISTEN": f"127.0.0.1:{self.proxy_port}",
             "COACH_GATEWAY_A": f"127.0.0.1:{a.port}", "COACH_GATEWAY_B": f"127.0.0.1:{b.port}"},
            self.folder / "haproxy.log")
        self.owner_environment = base | {"COACH_MIGRATION_URL": self.owner_url}

    @property
    def children(self):
        """All processes."""
        return [self.postgres, self.simulator, *self.gateways, self.proxy]

    async def start(self):
        """Starts all processes in order and waits until each is ready."""
        await self.postgres.start()
        await self.relay.start()
        self.moved_clock.open()
        for command in ("migrate", "seed"):
            with open(self.folder / f"{command}.log", "ab") as log:
                step = await asyncio.create_subprocess_exec(
                    self.executable, command, env=self.owner_environment, stdout=log, stderr=log)
                if await step.wait():
                    raise RuntimeError(f"{command} failed, see {log.name}")
        await self.simulator.start()
        await eventually(30, "the simulator", self.simulator.is_ready)
        for gateway in self.gateways:
            await gateway.start()
        for gateway in self.gateways:
            await eventually(60, f"gateway {gateway.name}", gateway.is_ready)
        await self.proxy.start()
        await eventually(10, "the proxy", self._proxy_answers)

    async def _proxy_answers(self):
        try:
            return (await wire.ask(self.proxy_port, "GET", "/readyz", timeout=2.0))[0] == 200
        except wire.Broken:
            return False

    def crashed(self):
        """The processes that ended without a signal from this run."""
        return [child for child in self.children if child.is_wanted and not child.is_running]

    async def stop(self):
        """Stops all processes, the gateways with SIGTERM. Returns a text for each that did not end as it should."""
        wrong = []
        running = [gateway for gateway in self.gateways if gateway.is_running]
        for gateway, status in zip(running, await asyncio.gather(*(gateway.end(30) for gateway in running))):
            if status != 0:
                wrong.append(f"gateway {gateway.name} ended with {status} after SIGTERM without turns")
        for child in (self.proxy, self.simulator):
            if child.is_running:
                await child.end(5)
        await self.relay.stop()
        if self.postgres.is_running:
            await self.postgres.stop()
        return wrong

    def kill_everything(self):
        """Kills all remaining processes, also after an error."""
        self.moved_clock.close()
        if self.postgres.is_running:
            for process in children_of(self.postgres.process.pid):
                send(process, signal.SIGCONT)
            self.postgres.send(signal.SIGCONT)
            self.postgres.send(signal.SIGQUIT)
        for child in self.children:
            if child is not self.postgres:
                child.send(signal.SIGKILL)


async def eventually(seconds, what, condition):
    """Polls until the condition holds; raises RuntimeError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {seconds} s in vain for {what}")
        await asyncio.sleep(0.05)
