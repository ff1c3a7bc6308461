"""Trains the encoder of messages and writes encoder.bin. See README.md beside it.

    coach-gateway train --encoder-examples examples.jsonl [--others messages.jsonl]
    python3 train.py examples.jsonl --base FOLDER --out ../encoder.bin [--layers 6] [--epochs 2] [--start ../encoder.bin]
    python3 train.py examples.jsonl --start ../encoder.bin --out ../encoder.bin [--epochs 0] [--keep 0.67]

Needs torch and transformers. The base is an English BERT model of Hugging Face's layout: vocab.txt, config.json and weights. Words of
other languages become pieces of their own, which begin as what their glosses (glosses.tsv) mean in English. Without a base the pieces,
their vectors, the layers and the known words are those of the file that training starts with, and stay as they are; words with glosses that the
file lacks are added.
"""

import argparse
import json
import random
import re
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import BertConfig, BertModel

from calibration import calibrate, calibrate_domains, moved
from changes import Changes
from encoder_file import STRIDE, WINDOW, mean, meaning, outputs_and_limits, rounded, write
from heads import Windows, fit, is_known, share, weight
from labels import CASES, CATEGORIES, DOMAINS, LEFT_OUT, OUTPUTS, targets
from pieces import BasePieces, Pieces

# Weight of each output's error: the card decides.
COSTS = [0.3, 1.5, 0.5, 0.5, 0.3] + [0.5] * len(CATEGORIES)
DOMAIN_COST = 0.6
BATCH = 48
# How often the grammar's cases stand among an epoch's rows.
CASES_REPEATED = 3


class Vectors(nn.Module):
    """Those of the base are frozen: words that no row has stay near their neighbours. Those of words with glosses are trained."""

    def __init__(self, base, glosses):
        super().__init__()
        self.register_buffer("base", base)
        self.added = nn.Parameter(torch.stack([meaning(base, pieces) for pieces in glosses]) if glosses else base[:0].clone())

    def all(self):
        return torch.cat([self.base, self.added])

    def forward(self, numbers):
        return nn.functional.embedding(numbers, self.all())


class Encoder(nn.Module):
    def __init__(self, bert, pieces):
        super().__init__()
        self.bert = bert
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
            return self.bert(input_ids=numbers, attention_mask=mask).last_hidden_state.float()

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


def is_trained(row):
    """The grammar's cases are no evidence, so none is left out."""
    return row["fold"] != LEFT_OUT or row["form"] == CASES


def padded(texts):
    longest = max(map(len, texts))
    numbers = torch.tensor([text + [0] * (longest - len(text)) for text in texts])
    mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
    return numbers, mask


def epoch(rows, changes, pieces):
    """Batches of row numbers and pieces: messages of like length together, in random order."""
    chosen = [index for index, row in enumerate(rows) if is_trained(row) and is_known(row) and random.random() < share(row)]
    chosen += [index for index in chosen if rows[index]["form"] == CASES] * (CASES_REPEATED - 1)
    random.shuffle(chosen)
    result = []
    for start in range(0, len(chosen), BATCH * 50):
        group = [(index, pieces.numbers(changes(rows[index]))) for index in chosen[start : start + BATCH * 50]]
        group.sort(key=lambda entry: len(entry[1]))
        result += [group[at : at + BATCH] for at in range(0, len(group), BATCH)]
    random.shuffle(result)
    return [([index for index, _ in batch], [text for _, text in batch]) for batch in result]


def train(model, rows, pieces, epochs, rate):
    wanted = torch.tensor([targets(row) for row in rows])
    domains = torch.tensor([DOMAINS.index(row["domain"]) if row["domain"] else -1 for row in rows])
    weights = torch.tensor([weight(row) for row in rows])
    changes, costs = Changes([row for row in rows if is_trained(row)]), torch.tensor(COSTS)
    plan = [batch for _ in range(int(np.ceil(epochs))) for batch in epoch(rows, changes, pieces)]
    plan = plan[: int(len(plan) * epochs / np.ceil(epochs))]
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0)
    binary, several = nn.functional.binary_cross_entropy_with_logits, nn.functional.cross_entropy
    mean, start = 0, time.time()
    model.train()
    for step, (batch, texts) in enumerate(plan):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, (step + 1) / 150) * (len(plan) - step) / len(plan)
        output = model(*padded(texts))
        target = wanted[batch]
        errors = binary(output[:, : len(OUTPUTS)], target.clamp(min=0), reduction="none")
        loss = (errors * (target >= 0) * costs).mean(1)
        if (domains[batch] >= 0).any():
            loss = loss + DOMAIN_COST * several(output[:, len(OUTPUTS) :], domains[batch], ignore_index=-1, reduction="none")
        loss = (loss * weights[batch]).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimiser.step()
        mean += 0.02 * (loss.item() - mean)
        if step % 50 == 0:
            print(f"step {step} of {len(plan)}, loss {mean:.4f}, {time.time() - start:.0f} s", flush=True)


