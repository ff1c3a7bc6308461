"""Trains an encoder of messages and writes encoder.bin or encoder-large.bin. See README.md beside it.

    coach-gateway train --encoder-examples examples.jsonl [--others messages.jsonl]
    python3 train.py examples.jsonl --base FOLDER --out ../encoder.bin [--layers 6] [--epochs 2] [--start ../encoder.bin]
    python3 train.py examples.jsonl --start ../encoder.bin --out ../encoder.bin [--epochs 0] [--keep 0.67]
    python3 train.py examples.jsonl --base FOLDER --layers 8 --previous ../encoder.bin --out ../encoder-large.bin

Needs torch and transformers. The base is an English BERT or MPNet model of Hugging Face's layout: vocab.txt, config.json and weights. Words of
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

from base import load
from calibration import FEWEST_WORDS, LONG_HANDICAPS, LONG_HANDICAPS_OF_LARGE, MOST_WORDS, PREVIOUS_WEIGHT, READ, READ_BY_LARGE, SURE_DOMAIN
from calibration import calibrate, calibrate_domains, handicaps, lowest_open, moved
from changes import Changes
from encoder_file import checksum, mean, outputs_and_limits, rounded, write
from heads import CRISIS, fit, is_known, previous_scores, share, weight
from labels import CASES, CATEGORIES, DOMAINS, LEFT_OUT, OUTPUTS, targets
from network import CONFIG, Encoder, load_encoder, padded, windows_and_domains
from pieces import BasePieces

# Weight of each output's error: the card decides.
COSTS = [0.3, 1.5, 0.5, 0.5, 0.3] + [0.5] * len(CATEGORIES)
DOMAIN_COST = 0.6
BATCH = 48
# How often the grammar's cases, and the rows of `--repeated`, stand among an epoch's rows.
REPEATED = 3
# Words from one passage of a long crisis to the next one that is looked at.
STRIDE = 40


def is_trained(row):
    """The grammar's cases are no evidence, so none is left out."""
    return row["fold"] != LEFT_OUT or row["form"] == CASES


def located(model, rows, pieces):
    """Of crises that are longer than a passage the one in which the model finds the most danger, in place of the whole. Where it finds none, nobody knows
    in which the danger stands, and `is_known` leaves the message out."""
    long = [(at, row["words"]) for at, row in enumerate(rows) if is_trained(row) and not is_known(row)]
    starts = lambda words: [*range(0, len(words) - Changes.MOST_WORDS, STRIDE), len(words) - Changes.MOST_WORDS]
    parts = [(at, words[start : start + Changes.MOST_WORDS]) for at, words in long for start in starts(words)]
    numbers = [pieces.numbers(part) for _, part in parts]
    scores = np.zeros(len(parts))
    model.eval()
    order = sorted(range(len(parts)), key=lambda part: len(numbers[part]))
    with torch.inference_mode():
        for batch in (order[start : start + BATCH] for start in range(0, len(order), BATCH)):
            scores[batch] = model(*padded([numbers[part] for part in batch]))[:, CRISIS].float().numpy()
    result = list(rows)
    # The most dangerous passage is the last of a row to be written.
    for part in np.argsort(scores)[(scores <= 0).sum() :]:
        at, words = parts[part]
        result[at] = rows[at] | {"words": words}
    return result


def epoch(rows, changes, pieces, repeated, rest):
    """Batches of row numbers and pieces: messages of like length together, in random order. Rows whose file begins with one of `repeated` stand
    there as often as the grammar's cases, of the others the share `rest`."""
    is_repeated = lambda row: row["form"] == CASES or row["brief"].startswith(repeated)
    part = lambda row: share(row) * (1 if is_repeated(row) else rest)
    chosen = [index for index, row in enumerate(rows) if is_trained(row) and is_known(row) and random.random() < part(row)]
    chosen += [index for index in chosen if is_repeated(rows[index])] * (REPEATED - 1)
    random.shuffle(chosen)
    result = []
    for start in range(0, len(chosen), BATCH * 50):
        group = [(index, pieces.numbers(changes(rows[index]))) for index in chosen[start : start + BATCH * 50]]
        group.sort(key=lambda entry: len(entry[1]))
        result += [group[at : at + BATCH] for at in range(0, len(group), BATCH)]
    random.shuffle(result)
    return [([index for index, _ in batch], [text for _, text in batch]) for batch in result]


def train(model, rows, pieces, epochs, rate, repeated=(), rest=1):
    rows = located(model, rows, pieces)
    wanted = torch.tensor([targets(row) for row in rows])
    domains = torch.tensor([DOMAINS.index(row["domain"]) if row["domain"] else -1 for row in rows])
    weights = torch.tensor([weight(row) for row in rows])
    changes, costs = Changes([row for row in rows if is_trained(row)]), torch.tensor(COSTS)
    plan = [batch for _ in range(int(np.ceil(epochs))) for batch in epoch(rows, changes, pieces, repeated, rest)]
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


