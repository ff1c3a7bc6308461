"""Compares the tables of the dashboard's views with the database.

Arguments: origin, an operator's token, and of the database two lists. The first has {view, table, columns, rows, near}: the beginning of the table's
caption, its columns by their names on the screen, their values in its rows in any order, and how far figures may be from them, as a share. The second
has {view, table, rows, link, list}: values of the first column, and how many rows the link in the row leads to; a selector of the link, and the heading,
the beginning of the caption and a column of what it leads to.
"""

import json
import sys
from decimal import Decimal, InvalidOperation

from browser import LAPTOP, LOOKS, Browser
from operators import ALLOWED, cells, follow, sign_in

origin, token, expected, linked = sys.argv[1:]


def number(text):
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def fits(shown, wanted, near):
    """Whether a cell shows the value: amounts and counts by their number, others by their text."""
    numbers = number(shown), number(str(wanted))
    if None in numbers:
        return shown == str(wanted)
    # Histograms keep whole bins; times are whole milliseconds.
    return abs(numbers[0] - numbers[1]) <= (abs(numbers[1]) * Decimal(near) + 1 if near else 0)


def is_shown(browser, table):
    browser.open(f"/operator/{table['view']}")
    shown = cells(browser, table["table"], table["columns"])
    table["shown"] = shown
    rows = [[str(value) for value in row] for row in table["rows"]]
    return shown is not None and len(shown) == len(rows) and all(
        all(fits(*pair, table.get("near")) for pair in zip(*both)) for both in zip(sorted(shown), sorted(rows)))


def check(browser, name, place):
    """Checks the page that is open, each time as the next of the screens shows it."""
    path = browser.driver.current_url.removeprefix(origin)
    browser.look(*LOOKS[place % len(LOOKS)])
    browser.open(path)
    browser.check(f"{name.partition('?')[0]}-rows-{place}", allowed=ALLOWED)
    browser.look(LAPTOP, "light")


with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/operator")
    sign_in(browser, token)
    browser.wait("the overview", lambda: browser.all("#navigation a"))
    for place, table in enumerate(json.loads(expected)):
        assert table["rows"], table
        # Figures are up to five seconds behind.
        try:
            browser.wait(table["table"], lambda: is_shown(browser, table), seconds=20)
        except AssertionError as error:
            raise AssertionError(f"{table}") from error
        check(browser, table["view"], place)
    for place, table in enumerate(json.loads(linked)):
        assert table["rows"], table
        heading, caption, column = table["list"]
        for name, count in table["rows"]:
            browser.open(f"/operator/{table['view']}")
            assert follow(browser, table["table"], name, table["link"]), (table, name, browser.text("main"))
            browser.settle()
            assert browser.text("h1") == heading and len(cells(browser, caption, [column])) == count, (table, name, browser.text("main"))
        check(browser, heading.lower(), place)
    browser.require_no_problems()
print("done")