def glosses(path):
    """Of words of other languages, folded, what they mean in English: a line for each language in which a word stands."""
    result = {}
    for line in open(path, encoding="utf-8"):
        _, word, gloss = line.rstrip("\n").split("\t")
        result.setdefault(word, []).append(gloss)
    return result


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


def finish(model, rows, cases, pieces):
    """Fits the outputs for danger anew, also to the grammar's cases, and calibrates all by the others, which were not trained on. Returns what
    `write` takes."""
    windows, scores = windows_and_domains(model, rows + cases, pieces)
    trained = (parameter.detach().numpy()[: len(OUTPUTS)] for parameter in (model.head.weight, model.head.bias))
    weights, offsets, linear, unseen = fit(rows + cases, windows, *trained)
    with torch.inference_mode():
        model.head.weight[: len(OUTPUTS)], model.head.bias[: len(OUTPUTS)] = torch.from_numpy(weights), torch.from_numpy(offsets)
    outputs, limits = calibrate(rows, unseen[: len(rows)])
    domains, shares = calibrate_domains(rows, scores[: len(rows)])
    return outputs + domains, limits + (linear,) + shares


def golden(model, rows, pieces, path):
    """Half of these messages are mistyped, but no letter stands three times: the gateway folds that."""
    mistyped = lambda word: re.sub(r"(.)\1\1+", r"\1\1", Changes.mistyped(word)) if len(word) > 5 else word
    model.eval()
    texts = [row["words"] for row in rows] + [[mistyped(word) for word in row["words"]] for row in rows]
    with torch.inference_mode():
        scores = [model(*padded([pieces.numbers(words)]))[0].tolist() for words in texts]
    examples = [{"text": " ".join(words), "scores": values} for words, values in zip(texts, scores)]
    open(path, "w").write(json.dumps(examples, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples")
    parser.add_argument("--base")
    parser.add_argument("--out", required=True)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--frozen", type=int, default=0, help="lowest layers that stay as they are, with all below them")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--start", nargs="+", help="a file of --out to begin with, or several: with the mean of their weights")
    parser.add_argument("--keep", type=float, metavar="CARD", help="only adds words of glosses.tsv to --start, and sets the threshold for cards")
    parser.add_argument("--bfloat16", action="store_true", help="half the time, on processors that have it")
    parser.add_argument("--golden", help="where to write some scores, for TextEncoderTests")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.base and not options.start:
        parser.error("--base or --start is needed")
    if options.keep:
        options.epochs = 0
    random.seed(options.seed)
    np.random.seed(options.seed)
    torch.manual_seed(options.seed)
    rows = [json.loads(line) for line in open(options.examples, encoding="utf-8")]
    sizes, vectors, state, words = mean(options.start) if options.start else [None] * 4
    # Dropout of attention took a tenth of the time.
    config = {"attention_probs_dropout_prob": 0}
    meanings = glosses(Path(__file__).with_name("glosses.tsv"))
    if options.base:
        pieces = BasePieces(options.base, rows, meanings)
        bert = BertModel.from_pretrained(options.base, add_pooling_layer=False, num_hidden_layers=options.layers, **config)
    else:
        pieces = Pieces(list(vectors), words)
        pieces.add(meanings)
        bert = BertModel(BertConfig(vocab_size=len(vectors), **config, **sizes), add_pooling_layer=False)
        # The vectors of added words are means of these.
        bert.embeddings.word_embeddings.weight.data = torch.stack(list(vectors.values()))
    model = Encoder(bert, pieces)
    model.bfloat16 = options.bfloat16
    if options.start:
        model.start(vectors, state, pieces)
    if options.frozen:
        model.bert.embeddings.requires_grad_(False)
        model.bert.encoder.layer[: options.frozen].requires_grad_(False)
    if options.epochs:
        train(model, rows, pieces, options.epochs, options.rate)
    rounded(model.merged())
    cases = [row for row in rows if row["form"] == CASES]
    left_out = [row for row in rows if row["fold"] == LEFT_OUT and row["form"] != CASES]
    if options.keep:
        outputs, limits = moved(*outputs_and_limits(options.start[0]), options.keep)
    else:
        outputs, limits = finish(model, left_out, cases, pieces)
    write(model, pieces, outputs, limits, options.out)
    if options.golden:
        golden(model, [row for row in left_out if len(row["words"]) < 50][::700], pieces, options.golden)


if __name__ == "__main__":
    main()
