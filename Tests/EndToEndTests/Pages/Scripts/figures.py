"""Reads the costs and errors of all turns from the screen.

Arguments: origin, an operator's token; of the database: cost, turns, and by the name of a group a list of [turns, cost, input tokens, output tokens].
"""

import json
import sys
from decimal import Decimal

from browser import LAPTOP, Browser
from operators import figure, figures, sign_in

origin, token, cost, turns, rows = sys.argv[1:]

with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/operator")
    sign_in(browser, token)
    browser.wait("the overview", lambda: browser.all("#navigation a"))
    for by, expected in json.loads(rows).items():
        browser.open(f"/operator/costs?by={by}")
        found = (figure(browser, "Turns"), Decimal(figure(browser, "Cost")))
        assert found == (turns, Decimal(cost)), (by, found)
        shown = figures(browser, ("Turns", "Cost", "Input tokens", "Output tokens"))
        assert sorted(shown) == sorted([Decimal(text or 0) for text in row] for row in expected), (by, shown, expected)
    browser.require_no_problems()
print("done")
