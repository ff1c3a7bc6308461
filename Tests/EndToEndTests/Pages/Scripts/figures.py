"""Reads the costs of all turns from the screen.

Arguments: origin, an operator's token; of the database: cost, turns, and by the name of a group a list of [name on the screen, turns, cost, input tokens,
output tokens].
"""

import json
import sys
from decimal import Decimal

from browser import LAPTOP, Browser
from operators import ALLOWED, cells, figure, sign_in

origin, token, cost, turns, rows = sys.argv[1:]


def row(texts):
    """A name and figures; 0 where there is none."""
    name, *figures = texts
    return [name, *(Decimal(0 if text in (None, "–") else text) for text in figures)]


with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/operator")
    sign_in(browser, token)
    browser.wait("the overview", lambda: browser.all("#navigation a"))
    for by, expected in json.loads(rows).items():
        browser.open(f"/operator/costs?by={by}")
        found = (figure(browser, "Turns"), Decimal(figure(browser, "Cost")))
        assert found == (turns, Decimal(cost)), (by, found)
        shown = cells(browser, "By ", (by.capitalize(), "Turns", "Cost", "Input tokens", "Output tokens"))
        assert sorted(map(row, shown)) == sorted(map(row, expected)), (by, shown, expected)
        browser.check(f"costs-by-{by}", allowed=ALLOWED)
    browser.require_no_problems()
print("done")
