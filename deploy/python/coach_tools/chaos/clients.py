"""The clients of a run. They send messages, disconnect, resume on the other instance, stop turns, read on a second device, and repeat requests."""
import asyncio
import json
import random
import time
import uuid

from ..tokens import access_token
from ..wire import Broken, Exchange, Nonsense, ask
from .observations import Turn

CHAT = "/functions/v1/chat-stream"
# A good client waits out an outage of the database (60 s) and the grace after it.
TIMEOUT = 150.0
# Answers take 1 to 4 s; whose instance dies while the database is away (up to 60 s) is told within 10 s and the grace of 15 s of its return.
STUCK = 90.0
# A user has 200 messages a day: then somebody else takes the place.
TURNS_PER_USER = 40

WORDS = (
    "gently Schritt für Schritt naïve déjà vu rêve kleine Gewohnheit 🌱 ✨ 👩‍👩‍👧 🏳️‍🌈 日本語の練習 привет שלום señal número Ångström café "
    "breathe notice begin again tomorrow morning light — “yes” … hopeful 💛 één stap भरोसा 가능성 curious steady").split(" ")


class User:
    """A sequence of users, each in one conversation, who send one message at a time."""

    def __init__(self, index, seed, port, secret, record, is_over):
        self.random = random.Random(f"{seed}/{index}")
        self.port, self.secret, self.record, self.is_over = port, secret, record, is_over

    async def live(self):
        """Sends messages until the run is over."""
        await asyncio.sleep(self.random.uniform(0, 2))
        while not self.is_over():
            self.id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
            self.token = access_token(self.secret, self.id)
            self.conversation = None
            for _ in range(TURNS_PER_USER):
                if self.is_over():
                    return
                await self.say_something()
                await asyncio.sleep(self.random.uniform(0.05, 0.8))

    async def say_something(self):
        """Sends a message and reads its answer, with random disconnects, a stop, a second device or a repeated request."""
        chance = self.random
        turn = self.compose()
        self.record.turns.append(turn)
        reading = turn.reading("first")
        drops = sorted(chance.randrange(0, 260) for _ in range(chance.choice((0, 0, 1, 1, 2, 3))))
        stop = chance.randrange(1, 200) if chance.random() < 0.12 else None
        others = []
        if chance.random() < 0.15:
            others.append(self.second_device(turn, chance.uniform(0, 2.5)))
        if chance.random() < 0.15:
            others.append(self.repeat(turn, chance.uniform(0, 4)))
        await asyncio.gather(self.listen(turn, reading, drops, stop, hurry=chance.random() < 0.05), *others)
        self.conversation = turn.conversation_id or self.conversation
        if reading.ended == "partial" and chance.random() < 0.5 and not self.is_over():
            await self.try_again(turn)

    def compose(self):
        """Creates a message with a unique marker and a script for the simulator."""
        chance = self.random
        marker = "mark" + "".join(chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(14))
        said = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(22, 40)))
        script = {
            "text": said, "pace_ms": chance.randrange(20, 51), "jitter_ms": 15, "seed": chance.randrange(1 << 20),
            "first_token_ms": chance.randrange(20, 400)}
        message = f"Let us look at my week, {marker}. [[sim {json.dumps(script, ensure_ascii=False)}]]"
        body = {"message": message, "client_message_id": str(uuid.UUID(int=chance.getrandbits(128), version=4))}
        if self.conversation:
            body["conversation_id"] = self.conversation
        return Turn(self, body, marker)

    # What a client does ---------------------------------------------------------------------------------------

    async def second_device(self, turn, after):
        """Reads the answer on another device from the start."""
        await asyncio.sleep(after)
        if turn.is_acknowledged:
            await self.listen(turn, turn.reading("second device"), [self.random.randrange(0, 200)])

    async def repeat(self, turn, after):
        """Repeats the request of a running turn with the same key."""
        await asyncio.sleep(after)
        await self.listen(turn, turn.reading("repeated"), [], is_repetition=True)

    async def try_again(self, ended):
        """Sends `retry` for an interrupted turn. The request has no key, so it is not repeated when its response is lost before `start`."""
        turn = Turn(self, ended.body, ended.marker)
        turn.retry_of = ended
        try:
            exchange = await Exchange.begin(self.port, "POST", f"{CHAT}/{ended.turn_id}/retry", self.token)
        except Broken:
            return
        try:
            if not exchange.is_stream:
                return await self.refused(turn, exchange)
            reading = turn.reading("first")
            turn.owner = exchange.headers.get("x-served-by")
            self.record.turns.append(turn)
            if await self.read(turn, reading, exchange, 0, [], None) and turn.is_acknowledged:
                await self.listen(turn, reading, [])
        finally:
            exchange.close()
            if not turn.is_acknowledged and turn in self.record.turns:
                self.record.turns.remove(turn)

    async def stop(self, turn):
        """Stops the turn; repeats the request until it is answered."""
        for _ in range(20):
            try:
                status, answer, headers = await ask(self.port, "POST", f"{CHAT}/{turn.turn_id}/stop", self.token, timeout=20)
            except Broken:
                await asyncio.sleep(0.3)
                continue
            if status == 200:
                turn.stop_answered = True
                return
            self.judge(turn, status, (answer.get("error") or {}).get("code") or answer.get("code"), headers)
            await asyncio.sleep(0.5)

    async def listen(self, turn, reading, drops, stop=None, is_repetition=False, hurry=False):
        """Reads an answer to its end, over one or more streams."""
        deadline = time.monotonic() + TIMEOUT
        asks_anew = is_repetition
        tries = 0
        while not reading.ended:
            if time.monotonic() > deadline:
                reading.ended = "gave up"
                return
            try:
                if turn.is_acknowledged and not asks_anew:
                    cursor = len(reading.text)
                    exchange = await Exchange.begin(
                        self.port, "GET", f"{CHAT}/{turn.turn_id}", self.token, headers={"Last-Event-ID": str(cursor)})
                else:
                    cursor = 0
                    turn.posts += 1
                    if hurry:
                        # Hangs up before any answer, and asks again.
                        hurry = False
                        task = asyncio.ensure_future(Exchange.begin(self.port, "POST", CHAT, self.token, turn.body))
                        await asyncio.sleep(self.random.uniform(0, 0.05))
                        task.cancel()
                        continue
                    exchange = await Exchange.begin(self.port, "POST", CHAT, self.token, turn.body)
            except Broken:
                await asyncio.sleep(0.3)
                continue
            try:
                if not exchange.is_stream:
                    await asyncio.sleep(await self.refused(turn, exchange))
                    continue
                if turn.posts == 1 and not turn.is_acknowledged:
                    turn.owner = exchange.headers.get("x-served-by")
                if not await self.read(turn, reading, exchange, cursor, drops, stop):
                    return
                asks_anew = is_repetition and not turn.is_acknowledged
                if reading.kept_nothing and reading.role == "first" and not turn.retry_of and tries < 20:
                    # The same POST tries again, under the same id.
                    tries += 1
                    reading.ended, asks_anew, turn.owner = None, True, None
                    await asyncio.sleep(self.random.uniform(0.3, 1.0))
            except Broken:
                pass
            finally:
                exchange.close()

    async def read(self, turn, reading, exchange, cursor, drops, stop):
        """Reads one stream to its end or to the next disconnect. Returns False when it contains a contradiction."""
        reading.begin(cursor)
        served_by = exchange.headers.get("x-served-by")
        alarm = asyncio.timeout(STUCK)
        try:
            async with alarm:
                async for identifier, event in exchange.events():
                    alarm.reschedule(asyncio.get_running_loop().time() + STUCK)
                    reading.apply(identifier, event)
                    if reading.ended or event["done"]:
                        break
                    if stop is not None and len(reading.text) >= stop:
                        stop = None
                        reading.stopping = asyncio.ensure_future(self.stop(turn))
                    if drops and len(reading.text) >= drops[0]:
                        drops.pop(0)
                        exchange.close()
                        await asyncio.sleep(self.random.choice((0, 0.05, 0.3, 1.0)))
                        break
        except Broken:
            await asyncio.sleep(0.1)
        except TimeoutError:
            self.record.violation("a stream that only pings", turn, f"{reading.role}, via {served_by}, for {STUCK:g} s")
            reading.ended = "gave up"
            return False
        except Nonsense as error:
            self.record.violation("a stream that makes no sense", turn, f"{reading.role}, via {served_by}: {error}")
            reading.ended = "gave up"
            return False
        finally:
            if reading.ended and hasattr(reading, "stopping"):
                await reading.stopping
        return True

    # What a client may be told --------------------------------------------------------------------------------

    async def refused(self, turn, exchange):
        """Handles a response that is not a stream. Returns the seconds to wait before the next request."""
        answer = await exchange.json()
        error = answer.get("error") or answer
        self.judge(turn, exchange.status, error.get("code") if isinstance(error, dict) else None, exchange.headers)
        return min(float(exchange.headers.get("retry-after") or 0.5), 2.0)

    def judge(self, turn, status, code, headers):
        """Checks that an error response is one of the permitted ones."""
        self.record.refused(status, code)
        expected = status in (502, 503, 504) or (status == 409 and code == "BIZ_2007")
        if not expected:
            self.record.violation("an answer that nobody expects", turn, f"{status} {code} via {headers.get('x-served-by')}")
        elif status == 503 and code and "retry-after" not in headers:
            self.record.violation("503 without Retry-After", turn, f"{code} via {headers.get('x-served-by')}")