def after(path, rows):
    """The rows as the small encoder leaves them to the large one, and the score for a crisis at which danger is open. `score` and `linear` of a row
    are the small one's, in place of the linear models'; `read` says whether danger or the domain is open, `routed` whether that one routes it."""
    model, pieces = load_encoder([path])
    windows, domains = windows_and_domains(rounded(model.merged()), rows, pieces)
    outputs, (_, _, linear, linear_domains, terms, _, *of_long) = outputs_and_limits(path)
    weights, offset = (parameter.detach().numpy()[CRISIS] for parameter in (model.head.weight, model.head.bias))
    crisis = windows.highest(weights, offset)[0] + linear * previous_scores(rows) - handicaps(rows, *of_long)
    slopes, offsets = np.array([output[1:3] for output in outputs]).T
    crisis = 1 / (1 + np.exp(-(slopes[CRISIS] * crisis + offsets[CRISIS])))
    domains = domains * slopes[len(OUTPUTS) :] + offsets[len(OUTPUTS) :]
    surest = torch.from_numpy(domains).softmax(1).amax(1).numpy()
    rows = [row | {"score": float(score)} for row, score in zip(rows, crisis)]
    lowest = lowest_open(rows, READ_BY_LARGE)
    for row, of_domains, sure in zip(rows, domains, surest):
        if "linear" in row:
            sums = of_domains + linear_domains * np.array(row["linear"]) + terms * np.array(row["terms"])
            probability = np.exp(sums - sums.max()) / np.exp(sums - sums.max()).sum()
            is_domain = DOMAINS[probability.argmax()] != "none"
            row["linear"], row["routed"] = sums.tolist(), bool(is_domain and probability.max() >= outputs[-1][3])
        is_domain_open = sure < SURE_DOMAIN and len(row["words"]) <= MOST_WORDS
        is_open = row["score"] >= lowest or row["grammar"] >= 1 or is_domain_open
        row["read"] = bool(is_open and len(row["words"]) >= FEWEST_WORDS)
    return rows, lowest


def finish(model, rows, cases, pieces, previous):
    """Fits the outputs for danger anew, also to the grammar's cases, and calibrates all by the others, which were not trained on. Those of the large
    encoder, which has seen each row twice or thrice, stay as trained. Returns what `write` takes."""
    both, lowest_score = after(previous, rows + cases) if previous else (rows + cases, lowest_open(rows, READ))
    rows = both[: len(rows)]
    windows, scores = windows_and_domains(model, both, pieces)
    weights, offsets = (parameter.detach().numpy()[: len(OUTPUTS)] for parameter in (model.head.weight, model.head.bias))
    if previous:
        linear = PREVIOUS_WEIGHT
        unseen = np.stack([windows.highest(*output)[0] for output in zip(weights, offsets)], 1)
        unseen[:, CRISIS] += linear * previous_scores(both)
    else:
        weights, offsets, linear, unseen = fit(both, windows, weights, offsets)
    of_long = LONG_HANDICAPS_OF_LARGE if previous else LONG_HANDICAPS
    unseen[:, CRISIS] -= handicaps(both, *of_long)
    with torch.inference_mode():
        model.head.weight[: len(OUTPUTS)], model.head.bias[: len(OUTPUTS)] = torch.from_numpy(weights), torch.from_numpy(offsets)
    outputs, confirmed = calibrate(rows, unseen[: len(rows)], lowest_score)
    domains, shares = calibrate_domains(rows, scores[: len(rows)])
    return outputs + domains, (lowest_score, confirmed, linear) + shares + (SURE_DOMAIN if previous else 0,) + of_long


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
    parser.add_argument("--repeated", nargs="+", default=[], metavar="FILE", help="how names of files begin whose rows count three times")
    parser.add_argument("--rest", type=float, default=1, help="the share of all other rows")
    parser.add_argument("--start", nargs="+", help="a file of --out to begin with, or several: with the mean of their weights")
    parser.add_argument("--keep", type=float, metavar="CARD", help="only adds words of glosses.tsv to --start, and sets the threshold for cards")
    parser.add_argument("--bfloat16", action="store_true", help="half the time, on processors that have it")
    parser.add_argument("--previous", help="encoder.bin, with every option for the large encoder, which reads what that one leaves open")
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
    meanings = glosses(Path(__file__).with_name("glosses.tsv"))
    if options.base:
        pieces = BasePieces(options.base, rows, meanings)
        bert, position_bias = load(options.base, options.layers, **CONFIG)
        model = Encoder(bert, pieces, position_bias)
        if options.start:
            _, vectors, state, _ = mean(options.start)
            model.start(vectors, state, pieces)
    else:
        model, pieces = load_encoder(options.start, meanings)
    model.bfloat16 = options.bfloat16
    if options.frozen:
        model.bert.embeddings.requires_grad_(False)
        model.bert.encoder.layer[: options.frozen].requires_grad_(False)
    if options.epochs:
        train(model, rows, pieces, options.epochs, options.rate, tuple(options.repeated), options.rest)
    rounded(model.merged())
    cases = [row for row in rows if row["form"] == CASES]
    left_out = [row for row in rows if row["fold"] == LEFT_OUT and row["form"] != CASES]
    if options.keep:
        outputs, limits = moved(*outputs_and_limits(options.start[0]), options.keep)
    else:
        outputs, limits = finish(model, left_out, cases, pieces, options.previous)
    write(model, pieces, outputs, limits, options.out, options.previous and checksum(options.previous))
    if options.golden:
        golden(model, [row for row in left_out if len(row["words"]) < 50][::700], pieces, options.golden)


if __name__ == "__main__":
    main()
