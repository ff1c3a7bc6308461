"""Looks for texts in the dashboard's views.

Arguments: origin, an operator's token, and a list of {view, selector, text}: the element of the view that must come to show the text.
"""

import json
import sys

from browser import LAPTOP, Browser
from operators import ALLOWED, sign_in

origin, token, expected = sys.argv[1:]


def is_shown(browser, view, selector, text):
    browser.open(f"/operator/{view}")
    return browser.script(
        "return [...document.querySelectorAll(arguments[0])].some(({ innerText }) => innerText.includes(arguments[1]));", selector, text)


with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/operator")
    sign_in(browser, token)
    browser.wait("the overview", lambda: browser.all("#navigation a"))
    for place, wanted in enumerate(json.loads(expected)):
        # Figures are up to five seconds behind.
        browser.wait(f"{wanted}", lambda: is_shown(browser, **wanted), seconds=20)
        browser.check(f"{wanted['view'].partition('?')[0]}-text-{place}", allowed=ALLOWED)
    browser.require_no_problems()
print("done")
