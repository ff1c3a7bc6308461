"""Corrects typing errors before words are split into pieces. Must correct exactly as SpellingCorrection.swift does."""

from collections import Counter
from string import ascii_lowercase

from labels import LEFT_OUT

# In letters. A shorter word has too many neighbours, a longer one too many candidates.
SHORTEST, LONGEST = 4, 20
# How often a word must stand in the rows to be what a mistyped one means.
FREQUENT = 5
# A text with fewer words of that length tells too little of its language.
FEWEST = 6


class Spelling:
    def __init__(self, frequent, rare, pieces):
        """`frequent`: what mistyped words may mean, the most frequent first. `rare` words and whole words among the pieces are known, too."""
        self.frequent, self.rare = frequent, rare
        self.ranks = {word: rank for rank, word in enumerate(frequent)}
        self.known = set(frequent) | set(rare) | set(pieces)
        self.cache = {}

    def __call__(self, words):
        long = [word for word in words if is_plain(word) and SHORTEST <= len(word) <= LONGEST]
        unknown = {word for word in long if word not in self.known}
        if len(long) >= FEWEST and 2 * sum(word in unknown for word in long) > len(long):
            return words
        return [self.corrected(word) if word in unknown else word for word in words]

    def corrected(self, word):
        if word not in self.cache:
            near = {other for other in neighbours(word) if other in self.ranks}
            self.cache[word] = min(near, key=self.ranks.get, default=word)
        return self.cache[word]


def is_plain(word):
    return word.isascii() and word.isalpha() and word.islower()


def neighbours(word):
    """What differs by one letter that is missing, added, replaced, or swapped with its neighbour."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield from (before + letter + after for letter in ascii_lowercase)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in ascii_lowercase)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def lists(rows, vocabulary):
    """The frequent and the rare words: those of the rows that are trained on, and the others of a vocabulary."""
    counts = Counter(word for row in rows if row["fold"] != LEFT_OUT for word in row["words"])
    counts = {word: count for word, count in counts.items() if is_plain(word) and SHORTEST <= len(word) <= LONGEST + 1}
    order = sorted(counts, key=lambda word: (-counts[word], word))
    frequent = [word for word in order if counts[word] >= FREQUENT]
    others = {word for word in vocabulary if is_plain(word) and SHORTEST <= len(word) <= LONGEST}
    return frequent, sorted((set(counts) | others) - set(frequent))
