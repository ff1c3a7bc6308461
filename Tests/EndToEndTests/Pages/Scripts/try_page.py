"""Talks to the coach in a browser. Argument: origin."""

import json
import sys

from browser import LAPTOP, LOOKS, Browser

origin = sys.argv[1]

# Notes what the line says between two states without a notice, and from when to when, in milliseconds.
NOTICES = """window.notice = {};
new MutationObserver(() => {
  const text = document.querySelector("#line span")?.innerText ?? "";
  if (text && !notice.from) Object.assign(notice, { text, from: performance.now() });
  if (!text && notice.from && !notice.to) notice.to = performance.now();
}).observe(document.querySelector("#line"), { childList: true, subtree: true });"""

# The first token of a document has expired. Counts tokens and turns that were begun.
EXPIRED = """const ask = fetch;
window.asked = { "/try/token": 0, "/functions/v1/chat-stream": 0 };
window.fetch = async (path, options) => {
  asked[path] += 1;
  const answer = await ask(path, options);
  if (path !== "/try/token" || asked[path] > 1) return answer;
  return new Response(JSON.stringify({ data: { token: "expired" } }));
};"""

# A turn that loses its text with its gateway, and is tried again elsewhere. Notes from which bytes it is asked for.
ATTEMPTS = """{
  const ask = fetch;
  window.cursors = [];
  const sent = (id, object) => `id: ${id}\\ndata: ${JSON.stringify({ done: false, ...object })}\\n\\n`;
  const start = { type: "start", turn_id: "turn", conversation_id: "conversation", domain: null };
  const done = sent(5, { type: "done", done: true, finish_reason: "stop" });
  const streams = {
    begun: sent(0, start) + sent(3, { type: "token", content: "Old" }),
    3: sent(0, { ...start, attempt: 2 }) + sent(5, { type: "token", content: "er" }) + done,
    0: sent(0, { ...start, attempt: 2 }) + sent(5, { type: "token", content: "Newer" }) + done,
  };
  window.fetch = async (path, options) => {
    if (!path.startsWith("/functions/v1/chat-stream")) return ask(path, options);
    const cursor = options.headers["last-event-id"];
    if (cursor !== undefined) cursors.push(cursor);
    return new Response(streams[cursor ?? "begun"], { headers: { "content-type": "text/event-stream" } });
  };
}"""


def scripted(**script):
    return f"[[sim {json.dumps({'first_token_ms': 0, **script})}]]"


def say(browser, text):
    browser.fill("#message", text)
    browser.click("Send")


def answer(browser):
    return browser.script("return [...document.querySelectorAll('.answer .text')].at(-1)?.textContent ?? ''")


def wait_for_end(browser):
    browser.wait("the end of the answer", lambda: not browser.all(".answer.running"))


def saved(browser):
    """The coach's messages in the database, oldest first."""
    return browser.driver.execute_async_script(
        """const done = arguments[0];
        (async () => {
          const kept = JSON.parse(localStorage.getItem("coach.try"));
          const token = (await (await fetch("/try/token", {
            method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ user: kept.user }),
          })).json()).data.token;
          const answer = await fetch(`/api/v1/conversations/${kept.conversation}/messages?limit=100`, { headers: { authorization: `Bearer ${token}` } });
          return (await answer.json()).data.filter((message) => message.role === "assistant");
        })().then(done, (error) => done(String(error)));""")


def check_saved(browser):
    """The page has every byte of the last answer once."""
    texts = [message["content"] for message in sorted(saved(browser), key=lambda message: message["created_at"])]
    assert texts[-1] == answer(browser), (texts[-1], answer(browser))


