"""Sets slopes, thresholds and weights of the outputs from rows that were not trained on."""

import numpy as np
import torch
from torch import nn

from labels import DOMAINS, FORMS, OUTPUTS, targets

# Shares of false alarms at which the thresholds are set: of ordinary messages and of hard negatives.
CARD = (0.009, 0.08)
AFTER_CONCERN = (0.03, 0.15)
CONCERN = (0.02, 0.12)
# Share of ordinary messages in which danger counts as open: they are encoded however busy the gateway is.
READ = 0.15
# The same for the large encoder, and the probability of a domain by the small one below which the domain is open.
READ_BY_LARGE = 0.1
SURE_DOMAIN = 0.7
# What the large one adds to its own score for a crisis of the small one's.
PREVIOUS_WEIGHT = 2
# A message with fewer is not encoded, one with more not as a whole, see MessageAssessor and MessageEncoder.
FEWEST_WORDS = 3
MOST_WORDS = 80
# Taken from the scores for a crisis of messages of more than LONG_MESSAGE words, and of those that are read in passages, see MessageEncoder: of the small
# encoder, and of the large one.
LONG_MESSAGE = 48
LONG_HANDICAPS = (0.5, 0.5)
LONG_HANDICAPS_OF_LARGE = (1, 0)
# Of messages that are routed, the share that is routed rightly; of foreign ones, the share that is not routed.
ROUTED = 0.96
FOREIGN = 0.95
# Minimum weight of the terms beside the encoder, so that one which an operator adds has an effect.
TERMS = 0.25
# Share of the imminent messages with a card whose card is the acute one.
ACUTE = 0.87


def logistic(columns, wanted):
    """Weights of the columns of a logistic regression, by Newton's method."""
    columns = np.stack(columns, 1)
    weights = np.zeros(columns.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-columns @ weights))
        curvature = (columns * (p * (1 - p))[:, None]).T @ columns + 1e-6 * np.eye(len(weights))
        weights += np.linalg.solve(curvature, columns.T @ (wanted - p))
    return weights


def platt(values, wanted):
    """Slope and offset of the logistic function from scores to probabilities."""
    return logistic([values, np.ones(len(values))], wanted)


def log_odds(probability):
    return np.log(probability / (1 - probability))


def threshold(free, calm, counted, ordinary, limits):
    """The lowest one at which messages without danger stay within both limits; `counted` have a card in any case."""

    def bound(group, share):
        allowed = int(share * group.sum()) - (group & counted).sum()
        open_ = np.sort(free[group & ~counted])[::-1]
        if allowed < 0:
            raise SystemExit(f"the grammar alone raises more false alarms than the limit of {share}")
        return np.nextafter(np.float32(open_[allowed]), np.float32(2)) if allowed < len(open_) else 0.0

    return max(bound(calm & ordinary, limits[0]), bound(calm & ~ordinary, limits[1]))


def balanced(values, positive):
    order = np.argsort(-values)
    gain = np.cumsum(np.where(positive[order], 1 / max(positive.sum(), 1), -1 / max((~positive).sum(), 1)))
    return values[order][gain.argmax()]


def handicaps(rows, of_long, of_passages):
    words = np.array([len(row["words"]) for row in rows])
    return np.where(words > MOST_WORDS, of_passages, np.where(words > LONG_MESSAGE, of_long, 0))


def lowest_open(rows, share):
    """The score of the previous model at which danger is open."""
    return np.quantile([row["score"] for row in rows if row["plain"] and row["form"] == "ordinary"], 1 - share)


def calibrate(rows, raw, lowest_score):
    """Of each output slope, offset and thresholds, and a limit, from rows that were not trained on. Those that this encoder does not read
    (`read` of a row, of the large one) have no card by it."""
    wanted = np.array([targets(row) for row in rows])
    grammar = np.array([row["grammar"] for row in rows])
    words = np.array([len(row["words"]) for row in rows])
    ours = np.array([row["form"] in FORMS for row in rows])
    counts = np.array([row["plain"] or row["form"] not in FORMS for row in rows])
    ordinary = np.array([row["form"] not in FORMS or row["form"] == "ordinary" for row in rows])
    # Of other sources only what is ordinary for sure.
    sure = np.array([row["form"] in FORMS or row["form"] in ("clinc150", "xstest-safe", "authored") for row in rows])
    calm = counts & sure & np.array([row["label"] == "not-crisis" for row in rows])
    crisis = np.array([row["label"] == "crisis" for row in rows])
    left = np.array([row.get("read", True) for row in rows])
    outputs = []
    probability = np.zeros((len(rows), len(OUTPUTS)))
    for index, name in enumerate(OUTPUTS):
        known = (wanted[:, index] >= 0) & counts & left
        slope, offset = platt(raw[known, index], wanted[known, index])
        probability[:, index] = 1 / (1 + np.exp(-(slope * raw[:, index] + offset)))
        outputs.append([name, slope, offset, 0.5, 0.5])
    card = probability[:, OUTPUTS.index("crisis")]
    read = (words >= FEWEST_WORDS) & left
    # What a hit of the grammar at tier 2 says beside the score: such a message needs a lower one.
    hit, judged = grammar == 2, counts & read & (grammar < 3) & (crisis | calm)
    _, of_hit, _ = logistic([log_odds(card[judged]), hit[judged].astype(float), np.ones(judged.sum())], crisis[judged])
    free = np.where(read, 1 / (1 + np.exp(-log_odds(card) - np.where(hit, of_hit, 0))), 0)
    counted = (grammar >= 3) | (hit & ~read)
    chosen = threshold(free, calm, counted, ordinary, CARD)
    confirmed = 1 / (1 + np.exp(of_hit - log_odds(chosen)))
    after = threshold(free, calm, counted, ordinary, AFTER_CONCERN)
    outputs[1][3:] = [chosen, after]
    none = np.zeros(len(rows), bool)
    outputs[0][3] = threshold(np.where(read, probability[:, 0], 0), calm, none, ordinary, CONCERN)
    for name, tier in (("high", 3), ("imminent", 4)):
        index = OUTPUTS.index(name)
        group = crisis & ours & (card >= chosen)
        tiers = np.array([row["tier"] for row in rows])[group]
        outputs[index][3] = balanced(probability[group, index], tiers >= tier)
        if tier == 3:
            outputs[index][3] = min(outputs[index][3], np.quantile(probability[group, index][tiers == 4], 1 - ACUTE))
        called = probability[group, index] >= outputs[index][3]
        print(f"{name}: " + ", ".join(f"{called[tiers == t].mean():.2f} of tier {t}" for t in (2, 3, 4)))
    report(rows, read & ((grammar >= 2) | (np.array([row["score"] for row in rows]) >= lowest_score)), counted | (free >= chosen), counts)
    print(f"thresholds: open {lowest_score:.4f}, confirmed {confirmed:.4f}, card {chosen:.4f}, after concern {after:.4f}")
    return outputs, confirmed


