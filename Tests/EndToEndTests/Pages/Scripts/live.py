"""Leaves the costs on the screen while a turn ends: its figures appear by themselves.

Arguments: origin, an operator's token, a user's token. The database has no turn yet.
"""

import json
import sys
import urllib.request
from decimal import Decimal

from browser import LAPTOP, Browser
from operators import ALLOWED, figure, sign_in

origin, token, user_token = sys.argv[1:]
# The view's own timer, which stands in for lost events, would hide that they do not come.
WITHOUT_TIMER = "const later = setTimeout; setTimeout = (run, wait, ...more) => (wait > 10_000 ? 0 : later(run, wait, ...more));"


def say(message):
    """Makes a turn and reads it to its end."""
    request = urllib.request.Request(
        f"{origin}/functions/v1/chat-stream", json.dumps({"message": message}).encode(),
        {"Authorization": f"Bearer {user_token}", "Content-Type": "application/json"})
    answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read().decode()
    assert '"type":"done"' in answer, answer


with Browser(origin) as browser:
    browser.before_documents(WITHOUT_TIMER)
    browser.look(LAPTOP, "light")
    browser.open("/operator/costs")
    sign_in(browser, token)
    browser.wait("the costs", lambda: browser.driver.current_url.endswith("/operator/costs") and browser.all("#navigation a"))
    browser.settle()
    assert "Nothing in this period." in browser.text("main")
    browser.script("window.isSameDocument = true")
    costs = []
    for turns in ("1", "2"):
        say("How do I begin?")
        browser.wait(f"{turns} turns on the screen", lambda: figure(browser, "Turns") == turns)
        costs.append(Decimal(figure(browser, "Cost")))
    assert 0 < costs[0] < costs[1], costs
    assert browser.script("return window.isSameDocument"), "the page was loaded again"
    browser.check("live", allowed=ALLOWED)
    browser.require_no_problems()
print("done")
