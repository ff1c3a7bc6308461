"""Signs in to the dashboard and uses it.

Arguments: origin, an operator's token, cost and turns of the database, the same of the last seven days, which are less, the id of a user, a text to put
into a prompt.
"""

import datetime
import sys
import urllib.error
import urllib.request
from decimal import Decimal

from browser import LAPTOP, LOOKS, PHONE, Browser
from operators import cells, figure, follow, sign_in

origin, token, cost, turns, cost_of_week, turns_of_week, user, marker = sys.argv[1:]


def has_costs(browser, cost, turns):
    found = figure(browser, "Cost")
    return found is not None and Decimal(found) == Decimal(cost) and figure(browser, "Turns") == turns


def show_costs(browser):
    browser.open("/operator/costs")
    return has_costs(browser, cost, turns)


def session(browser, method):
    """Ends the session or begins another one, as another tab would, and returns the status."""
    return browser.script(
        "return fetch('/operator/session', { method: arguments[0], headers: arguments[1] }).then(({ status }) => status)",
        method, {"authorization": f"Bearer {token}"} if method == "POST" else {})


def require_edits_kept(browser, field):
    """What was typed into a field stays in another colour scheme, until somebody agrees to leave it, and when the session has ended."""
    browser.all(field)[0].send_keys(" edited")
    kept = browser.value(field)
    for scheme in ("dark", "light"):
        browser.change_look(LAPTOP, scheme)
    browser.script("document.querySelector('.skip').click()")
    assert browser.value(field) == kept, "the view was drawn again"
    browser.click_link_and_answer("Costs", accept=False)
    assert browser.value(field) == kept and "configuration" in browser.driver.current_url
    browser.fill("input[name=reason]", "the session has ended")
    assert session(browser, "DELETE") == 204
    browser.click("Save a new version")
    browser.wait("what is wrong", lambda: "Your session has ended" in browser.text(".editor .problem"))
    assert browser.value(field) == kept
    assert session(browser, "POST") == 201
    browser.fill(field, kept.removesuffix(" edited"))


def require_figures_kept(browser):
    """A refresh that fails leaves the figures, and says so above them; the next one that does not takes that back."""
    browser.open("/operator/costs")
    problem = "#content > .problem"
    browser.script("window.kept = fetch; window.fetch = () => Promise.reject(new TypeError('no network'));")
    browser.look(LAPTOP, "dark")
    browser.wait("what is wrong", lambda: "cannot be reached" in browser.text(problem))
    assert figure(browser, "Turns") == turns
    browser.script("window.fetch = window.kept")
    browser.look(LAPTOP, "light")
    browser.wait("newer figures", lambda: not browser.all(problem) and figure(browser, "Turns") == turns)


def require_figures(browser):
    assert not browser.all("main [role=alert].problem"), f"{browser.driver.current_url}: {browser.text('main')}"


