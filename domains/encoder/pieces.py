"""The pieces of words that the encoder reads."""

from base import vocabulary
from encoder_file import POSITIONS
from labels import LEFT_OUT
from spelling import Spelling, lists

LONGEST_WORD = 64
# Pieces of the base's vocabulary with a lower number are kept: it is ordered by frequency.
FREQUENT = 16_000


class Pieces:
    """WordPiece, longest first, over words that the gateway has folded. All pieces of a file are kept, and its words."""

    def __init__(self, pieces, words=((), ())):
        self.all = pieces
        self.base_count = len(pieces)
        # Of each word with glosses their pieces, and of those the words that are added.
        self.meanings, self.glosses = {}, {}
        self.known = {piece: index for index, piece in enumerate(pieces)}
        self.kept = range(len(pieces))
        self.special = [self.known[piece] for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")]
        self.cache = {}
        self.spelling = Spelling(*words, self.names())

    def add(self, glosses):
        """Makes the words with glosses that are no pieces yet pieces of their own."""
        self.meanings = {
            word: [[piece for english in gloss.split() for piece in self.split(english)] for gloss in meanings]
            for word, meanings in glosses.items()
        }
        self.glosses = {word: pieces for word, pieces in self.meanings.items() if word not in self.known}
        self.known.update({word: self.base_count + index for index, word in enumerate(self.glosses)})
        self.all += self.glosses
        self.kept = range(len(self.all))
        self.cache = {}
        self.spelling.known |= self.glosses.keys()

    def names(self):
        return [self.all[index] for index in self.kept]

    def split(self, word):
        if word not in self.cache:
            self.cache[word] = self.longest_first(word)
        return self.cache[word]

    def longest_first(self, word):
        pieces, start = [], 0
        while start < len(word):
            ends = range(len(word), start, -1) if len(word.encode()) <= LONGEST_WORD else ()
            names = (("##" if start else "") + word[start:end] for end in ends)
            piece = next((name for name in names if name in self.known), None)
            if piece is None:
                return [self.special[1]]
            pieces.append(self.known[piece])
            start += len(piece) - (2 if start else 0)
        return pieces

    def numbers(self, words):
        numbers = [self.special[2]]
        for word in self.spelling(words):
            if len(numbers) >= POSITIONS:
                break
            numbers += self.split(word)
        return numbers[: POSITIONS - 1] + [self.special[3]]


class BasePieces(Pieces):
    """Those of a base: what the rows use, what is frequent, and words of other languages."""

    def __init__(self, base, rows, glosses):
        super().__init__(vocabulary(base))
        words = list(self.all)
        self.add(glosses)
        seen = {word for row in rows if row["fold"] != LEFT_OUT for word in row["words"]}
        used = {piece for word in seen for piece in self.split(word)}
        kept = [
            index
            for index, piece in enumerate(self.all)
            if index in used or index in self.special or index >= self.base_count or self.is_frequent(index, piece.removeprefix("##"))
        ]
        self.kept = kept
        self.known = {self.all[index]: index for index in kept}
        self.cache = {}
        self.spelling = Spelling(*lists(rows, words), self.names())

    @staticmethod
    def is_frequent(index, text):
        return text.isascii() and text.isalnum() and (index < FREQUENT or len(text) <= 3)
