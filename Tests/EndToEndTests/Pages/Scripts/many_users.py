"""Looks at costs of more users than an answer has.

Arguments: origin, an operator's token, and of the database: cost, turns and number of the users.
"""

import csv
import io
import sys
from decimal import Decimal

from browser import LAPTOP, Browser
from operators import ALLOWED, figure, figures, sign_in

origin, token, cost, turns, users = sys.argv[1:]
KEEP_FILES = "const make = URL.createObjectURL; URL.createObjectURL = (file) => { window.file = file; return make.call(URL, file); };"


def total(browser):
    browser.open("/operator/costs?by=user")
    found = figure(browser, "Cost")
    return (Decimal(found), figure(browser, "Turns")) if found else None


with Browser(origin) as browser:
    browser.before_documents(KEEP_FILES)
    browser.look(LAPTOP, "light")
    browser.open("/operator")
    sign_in(browser, token)
    browser.wait("the overview", lambda: browser.all("#navigation a"))
    # Figures are up to five seconds behind.
    browser.wait("the figures", lambda: total(browser) == (Decimal(cost), turns))

    # The table has a part; the total is of all.
    shown = figures(browser, ["Cost"])
    assert len(shown) == 1000 < int(users) and sum(value for value, in shown) < Decimal(cost), len(shown)
    assert "Shown are the first 1,000" in browser.text("main .card"), browser.text("main .card")[:500]
    assert not browser.all("main .card:first-of-type canvas"), "a chart of a part"

    browser.check("many-users", allowed=ALLOWED)

    # The file has all.
    browser.script("document.querySelector('main .card button[aria-label^=Save]').click()")
    browser.wait("the file", lambda: browser.script("return Boolean(window.file)"))
    text = browser.driver.execute_async_script("window.file.text().then(arguments[0])")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len({row["user_id"] for row in rows}) == len(rows) == int(users), len(rows)
    assert sum(Decimal(row["cost_usd"]) for row in rows) == Decimal(cost)
    assert sum(int(row["turns"]) for row in rows) == int(turns)

    # Fewer users have a chart.
    browser.open("/operator/costs?by=model")
    assert browser.all("main .card canvas")
    browser.check("fewer-users", allowed=ALLOWED)
    browser.require_no_problems()
print("done")
