"""What scripts that use the dashboard share."""

from decimal import Decimal

# Lines of the console that are no problem: a period before may begin too early.
ALLOWED = ("compare=previous",)


def sign_in(browser, token):
    browser.fill("textarea[name=token]", token)
    browser.click("Sign in")


def figure(browser, column):
    """The figure in the total row, or the only row, of the first table: by the name of its column."""
    return browser.script(
        """const table = document.querySelector("main table");
        if (!table) return null;
        const index = [...table.tHead.rows[0].cells].findIndex((cell) => cell.innerText === arguments[0]);
        const row = (table.tFoot ?? table.tBodies[0]).rows[0];
        return row.cells[index]?.querySelector("data")?.value ?? null;""", column)


def figures(browser, names):
    """The figures in the rows of the first table, by the names of their columns; 0 where there is none."""
    rows = browser.script(
        """const table = document.querySelector("main table");
        const heads = [...table.tHead.rows[0].cells].map((cell) => cell.innerText);
        return [...table.tBodies[0].rows].map((row) => arguments[0].map((name) => row.cells[heads.indexOf(name)]?.querySelector("data")?.value ?? "0"));""",
        list(names))
    return [[Decimal(value) for value in row] for row in rows]


def follow(browser, caption, name, link="td.action a"):
    """Clicks a link in the row with this name of a table, by the beginning of its caption. Whether there is one."""
    return browser.script(
        """const table = [...document.querySelectorAll("main table")].find((table) => table.caption?.textContent.startsWith(arguments[0]));
        const row = [...table?.tBodies[0].rows ?? []].find(({ cells: [first] }) =>
          (first.querySelector("time")?.dateTime ?? first.innerText) === arguments[1]);
        const link = row?.querySelector(arguments[2]);
        link?.click();
        return Boolean(link);""",
        caption, name, link)


def cells(browser, caption, names):
    """What the rows of a table show, by the beginning of its caption and the names of columns: exact figures and times, or texts. None without the table."""
    return browser.script(
        """const table = [...document.querySelectorAll("main table")].find((table) => table.caption?.textContent.startsWith(arguments[0]));
        if (!table) return null;
        const heads = [...table.tHead.rows[0].cells].map((cell) => cell.innerText);
        const shown = (cell) => cell?.querySelector("data")?.value ?? cell?.querySelector("time")?.dateTime ?? cell?.innerText ?? "no column";
        return [...table.tBodies[0].rows].map((row) => arguments[1].map((name) => shown(row.cells[heads.indexOf(name)])));""",
        caption, list(names))