with Browser(origin) as browser:
    browser.look(LAPTOP, "light")
    browser.open("/try")
    browser.wait("the page", lambda: browser.all("#starters button"))
    browser.check("try-empty")

    # A reload in the middle of an answer.
    say(browser, f"Where do I start? {scripted(words=200, pace_ms=30)}")
    browser.wait("the beginning", lambda: len(answer(browser)) > 30)
    assert browser.all(".answer.running .disclosure"), "the disclosure comes before the answer"
    beginning = answer(browser)
    browser.driver.refresh()
    browser.wait("the same words", lambda: answer(browser).startswith(beginning))
    assert browser.all(".answer.running"), "the answer had ended before the reload was over"
    browser.wait("more of it", lambda: len(answer(browser)) > len(beginning) + 20)

    # A cut line.
    browser.script(NOTICES)
    browser.click("Cut the line")
    notice = browser.wait("the end of the notice", lambda: browser.script("return window.notice.to ? window.notice : null"))
    assert notice["text"].startswith("The line was cut after ") and notice["to"] - notice["from"] >= 300, notice
    assert browser.all(".answer.running"), "the answer had ended before the line was whole again"
    wait_for_end(browser)
    check_saved(browser)
    assert len(answer(browser).split()) >= 200, answer(browser)
    browser.check("try-answer")

    # What was read out is not put into the log again.
    browser.script("window.kept = [...document.querySelectorAll('#talk > *, #talk .text')];")

    # Stop keeps what was said; the next answer to the same message supersedes it.
    say(browser, f"And then? {scripted(words=400, pace_ms=30)}")
    browser.wait("the beginning", lambda: len(answer(browser)) > 30)
    assert browser.script("return window.kept.every((element) => element.isConnected);")
    browser.script("window.kept = [...document.querySelectorAll('.answer.running, .answer.running .text')];")
    browser.click("Stop")
    wait_for_end(browser)
    assert browser.script("return window.kept.length === 2 && window.kept.every((element) => element.isConnected);")
    assert "stopped" in browser.script("return [...document.querySelectorAll('.answer .meta')].at(-1).innerText")
    check_saved(browser)
    stopped = browser.script("return JSON.parse(localStorage.getItem('coach.try')).turns.at(-1).turn")
    browser.click("Answer anew")
    browser.wait("a new turn", lambda: browser.script("return JSON.parse(localStorage.getItem('coach.try')).turns.at(-1).turn") not in (None, stopped))
    browser.wait("its words", lambda: len(answer(browser)) > 0)
    browser.click("Stop")
    wait_for_end(browser)

    # Somebody in danger gets the card before any word, also after a reload.
    say(browser, f"I want to kill myself {scripted(words=5)}")
    wait_for_end(browser)
    browser.wait("the card", lambda: browser.all(".care"))
    assert browser.all(".care a[href^='tel:']"), browser.text(".care")
    browser.driver.refresh()
    browser.wait("the card again", lambda: browser.all(".care"))
    for width, scheme in LOOKS:
        browser.change_look(width, scheme)
        browser.check(f"try-care-{width}-{scheme}")

    # Each paragraph stands in the direction of its language.
    say(browser, f"مرحبا {scripted(words=3)}")
    wait_for_end(browser)
    assert browser.script(
        """const range = document.createRange();
        const said = [...document.querySelectorAll(".said")].at(-1);
        range.setStart(said.firstChild, 0);
        range.setEnd(said.firstChild, 5);
        const [word, box] = [range.getBoundingClientRect(), said.getBoundingClientRect()];
        return box.right - word.right < word.left - box.left;"""), "the first word at the left"

    # A provider that fails before its first word.
    say(browser, f"Hello {scripted(status=500)}")
    wait_for_end(browser)
    browser.wait("what is wrong", lambda: browser.all(".answer .problem"))
    assert "Try again" in browser.text("#talk")

    browser.click("New conversation")
    assert not browser.all(".answer")

    # A token that has expired is renewed, and the message is sent once more.
    browser.before_documents(EXPIRED)
    browser.open("/try")
    say(browser, f"Are you there? {scripted(words=3)}")
    wait_for_end(browser)
    assert not browser.all(".answer .problem"), browser.text("#talk")
    assert browser.script("return Object.values(asked)") == [2, 2], browser.script("return asked")
    check_saved(browser)

    # Another attempt has another text, which is read from its first byte.
    browser.before_documents(ATTEMPTS)
    browser.open("/try")
    say(browser, "And now?")
    wait_for_end(browser)
    assert answer(browser) == "Newer" and browser.script("return cursors") == ["3", "0"], (answer(browser), browser.script("return cursors"))
    browser.require_no_problems()
print("done")