def moved(outputs, limits, card):
    """The outputs and limits of a file with another threshold for cards, and the one for hits of the grammar as far from it as it was."""
    outputs = [[name, *values] for name, *values in outputs]
    crisis = outputs[OUTPUTS.index("crisis")]
    distance = log_odds(card) - log_odds(crisis[3])
    crisis[3] = card
    confirmed = 1 / (1 + np.exp(-log_odds(limits[1]) - distance))
    return outputs, [limits[0], confirmed, *limits[2:]]


def calibrate_domains(rows, raw):
    """The outputs of domains, and the weights of the previous model's and the terms' scores: those of the highest likelihood of the softmax of the
    sum. The threshold counts those messages, too, that the previous encoder routes and this one does not read."""
    encoded = lambda row: row["domain"] and "linear" in row and row["plain"] and FEWEST_WORDS <= len(row["words"]) <= MOST_WORDS
    known = [index for index, row in enumerate(rows) if encoded(row) and row.get("read", True)]
    settled = [row for row in rows if encoded(row) and not row.get("read", True) and row["routed"]]
    settled_rightly = sum(DOMAINS[np.argmax(row["linear"])] == row["domain"] for row in settled)
    foreign_rows = sum(row["domain"] == "none" for row in rows if encoded(row))
    target = torch.tensor([DOMAINS.index(rows[index]["domain"]) for index in known])
    parts = np.stack([raw[known], [rows[index]["linear"] for index in known], [rows[index]["terms"] for index in known]], 1)
    parts, logs = torch.from_numpy(parts).float(), torch.zeros(3, requires_grad=True)
    optimiser = torch.optim.LBFGS([logs], max_iter=100)

    def total():
        return (parts * (logs.exp() + torch.tensor([0, 0, TERMS]))[None, :, None]).sum(1)

    def loss():
        optimiser.zero_grad()
        value = nn.functional.cross_entropy(total(), target)
        value.backward()
        return value

    optimiser.step(loss)
    slope, linear, terms = logs.exp().tolist()
    terms += TERMS
    probability = torch.softmax(total(), 1).detach().numpy()
    target, best, highest = target.numpy(), probability.argmax(1), probability.max(1)
    none = DOMAINS.index("none")
    order = np.array([index for index in np.argsort(-highest) if best[index] != none])
    rightly = settled_rightly + np.cumsum(best[order] == target[order])
    right = rightly >= ROUTED * (len(settled) + np.arange(1, len(order) + 1))
    foreign = highest[order][target[order] == none]
    allowed = int((1 - FOREIGN) * foreign_rows) - sum(row["domain"] == "none" for row in settled)
    threshold = max(
        highest[order][right].min() if right.any() else 1,
        np.nextafter(np.float32(foreign[allowed]), np.float32(2)) if allowed < len(foreign) else 0,
    )
    shown = order[highest[order] >= threshold]
    both = (settled_rightly + (best[shown] == target[shown]).sum()) / (len(settled) + len(shown))
    print(
        f"domains: {len(known)} rows, slope {slope:.2f}, linear {linear:.2f}, terms {terms:.2f}, threshold {threshold:.3f}, {both:.3f} rightly with "
        f"the {len(settled)} that the previous encoder routes: "
        f"{(target[shown] != none).sum()} of {(target != none).sum()} routed, {(best[shown] == target[shown]).mean():.3f} rightly, "
        f"and {(target[shown] == none).sum()} of {(target == none).sum()} foreign ones"
    )
    return [[name, slope, 0, threshold, threshold] for name in DOMAINS], (linear, terms)


def report(rows, read, shown, counts):
    strata = {}
    for row, is_read, has_card, is_counted in zip(rows, read, shown, counts):
        names = [row["label"], f"{row['label']}, {row['form']}", f"{row['label']}, {row['lang']}", f"{row['label']}, {row['category']}"]
        for name in names if is_counted else []:
            entry = strata.setdefault(name, [0, 0, 0])
            entry[0] += 1
            entry[1] += is_read
            entry[2] += has_card
    for name, (total, is_read, cards) in sorted(strata.items()):
        print(f"{name}: {total} rows, open {is_read / total:.3f}, with a card {cards / total:.3f}")
