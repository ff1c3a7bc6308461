"""Compares the database with the observations of the clients."""
import time
from collections import Counter, defaultdict
from datetime import datetime

# After the database was away no instance expires so soon, seconds (gateway.grace() and a lease).
GRACE = 22.0


def unix(text):
    """A timestamp of PostgreSQL as seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


class Verdict:
    """Checks all guarantees and reports the counts and violations."""

    def __init__(self, stage, record, killer):
        self.stage, self.record, self.killer = stage, record, killer
        self.turns = record.turns
        self.acknowledged = [turn for turn in self.turns if turn.is_acknowledged]
        self.table = Counter()
        self.figures = {}
        # Of turns that were cut by a kill: for how long before it the first lost byte was with a client, seconds.
        self.losses = []

    def wrong(self, what, turn=None, detail=""):
        """Records a violation."""
        self.record.violation(what, turn, detail)

    async def load(self):
        """Reads the tables once."""
        async def rows(sql):
            return await self.stage.postgres.rows(self.stage.owner_url, sql)
        self.db_turns = {row["id"]: row for row in await rows("select * from turns")}
        self.messages, self.answers = defaultdict(list), defaultdict(list)
        for row in await rows("select id, user_id, turn_id, role, content, status from messages"):
            if row["role"] == "user":
                self.messages[row["id"]].append(row)
            else:
                self.answers[row["turn_id"]].append(row)
        self.usage = defaultdict(list)
        for row in await rows("select turn_id, attempt, call, finalized_by, estimated, cost_usd::text from model_calls where purpose = 'chat'"):
            self.usage[row["turn_id"]].append(row)
        self.sums = (await rows(
            "select (select coalesce(sum(spent_usd), 0)::text from budgets) as spent, "
            "(select coalesce(sum(reserved_usd), 0)::text from budgets) as reserved, "
            "(select coalesce(sum(cost_usd), 0)::text from usage_logs) as billed, "
            "(select count(*) from (select user_id from budgets b where spent_usd is distinct from "
            "(select coalesce(sum(cost_usd), 0) from model_calls c where c.user_id = b.user_id and c.day = b.day)) x) as wrong_users"))[0]
        self.running = await rows("select id, started_at from turns where status = 'running'")

    # What may explain an ending -------------------------------------------------------------------------------

    def met(self, turn, kinds, before=0.0, after=0.0):
        """Whether a fault of these kinds overlaps the turn."""
        return any(
            kind.startswith(kinds) and start < turn.ended_at + after and end > turn.sent_at - before
            for kind, start, end in self.killer.faults)

    def left_a_receipt(self, turn):
        """Whether the turn's instance may have ended before the database took its receipt: killed, or restarted while it was away."""
        if self.met(turn, ("kill -9",)):
            return True
        return self.met(turn, ("rolling",), before=1, after=1) and self.stage.postgres.was_away(turn.sent_at, turn.ended_at)

    def kills_of(self, turn, row):
        """The times (monotonic, unix) at which the turn's instance was killed while the turn ran."""
        start = unix(row["started_at"]) - 0.05
        end = unix(row["finished_at"]) if row["finished_at"] else time.time()
        owner = turn.owner if row["attempt"] == 1 or turn.retry_of else None
        gateways = [gateway for gateway in self.stage.gateways if owner in (None, gateway.name)]
        return sorted(kill for gateway in gateways for kill in gateway.kills if start <= kill[1] <= end)

    # Checks ---------------------------------------------------------------------------------------------------

    def check(self):
        """Runs all checks."""
        self.check_messages()
        for turn in self.acknowledged:
            row = self.db_turns.get(turn.turn_id)
            if row is None:
                self.wrong("an acknowledged turn is not in the database", turn)
                continue
            self.check_ending(turn, row)
            self.check_bill(turn, row)
        for row in self.running:
            self.wrong("a turn that never ended", None, f"{row['id']} runs since {row['started_at']}")
        self.check_money()
        self.check_rolling()
        self.check_times()

    def check_messages(self):
        """Every acknowledged user message exists exactly once."""
        self.table["sent"] = sum(1 for turn in self.turns if not turn.retry_of)
        firsts = [turn for turn in self.acknowledged if not turn.retry_of]
        self.table["acknowledged"] = len(firsts)
        for turn in firsts:
            rows = self.messages.get(turn.user_message_id, [])
            if len(rows) == 1 and rows[0]["content"] == turn.body["message"]:
                self.table["found"] += 1
            else:
                self.table["lost"] += 1
                self.wrong("an acknowledged message is lost", turn, f"{len(rows)} rows")
        sent = Counter((row["user_id"], row["content"]) for rows in self.messages.values() for row in rows)
        for (user, content), count in sent.items():
            if count > 1:
                self.table["duplicated"] += count - 1
                self.wrong("a user message is there more than once", None, f"{user}: {count} times {content[:70]!r}")
        for turn_id, rows in self.answers.items():
            if len(rows) > 1:
                self.table["duplicated"] += len(rows) - 1
                self.wrong("a turn with more than one answer", None, f"{turn_id}: {len(rows)}")
        keys = Counter((row["user_id"], row["idempotency_key"]) for row in self.db_turns.values() if row["idempotency_key"])
        for key, count in keys.items():
            if count > 1:
                self.table["duplicated"] += count - 1
                self.wrong("an idempotency key with more than one turn", None, f"{key}: {count}")
        for turn in self.turns:
            if not turn.is_acknowledged and not turn.retry_of:
                self.table["failed"] += 1
                self.wrong("a message that was never acknowledged, however patient the client", turn, turn.marker)

    def check_ending(self, turn, row):
        """The saved answer is the text that each device received."""
        answers = self.answers.get(turn.turn_id, [])
        content = answers[0]["content"].encode() if answers else b""
        status = row["status"]
        self.table["resumed"] += sum(max(0, reading.streams - 1) for reading in turn.readings)
        self.table["replayed"] += sum(1 for reading in turn.readings if reading.role == "repeated" and reading.streams)
        self.table["followed"] += sum(1 for reading in turn.readings if reading.role == "second device" and reading.streams)
        self.table["stopped"] += status == "stopped"
        self.table["interrupted"] += status == "interrupted"
        self.table["complete"] += status == "complete"
        self.table["failed" if not turn.retry_of else "retries that failed"] += status == "failed"
        if len(answers) > 1 or not answers and status in ("complete", "interrupted"):
            self.wrong("a turn that ended with text has no answer", turn, status)
        if status == "stopped" and answers and not content:
            self.wrong("a turn that was stopped before its first word has an empty answer", turn)
        self.table["words of a lost attempt dropped"] += sum(reading.dropped for reading in turn.readings)
        if answers and answers[0]["id"] != turn.message_id:
            self.wrong("the answer has another id than the one that was announced", turn)
        if status == "failed" and not turn.retry_of:
            self.wrong(
                "a turn without text, although its request was repeated", turn,
                f"attempt {row['attempt']}, {turn.posts} requests, {row['error_code']} by {row['finalized_by']}, "
                f"read {turn.readings[0].ended} {turn.readings[0].kept}")
        if status == "failed" and answers:
            self.wrong("a failed turn has an answer", turn)
        if turn.stop_answered and status == "running":
            self.wrong("a turn that was stopped still runs", turn)
        if status == "stopped" and not turn.stop_answered and not any(hasattr(reading, "stopping") for reading in turn.readings):
            self.wrong("a turn was stopped that nobody stopped", turn)
        for reading in turn.readings:
            self.check_reading(turn, row, reading, content)
        if status in ("interrupted", "failed"):
            self.check_cause(turn, row, content)

    def check_reading(self, turn, row, reading, content):
        """The text and the end that one device received agree with the database."""
        status, text = row["status"], bytes(reading.text)
        at = f"{reading.role}: {len(text)} bytes read, {len(content)} kept, status {status}, seen {reading.ended} {reading.finish_reason}"
        if reading.ended is None or reading.ended == "gave up":
            if reading.streams or reading.role == "first":
                self.wrong("a device that never saw the end", turn, at)
        elif reading.ended == "done":
            if status not in ("complete", "stopped"):
                self.wrong("seen as done, kept as something else", turn, at)
            elif (reading.finish_reason == "stopped") != (status == "stopped"):
                self.wrong("seen and kept with different reasons", turn, at)
            if text != content:
                self.wrong("the text that was read is not the text that is kept", turn, at)
        elif reading.ended == "partial":
            if text != content:
                # A receipt from the spool of an instance that is gone may have replaced what recovery kept: then the text only grows.
                if row["finalized_by"] == "owner" and content.startswith(text) and self.left_a_receipt(turn):
                    self.table["revised"] += 1
                elif reading.kept == 0 and reading.attempt < row["attempt"] and self.met(turn, ("kill -9",)):
                    # This attempt kept nothing, which is what its reader was told. A repeated POST made the attempt that is kept.
                    self.table["readers of an attempt that kept nothing"] += 1
                else:
                    self.wrong("the part that was read is not the part that is kept", turn, at)
        elif reading.ended == "failed" and reading.role == "first" and status != "failed":
            self.wrong("seen as failed, kept as something else", turn, at)

    def check_cause(self, turn, row, content):
        """Every interrupted turn has a cause, and a crash loses at most 500 ms of text."""
        kills = self.kills_of(turn, row)
        if row["finalized_by"] == "recovery":
            if not kills:
                span = f"{row['started_at']} to {row['finished_at']}"
                self.wrong("finalized by recovery, but its instance was not killed", turn, f"owner {turn.owner}, {span}")
                return
            # The first kill while it ran; when it is unknown whose it was, the earliest asks for the least.
            moment = kills[0][0]
            if self.stage.postgres.was_away(moment - 3, moment + 0.1):
                self.table["cut while the database was away"] += 1
                return
            self.table["cut by a kill"] += 1
            self.losses.append(max(0.0, moment - min(reading.first_beyond(len(content)) for reading in turn.readings)))
            had = max(reading.had_at(moment - 0.5) for reading in turn.readings)
            if len(content) < had:
                self.wrong(
                    "more than 500 ms of text lost", turn,
                    f"{had} bytes were read half a second before the kill of {turn.owner}, {len(content)} are kept")
        elif not self.met(turn, ("kill -9 of the provider",), before=1, after=1):
            self.wrong("ended without success and without a cause", turn, f"{row['status']} by {row['finalized_by']}, {row['error_code']}")

    def check_bill(self, turn, row):
        """Every attempt is billed at most once, and text is billed."""
        usage = self.usage.get(turn.turn_id, [])
        # Later calls of an attempt are those to a provider that failed.
        per_attempt = Counter(
            entry["attempt"] for entry in usage if entry["call"] == 1 or not self.met(turn, ("kill -9 of the provider",), before=1, after=1))
        content = self.answers.get(turn.turn_id, [{}])[0].get("content", "")
        if any(count > 1 for count in per_attempt.values()) or any(attempt > row["attempt"] for attempt in per_attempt):
            self.table["billed twice"] += 1
            self.wrong("billed more often than called", turn, f"attempts {dict(per_attempt)}, of {row['attempt']}")
        # All of it is the gateway's own text for a turn in danger: no provider accepted the call, or it was stopped before the model's first word.
        has_no_call = row["status"] == "stopped" or self.met(turn, ("kill -9 of the provider",), before=1, after=1)
        is_free = row["risk_tier"] >= 2 and not per_attempt and has_no_call
        if content and per_attempt[row["attempt"]] != 1 and not is_free:
            self.wrong("text without a bill", turn, f"attempt {row['attempt']}, {row['status']}")
        if row["finalized_by"] == "recovery" and any(e["attempt"] == row["attempt"] and not e["estimated"] for e in usage):
            self.wrong("a crashed turn's bill is not marked as an estimate", turn)

    def check_money(self):
        """Budgets equal the sums of the usage, and nothing is reserved."""
        if float(self.sums["spent"]) != float(self.sums["billed"]) or self.sums["wrong_users"]:
            self.wrong("budgets and usage differ", None, str(self.sums))
        if float(self.sums["reserved"]) != 0:
            self.wrong("budget is still reserved though nothing runs", None, str(self.sums))
        self.figures["billed, US dollars"] = self.sums["billed"]

    def check_calls(self, calls):
        """A message causes no more model calls than turns. `calls`: (marker, sent tokens) from the simulator's journal."""
        made = Counter(marker for marker, tokens in calls if tokens)
        turns = defaultdict(list)
        for turn in self.acknowledged:
            turns[turn.marker].append(turn)
        for marker, of_marker in turns.items():
            rows = [self.db_turns.get(turn.turn_id) for turn in of_marker]
            if all(row and row["status"] in ("complete", "stopped") and row["attempt"] == 1 for row in rows) and not any(
                self.met(turn, ("kill -9 of the provider", "kill -9 of a gateway")) for turn in of_marker
            ):
                self.table["model calls checked"] += 1
                if made[marker] > len(of_marker):
                    self.wrong("a turn with more than one model call", of_marker[0], f"{made[marker]} calls, {len(of_marker)} turns")

    def check_rolling(self):
        """No turn fails in a rolling restart if its client resumes."""
        rolling = other = 0
        for turn in self.acknowledged:
            if not self.met(turn, ("rolling",)) or self.met(turn, ("kill", "PostgreSQL"), before=GRACE, after=1):
                continue
            rolling += 1
            first = turn.readings[0]
            if first.ended != "done":
                other += 1
                self.wrong("a turn failed in a rolling restart", turn, f"{first.ended}")
        self.figures["turns that met only a rolling restart"] = rolling
        self.figures["of these failed"] = other

    def check_times(self):
        """A crash of an instance is noticed within 10 s while the database is available. If it was away, within 10 s and the grace
        (15 s) of available time: a second outage must not restart the wait."""
        postgres, delays, clean = self.stage.postgres, [], []
        for turn in self.acknowledged:
            row = self.db_turns.get(turn.turn_id)
            if not row or row["finalized_by"] != "recovery" or not row["finished_at"] or (row["attempt"] != 1 and not turn.retry_of):
                continue
            kills = self.kills_of(turn, row)
            if not turn.owner or len(kills) != 1:
                continue
            (moment, unix_moment), = kills
            delays.append(unix(row["finished_at"]) - unix_moment)
            noticed = moment + delays[-1]
            if not postgres.was_away(moment - GRACE, noticed):
                clean.append(delays[-1])
                if delays[-1] > 10:
                    self.wrong("a crash that was not noticed within 10 s", turn, f"{delays[-1]:.1f} s")
            elif delays[-1] - postgres.seconds_away(moment, noticed) > 25:
                self.wrong(
                    "a crash that was not noticed within 10 s and the grace", turn,
                    f"{delays[-1]:.1f} s, the database away for {postgres.seconds_away(moment, noticed):.1f} s of them")
        delays.sort()
        if self.losses:
            self.losses.sort()
            self.figures["text lost by a kill, oldest byte"] = (
                f"{self.losses[len(self.losses) // 2] * 1000:.0f} ms (median), {self.losses[-1] * 1000:.0f} ms (longest)")
        if delays:
            self.figures["crashes noticed after"] = (
                f"{delays[len(delays) // 2]:.1f} s (median), {delays[-1]:.1f} s (longest) of {len(delays)} turns, "
                f"{len(clean)} of them with the database there all the time: at most {max(clean, default=0):.1f} s")
