"""Debian's Chromium, driven through WebDriver, with the accessibility rules of axe-core."""

import importlib.util
import os
import pathlib
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions

LAPTOP, PHONE = 1440, 390
# From the narrow to the wide one, as windows are made wider: `change_look` can follow this order on a page that is open.
LOOKS = [(width, scheme) for width in (PHONE, LAPTOP) for scheme in ("light", "dark")]


def _axe():
    # The package carries axe.min.js; importing it would need playwright, which nothing here uses.
    folder = importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]
    return pathlib.Path(folder, "axe.min.js").read_text()


class Browser:
    def __init__(self, origin):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        # Chromium's sandbox does not work as root; a shared memory of 64 MB, as containers have, is too small.
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--hide-scrollbars"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(60)
        self.origin = origin
        self.axe = _axe()
        self.problems = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def look(self, width, scheme):
        """How the pages that are opened from now on are shown."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def change_look(self, width, scheme):
        """Shows the page that is open in another way, and waits until it has followed. Takes a fraction of opening it."""
        # A view of the dashboard with charts is read again in another colour scheme: what it showed is replaced.
        self.script(
            """const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
            const shown = document.querySelectorAll("#view #content:has(canvas) > *");
            if (scheme !== arguments[0]) for (const element of shown) element.dataset.replaced = "";""", scheme)
        self.look(width, scheme)
        self.wait("the view in another look", lambda: self.script("return !document.querySelector('[data-replaced]')"))
        self.settle()
        # Charts follow the width of their boxes one frame later.
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done())));")

    def before_documents(self, script):
        """Runs a script in each document that is opened from now on, before its own."""
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def open(self, path):
        self.driver.get(self.origin + path)
        self.settle()

    def settle(self):
        self.wait("a drawn page", lambda: self.script(
            "return document.readyState === 'complete' && !document.querySelector('[aria-busy]')"
            " && (!document.getElementById('view') || Boolean(document.querySelector('h1')))"))

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def click(self, text):
        """Clicks a button, found and clicked in one step: a view that is read again replaces its elements."""
        self.wait(f"button {text}", lambda: self.script(
            """const button = [...document.querySelectorAll("button")].find(
              (button) => button.innerText === arguments[0] && button.offsetParent && !button.disabled);
            button?.click();
            return Boolean(button);""", text))

    def fill(self, selector, text):
        """Replaces what is in a field."""
        self.wait(selector, lambda: self.script(
            """const field = document.querySelector(arguments[0]);
            if (field) field.value = arguments[1];
            return Boolean(field);""", selector, text))

    def click_and_answer(self, text, answer):
        """Clicks a button that opens a dialog, and answers its question; None: cancels it. Returns the question."""
        # A dialog that opens while a script of the driver runs ends the script.
        self.wait(f"button {text}", lambda: self.script(
            """const button = [...document.querySelectorAll("button")].find((button) => button.innerText === arguments[0] && button.offsetParent);
            setTimeout(() => button?.click());
            return Boolean(button);""", text))
        dialog = self.wait("a dialog", lambda: expected_conditions.alert_is_present()(self.driver))
        question = dialog.text
        if answer is None:
            dialog.dismiss()
        else:
            dialog.send_keys(answer)
            dialog.accept()
        return question

    def click_link_and_answer(self, text, accept):
        """Clicks a link that asks whether to go, and answers."""
        # A dialog that opens while a script of the driver runs ends the script.
        self.script("setTimeout(() => [...document.querySelectorAll('a')].find((link) => link.innerText === arguments[0]).click())", text)
        dialog = self.wait("a dialog", lambda: expected_conditions.alert_is_present()(self.driver))
        dialog.accept() if accept else dialog.dismiss()

    def value(self, selector):
        return self.script("return document.querySelector(arguments[0])?.value ?? ''", selector)

    def text(self, selector="body"):
        return self.script("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def wait(self, what, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for {what} at {self.driver.current_url}:\n{self.text()[:2000]}\n{self.log()}")
            time.sleep(0.02)

    def log(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def check(self, name, allowed=()):
        """Notes what axe, the console or a page wider than the window says against the page; `allowed`: beginnings of console lines."""
        if not self.script("return Boolean(window.axe)"):
            self.script(self.axe)
        # What is in order is neither collected nor sent: of a long table that is megabytes.
        violations = self.driver.execute_async_script(
            """const done = arguments[0];
            const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
            axe.run({ runOnly, resultTypes: ["violations"] }).then(
              ({ violations }) => done(violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`)),
              (error) => done([String(error)]));""")
        self.problems += [f"{name}: {violation}" for violation in violations]
        if self.script("return document.documentElement.scrollWidth > innerWidth"):
            self.problems.append(f"{name}: wider than the window")
        # A route that this gateway does not have is reported by the browser itself.
        self.problems += [f"{name}: {line}" for line in self.log() if not any(part in line for part in ("status of 404", *allowed))]
        folder = os.environ.get("COACH_SCREENSHOTS")
        if folder:
            self.driver.save_screenshot(str(pathlib.Path(folder, f"{name}.png")))

    def require_no_problems(self):
        assert not self.problems, "\n".join(self.problems)
