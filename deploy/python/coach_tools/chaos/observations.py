"""What the clients of a fault run observed: turns, their readings, and violations, for the verdict."""
import time

from ..wire import Nonsense


class Reading:
    """The part of an answer that one device has received."""

    def __init__(self, turn, role):
        self.turn, self.role = turn, role
        self.text = bytearray()
        # Where the stream that is read now stands.
        self.cursor = 0
        # None while it is read; then `done`, `partial`, `failed` (no text at all), or `gave up`.
        self.ended = None
        self.finish_reason = None
        self.kept = None
        # Of the turn: what was read of an earlier one is lost, and a good client drops it.
        self.attempt = None
        self.dropped = 0
        self.streams = 0
        self.ended_at = None
        # (monotonic, bytes) as they came.
        self.history = []

    @property
    def kept_nothing(self):
        """Whether it ended without text, or all text that was read is lost with a gateway that had saved none of it."""
        return self.ended == "failed" or self.ended == "partial" and self.kept == 0

    def begin(self, cursor):
        """Starts a stream at `cursor`."""
        self.cursor = cursor
        self.streams += 1

    def apply(self, identifier, event):
        """Handles one event. Raises Nonsense when it contradicts earlier events."""
        kind = event.get("type")
        if self.ended:
            raise Nonsense(f"{kind} after the last event")
        if not isinstance(event.get("done"), bool) or event["done"] != (kind in ("done", "error")):
            raise Nonsense(f"{kind} with done: {event.get('done')}")
        if kind == "start":
            self.turn.acknowledge(event)
            self.attempt = event.get("attempt", 1)
        elif kind == "token":
            self._append(identifier, event["content"].encode())
        elif kind == "done":
            if identifier != len(self.text):
                raise Nonsense(f"done at {identifier}, with {len(self.text)} bytes read")
            self._end("done")
            self.finish_reason = event["finish_reason"]
        elif kind == "error":
            self.kept = event.get("kept_bytes") or 0
            self._end("partial" if event.get("partial") else "failed")
            if self.kept > len(self.text):
                raise Nonsense(f"{self.kept} bytes are kept, of which only {len(self.text)} were sent")
            if self.attempt > 1 and event.get("partial") and self.kept == 0 and self.cursor > 0:
                # What was read was an earlier attempt's. The turn has another answer, or none: ask again, from the start.
                self.ended = None
                self.dropped += 1
            if self.kept < len(self.text):
                self.cut(self.kept)
        elif kind not in ("usage", "safety"):
            raise Nonsense(f"an event of type {kind}")

    def cut(self, count):
        """Truncates the text to `count` bytes."""
        del self.text[count:]
        if count == 0:
            self.history = []

    def _append(self, identifier, piece):
        begin = identifier - len(piece)
        if begin != self.cursor:
            raise Nonsense(f"text from byte {begin} where byte {self.cursor} comes next")
        known = bytes(self.text[begin:identifier])
        if not piece.startswith(known):
            raise Nonsense(f"at byte {begin} {piece!r}, before it was {known!r}")
        self.text += piece[len(known):]
        self.cursor = identifier
        self.history.append((time.monotonic(), len(self.text)))

    def _end(self, how):
        self.ended, self.ended_at = how, time.monotonic()

    def first_beyond(self, count):
        """The time at which the first byte after `count` bytes arrived."""
        return next((when for when, bytes_read in self.history if bytes_read > count), float("inf"))

    def had_at(self, moment):
        """The number of bytes that had arrived at a time."""
        return max((count for when, count in self.history if when <= moment), default=0)


class Turn:
    """One message and its turn as the client observed it."""

    def __init__(self, user, body, marker):
        self.user, self.body, self.marker = user, body, marker
        self.key = body.get("client_message_id") if body else None
        self.turn_id = self.user_message_id = self.message_id = self.conversation_id = None
        # The instance that runs it; None when a lost answer leaves it open.
        self.owner = None
        self.posts = 0
        self.sent_at = time.monotonic()
        self.readings = []
        self.stop_answered = False
        self.retry_of = None

    @property
    def is_acknowledged(self):
        """Whether a `start` event was received."""
        return self.turn_id is not None

    @property
    def ended_at(self):
        """The time at which the last device read the end; now if none has."""
        return max((reading.ended_at for reading in self.readings if reading.ended_at), default=time.monotonic())

    def acknowledge(self, start):
        """Stores the ids of a `start` event. Raises Nonsense when they differ from earlier ones."""
        names = ("turn_id", "user_message_id", "message_id", "conversation_id")
        if self.turn_id is None:
            for name in names:
                setattr(self, name, start[name])
        for name in names:
            if getattr(self, name) != start[name]:
                raise Nonsense(f"{name} was {getattr(self, name)} and is {start[name]} now")

    def reading(self, role):
        """Adds a device that reads the answer."""
        reading = Reading(self, role)
        self.readings.append(reading)
        return reading


class Record:
    """All observations of the clients, for the verdict."""

    def __init__(self):
        self.turns = []
        self.violations = []
        self.rejections = {}

    def violation(self, what, turn=None, detail=""):
        """Records a violation of a guarantee."""
        self.violations.append((what, getattr(turn, "turn_id", None), detail))

    def refused(self, status, code):
        """Counts an error response."""
        self.rejections[f"{status} {code}"] = self.rejections.get(f"{status} {code}", 0) + 1
