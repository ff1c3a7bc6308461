"""Alters messages at random while `train.py` trains."""

import random

# How messages begin besides, folded.
GREETINGS = """
hi|hello|hey|hi there|hello coach|hey coach|good morning|good evening|hi its me again|hello again|hi hope youre well|hello i hope you are having a good day
good evening i hope this finds you well|hey how are you doing|hi quick question|quick question|hello thanks for your time|thanks for yesterday|thank you for last week
sorry to bother you|sorry for the long message|hi sorry its late|hey im back|ok so|so|right|well|morning coach hope all is good|hi i hope im in the right place|first time here
hi this is my first message|hello from a rainy glasgow|hope your week is going well|hi there hope you had a nice weekend|good afternoon and thank you for being here
hola|buenas|buenos dias|hola que tal|buenas tardes espero que estes bien|hola coach|perdona que te moleste|hola otra vez gracias por lo de ayer
""".replace("\n", "|").strip("|").split("|")


# What people paste into a chat says nothing about danger: words of programs, logs and settings, folded.
TECHNICAL = """
id name type value key true false null none error status code text words count size length index data list map set get post put json http https www com api url user admin test demo
sim script pace ms first token tokens after before cut hang drop kill stop abort die dead fail fatal crash panic retry timeout delay wait sleep repeat burn shoot break lock block
import return def class function const let var if else for while try catch throw print console log info warn debug select from where insert update delete join order by limit
0x version model gpt usage input output cache cached prompt system role content message messages stream chunk delta event open close start end done step seed run task job queue
""".split()


def technical():
    """A few of these words, numbers and identifiers."""
    kinds = (
        lambda: random.choice(TECHNICAL),
        lambda: random.choice(TECHNICAL),
        lambda: str(random.randrange(10 ** random.randrange(1, 5))),
        lambda: "".join(random.choice("0123456789abcdef") for _ in range(random.choice((4, 8, 12)))),
        lambda: random.choice(TECHNICAL) + random.choice(TECHNICAL),
    )
    return [random.choice(kinds)() for _ in range(random.randrange(2, 25))]


class Changes:
    """Alters words at random: typing errors, greetings, technical text, and other messages around them."""

    # Words of a passage (MessageEncoder).
    MOST_WORDS = 80

    def __init__(self, rows):
        self.calm = {}
        for row in rows:
            # Others may allude to what they deny.
            if row["form"] == "ordinary" or (row["plain"] and row["form"] == "hard_negative" and row["grammar"] == 0):
                self.calm.setdefault(row["lang"], []).append((row["words"], row["form"] == "ordinary"))

    def __call__(self, row):
        words = self.passage(row["words"])
        if len(words) > 2 and random.random() < 0.2:
            share = random.choice((0.08, 0.15, 0.3, 0.4))
            words = [self.mistyped(word) if len(word) > 1 and random.random() < share else word for word in words]
        # What surrounds a message has domains of its own.
        if row["lang"] in self.calm and not row["domain"] and random.random() < 0.6:
            words = self.buried(words, row["lang"])
        if random.random() < 0.15:
            words = random.choice(GREETINGS).split() + words
        if random.random() < 0.1:
            words = words + technical() if random.random() < 0.7 else technical() + words
        return words

    def passage(self, words):
        start = random.randrange(max(len(words) - self.MOST_WORDS, 0) + 1)
        return words[start : start + self.MOST_WORDS]

    def buried(self, words, language):
        """Among calm messages, up to the length of a passage; the outermost may be cut."""
        room = max(self.MOST_WORDS - len(words), 10)
        room = random.choice((room, room, random.randrange(5, room + 1)))
        before = random.choice((0, room, random.randrange(room + 1), random.randrange(room + 1)))
        return self.text(before, language)[-before:] * (before > 0) + words + self.text(room - before, language)[: room - before]

    def text(self, count, language):
        words = []
        while len(words) < count:
            other, is_ordinary = random.choice(self.calm[language])
            if is_ordinary or random.random() < 0.15:
                words += other
        return words

    @staticmethod
    def mistyped(word):
        at = random.randrange(len(word))
        letter = random.choice("abcdefghijklmnopqrstuvwxyz")
        return random.choice(
            [
                word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
                word[:at] + word[at + 1 :] or word,
                word[:at] + letter + word[at + 1 :],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at] + word[at:],
            ]
        )
