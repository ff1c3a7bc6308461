"""The outputs of the encoder, and what a row says about them."""

LABELS = ["concern", "crisis", "high", "imminent", "other"]
CATEGORIES = ["suicide", "self_harm", "abuse", "violence", "eating_disorder", "psychosis", "substance"]
OUTPUTS = LABELS + CATEGORIES
DOMAINS = ["life_coaching", "career_coaching", "relationships", "mindset", "creativity", "fitness", "leadership", "none"]
FORMS = ["explicit", "implicit", "embedded", "third_person", "past", "denial", "hard_negative", "ordinary"]
# Source of the grammar's own cases (cases.py). They are no evidence of what is found.
CASES = "cases"
# The fold that is not trained on.
LEFT_OUT = 0


def targets(row):
    """1, 0, or -1 where the row says nothing about an output."""
    crisis, calm = row["label"] == "crisis", row["label"] == "not-crisis"
    labels = [
        float(not calm),
        -1 if row["label"] == "distress" else float(crisis),
        float(row["tier"] >= 3),
        float(row["tier"] >= 4),
        float(row["form"] == "third_person") if crisis and row["form"] in FORMS else -1,
    ]
    return labels + [
        float(row["category"] == category) if crisis and row["category"] else (0 if calm else -1) for category in CATEGORIES
    ]
