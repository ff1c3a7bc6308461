"""Uses live views with answers of this script in place of the gateway's: rows come, and requests fail, when it wants.

Arguments: origin, an operator's token.
"""

import datetime
import sys

from browser import PHONE, Browser
from operators import ALLOWED, sign_in

origin, token = sys.argv[1:]

# An answer is the rows of a request, such as "GET reports", or a function of its query that makes them, or its error, and `status`: 0 fails, and "none" never
# comes. One that `isSlow` comes when what is in `waiting` is called. `asked`: the number of answers.
ANSWERS = """window.asked = 0;
window.answers = {};
window.waiting = [];
const ask = fetch;
window.fetch = async (url, options = {}) => {
  const answer = answers[`${options.method ?? "GET"} ${new URL(url, location.href).pathname.split("/operator/").at(-1)}`];
  if (!answer) return ask(url, options);
  asked += 1;
  if (answer.isSlow) await new Promise((resolve) => waiting.push(resolve));
  const { status = 200, rows = [], error = null, hasNext = false } = answer;
  if (status === 0) throw new TypeError("no network");
  if (status === "none") await new Promise((_, reject) => options.signal.addEventListener("abort", () => reject(options.signal.reason)));
  const data = typeof rows === "function" ? rows(new URL(url, location.href).searchParams) : rows;
  const body = { data, error, meta: {}, pagination: { has_next: hasNext } };
  return new Response(status === 204 ? null : JSON.stringify(body), { status });
};
const limit = AbortSignal.timeout;
AbortSignal.timeout = (time) => limit.call(AbortSignal, window.longest ?? time);
window.streams = [];
window.EventSource = class extends EventSource { constructor(url) { super(url); streams.push(this); } };

window.personaOf = (number) => `${String(number).padStart(8, "0")}-0000-4000-8000-000000000000`;
window.report = (number, persona = number) => ({
  id: crypto.randomUUID(), created_at: "2026-01-01T00:00:00.000Z", reason: "other", comment: `report ${number} of a persona that is not kind`,
  persona_id: personaOf(persona), message_id: null, user_id: personaOf(1),
});
answers["GET reports"] = { rows: Array.from({ length: 40 }, (_, index) => report(40 - index)) };"""

# What a timer or an event does.
POLL = "document.dispatchEvent(new Event('visibilitychange'));"


def read_again(browser, number, persona=None):
    """Puts a row on top, and waits until the page has read it by itself."""
    browser.script(f"answers['GET reports'].rows.unshift(report(...arguments)); {POLL}", number, persona or number)
    browser.wait(f"report {number}", lambda: f"report {number} " in browser.text("tbody tr"))


def require_held(browser, number):
    """Puts a row on top that the page does not ask for."""
    asked = browser.script("return asked")
    assert browser.script(f"answers['GET reports'].rows.unshift(report(...arguments)); {POLL} return asked", number) == asked
    assert f"report {number} " not in browser.text("tbody")


def go(browser, path):
    """Follows a link to a view; the document stays."""
    browser.script(
        """const link = document.createElement("a");
        link.href = arguments[0];
        document.body.append(link);
        link.click();
        link.remove();""", path)
    browser.settle()


def require_place_kept(browser):
    focused = "return document.activeElement.closest('tr')?.innerText ?? document.activeElement.tagName"
    place = "const table = document.querySelector('.scroll'); return [table.scrollTop, table.scrollLeft, scrollY];"
    browser.script(
        """document.querySelector("[aria-label='Unpublish persona 00000030…']").focus();
        document.querySelector(".scroll").scrollTo(40, 90);
        scrollTo(0, 50);""")
    before = browser.script(place)
    assert "report 30 " in browser.script(focused) and 0 not in before, (browser.script(focused), before)
    read_again(browser, 41)
    assert "report 30 " in browser.script(focused) and browser.script(place) == before, (browser.script(focused), browser.script(place), before)
    # A link that several rows have.
    browser.script("document.activeElement.closest('tr').querySelector('a').focus()")
    read_again(browser, 42)
    assert "report 30 " in browser.script(focused), browser.script(focused)
    # The row is gone, and no other has the focus.
    browser.script("answers['GET reports'].rows = answers['GET reports'].rows.filter(({ comment }) => !comment.startsWith('report 30 '))")
    read_again(browser, 43)
    assert browser.script(focused) == "BODY", browser.script(focused)


