"""The network of the encoder, as torch computes it."""

import numpy as np
import torch
from torch import nn
from transformers import BertConfig, BertModel

from encoder_file import POSITIONS, STRIDE, WINDOW, mean, meaning
from heads import Windows
from labels import DOMAINS, OUTPUTS
from pieces import Pieces

# Dropout of attention took a tenth of the time.
CONFIG = {"attention_probs_dropout_prob": 0}


class Vectors(nn.Module):
    """Those of the base are frozen: words that no row has stay near their neighbours. Those of words with glosses are trained."""

    def __init__(self, base, glosses):
        super().__init__()
        self.register_buffer("base", base)
        self.added = nn.Parameter(torch.stack([meaning(base, pieces) for pieces in glosses]) if glosses else base[:0].clone())

    def all(self):
        # A copy of all, and the gradient of one, would take a tenth of a step.
        return torch.cat([self.base, self.added]) if len(self.added) else self.base

    def forward(self, numbers):
        return nn.functional.embedding(numbers, self.all())


class Encoder(nn.Module):
    def __init__(self, bert, pieces, position_bias=None):
        """`position_bias`: a relative one, see base.py."""
        super().__init__()
        self.bert = bert
        self.position_bias = None if position_bias is None else nn.Parameter(position_bias)
        vectors = self.bert.embeddings.word_embeddings.weight.detach()
        self.bert.embeddings.word_embeddings = Vectors(vectors, list(pieces.glosses.values()))
        self.head = nn.Linear(self.bert.config.hidden_size, len(OUTPUTS) + len(DOMAINS))
        self.dropout = nn.Dropout(0.1)
        self.bfloat16 = False

    def start(self, vectors, state, pieces):
        """Takes over the weights of a file, of as many layers as there are here; pieces that it lacks keep theirs."""
        table = self.bert.embeddings.word_embeddings
        with torch.no_grad():
            for index, piece in enumerate(pieces.all):
                if piece in vectors and index < pieces.base_count:
                    table.base[index] = vectors[piece]
                elif piece in vectors:
                    table.added[index - pieces.base_count] = vectors[piece]
        # The file has one table for positions and the first token type.
        self.bert.embeddings.token_type_embeddings.weight.data.zero_()
        positions = "bert.embeddings.position_embeddings.weight"
        rest = self.state_dict()[positions][len(state[positions]) :]
        state[positions] = torch.cat([state[positions], rest])
        self.load_state_dict(state, strict=False)

    def merged(self):
        """With one table of vectors, as the file has it."""
        self.bert.embeddings.word_embeddings = nn.Embedding.from_pretrained(self.bert.embeddings.word_embeddings.all().detach())
        return self

    def hidden(self, numbers, mask):
        """Of each message the vectors of its pieces in the last layer."""
        # In bfloat16 for training only: scores are computed as the gateway does.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.training and self.bfloat16):
            return self.bert(input_ids=numbers, attention_mask=self.attention(mask)).last_hidden_state.float()

    def attention(self, mask):
        """The pieces that attention reads, or what it adds to their products."""
        if self.position_bias is None:
            return mask
        places = torch.arange(mask.shape[1])
        added = self.position_bias[:, POSITIONS + places[None] - places[:, None]]
        return added[None].masked_fill(mask[:, None, None] == 0, -torch.inf)

    def scores(self, hidden, mask):
        """Of danger the highest mean of a window, of domains the mean of all pieces."""
        danger, domains = self.head(hidden).split([len(OUTPUTS), len(DOMAINS)], -1)
        whole = (domains * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        return torch.cat([window_means(danger, mask).amax(1), whole], -1)

    def forward(self, numbers, mask):
        return self.scores(self.dropout(self.hidden(numbers, mask)), mask)


def window_count(length):
    """Of a message of so many pieces. Its last window ends with the last piece."""
    return -(-max(length - WINDOW, 0) // STRIDE) + 1


def window_means(values, mask):
    """Of each message the means of its windows. All have as many windows as the longest; those of shorter ones are their last, again."""
    lengths = mask.sum(1, keepdim=True)
    sums = nn.functional.pad((values * mask.unsqueeze(-1)).cumsum(1), (0, 0, 1, 0))
    starts = (torch.arange(window_count(mask.shape[1])) * STRIDE)[None].minimum((lengths - WINDOW).clamp(min=0))
    ends = (starts + WINDOW).minimum(lengths)
    at = lambda places: sums.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))
    return (at(ends) - at(starts)) / (ends - starts).unsqueeze(-1)


def padded(texts):
    longest = max(map(len, texts))
    numbers = torch.tensor([text + [0] * (longest - len(text)) for text in texts])
    mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
    return numbers, mask


def load_encoder(paths, glosses=None):
    """The network of a file, or the mean of several, and its pieces, to which words with glosses are added."""
    sizes, vectors, state, words = mean(paths)
    pieces = Pieces(list(vectors), words)
    pieces.add(glosses or {})
    bert = BertModel(BertConfig(vocab_size=len(vectors), **CONFIG, **sizes), add_pooling_layer=False)
    # The vectors of added words are means of these.
    bert.embeddings.word_embeddings.weight.data = torch.stack(list(vectors.values()))
    model = Encoder(bert, pieces, state.get("position_bias"))
    model.start(vectors, state, pieces)
    return model, pieces


def windows_and_domains(model, rows, pieces):
    """Of each row its windows' means, and the scores of domains."""
    model.eval()
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]["words"]))
    found, domains = [None] * len(rows), np.zeros((len(rows), len(DOMAINS)), np.float32)
    with torch.inference_mode():
        for at in range(0, len(order), 64):
            part = order[at : at + 64]
            numbers, mask = padded([pieces.numbers(rows[index]["words"]) for index in part])
            hidden = model.hidden(numbers, mask)
            domains[part] = model.scores(hidden, mask)[:, len(OUTPUTS) :].numpy()
            for index, length, values in zip(part, mask.sum(1).tolist(), window_means(hidden, mask).numpy()):
                found[index] = values[: window_count(length)]
    return Windows(found), domains
