"""Fits the outputs for danger to messages that the network was not trained on: it is too sure of those that it was."""

import numpy as np
import torch
from torch import nn

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


def linear_scores(rows):
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


def fit(rows, vectors):
    """Weights and offsets of all outputs for danger, the weight of the linear model's score for a crisis, and the rows' scores by fits that have
    not seen them."""
    vectors = vectors.astype(np.float64)
    # A value that hardly varies would get a very large weight, and the others beside it would be rounded to a few of the 8-bit steps.
    mean, deviation = vectors.mean(0), np.maximum(vectors.std(0), max(np.median(vectors.std(0)) / 4, 1e-6))
    values, linear = (vectors - mean) / deviation, linear_scores(rows)
    wanted = np.array([targets(row) for row in rows], np.float64)
    costs = np.array([weight(row) * share(row) for row in rows])
    blocks = np.arange(len(rows)) * BLOCKS // len(rows)
    fitted, scores = [], np.zeros((len(rows), len(OUTPUTS)))
    for index in range(len(OUTPUTS)):
        known, extra = wanted[:, index] >= 0, linear if index == CRISIS else 0 * linear
        result = lambda part: logistic(values[part], extra[part], wanted[part, index], costs[part])
        for block in range(BLOCKS):
            unseen = blocks == block
            by = result(known & ~unseen)
            scores[unseen, index] = values[unseen] @ by[:-2] + extra[unseen] * by[-2] + by[-1]
        fitted.append(result(known))
    fitted = np.array(fitted)
    weights = fitted[:, :-2] / deviation
    return weights, fitted[:, -1] - weights @ mean, fitted[CRISIS, -2], scores
