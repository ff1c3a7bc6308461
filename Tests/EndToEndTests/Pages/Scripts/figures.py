"""Reads the costs and errors of all turns from the screen.

Arguments: origin, an operator's token; of the database: cost, turns.
"""

import sys
from decimal import Decimal

from browser import LAPTOP, Browser
from operators import figure, sign_in

origin, token, cost, turns = sys.argv[1:]

with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/operator")
    sign_in(browser, token)
    browser.wait("the overview", lambda: browser.all("#navigation a"))
    for by in ("model", "domain", "tier"):
        browser.open(f"/operator/costs?by={by}")
        found = (figure(browser, "Turns"), Decimal(figure(browser, "Cost")))
        assert found == (turns, Decimal(cost)), (by, found)
    browser.require_no_problems()
print("done")