def require_held_views(browser):
    browser.script("getSelection().selectAllChildren(document.querySelector('tbody td'))")
    require_held(browser, 44)
    browser.script("getSelection().removeAllRanges()")
    read_again(browser, 45)
    pressed = "return [...document.querySelectorAll('.controls button')].find(({ innerText }) => innerText === 'Pause').getAttribute('aria-pressed')"
    browser.click("Pause")
    require_held(browser, 46)
    assert browser.script(pressed) == "true"
    browser.check("paused", allowed=ALLOWED)
    browser.click("Pause")
    browser.wait("report 46", lambda: "report 46 " in browser.text("tbody"))
    assert browser.script(pressed) == "false"
    # A hidden page.
    hide = f"Object.defineProperty(document, 'hidden', {{ configurable: true, value: arguments[0] }}); {POLL}"
    opened = "return streams.filter(({ readyState }) => readyState !== EventSource.CLOSED).length"
    browser.wait("events", lambda: browser.script(opened) == 1)
    browser.script(hide, True)
    assert browser.script(opened) == 0
    require_held(browser, 47)
    browser.script(hide, False)
    browser.wait("report 47", lambda: "report 47 " in browser.text("tbody"))
    assert browser.script(opened) == 1


def require_finished(browser):
    """A view that takes long is not begun anew by what happens meanwhile: it is shown, and what came meanwhile soon after."""
    asked = browser.script(f"const before = asked; answers['GET reports'].isSlow = true; {POLL} return before;")
    browser.wait("a request", lambda: browser.script("return waiting.length"))
    browser.script(f"{POLL} {POLL} streams.at(-1).dispatchEvent(new MessageEvent('message', {{ data: 'newer' }}));")
    browser.script(
        """answers["GET reports"].isSlow = false;
        answers["GET reports"].rows.unshift(report(52));
        for (const answer of waiting.splice(0)) answer();""")
    browser.wait("report 52", lambda: "report 52 " in browser.text("tbody tr"))
    assert browser.script("return asked") == asked + 1
    browser.script("answers['GET reports'].rows.unshift(report(53))")
    # Without what came meanwhile it would be read after fifteen.
    browser.wait("report 53", lambda: "report 53 " in browser.text("tbody tr"), seconds=12)


def require_unpublished(browser):
    """A persona of two reports: it is not taken back, then it is."""
    persona = browser.script("return personaOf(48)")
    read_again(browser, 48)
    read_again(browser, 49, 48)
    browser.script("answers[`POST personas/${arguments[0]}/unpublish`] = { status: 404, error: { message: 'no such persona' } }", persona)
    question = browser.click_and_answer("Unpublish", "a test")
    assert "persona 00000048…" in question, question
    told = "Persona 00000048… was not taken back: No such persona."
    browser.wait("what is wrong", lambda: browser.text("[role=alert].problem") == told)
    browser.check("not-unpublished", allowed=(*ALLOWED, "unpublish"))
    read_again(browser, 50)
    assert browser.text("[role=alert].problem") == told, browser.text()
    browser.script("answers[`POST personas/${arguments[0]}/unpublish`] = {}; answers['GET reports'].rows.shift();", persona)
    browser.script(POLL)
    browser.wait("report 49", lambda: "report 49 " in browser.text("tbody tr"))
    browser.click_and_answer("Unpublish", "a test")
    done = "return [...document.querySelectorAll('td.action')].filter(({ innerText }) => innerText === 'unpublished').length"
    browser.wait("two rows", lambda: browser.script(done) == 2)
    assert not browser.all(".problem")
    read_again(browser, 51)
    assert browser.script(done) == 2


def require_time_limit(browser):
    browser.script(f"window.longest = 50; answers['GET reports'].status = 'none'; {POLL}")
    browser.wait("what is wrong", lambda: "has not answered within 20 seconds" in browser.text("#content > .problem"))
    browser.script(f"delete window.longest; answers['GET reports'].status = 200; {POLL}")
    browser.wait("newer rows", lambda: not browser.all("#content > .problem"))


def require_hours(browser):
    """Midnight is an hour as others are; those of another year have the year."""
    names = "return [...[...document.querySelectorAll('table')].at(-1).tBodies[0].rows].map(({ cells }) => cells[0].innerText)"
    for day, text in ((datetime.datetime.now(datetime.timezone.utc).date(), "{0.day} {0:%b}, "), (datetime.date(2020, 1, 2), "2 Jan 2020, ")):
        rows = [{"day": f"{day}T{hour}:00:00.000Z", "turns": 1, "model": "one", "cost_usd": "0.01"} for hour in ("00", "01")]
        browser.script("answers['GET costs'] = { rows: arguments[0] }", rows)
        go(browser, f"/operator/costs?from={day}&to={day}")
        shown, wanted = browser.script(names), [text.format(day) + hour for hour in ("01:00", "00:00")]
        # English months of three letters, but for September.
        assert [name.replace("Sept", "Sep") for name in shown] == wanted, (shown, wanted)
    browser.script("delete answers['GET costs']")