with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/docs")
    browser.check("docs")
    browser.open("/operator/costs?days=7")
    assert browser.all("form[action='/operator/session']"), "the form to sign in"
    browser.check("sign-in")
    sign_in(browser, "not-a-token")
    browser.wait("a problem", lambda: browser.all(".problem"))
    browser.check("sign-in-problem", allowed=("/operator/session",))
    sign_in(browser, token)
    # The view that was asked for, also after a wrong token.
    browser.wait("the view", lambda: browser.driver.current_url.endswith("/operator/costs?days=7") and browser.all("#navigation a"))
    browser.settle()
    cookie = browser.driver.get_cookie("coach_operator")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and not cookie["secure"], cookie
    assert browser.script("return document.cookie") == ""
    assert browser.script("return Boolean(window.Chart)"), "Chart.js with its hash"

    # Figures are up to five seconds behind.
    browser.wait("the database's figures", lambda: show_costs(browser))
    assert browser.all("canvas"), "a chart beside the table"

    # Another period, which is in the address: one turn is older.
    assert Decimal(cost_of_week) < Decimal(cost) and turns_of_week != turns, (cost_of_week, turns_of_week)
    for days, expected in (("7", (cost_of_week, turns_of_week)), ("30", (cost, turns))):
        browser.click(f"{days} days")
        browser.wait(f"the figures of {days} days", lambda: has_costs(browser, *expected))
        assert f"days={days}" in browser.driver.current_url
    browser.open("/operator/costs?from=2020-01-01&to=2020-01-31")
    assert "Nothing in this period." in browser.text("main")
    # Rows of days on which nothing happened.
    browser.open("/operator/usage?from=2020-01-01&to=2020-01-31")
    assert "Nothing in this period." in browser.text("main") and not browser.all("main td") and not browser.all("canvas")

    # Dates are typed digit by digit, and sent when they are in order.
    browser.open("/operator/costs?days=30")
    browser.click("Dates")
    browser.settle()
    opened = browser.driver.current_url
    for year in (2019, 2020):
        browser.open(opened.removeprefix(origin))
        for field, date in zip(browser.all(".dates input"), ("01022020", f"0131{year}")):
            field.send_keys(date)
        browser.click("Show")
        if year == 2019:
            assert browser.driver.current_url == opened and browser.all(".dates input:invalid"), browser.driver.current_url
    browser.wait("the days", lambda: browser.driver.current_url.endswith("from=2020-01-02&to=2020-01-31"))
    require_figures_kept(browser)
    # Turns without a persona have a name, and so has the list of their calls.
    browser.open("/operator/costs?by=persona&days=30")
    assert cells(browser, "By persona", ["Persona"]) == [["No persona"]]
    assert follow(browser, "By persona", "No persona")
    browser.wait("its calls", lambda: browser.text(".remark").endswith(" · No persona"))
    note = "/operator/calls?from=2020-01-01&to="
    for to, text in (("2020-01-31", "1 Jan 2020 to 31 Jan 2020"), ("2020-01-31T00:00:00Z", "1 Jan 2020 to 30 Jan 2020")):
        browser.open(note + to)
        assert browser.text(".remark") == text, browser.text(".remark")
    for error, text in (("true", "1 Jan 2020 · Counted as errors"), ("false", "1 Jan 2020")):
        browser.open(f"{note}2020-01-01&error={error}")
        assert browser.text(".remark") == text, browser.text(".remark")
    browser.open(f"{note}2020-01-01&domain=&tier=&model=")
    assert browser.text(".remark") == "1 Jan 2020 · No model · Domain General · Tier None", browser.text(".remark")
    browser.open("/operator/none")
    assert browser.all("#navigation a"), "no way to the other views"
    assert browser.driver.title.startswith("There is no such view"), browser.driver.title
    browser.open("/operator?days=30")
    assert "Active in 30 days" in browser.text(".tiles"), browser.text(".tiles")

    # Weeks of a long period have their places in a chart, also those in which nothing happened.
    last = datetime.datetime.now(datetime.timezone.utc).date()
    first = last - datetime.timedelta(days=200)
    browser.open(f"/operator/costs?from={first}&to={last}")
    weeks = browser.script("return Chart.getChart(document.querySelector('canvas')).data.labels.length")
    assert weeks == (last - first + datetime.timedelta(days=first.weekday())).days // 7 + 1, weeks

    # Every view at both widths and in both colour schemes.
    names = browser.script("return [...document.querySelectorAll('#navigation a')].map((link) => new URL(link.href).pathname)")
    assert len(names) == 13, names
    for name in names:
        browser.look(*LOOKS[0])
        browser.open(name)
        for width, scheme in LOOKS:
            if (width, scheme) != LOOKS[0]:
                browser.change_look(width, scheme)
            require_figures(browser)
            # A period that begins before the ledger cannot be compared.
            browser.check(f"{name.rsplit('/', 1)[-1]}-{width}-{scheme}", allowed=("compare=previous",))
    # The figures of a day by the hour, on the phone.
    browser.look(PHONE, "dark")
    for name in names:
        browser.open(f"{name}?days=1")
        require_figures(browser)
    browser.click("Menu")
    browser.check("menu")
    browser.look(LAPTOP, "light")

    # A domain: what is wrong is shown at its field; what is right is compared, saved, and listed.
    browser.open("/operator/configuration?document=domain-configs/fitness")
    tone, prompt = "textarea[name=tone]", "textarea[name=system_prompt]"
    kept = browser.value(tone)
    browser.fill(tone, "")
    browser.click("Check and compare")
    browser.wait("the finding", lambda: "tone" in browser.text(".findings"))
    assert "body" not in browser.text(".findings"), "its field once"
    browser.fill(tone, kept)
    browser.fill(prompt, f"{browser.value(prompt)}\n\n{marker}")
    browser.click("Check and compare")
    browser.wait("the difference", lambda: marker in browser.text(".change ins"))
    assert "/system_prompt" in browser.text(".change")
    browser.check("difference", allowed=("status of 422",))
    # Nothing is changed without a reason.
    before = browser.text(".editor header")
    for reason in ("", "  "):
        browser.fill("input[name=reason]", reason)
        browser.click("Save a new version")
        assert browser.script("return document.activeElement.matches('input[name=reason]:invalid')"), reason
    require_edits_kept(browser, tone)
    browser.fill("input[name=reason]", "tried in a browser")
    browser.click("Save a new version")
    browser.wait("the next version", lambda: browser.text(".editor header") not in ("", before))
    assert "version 2" in browser.text(".editor header"), "saved without a reason"
    browser.wait("the reason", lambda: "tried in a browser" in browser.text("main"))
    browser.open("/operator/audit")
    assert "domain/fitness" in browser.text("main") and "tried in a browser" in browser.text("main")

    # An earlier version of the limits, again with a reason.
    browser.open("/operator/configuration?document=limits")
    # The new version is saved, though the page cannot show it.
    browser.all("input[name=reason]")[0].send_keys("the same limits")
    assert browser.all("form[data-unsaved]")
    browser.script(
        """window.kept = fetch;
        window.fetch = (url, options) => options.method === "PUT" ? kept(url, options) : Promise.reject(new TypeError("no network"));""")
    browser.click("Save a new version")
    browser.wait("what is wrong", lambda: "cannot be reached" in browser.text("#content > .problem"))
    assert not browser.all("form[data-unsaved]")
    browser.open("/operator/configuration?document=limits")
    browser.wait("version 2", lambda: "version 2" in browser.text(".editor header"))
    # Not without a question while there is something to be saved.
    browser.all("input[name=reason]")[0].send_keys("not saved")
    assert "without saving" in browser.click_and_answer("Restore", None)
    assert browser.value("input[name=reason]") == "not saved"
    # Nor does a session that has ended take it away.
    assert session(browser, "DELETE") == 204
    for count, button in enumerate(("Compare", "CSV"), 1):
        browser.click(button)
        browser.wait(f"what is wrong with {button}", lambda: browser.text("main").count("Your session has ended") == count)
    assert browser.value("input[name=reason]") == "not saved"
    assert session(browser, "POST") == 201
    browser.click_link_and_answer("Costs", accept=True)
    browser.open("/operator/configuration?document=limits")
    assert "Make version 1" in browser.click_and_answer("Restore", None)
    browser.click_and_answer("Restore", " put back in a browser ")
    browser.wait("version 3", lambda: "version 3" in browser.text(".editor header"))
    browser.wait("its reason", lambda: "put back in a browser" in browser.text("main"))

    # An account.
    browser.open("/operator/users?id=00000000-0000-4000-8000-000000000000")
    assert "There is no such user." in browser.text("main")
    browser.open("/operator/costs?by=user")
    assert follow(browser, "By user", f"{user[:8]}…", "th a"), "a link to the account"
    browser.settle()
    assert browser.driver.current_url.endswith(f"/operator/users?id={user}") and user in browser.text(".pair")
    browser.fill("input[name=reason]", "tried in a browser")
    browser.click("Suspend")
    browser.wait("the suspension", lambda: "All their requests are accepted again" in browser.text("main"))
    browser.fill("input[name=reason]", "tried in a browser")
    browser.click("End the suspension")
    browser.wait("the end of it", lambda: "All their requests are refused" in browser.text("main"))
    # The change that was refused without a session.
    browser.check("user", allowed=("status of 401",))

    browser.click("Sign out")
    browser.wait("the form to sign in", lambda: browser.all("textarea[name=token]"))
    assert browser.driver.get_cookie("coach_operator") is None
    request = urllib.request.Request(f"{origin}/api/v1/operator/audit", headers={"Cookie": f"coach_operator={cookie['value']}"})
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
        raise AssertionError("the session is still open")
    except urllib.error.HTTPError as error:
        assert error.code == 401, error
    browser.require_no_problems()
print("done")
