"""Prints the verdict of a fault run."""
from collections import Counter, defaultdict


def report(verdict, say):
    """Prints the faults, counts, figures and violations."""
    say("")
    say("What was done")
    for kind, count in Counter(kind for kind, _, _ in verdict.killer.faults).most_common():
        say(f"  {count:5}  {kind}")
    say("")
    say("What was checked")
    verdict.table["gateway kills"] = sum(len(gateway.kills) for gateway in verdict.stage.gateways)
    first = ("gateway kills", "sent", "acknowledged", "found", "lost", "duplicated", "resumed", "stopped", "interrupted", "replayed", "failed")
    rest = sorted(name for name in verdict.table if name not in first)
    for name in (*first, *rest):
        say(f"  {verdict.table[name]:6}  {name}")
    for name, figure in verdict.figures.items():
        say(f"  {name}: {figure}")
    if verdict.record.rejections:
        rejections = ", ".join(f"{name} ({count})" for name, count in sorted(verdict.record.rejections.items()))
        say(f"  rejections that clients waited out: {rejections}")
    say("")
    if not verdict.record.violations:
        say("No violations.")
        return
    say(f"{len(verdict.record.violations)} VIOLATIONS")
    kinds = defaultdict(list)
    for what, turn_id, detail in verdict.record.violations:
        kinds[what].append((turn_id, detail))
    for what, cases in kinds.items():
        say(f"  {what}: {len(cases)}")
        for turn_id, detail in cases[:10]:
            say(f"    {turn_id or ''} {detail}")