def require_gravest(browser):
    """The overview has a critical alert that is older than others."""
    browser.script(
        """const alert = (severity) => ({
          rule: `${severity}-rule`, measure: "open_circuits", severity, value: 3, threshold: 1, started_at: "2026-01-01T00:00:00.000Z" });
        answers["GET alerts"] = { rows: [...Array(6).fill("info"), "warning", "critical"].map(alert) };""")
    for has_next, link in ((False, "All alerts (3 more)"), (True, "All alerts (at least 3 more)")):
        browser.script("answers['GET alerts'].hasNext = arguments[0]", has_next)
        go(browser, "/operator?days=30")
        items = browser.script("return [...document.querySelectorAll('.list li strong')].map(({ innerText }) => innerText)")
        assert items == ["Critical rule", "Warning rule", *["Info rule"] * 3], items
        assert link in browser.text("main"), browser.text("main")
    browser.check("gravest", allowed=ALLOWED)


def require_compared(browser):
    """Costs of a period that has ended beside those of the one before, and of a running one beside as much of it; nothing is a cost, too."""
    notes = """return Object.fromEntries([...document.querySelectorAll(".tile")].map(
      (tile) => [tile.querySelector("dt").innerText, tile.querySelector(".note")?.innerText]));"""
    browser.script(
        """answers["GET costs"] = { rows: (query) => query.get("group_by") ? [] : [
          { turns: 0, cost_usd: null, unpriced_turns: 0, previous_turns: 4, previous_cost_usd: "0.5" }] };""")
    go(browser, "/operator?from=2020-01-02&to=2020-01-03")
    shown = browser.script(notes)
    assert shown["Cost"] == shown["Turns"] == "−100.0% on prior period", shown
    browser.script(
        """window.parts = [];
        const recently = Date.now() - 86_400_000;
        answers["GET costs"].rows = (query) => {
          if (query.get("group_by")) return [];
          if (!query.get("to").includes("T")) return [{ turns: 50, cost_usd: "9", unpriced_turns: 0 }];
          const [from, to] = ["from", "to"].map((name) => Date.parse(query.get(name)));
          parts.push([from, to]);
          return to > recently ? [{ turns: 3, cost_usd: "1.5", unpriced_turns: 0 }] : [{ turns: 6, cost_usd: "1", unpriced_turns: 0 }];
        };""")
    go(browser, "/operator?days=7")
    shown = browser.script(notes)
    assert shown["Cost"] == "+50.0% on prior period" and shown["Turns"] == "−50.0% on prior period", shown
    (before, end_before), (start, end) = sorted(browser.script("return parts.slice(-2)"))
    week, quarter = 7 * 86_400_000, 900_000
    assert start - before == end - end_before == week and end % quarter == 0 and 0 < end - start <= week, (before, end_before, start, end)
    browser.script("delete answers['GET costs']")


def require_signed_out(browser):
    """A session that goes on is told; one that ends opens the form."""
    for answer, told in (({"status": 503, "error": {"message": "the database is unavailable"}}, "The database is unavailable."),
                         ({"status": 0}, "The gateway cannot be reached."), ({"status": 200}, "The gateway answered 200.")):
        browser.script("answers['DELETE session'] = arguments[0]", answer)
        browser.click("Menu")
        browser.click("Sign out")
        browser.wait(told, lambda: browser.text("[role=alert].problem") == f"You are still signed in: {told}")
    browser.check("still-signed-in", allowed=ALLOWED)
    browser.script("delete answers['DELETE session']")
    browser.click("Menu")
    browser.click("Sign out")
    browser.wait("the form to sign in", lambda: browser.all("textarea[name=token]"))


with Browser(origin) as browser:
    browser.before_documents(ANSWERS)
    # Tables are wider than a phone.
    browser.look(PHONE, "light")
    browser.open("/operator/reports")
    sign_in(browser, token)
    browser.wait("the reports", lambda: "report 40 " in browser.text("tbody tr"))
    require_place_kept(browser)
    require_held_views(browser)
    require_finished(browser)
    require_unpublished(browser)
    require_time_limit(browser)
    require_hours(browser)
    require_gravest(browser)
    require_compared(browser)
    require_signed_out(browser)
    browser.require_no_problems()
print("done")
