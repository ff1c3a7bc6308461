"""Fits the outputs for danger to messages that the network was not trained on: it is too sure of those that it was."""

import numpy as np
import torch
from torch import nn

from changes import Changes
from labels import FORMS, OUTPUTS, targets

# Strength of the penalty on an output's weights, for values of mean 0 and deviation 1 (less for those that hardly vary).
PENALTY = 1000
# Rows are left out in blocks, because neighbours are of one brief.
BLOCKS = 6
CRISIS = OUTPUTS.index("crisis")


def weight(row):
    """What an error costs: ordinary messages are the most, and hard negatives are half of all rows."""
    return 1 if row["label"] != "not-crisis" else 1.5 if row["form"] == "ordinary" else 0.8


def share(row):
    """Oblique rows say less about how people write: as CrisisTrainer weighs them, they count half."""
    return 1 if row["plain"] or row["form"] not in FORMS else 0.5


def is_known(row):
    """Nobody says in which passage of a long message its danger is."""
    return len(row["words"]) <= Changes.MOST_WORDS or row["label"] == "not-crisis"


def previous_scores(rows):
    """Of the linear model, as MessageEncoder+risk.swift adds them."""
    probability = np.clip([row["score"] for row in rows], 1e-4, 1 - 1e-4)
    return np.log(probability / (1 - probability))


def logistic(values, linear, wanted, weights):
    """Weights of the values, of the linear model's score (which is not penalised), and the offset."""
    columns, result = torch.tensor(values), torch.zeros(values.shape[1] + 2, dtype=torch.float64, requires_grad=True)
    extra, wanted, weights = torch.tensor(linear), torch.tensor(wanted), torch.tensor(weights)
    optimiser = torch.optim.LBFGS([result], max_iter=300, line_search_fn="strong_wolfe")

    def loss():
        optimiser.zero_grad()
        scores = columns @ result[:-2] + extra * result[-2] + result[-1]
        value = nn.functional.binary_cross_entropy_with_logits(scores, wanted, weights, reduction="sum")
        value = value + PENALTY / 2 * (result[:-2] ** 2).sum()
        value.backward()
        return value

    optimiser.step(loss)
    return result.detach().numpy()


class Windows:
    """The vectors of all windows of messages, those of a message side by side."""

    def __init__(self, messages):
        self.vectors = np.concatenate(messages).astype(np.float64)
        self.counts = np.array([len(message) for message in messages])
        self.starts = np.cumsum(self.counts) - self.counts

    def highest(self, weights, offset):
        """Of each message the highest score of a window, and that window's vector."""
        scores = self.vectors @ weights + offset
        order = np.lexsort((scores, np.repeat(np.arange(len(self.counts)), self.counts)))
        chosen = order[self.starts + self.counts - 1]
        return scores[chosen], self.vectors[chosen]


def fit(rows, windows, weights, offsets):
    """Weights and offsets of all outputs for danger, the weight of the linear model's score for a crisis, and the rows' scores by fits that have
    not seen them. A first fit learns from the windows that `weights` and `offsets` choose, the second from those that the first does."""
    linear = previous_scores(rows)
    wanted = np.array([targets(row) for row in rows], np.float64)
    costs = np.array([weight(row) * share(row) for row in rows])
    blocks = np.arange(len(rows)) * BLOCKS // len(rows)
    results, scores = [], np.zeros((len(rows), len(OUTPUTS)))
    for index in range(len(OUTPUTS)):
        known = (wanted[:, index] >= 0) & np.array([is_known(row) for row in rows])
        extra = linear if index == CRISIS else 0 * linear

        def result(part):
            found = weights[index], offsets[index], 0
            for _ in range(2):
                found = logistic_of(windows.highest(*found[:2])[1][part], extra[part], wanted[part, index], costs[part])
            return found

        for block in range(BLOCKS):
            unseen = blocks == block
            of_values, offset, of_linear = result(known & ~unseen)
            scores[unseen, index] = (windows.highest(of_values, offset)[0] + extra * of_linear)[unseen]
        results.append(result(known))
    of_values, of_offsets, of_linear = zip(*results)
    return np.array(of_values), np.array(of_offsets), of_linear[CRISIS], scores


def logistic_of(vectors, linear, wanted, costs):
    """Weights, offset, and the weight of the linear model's score."""
    # A value that hardly varies would get a very large weight, and the others beside it would be rounded to a few of the 8-bit steps.
    mean, deviation = vectors.mean(0), np.maximum(vectors.std(0), max(np.median(vectors.std(0)) / 4, 1e-6))
    result = logistic((vectors - mean) / deviation, linear, wanted, costs)
    weights = result[:-2] / deviation
    return weights, result[-1] - weights @ mean, result[-2]
